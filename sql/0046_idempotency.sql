-- The answers to requests with an `Idempotency-Key`, kept for a day so that a repeated request gets the same one.
-- `status` null: the first request is still being handled, by the process `owner`. `answer` null beside a status: it was
-- too large to keep, and the book that it showed is read again.
CREATE TABLE idempotency_key (
    account_id bigint NOT NULL REFERENCES account ON DELETE CASCADE,
    key        text NOT NULL,
    request    bytea NOT NULL, -- a hash of method, path and body
    owner      uuid NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    status     integer,
    answer     bytea,
    book_id    bigint,
    PRIMARY KEY (account_id, key)
);
CREATE INDEX idempotency_key_started ON idempotency_key (started_at);
