-- A revision is a former text or, where both are given, a title and a summary of the model that the author's own won over.
ALTER TABLE chapter_revision
    ADD COLUMN title   text,
    ADD COLUMN summary text,
    ADD CONSTRAINT chapter_revision_plan CHECK ((title IS NULL) = (summary IS NULL));
