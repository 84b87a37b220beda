-- The calls cut off by a stop whose words `words_lost` has. A statement that is repeated, because its answer was lost, counts
-- each of them once.
ALTER TABLE run ADD COLUMN lost_calls uuid[] NOT NULL DEFAULT '{}';
