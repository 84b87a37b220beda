-- How many stored pictures a backup lacks, because they were missing or damaged when it was made.
ALTER TABLE backup ADD COLUMN missing integer NOT NULL DEFAULT 0;
