-- How many of a run's words the account's usage counts already: all that a run has written counts, however it ends.

ALTER TABLE run ADD COLUMN words_counted bigint NOT NULL DEFAULT 0;

UPDATE run SET words_counted = words_written WHERE status = 'completed';
