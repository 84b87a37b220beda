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
