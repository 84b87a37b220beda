-- Books, chapters, former texts, digests and the ledger of model calls.
CREATE TABLE book (
    id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id        bigint NOT NULL REFERENCES account ON DELETE CASCADE,
    title             text NOT NULL,
    subtitle          text NOT NULL DEFAULT '',
    author_name       text NOT NULL DEFAULT '',
    genre             text NOT NULL DEFAULT '',
    target_audience   text NOT NULL DEFAULT '',
    description       text NOT NULL DEFAULT '',
    style_notes       text NOT NULL DEFAULT '',
    chapter_count     integer NOT NULL CHECK (chapter_count BETWEEN 1 AND 100),
    target_word_count integer NOT NULL CHECK (target_word_count > 0),
    trim_size         text NOT NULL,
    content_language  text NOT NULL,
    status            text NOT NULL DEFAULT 'draft' CHECK (status IN ('draft', 'outline', 'generating', 'completed')),
    bible             jsonb NOT NULL DEFAULT '{}',
    funding_source    text CHECK (funding_source IN ('subscription', 'credits')),
    created_at        timestamptz NOT NULL DEFAULT now(),
    updated_at        timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX book_recent ON book (account_id, updated_at DESC, id DESC);

CREATE TABLE chapter (
    id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    book_id           bigint NOT NULL REFERENCES book ON DELETE CASCADE,
    chapter_number    integer NOT NULL CHECK (chapter_number >= 1),
    title             text NOT NULL,
    summary           text NOT NULL DEFAULT '',
    content           text NOT NULL DEFAULT '',
    word_count        integer NOT NULL DEFAULT 0,
    target_word_count integer NOT NULL CHECK (target_word_count >= 0),
    status            text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'writing', 'completed', 'error')),
    content_version   bigint NOT NULL DEFAULT 0,
    quality           jsonb NOT NULL DEFAULT '[]',
    created_at        timestamptz NOT NULL DEFAULT now(),
    updated_at        timestamptz NOT NULL DEFAULT now(),
    UNIQUE (book_id, chapter_number) DEFERRABLE INITIALLY IMMEDIATE
);
-- Chapter text is written once and read rarely: not compressing it gives the checkpoint its speed.
ALTER TABLE chapter ALTER COLUMN content SET STORAGE EXTERNAL;

CREATE TABLE chapter_revision (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chapter_id bigint NOT NULL REFERENCES chapter ON DELETE CASCADE,
    origin     text NOT NULL,
    content    text NOT NULL,
    word_count integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX chapter_revision_newest ON chapter_revision (chapter_id, id DESC);

-- The newest 20 are kept, whoever overwrites a text.
CREATE FUNCTION forget_old_revisions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM chapter_revision
     WHERE chapter_id = NEW.chapter_id
       AND id <= (SELECT id FROM chapter_revision WHERE chapter_id = NEW.chapter_id ORDER BY id DESC OFFSET 20 LIMIT 1);
    RETURN NULL;
END
$$;
CREATE TRIGGER forget_old_revisions AFTER INSERT ON chapter_revision
    FOR EACH ROW EXECUTE FUNCTION forget_old_revisions();

-- What later chapters must know of a finished one, by the hash of the text it was read from.
CREATE TABLE digest (
    chapter_id     bigint NOT NULL REFERENCES chapter ON DELETE CASCADE,
    content_hash   text NOT NULL,
    summary        text NOT NULL,
    facts          jsonb NOT NULL DEFAULT '[]',
    threads_opened jsonb NOT NULL DEFAULT '[]',
    threads_closed jsonb NOT NULL DEFAULT '[]',
    created_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (chapter_id, content_hash)
);

-- One row a model call that was paid for; outlives its book.
CREATE TABLE model_call (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id         bigint REFERENCES account ON DELETE SET NULL,
    book_id            bigint REFERENCES book ON DELETE SET NULL,
    run_id             uuid,
    stage              text NOT NULL,
    chapter_number     integer,
    model              text NOT NULL,
    input_tokens       bigint NOT NULL DEFAULT 0,
    output_tokens      bigint NOT NULL DEFAULT 0,
    cache_write_tokens bigint NOT NULL DEFAULT 0,
    cache_read_tokens  bigint NOT NULL DEFAULT 0,
    images             integer NOT NULL DEFAULT 0,
    cost_micros        bigint,          -- null: the price table does not know this model
    created_at         timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX model_call_book ON model_call (book_id) WHERE book_id IS NOT NULL;
CREATE INDEX model_call_account_day ON model_call (account_id, created_at);
