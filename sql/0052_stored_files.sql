-- Files outside the database, in a folder or in a bucket. A file's row is there before the file, and stays until the file
-- is gone: a crash leaves at most a file that its row names and the sweep removes.
CREATE TABLE stored_file (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    place      text NOT NULL, -- an absolute folder, or s3://bucket/prefix
    name       text NOT NULL CHECK (name ~ '^[0-9a-f]{40}$'),
    size       bigint NOT NULL CHECK (size >= 0),
    sha256     bytea NOT NULL CHECK (octet_length(sha256) = 32),
    -- new: it may still be being written; used: a picture or an export names it; unused: it has to be removed
    state      text NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'used', 'unused')),
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (place, name)
);
CREATE INDEX stored_file_to_sweep ON stored_file (id) WHERE state <> 'used';

-- The bytes are in the row or in a file. The old column stays where it is, so that no large table is rewritten.
ALTER TABLE media
    ALTER COLUMN body DROP NOT NULL,
    ADD COLUMN file_id bigint REFERENCES stored_file,
    ADD CONSTRAINT media_is_somewhere CHECK (num_nonnulls(body, file_id) = 1);
ALTER TABLE export_file
    ALTER COLUMN body DROP NOT NULL,
    ADD COLUMN file_id bigint REFERENCES stored_file,
    ADD CONSTRAINT export_file_is_somewhere CHECK (num_nonnulls(body, file_id) = 1);
-- Built at once: bodies are stored apart from their rows, so that even a large table is read in a moment.
CREATE UNIQUE INDEX media_file ON media (file_id) WHERE file_id IS NOT NULL;
CREATE UNIQUE INDEX export_file_file ON export_file (file_id) WHERE file_id IS NOT NULL;

-- A row takes a file that is there, and leaves it however the row goes.
CREATE FUNCTION take_file() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE stored_file SET state = 'used' WHERE id = NEW.file_id AND state = 'new';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'stored file % is not new', NEW.file_id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION leave_file() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE stored_file SET state = 'unused' WHERE id = OLD.file_id;
    RETURN NULL;
END
$$;
CREATE TRIGGER media_takes_file AFTER INSERT ON media
    FOR EACH ROW WHEN (NEW.file_id IS NOT NULL) EXECUTE FUNCTION take_file();
CREATE TRIGGER media_leaves_file AFTER DELETE ON media
    FOR EACH ROW WHEN (OLD.file_id IS NOT NULL) EXECUTE FUNCTION leave_file();
CREATE TRIGGER media_takes_other_file AFTER UPDATE OF file_id ON media
    FOR EACH ROW WHEN (NEW.file_id IS NOT NULL) EXECUTE FUNCTION take_file();
CREATE TRIGGER media_leaves_former_file AFTER UPDATE OF file_id ON media
    FOR EACH ROW WHEN (OLD.file_id IS NOT NULL) EXECUTE FUNCTION leave_file();
CREATE TRIGGER export_file_takes_file AFTER INSERT ON export_file
    FOR EACH ROW WHEN (NEW.file_id IS NOT NULL) EXECUTE FUNCTION take_file();
CREATE TRIGGER export_file_leaves_file AFTER DELETE ON export_file
    FOR EACH ROW WHEN (OLD.file_id IS NOT NULL) EXECUTE FUNCTION leave_file();
CREATE TRIGGER export_file_takes_other_file AFTER UPDATE OF file_id ON export_file
    FOR EACH ROW WHEN (NEW.file_id IS NOT NULL) EXECUTE FUNCTION take_file();
CREATE TRIGGER export_file_leaves_former_file AFTER UPDATE OF file_id ON export_file
    FOR EACH ROW WHEN (OLD.file_id IS NOT NULL) EXECUTE FUNCTION leave_file();
