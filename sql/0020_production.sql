-- What a run is at: only a production has other phases than its chapters. `remark` says what was left out of it.
ALTER TABLE run
    ADD COLUMN phase  text NOT NULL DEFAULT 'chapters'
               CHECK (phase IN ('outline', 'chapters', 'proofreading', 'corrections', 'cover', 'files')),
    ADD COLUMN remark text NOT NULL DEFAULT '';

-- A run of a children's book that is a production takes a use of both add-ons.
ALTER TABLE addon_use DROP CONSTRAINT addon_use_pkey, ADD PRIMARY KEY (run_id, account_addon_id);

-- The production that made a report, once.
ALTER TABLE report ADD COLUMN run_id uuid UNIQUE;
