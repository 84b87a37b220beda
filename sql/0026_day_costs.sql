-- What a day's calls have cost is added up once: `counted` ones stand in the day's sum. A call without a price adds
-- nothing to it.
CREATE TABLE day_cost (
    day         timestamptz PRIMARY KEY,
    cost_micros bigint NOT NULL
);
ALTER TABLE model_call ADD COLUMN counted boolean NOT NULL DEFAULT false;
CREATE INDEX model_call_uncounted ON model_call (created_at) WHERE cost_micros > 0 AND NOT counted;
DROP INDEX model_call_day;

-- Adds the day's calls that are not in its sum yet, once they are many. Those of tomorrow are not among them, though this
-- may have begun before midnight; one that somebody else writes just now is left to the next time.
CREATE FUNCTION count_day(today timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    uncounted bigint[];
BEGIN
    uncounted := ARRAY(SELECT id FROM model_call
                        WHERE created_at >= today AND created_at < today + interval '1 day'
                          AND cost_micros > 0 AND NOT counted);
    IF cardinality(uncounted) >= 100 THEN
        WITH locked AS (
            SELECT id FROM model_call WHERE id = ANY(uncounted) AND NOT counted FOR NO KEY UPDATE SKIP LOCKED
        ), added AS (
            UPDATE model_call SET counted = true WHERE id = ANY(ARRAY(SELECT id FROM locked)) RETURNING cost_micros
        )
        INSERT INTO day_cost (day, cost_micros) SELECT today, coalesce(sum(cost_micros), 0) FROM added
        ON CONFLICT (day) DO UPDATE SET cost_micros = day_cost.cost_micros + excluded.cost_micros;
    END IF;
END
$$;

-- As before, but for the day, whose calls are not read one by one: its sum, and the calls that are not in it yet. The
-- check is one statement: an entry that is committed meanwhile is seen with all that it changes, or not at all.
CREATE OR REPLACE FUNCTION reserve_cost(
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
                   (SELECT coalesce(sum(cost_micros), 0) FROM day_cost WHERE day = today)
                   + (SELECT coalesce(sum(cost_micros), 0) FROM model_call
                       WHERE created_at >= today AND cost_micros > 0 AND NOT counted),
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
    IF day_cap IS NOT NULL THEN
        PERFORM count_day(today);
    END IF;
END
$$;
