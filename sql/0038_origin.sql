-- How each picture was made, a term of the IPTC vocabulary "Digital Source Type". The default is for a process of before.
ALTER TABLE media ADD COLUMN source_type text NOT NULL DEFAULT 'trainedAlgorithmicMedia'
    CHECK (source_type IN ('trainedAlgorithmicMedia', 'compositeWithTrainedAlgorithmicMedia', 'algorithmicMedia'));
-- When the model wrote a former text. Null: its author changed it after that, or no model wrote it.
ALTER TABLE chapter_revision ADD COLUMN written_at timestamptz;

-- The ledger tells how the pictures of before were made: drawn ones are entered under the model `offline`.
UPDATE media m SET source_type = 'algorithmicMedia'
 WHERE EXISTS (SELECT FROM cover c WHERE m.key IN (c.image_key, c.thumbnail_key) AND c.design IS NOT NULL)
    OR (EXISTS (SELECT FROM model_call p WHERE p.book_id = m.book_id AND p.images > 0)
        AND NOT EXISTS (SELECT FROM model_call p
                         WHERE p.book_id = m.book_id AND p.images > 0 AND p.model <> 'offline'));
UPDATE media m SET source_type = 'compositeWithTrainedAlgorithmicMedia'
  FROM cover c
 WHERE m.key IN (c.image_key, c.thumbnail_key) AND m.source_type = 'trainedAlgorithmicMedia';

-- Of a text that was edited before its writer was noted, the oldest kept text counts as the model's, if the ledger has a
-- call that wrote the chapter.
UPDATE chapter_revision r
   SET writer = called.model
  FROM (SELECT DISTINCT ON (chapter_id) id, chapter_id FROM chapter_revision ORDER BY chapter_id, id) AS oldest
  JOIN chapter c ON c.id = oldest.chapter_id
 CROSS JOIN LATERAL (SELECT p.model FROM model_call p
                      WHERE p.book_id = c.book_id AND p.chapter_number = c.chapter_number
                        AND p.stage = 'chapter' AND p.images = 0
                      ORDER BY p.id LIMIT 1) AS called
 WHERE oldest.id = r.id AND r.title IS NULL AND c.writer = ''
   AND NOT EXISTS (SELECT FROM chapter_revision other WHERE other.chapter_id = c.id AND other.writer <> '');

-- A former text of before is the model's as a whole if the model put it there.
UPDATE chapter_revision r
   SET written_at = CASE WHEN r.origin = 'quality_gate' THEN r.created_at ELSE coalesce(put.created_at, c.created_at) END
  FROM (SELECT id, lag(origin) OVER of_chapter AS origin, lag(created_at) OVER of_chapter AS created_at
          FROM chapter_revision WINDOW of_chapter AS (PARTITION BY chapter_id ORDER BY id)) AS put, chapter c
 WHERE put.id = r.id AND c.id = r.chapter_id AND r.writer <> ''
   AND coalesce(put.origin, 'model') IN ('model', 'regenerate', 'quality_gate');
