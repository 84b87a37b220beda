-- Whether a production makes a cover for a book that has none.
ALTER TABLE run ADD COLUMN makes_cover boolean NOT NULL DEFAULT true;
