-- Children's books: a kind of book whose chapters are spreads, each with a short text and one picture.
ALTER TABLE book
    ADD COLUMN kind                text NOT NULL DEFAULT 'prose' CHECK (kind IN ('prose', 'childrens')),
    ADD COLUMN age_range           text CHECK (age_range IN ('0-3', '3-5', '6-8', '9-12')),
    ADD COLUMN theme               text NOT NULL DEFAULT '',
    ADD COLUMN characters          jsonb NOT NULL DEFAULT '[]',
    -- The hero as every picture shows them; goes with its media.
    ADD COLUMN character_sheet_key text UNIQUE REFERENCES media ON DELETE SET NULL,
    ADD CONSTRAINT childrens_have_an_age CHECK ((kind = 'childrens') = (age_range IS NOT NULL));

-- A run may need more than one add-on.
ALTER TABLE addon_use DROP CONSTRAINT addon_use_pkey;
ALTER TABLE addon_use ADD PRIMARY KEY (run_id, account_addon_id);
