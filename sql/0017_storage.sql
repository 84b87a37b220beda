-- How many megabytes of text and pictures an account may keep, by its plan.
ALTER TABLE plan DROP CONSTRAINT plan_features;
UPDATE plan
   SET features = features || jsonb_build_object('max_stored_mb', CASE slug WHEN 'free' THEN 50
                                                                           WHEN 'starter' THEN 500
                                                                           WHEN 'pro' THEN 2000
                                                                           ELSE -1 END)
 WHERE NOT features ? 'max_stored_mb';
ALTER TABLE plan ADD CONSTRAINT plan_features CHECK (
    jsonb_typeof(features -> 'books_per_month') IS NOT DISTINCT FROM 'number'
    AND jsonb_typeof(features -> 'ai_images_per_month') IS NOT DISTINCT FROM 'number'
    AND jsonb_typeof(features -> 'ai_edits_per_month') IS NOT DISTINCT FROM 'number'
    AND jsonb_typeof(features -> 'proofreading_checks_per_month') IS NOT DISTINCT FROM 'number'
    AND jsonb_typeof(features -> 'max_word_count_per_book') IS NOT DISTINCT FROM 'number'
    AND jsonb_typeof(features -> 'max_stored_mb') IS NOT DISTINCT FROM 'number'
    AND jsonb_typeof(features -> 'export_formats') IS NOT DISTINCT FROM 'array'
    AND jsonb_typeof(features -> 'watermark') IS NOT DISTINCT FROM 'boolean'
    AND jsonb_typeof(features -> 'chapter_images') IS NOT DISTINCT FROM 'boolean');
