-- A use of an add-on that a run left unfinished is kept for its book, if something was paid for, until `kept_until`.
ALTER TABLE addon_use
    ADD COLUMN kept_until timestamptz,
    ADD COLUMN paid_for   boolean NOT NULL DEFAULT false;
CREATE INDEX addon_use_kept ON addon_use (book_id) WHERE kept_until IS NOT NULL;
