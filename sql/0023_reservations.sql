-- What a model call may cost at most, from before it goes out until the ledger has what it did cost. A row that no entry
-- settles is of a call whose end nobody saw: it counts until its day ends. No foreign keys: nothing waits for its insert.
CREATE TABLE cost_reservation (
    call_id     uuid PRIMARY KEY,
    account_id  bigint,
    book_id     bigint,
    cost_micros bigint NOT NULL CHECK (cost_micros >= 0),
    created_at  timestamptz NOT NULL DEFAULT now()
);

-- Reserves if no cap is passed by it; else the first cap that would be, with what is spent under it and reserved. Calls
-- under the same cap come one after the other, until their commit: each sees those before it. Null is no cap.
CREATE FUNCTION reserve_cost(
    call uuid, account bigint, book bigint, micros bigint, book_cap bigint, account_cap bigint, day_cap bigint,
    OUT cap text, OUT spent bigint, OUT reserved bigint
) LANGUAGE plpgsql AS $$
DECLARE
    today timestamptz := date_trunc('day', now());
BEGIN
    PERFORM pg_advisory_xact_lock(1668244340, CASE WHEN day_cap IS NULL THEN hashint8(coalesce(account, 0)) ELSE 0 END);
    SELECT bound.name, bound.spent, bound.reserved INTO cap, spent, reserved
      FROM (SELECT 1 AS place, 'book' AS name, book_cap AS most,
                   (SELECT coalesce(sum(cost_micros), 0) FROM model_call WHERE book_id = book) AS spent,
                   (SELECT coalesce(sum(cost_micros), 0) FROM cost_reservation
                     WHERE book_id = book AND created_at >= today AND call_id <> call) AS reserved
             WHERE book_cap IS NOT NULL
             UNION ALL
            SELECT 2, 'account_day', account_cap,
                   (SELECT coalesce(sum(cost_micros), 0) FROM model_call
                     WHERE account_id = account AND created_at >= today),
                   (SELECT coalesce(sum(cost_micros), 0) FROM cost_reservation
                     WHERE account_id = account AND created_at >= today AND call_id <> call)
             WHERE account_cap IS NOT NULL
             UNION ALL
            SELECT 3, 'day', day_cap,
                   (SELECT coalesce(sum(cost_micros), 0) FROM model_call WHERE created_at >= today),
                   (SELECT coalesce(sum(cost_micros), 0) FROM cost_reservation
                     WHERE created_at >= today AND call_id <> call)
             WHERE day_cap IS NOT NULL) AS bound
     WHERE bound.spent >= bound.most OR bound.spent + bound.reserved + micros > bound.most
     ORDER BY bound.place
     LIMIT 1;
    IF cap IS NULL AND micros > 0 THEN
        INSERT INTO cost_reservation (call_id, account_id, book_id, cost_micros)
        VALUES (call, account, book, micros)
        ON CONFLICT DO NOTHING;
    END IF;
END
$$;

-- An entry of the ledger takes the place of what was reserved for its call, and counts on the same day.
CREATE FUNCTION settle_reservation() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    reserved_at timestamptz;
BEGIN
    DELETE FROM cost_reservation WHERE call_id = NEW.call_id RETURNING created_at INTO reserved_at;
    NEW.created_at := coalesce(reserved_at, NEW.created_at);
    RETURN NEW;
END
$$;
CREATE TRIGGER model_call_settles BEFORE INSERT ON model_call FOR EACH ROW EXECUTE FUNCTION settle_reservation();
