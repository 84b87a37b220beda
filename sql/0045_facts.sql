-- What the present text of each chapter says about the story, with the passage that says so. A fact holds as long as its
-- chapter has its quote. `value` is the model's, `correction` the author's.
CREATE TABLE fact (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chapter_id   bigint NOT NULL REFERENCES chapter ON DELETE CASCADE,
    content_hash text NOT NULL, -- of the text that the fact was read from
    kind         text NOT NULL,
    event        text,
    subject      text NOT NULL,
    value        text NOT NULL,
    quote        text NOT NULL CHECK (quote <> ''),
    correction   text,
    status       text NOT NULL DEFAULT 'settled' CHECK (status IN ('settled', 'intended', 'wrong')),
    reason       text NOT NULL DEFAULT ''
);
CREATE INDEX fact_of_chapter ON fact (chapter_id);
