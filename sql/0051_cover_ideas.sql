-- The design that the model has proposed for the covers of a finished book, with the hash of what it was asked.
ALTER TABLE book ADD COLUMN cover_idea jsonb;
