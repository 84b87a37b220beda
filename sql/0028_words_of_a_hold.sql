-- What has been written under a hold: this and the words of the run that has it. What that run had written before it got
-- the hold is taken off, so this may be negative.
ALTER TABLE hold ADD COLUMN words_written bigint NOT NULL DEFAULT 0;
