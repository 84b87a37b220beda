-- The entries of a book's bible that its author has written. `bible` has them too; they win over those of the model.
ALTER TABLE book ADD COLUMN authored_bible jsonb NOT NULL DEFAULT '{}';
