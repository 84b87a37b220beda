-- Backups that were made of this database, for `bookgen check`, the metric and the schedule.
CREATE TABLE backup (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    made_at timestamptz NOT NULL,       -- when its snapshot was taken
    drilled boolean NOT NULL,           -- whether it was restored and compared
    bytes   bigint NOT NULL,
    file    text NOT NULL
);
CREATE INDEX backup_made_at ON backup (made_at);

-- A row: this database was restored from a backup. Its runs wait until the operator lets them continue.
-- `bookgen restore` makes the table itself where the backup is older than this migration.
CREATE TABLE IF NOT EXISTS restored_copy (
    backup_made_at timestamptz NOT NULL,
    restored_at    timestamptz NOT NULL DEFAULT now(),
    continued_at   timestamptz
);
