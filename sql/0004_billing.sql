-- Plans, subscriptions, usage periods and holds. Credits, add-ons and payments follow in this file.
CREATE TABLE plan (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug          text NOT NULL UNIQUE,
    name          text NOT NULL,
    description   text NOT NULL DEFAULT '',
    price_monthly numeric(10, 2) NOT NULL,
    price_yearly  numeric(10, 2) NOT NULL,
    is_active     boolean NOT NULL DEFAULT true,
    sort_order    integer NOT NULL DEFAULT 0,
    features      jsonb NOT NULL
);
INSERT INTO plan (slug, name, description, price_monthly, price_yearly, is_active, sort_order, features) VALUES
('free', 'Free', 'Try it: one book a month.', 0, 0, true, 0,
 '{"books_per_month": 1, "ai_images_per_month": 4, "ai_edits_per_month": 5, "proofreading_checks_per_month": 1, "export_formats": ["pdf"], "watermark": true, "max_word_count_per_book": 20000}'),
('starter', 'Starter', 'For a first series.', 19, 190, true, 1,
 '{"books_per_month": 5, "ai_images_per_month": 40, "ai_edits_per_month": 100, "proofreading_checks_per_month": 10, "export_formats": ["pdf", "docx", "epub"], "watermark": false, "max_word_count_per_book": 60000}'),
('pro', 'Pro', 'For people who publish every week.', 49, 490, true, 2,
 '{"books_per_month": 20, "ai_images_per_month": 200, "ai_edits_per_month": 1000, "proofreading_checks_per_month": 50, "export_formats": ["pdf", "docx", "epub"], "watermark": false, "max_word_count_per_book": 150000}'),
('self-hosted', 'Self-hosted', 'Everything, on your own machine.', 0, 0, false, 3,
 '{"books_per_month": -1, "ai_images_per_month": -1, "ai_edits_per_month": -1, "proofreading_checks_per_month": -1, "export_formats": ["pdf", "docx", "epub"], "watermark": false, "max_word_count_per_book": 500000}');

CREATE TABLE subscription (
    id                   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id           bigint NOT NULL UNIQUE REFERENCES account ON DELETE CASCADE,
    plan_id              bigint NOT NULL REFERENCES plan,
    status               text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'trialing', 'past_due', 'canceled', 'incomplete')),
    current_period_start timestamptz NOT NULL,
    current_period_end   timestamptz NOT NULL,
    created_at           timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE usage_period (
    account_id               bigint NOT NULL REFERENCES account ON DELETE CASCADE,
    period_start             timestamptz NOT NULL,
    period_end               timestamptz NOT NULL,
    books_created            integer NOT NULL DEFAULT 0,
    ai_images_generated      integer NOT NULL DEFAULT 0,
    ai_edits_used            integer NOT NULL DEFAULT 0,
    proofreading_checks_used integer NOT NULL DEFAULT 0,
    words_generated          bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, period_start)
);

-- An allowance or a credit set aside for a book's run. It outlives the book, so that deleting a stopped
-- book after exporting it gives nothing back before the period ends.
CREATE TABLE hold (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id   bigint NOT NULL REFERENCES account ON DELETE CASCADE,
    book_id      bigint UNIQUE REFERENCES book ON DELETE SET NULL,
    run_id       uuid,
    source       text NOT NULL CHECK (source IN ('subscription', 'credits')),
    period_start timestamptz NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX hold_account ON hold (account_id);
