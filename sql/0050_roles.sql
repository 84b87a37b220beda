-- What a process does: web (requests), actors (runs, reports, blurbs, sweeps) or both.
ALTER TABLE process ADD COLUMN role text NOT NULL DEFAULT 'both';

-- Token buckets of callers without an account, or before they are signed in: an address, or the account whose password
-- is guessed. Rows are deleted once their bucket is full again.
CREATE TABLE caller_bucket (
    name       text NOT NULL,
    caller     text NOT NULL,
    tokens     double precision NOT NULL,
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    full_at    timestamptz NOT NULL,
    PRIMARY KEY (name, caller)
);
CREATE INDEX caller_bucket_full ON caller_bucket (full_at);
