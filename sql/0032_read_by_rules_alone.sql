-- Chapters of which a model read nothing or not all, and whether because it refused: `chapter_number`, `refused`, `whole`.
ALTER TABLE report ADD COLUMN unread jsonb NOT NULL DEFAULT '[]';
