-- A model call is entered once, however often its entry is repeated because an answer was lost.
ALTER TABLE model_call ADD COLUMN call_id uuid;
CREATE UNIQUE INDEX model_call_once ON model_call (call_id);
