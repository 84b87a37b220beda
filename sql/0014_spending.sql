-- How many outlines and reworks a book has had: those beyond the free ones count as AI edits.
ALTER TABLE book ADD COLUMN outlines_made integer NOT NULL DEFAULT 0;

-- What the whole server has spent today, and whether a run had a call that is charged.
CREATE INDEX model_call_day ON model_call (created_at) INCLUDE (cost_micros);
CREATE INDEX model_call_run ON model_call (run_id) WHERE run_id IS NOT NULL;
