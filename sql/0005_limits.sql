-- Token buckets of expensive work: they survive a restart and are shared by all processes.
CREATE TABLE rate_bucket (
    account_id bigint NOT NULL REFERENCES account ON DELETE CASCADE,
    name       text NOT NULL,
    tokens     double precision NOT NULL,
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (account_id, name)
) WITH (fillfactor = 50);
