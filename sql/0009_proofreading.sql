-- Proofreading reports, what they suggest, and what an author has said is meant as it is.
CREATE TABLE report (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id   bigint NOT NULL REFERENCES account ON DELETE CASCADE,
    book_id      bigint NOT NULL REFERENCES book ON DELETE CASCADE,
    task         uuid NOT NULL,                -- under which its model calls are stored and entered in the ledger
    chapter_ids  bigint[] NOT NULL,
    done         integer NOT NULL DEFAULT 0,   -- of `chapter_ids`, from the first
    status       text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'running', 'completed', 'error')),
    failure      jsonb,
    owner        uuid,
    epoch        bigint NOT NULL DEFAULT 0,    -- the fence of its owner
    created_at   timestamptz NOT NULL DEFAULT now(),
    completed_at timestamptz
);
CREATE UNIQUE INDEX report_one_active_per_book ON report (book_id) WHERE status IN ('pending', 'running');
CREATE INDEX report_of_account ON report (account_id, id DESC);

CREATE TABLE suggestion (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    report_id       bigint NOT NULL REFERENCES report ON DELETE CASCADE,
    chapter_id      bigint NOT NULL REFERENCES chapter ON DELETE CASCADE,
    type            text NOT NULL,
    severity        text NOT NULL CHECK (severity IN ('critical', 'major', 'minor', 'info')),
    original_text   text NOT NULL,
    suggested_text  text NOT NULL,
    explanation     text NOT NULL,
    source          text NOT NULL,
    start_offset    integer NOT NULL,          -- characters, in the content that has `content_version`
    end_offset      integer NOT NULL,
    prefix          text NOT NULL,
    suffix          text NOT NULL,
    content_version bigint NOT NULL,
    fingerprint     text NOT NULL,
    status          text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'applied', 'dismissed', 'stale'))
);
CREATE INDEX suggestion_of_report ON suggestion (report_id);
CREATE INDEX suggestion_pending ON suggestion (chapter_id) WHERE status = 'pending';

-- What an author has dismissed once is not suggested for that book again.
CREATE TABLE dismissal (
    book_id     bigint NOT NULL REFERENCES book ON DELETE CASCADE,
    fingerprint text NOT NULL,
    PRIMARY KEY (book_id, fingerprint)
);
