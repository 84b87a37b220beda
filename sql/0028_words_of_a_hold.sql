-- How many words the runs of its book had written when the hold was taken; null for one of before this was noted.
ALTER TABLE hold ADD COLUMN words_before bigint;
