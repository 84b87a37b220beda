-- An account that is deleted takes its ledger with it. `bookgen.leaving` is set for that one transaction to the account's
-- id; any other change of the ledger is refused as before.
CREATE OR REPLACE FUNCTION refuse_change_of_ledger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF current_setting('bookgen.leaving', true) = OLD.account_id::text THEN
            RETURN OLD;
        END IF;
    END IF;
    RAISE EXCEPTION 'the credit ledger is append-only' USING ERRCODE = 'integrity_constraint_violation';
END
$$;

-- What a job in flight takes once it is saved: AI edits, and words of books that nothing has paid for.
ALTER TABLE book_job
    ADD COLUMN edits integer NOT NULL DEFAULT 0 CHECK (edits >= 0),
    ADD COLUMN unpaid_words integer NOT NULL DEFAULT 0 CHECK (unpaid_words >= 0);
UPDATE book_job SET edits = 1 WHERE kind = 'chapter';

-- A run that follows one that was stopped goes on with the parts that are stored of its unfinished chapter: `salt` is
-- what their keys were made with, and null means the run's own id. `words_lost` were written and are in no draft.
ALTER TABLE run
    ADD COLUMN salt uuid,
    ADD COLUMN words_lost bigint NOT NULL DEFAULT 0 CHECK (words_lost >= 0);
