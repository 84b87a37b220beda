-- Finished exports by the digest of everything that decides their bytes.
CREATE TABLE export_file (
    book_id      bigint NOT NULL REFERENCES book ON DELETE CASCADE,
    digest       text NOT NULL,
    kind         text NOT NULL,
    body         bytea NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (book_id, digest)
);
ALTER TABLE export_file ALTER COLUMN body SET STORAGE EXTERNAL;  -- already compressed
CREATE INDEX export_file_oldest ON export_file (created_at);

-- How many files an account has been given; outlives the books.
CREATE TABLE export_count (
    account_id bigint NOT NULL REFERENCES account ON DELETE CASCADE,
    kind       text NOT NULL,
    exports    bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, kind)
);
