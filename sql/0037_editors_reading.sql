-- A production has an editor read the book after its last chapter. A report says which reading made it, and a finding
-- of an editor may have no text to put in place of its passage.
ALTER TABLE run
    DROP CONSTRAINT run_phase_check,
    ADD CONSTRAINT run_phase_check
        CHECK (phase IN ('outline', 'chapters', 'review', 'proofreading', 'corrections', 'blurb', 'cover', 'files'))
        NOT VALID;

ALTER TABLE report
    ADD COLUMN kind text NOT NULL DEFAULT 'proofreading' CHECK (kind IN ('proofreading', 'review')),
    DROP CONSTRAINT report_run_id_key,
    ADD CONSTRAINT report_once_a_run UNIQUE (run_id, kind);

ALTER TABLE suggestion ALTER COLUMN suggested_text DROP NOT NULL;
