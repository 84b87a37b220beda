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

-- A former text of before is the model's as a whole if the model put it there.
UPDATE chapter_revision r
   SET written_at = CASE WHEN r.origin = 'quality_gate' THEN r.created_at ELSE coalesce(put.created_at, c.created_at) END
  FROM (SELECT id, lag(origin) OVER of_chapter AS origin, lag(created_at) OVER of_chapter AS created_at
          FROM chapter_revision WINDOW of_chapter AS (PARTITION BY chapter_id ORDER BY id)) AS put, chapter c
 WHERE put.id = r.id AND c.id = r.chapter_id AND r.writer <> ''
   AND coalesce(put.origin, 'model') IN ('model', 'regenerate', 'quality_gate');
