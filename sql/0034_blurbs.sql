-- What readers are told of a book, on its back cover and in shops. The description is the author's idea and is never printed.
ALTER TABLE book ADD COLUMN blurb text NOT NULL DEFAULT '';

-- Productions draft it in a phase of its own.
ALTER TABLE run
    DROP CONSTRAINT run_phase_check,
    ADD CONSTRAINT run_phase_check
        CHECK (phase IN ('outline', 'chapters', 'proofreading', 'corrections', 'blurb', 'cover', 'files')) NOT VALID;

-- Finished books whose blurb a model is still to draft. `task` is the run_id of its model call's step; `owner` is the
-- process that works on it. A row goes when the blurb is drafted or given up.
CREATE TABLE blurb_draft (
    book_id bigint PRIMARY KEY REFERENCES book ON DELETE CASCADE,
    task    uuid NOT NULL,
    owner   uuid,
    tries   integer NOT NULL DEFAULT 0,
    due_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX blurb_draft_due ON blurb_draft (due_at);
