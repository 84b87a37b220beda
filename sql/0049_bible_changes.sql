-- What the author has changed in entries of the bible: [{"name", "was", "is"}], the newest last. Chapters that are noted
-- after a change, or written while it is made, are compared with it.
ALTER TABLE book ADD COLUMN bible_changes jsonb NOT NULL DEFAULT '[]';
