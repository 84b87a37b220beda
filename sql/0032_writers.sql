-- Who writes. A run keeps the model that it was begun with, a text the model that wrote it, and a process says which
-- model it has. `offline` writes sample text.
ALTER TABLE run ADD COLUMN writer text;                                     -- null: no model call yet
ALTER TABLE chapter ADD COLUMN writer text NOT NULL DEFAULT '';             -- '': its author, or nobody knows
ALTER TABLE chapter_revision ADD COLUMN writer text NOT NULL DEFAULT '';
ALTER TABLE process ADD COLUMN writer text NOT NULL DEFAULT '',
                    ADD COLUMN any_writer boolean NOT NULL DEFAULT true;    -- its operator has named the model

-- What was written before is told by the ledger: a run by its first call, a text by the last one.
UPDATE run r SET writer = first.model
  FROM (SELECT DISTINCT ON (run_id) run_id, model FROM model_call
         WHERE run_id IS NOT NULL AND images = 0 ORDER BY run_id, id) AS first
 WHERE first.run_id = r.id AND r.status IN ('queued', 'running', 'paused', 'error');

UPDATE chapter c SET writer = last.model
  FROM (SELECT DISTINCT ON (book_id, chapter_number) book_id, chapter_number, model FROM model_call
         WHERE book_id IS NOT NULL AND chapter_number IS NOT NULL AND stage = 'chapter' AND images = 0
         ORDER BY book_id, chapter_number, id DESC) AS last
 WHERE last.book_id = c.book_id AND last.chapter_number = c.chapter_number AND c.content <> ''
   AND NOT EXISTS (SELECT FROM chapter_revision r
                    WHERE r.chapter_id = c.id AND r.origin IN ('editor', 'restore', 'regenerate'));
