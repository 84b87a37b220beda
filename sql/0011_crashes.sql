-- What tells a crash from an end that a process has foreseen, and whose crash it was.
ALTER TABLE process
    ADD COLUMN draining boolean NOT NULL DEFAULT false, -- it said that it ends, or lost its lease and lives on
    ADD COLUMN alone    boolean;                        -- it died writing one run and nothing else; null: not judged yet
