-- A former text is written once and read rarely, as a chapter's is: packing it took longer than all else of saving a
-- chapter. It goes when twenty newer ones are there.
ALTER TABLE chapter_revision ALTER COLUMN content SET STORAGE EXTERNAL;
