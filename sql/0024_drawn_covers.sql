-- What a cover was drawn from here: printed, it is drawn anew in its size. Null for one over a picture from outside.
ALTER TABLE cover ADD COLUMN design jsonb;
