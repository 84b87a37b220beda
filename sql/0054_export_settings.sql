-- How the files of a book look, where its author has chosen: the settings of an export, without those left at their
-- defaults. An export that sends no settings uses them.
ALTER TABLE book ADD COLUMN export_settings jsonb NOT NULL DEFAULT '{}';
