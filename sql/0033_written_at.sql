-- Books of fewer words than chapters were accepted, and had chapters of no words.
UPDATE chapter SET target_word_count = 1 WHERE target_word_count = 0;

-- The columns come after it: they lock their tables until the end.

-- Words of the stored parts of the chapter that a run has begun and not finished.
ALTER TABLE run ADD COLUMN draft_words integer NOT NULL DEFAULT 0 CHECK (draft_words >= 0);
-- When the model wrote the text that a chapter has. Null: nobody has, its author did, or it is not known.
ALTER TABLE chapter ADD COLUMN written_at timestamptz;

-- It is known of a book whose latest rewrite did not get to its end: there the new chapters are told from the others.
UPDATE chapter c SET written_at = c.updated_at
  FROM run r
 WHERE r.status <> 'completed' AND r.book_id = c.book_id AND c.updated_at >= r.started_at
   AND c.content <> '' AND c.rewrite_run IS NULL
   AND EXISTS (SELECT FROM chapter other WHERE other.book_id = r.book_id AND other.rewrite_run = r.id);
