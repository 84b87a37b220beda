-- Covers, illustrations and the bytes of both.

-- A picture by the key in its address. It lives as long as its book, its cover or its illustration.
CREATE TABLE media (
    key        text PRIMARY KEY CHECK (length(key) >= 32),
    book_id    bigint NOT NULL REFERENCES book ON DELETE CASCADE,
    body       bytea NOT NULL,
    width      integer NOT NULL CHECK (width > 0),
    height     integer NOT NULL CHECK (height > 0),
    created_at timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE media ALTER COLUMN body SET STORAGE EXTERNAL;  -- already compressed
CREATE INDEX media_of_book ON media (book_id);

CREATE TABLE cover (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    book_id       bigint NOT NULL REFERENCES book ON DELETE CASCADE,
    style         text NOT NULL,
    prompt        text NOT NULL DEFAULT '',
    image_key     text NOT NULL UNIQUE REFERENCES media DEFERRABLE INITIALLY DEFERRED,
    thumbnail_key text NOT NULL UNIQUE REFERENCES media DEFERRABLE INITIALLY DEFERRED,
    width         integer NOT NULL,
    height        integer NOT NULL,
    is_selected   boolean NOT NULL DEFAULT false,
    created_at    timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX cover_of_book ON cover (book_id, id);
CREATE UNIQUE INDEX cover_selected ON cover (book_id) WHERE is_selected;

-- `position`: how many of the chapter's paragraphs stand before it.
CREATE TABLE illustration (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chapter_id bigint NOT NULL REFERENCES chapter ON DELETE CASCADE,
    caption    text NOT NULL DEFAULT '',
    alt_text   text NOT NULL CHECK (alt_text <> ''),
    prompt     text NOT NULL DEFAULT '',
    image_key  text NOT NULL UNIQUE REFERENCES media DEFERRABLE INITIALLY DEFERRED,
    position   integer NOT NULL CHECK (position >= 0),
    width      integer NOT NULL,
    height     integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX illustration_of_chapter ON illustration (chapter_id, position, id);

-- What a cover or an illustration shows goes with it, however it goes.
CREATE FUNCTION forget_media() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM media WHERE key = OLD.image_key OR key = to_jsonb(OLD) ->> 'thumbnail_key';
    RETURN NULL;
END
$$;
CREATE TRIGGER cover_takes_its_media AFTER DELETE ON cover FOR EACH ROW EXECUTE FUNCTION forget_media();
CREATE TRIGGER illustration_takes_its_media AFTER DELETE ON illustration FOR EACH ROW EXECUTE FUNCTION forget_media();

-- Images of an allowance that are being made. A process that dies in between gives them back at `held_until`.
CREATE TABLE image_hold (
    id           uuid PRIMARY KEY,
    account_id   bigint NOT NULL REFERENCES account ON DELETE CASCADE,
    images       integer NOT NULL CHECK (images > 0),
    period_start timestamptz NOT NULL,
    period_end   timestamptz NOT NULL,
    held_until   timestamptz NOT NULL
);
CREATE INDEX image_hold_of_account ON image_hold (account_id, period_start);
