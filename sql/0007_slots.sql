-- The slot's version moves with every transaction that takes it, so that a run can be accepted by one statement on
-- what was read before it: the statement finds no slot of that version when anything has happened in between.
ALTER TABLE account_slot ADD COLUMN version bigint NOT NULL DEFAULT 0;

INSERT INTO account_slot (account_id) SELECT id FROM account ON CONFLICT DO NOTHING;

CREATE FUNCTION give_slot_to_new_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO account_slot (account_id) VALUES (NEW.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE TRIGGER account_has_a_slot AFTER INSERT ON account
    FOR EACH ROW EXECUTE FUNCTION give_slot_to_new_account();

-- Whether an account's turn is free is asked whenever a run is accepted, steered or promoted.
CREATE INDEX run_active_of_account ON run (account_id) WHERE status IN ('queued', 'running', 'paused');
