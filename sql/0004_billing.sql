-- Plans, subscriptions, usage, holds, credits, add-ons and payments.
--
-- An allowance or a credit goes through: free -> hold (a run was accepted) -> consumption (the run completed),
-- or back to free (nothing was written, or the period of a kept hold ended).
-- Every change of money on one account happens under `SELECT ... FROM subscription ... FOR UPDATE`.

CREATE TABLE plan (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug          text NOT NULL UNIQUE,
    name          text NOT NULL,
    description   text NOT NULL DEFAULT '',
    price_monthly numeric(10, 2) NOT NULL CHECK (price_monthly >= 0),
    price_yearly  numeric(10, 2) NOT NULL CHECK (price_yearly >= 0),
    is_active     boolean NOT NULL DEFAULT true,
    sort_order    integer NOT NULL DEFAULT 0,
    features      jsonb NOT NULL,
    -- An operator may edit this map at any time; a map that the gates cannot read is refused here.
    CONSTRAINT plan_features CHECK (
        jsonb_typeof(features -> 'books_per_month') IS NOT DISTINCT FROM 'number'
        AND jsonb_typeof(features -> 'ai_images_per_month') IS NOT DISTINCT FROM 'number'
        AND jsonb_typeof(features -> 'ai_edits_per_month') IS NOT DISTINCT FROM 'number'
        AND jsonb_typeof(features -> 'proofreading_checks_per_month') IS NOT DISTINCT FROM 'number'
        AND jsonb_typeof(features -> 'max_word_count_per_book') IS NOT DISTINCT FROM 'number'
        AND jsonb_typeof(features -> 'export_formats') IS NOT DISTINCT FROM 'array'
        AND jsonb_typeof(features -> 'watermark') IS NOT DISTINCT FROM 'boolean'
        AND jsonb_typeof(features -> 'chapter_images') IS NOT DISTINCT FROM 'boolean')
);
INSERT INTO plan (slug, name, description, price_monthly, price_yearly, is_active, sort_order, features) VALUES
('free', 'Free', 'Try it: one book a month.', 0, 0, true, 0,
 '{"books_per_month": 1, "ai_images_per_month": 4, "ai_edits_per_month": 5, "proofreading_checks_per_month": 1, "export_formats": ["pdf"], "watermark": true, "max_word_count_per_book": 20000, "chapter_images": false}'),
('starter', 'Starter', 'For a first series.', 19, 190, true, 1,
 '{"books_per_month": 5, "ai_images_per_month": 40, "ai_edits_per_month": 100, "proofreading_checks_per_month": 10, "export_formats": ["pdf", "docx", "epub"], "watermark": false, "max_word_count_per_book": 60000, "chapter_images": true}'),
('pro', 'Pro', 'For people who publish every week.', 49, 490, true, 2,
 '{"books_per_month": 20, "ai_images_per_month": 200, "ai_edits_per_month": 1000, "proofreading_checks_per_month": 50, "export_formats": ["pdf", "docx", "epub"], "watermark": false, "max_word_count_per_book": 150000, "chapter_images": true}'),
('self-hosted', 'Self-hosted', 'Everything, on your own machine.', 0, 0, false, 3,
 '{"books_per_month": -1, "ai_images_per_month": -1, "ai_edits_per_month": -1, "proofreading_checks_per_month": -1, "export_formats": ["pdf", "docx", "epub"], "watermark": false, "max_word_count_per_book": 500000, "chapter_images": true}');

-- What an account is subscribed to. Allowances count by months from `anchor`; `current_period_end` is what the
-- processor bills up to, null for a plan that nobody pays for.
CREATE TABLE subscription (
    id                   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id           bigint NOT NULL UNIQUE REFERENCES account ON DELETE CASCADE,
    plan_id              bigint NOT NULL REFERENCES plan,
    status               text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'trialing', 'past_due', 'canceled', 'incomplete')),
    billing_interval     text CHECK (billing_interval IN ('monthly', 'yearly')),
    anchor               timestamptz NOT NULL DEFAULT now(),
    current_period_end   timestamptz,
    past_due_since       timestamptz,
    cancel_at_period_end boolean NOT NULL DEFAULT false,
    processor_id         text UNIQUE,
    created_at           timestamptz NOT NULL DEFAULT now(),
    updated_at           timestamptz NOT NULL DEFAULT now()
);

-- Whoever makes an account (sign-up, sign-in provider, operator, guest purchase), it starts on the free plan.
CREATE FUNCTION subscribe_new_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO subscription (account_id, plan_id, anchor)
    SELECT NEW.id, plan.id, NEW.created_at FROM plan WHERE plan.slug = 'free'
    ON CONFLICT (account_id) DO NOTHING;
    RETURN NULL;
END
$$;
CREATE TRIGGER account_starts_on_the_free_plan AFTER INSERT ON account
    FOR EACH ROW EXECUTE FUNCTION subscribe_new_account();

-- What was used in a period. `books_created` counts the books that the plan paid for; the credit ledger has the others.
CREATE TABLE usage_period (
    account_id               bigint NOT NULL REFERENCES account ON DELETE CASCADE,
    period_start             timestamptz NOT NULL,
    period_end               timestamptz NOT NULL,
    books_created            integer NOT NULL DEFAULT 0 CHECK (books_created >= 0),
    ai_images_generated      integer NOT NULL DEFAULT 0 CHECK (ai_images_generated >= 0),
    ai_edits_used            integer NOT NULL DEFAULT 0 CHECK (ai_edits_used >= 0),
    proofreading_checks_used integer NOT NULL DEFAULT 0 CHECK (proofreading_checks_used >= 0),
    words_generated          bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, period_start)
);

CREATE TABLE credit_package (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug           text NOT NULL UNIQUE,
    name           text NOT NULL,
    credits        integer NOT NULL CHECK (credits > 0),
    price_cents    integer NOT NULL CHECK (price_cents > 0),
    words_per_book integer NOT NULL CHECK (words_per_book > 0),
    is_popular     boolean NOT NULL DEFAULT false,
    is_active      boolean NOT NULL DEFAULT true,
    display_order  integer NOT NULL DEFAULT 0
);
INSERT INTO credit_package (slug, name, credits, price_cents, words_per_book, is_popular, display_order) VALUES
('single', 'Single book', 1, 999, 50000, false, 0),
('five-pack', 'Five books', 5, 3999, 50000, true, 1),
('twenty-pack', 'Twenty books', 20, 12999, 50000, false, 2);

CREATE TABLE addon (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug          text NOT NULL UNIQUE,
    name          text NOT NULL,
    description   text NOT NULL DEFAULT '',
    price_monthly numeric(10, 2) CHECK (price_monthly > 0),
    price_per_use numeric(10, 2) CHECK (price_per_use > 0),
    is_active     boolean NOT NULL DEFAULT true,
    sort_order    integer NOT NULL DEFAULT 0,
    CHECK (price_monthly IS NOT NULL OR price_per_use IS NOT NULL)
);
INSERT INTO addon (slug, name, description, price_monthly, price_per_use, sort_order) VALUES
('automated-production', 'Automated production', 'From the idea to the files in one call: outline, chapters, cover, exports.', 19.00, 4.99, 0),
('childrens-book', 'Children''s books', 'Picture books in spreads: short text and one illustration each.', 14.00, 3.99, 1);

-- Who an account is at the payment processor.
CREATE TABLE payment_customer (
    account_id  bigint PRIMARY KEY REFERENCES account ON DELETE CASCADE,
    customer_id text NOT NULL UNIQUE,
    created_at  timestamptz NOT NULL DEFAULT now()
);

-- One attempt to buy something; what was offered is frozen here, so that a later price does not change it.
-- `account_id` is null for a guest until the processor says who paid. `key` is what the processor knows it by:
-- a number would come again in another database on the same keys.
CREATE TABLE checkout (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key            uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
    account_id     bigint REFERENCES account ON DELETE CASCADE,
    kind           text NOT NULL CHECK (kind IN ('plan', 'addon', 'credits')),
    slug           text NOT NULL,
    billing        text NOT NULL CHECK (billing IN ('monthly', 'yearly', 'per_use', 'once')),
    amount_cents   integer NOT NULL CHECK (amount_cents > 0),
    credits        integer CHECK (credits > 0),
    words_per_book integer CHECK (words_per_book > 0),
    session_id     text UNIQUE,
    payment_intent text UNIQUE,
    status         text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'paid', 'failed', 'expired', 'refunded')),
    created_at     timestamptz NOT NULL DEFAULT now(),
    updated_at     timestamptz NOT NULL DEFAULT now(),
    CHECK (kind <> 'credits' OR (credits IS NOT NULL AND words_per_book IS NOT NULL))
);
CREATE INDEX checkout_account ON checkout (account_id, kind, status);

CREATE TABLE wallet (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id bigint NOT NULL UNIQUE REFERENCES account,
    balance    integer NOT NULL DEFAULT 0 CHECK (balance >= 0),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

-- Credits that came together and cover books of the same length. `refund_due` of them were paid back by the
-- processor, `taken_back` of those are gone already; a credit that a run holds is taken back when the hold ends.
CREATE TABLE credit_lot (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id     bigint NOT NULL REFERENCES wallet (account_id),
    checkout_id    bigint UNIQUE REFERENCES checkout,
    credits        integer NOT NULL CHECK (credits > 0),
    remaining      integer NOT NULL CHECK (remaining BETWEEN 0 AND credits),
    words_per_book integer NOT NULL CHECK (words_per_book > 0),
    refund_due     integer NOT NULL DEFAULT 0 CHECK (refund_due BETWEEN 0 AND credits),
    taken_back     integer NOT NULL DEFAULT 0 CHECK (taken_back BETWEEN 0 AND refund_due),
    created_at     timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX credit_lot_account ON credit_lot (account_id, id);

-- The ledger. Rows are only ever added; a deleted book keeps its number here.
CREATE TABLE credit_transaction (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id    bigint NOT NULL REFERENCES wallet (account_id),
    lot_id        bigint NOT NULL REFERENCES credit_lot,
    kind          text NOT NULL CHECK (kind IN ('purchase', 'book_spend', 'refund', 'bonus')),
    amount        integer NOT NULL CHECK (amount <> 0),
    balance_after integer NOT NULL CHECK (balance_after >= 0),
    description   text NOT NULL DEFAULT '',
    book_id       bigint,
    run_id        uuid UNIQUE,
    created_at    timestamptz NOT NULL DEFAULT now(),
    CHECK ((amount > 0) = (kind IN ('purchase', 'bonus'))),
    CHECK ((kind = 'book_spend') = (run_id IS NOT NULL))
);
CREATE INDEX credit_transaction_newest ON credit_transaction (account_id, id DESC) INCLUDE (amount);
CREATE UNIQUE INDEX credit_transaction_one_grant_per_lot ON credit_transaction (lot_id) WHERE kind IN ('purchase', 'bonus');

CREATE FUNCTION refuse_change_of_ledger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the credit ledger is append-only' USING ERRCODE = 'integrity_constraint_violation';
END
$$;
CREATE TRIGGER credit_transaction_is_append_only BEFORE UPDATE OR DELETE ON credit_transaction
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_ledger();
CREATE TRIGGER credit_transaction_is_never_emptied BEFORE TRUNCATE ON credit_transaction
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_ledger();

-- At commit: the ledger's sum, the lots' sum and the balance are one number.
CREATE FUNCTION require_equal_balance() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    holder bigint := CASE TG_OP WHEN 'DELETE' THEN OLD.account_id ELSE NEW.account_id END;
    shown  bigint := (SELECT balance FROM wallet WHERE account_id = holder);
    booked bigint := (SELECT coalesce(sum(amount), 0) FROM credit_transaction WHERE account_id = holder);
    lots   bigint := (SELECT coalesce(sum(remaining), 0) FROM credit_lot WHERE account_id = holder);
BEGIN
    IF coalesce(shown, 0) <> booked OR booked <> lots THEN
        RAISE EXCEPTION 'account %: balance %, ledger %, lots %', holder, shown, booked, lots
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER wallet_equals_ledger AFTER INSERT OR UPDATE OR DELETE ON wallet
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION require_equal_balance();
CREATE CONSTRAINT TRIGGER lots_equal_ledger AFTER INSERT OR UPDATE OR DELETE ON credit_lot
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION require_equal_balance();
CREATE CONSTRAINT TRIGGER ledger_equals_wallet AFTER INSERT ON credit_transaction
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION require_equal_balance();

-- An allowance or a credit set aside for a book. `run_id` is the run that uses it; null: kept until `kept_until`
-- after a run that ended with chapters written. It outlives the book, so that deleting a stopped book after
-- exporting it gives nothing back before that.
CREATE TABLE hold (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id   bigint NOT NULL REFERENCES account ON DELETE CASCADE,
    book_id      bigint UNIQUE REFERENCES book ON DELETE SET NULL,
    run_id       uuid UNIQUE,
    source       text NOT NULL CHECK (source IN ('subscription', 'credits')),
    lot_id       bigint REFERENCES credit_lot,
    period_start timestamptz NOT NULL,
    period_end   timestamptz NOT NULL,
    kept_until   timestamptz,
    created_at   timestamptz NOT NULL DEFAULT now(),
    CHECK ((source = 'credits') = (lot_id IS NOT NULL)),
    CHECK ((run_id IS NULL) = (kept_until IS NOT NULL))
);
CREATE INDEX hold_account ON hold (account_id, period_start);
CREATE INDEX hold_lot ON hold (lot_id) WHERE lot_id IS NOT NULL;

-- One row a completed run: what paid for it.
CREATE TABLE consumption (
    run_id       uuid PRIMARY KEY,
    account_id   bigint NOT NULL REFERENCES account ON DELETE CASCADE,
    book_id      bigint,
    source       text NOT NULL CHECK (source IN ('subscription', 'credits')),
    lot_id       bigint REFERENCES credit_lot,
    period_start timestamptz NOT NULL,
    words        integer NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX consumption_account ON consumption (account_id, created_at);

-- Add-ons owned: by the month (a subscription at the processor), or by uses (paid checkouts less used ones).
CREATE TABLE account_addon (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id         bigint NOT NULL REFERENCES account ON DELETE CASCADE,
    addon_id           bigint NOT NULL REFERENCES addon,
    billing_type       text NOT NULL CHECK (billing_type IN ('monthly', 'per_use')),
    status             text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'trialing', 'past_due', 'canceled', 'incomplete')),
    processor_id       text UNIQUE,
    current_period_end timestamptz,
    past_due_since     timestamptz,
    created_at         timestamptz NOT NULL DEFAULT now(),
    UNIQUE (account_id, addon_id, billing_type)
);

-- One production made with an add-on: held while it runs (`used_at` null), counted when it completes.
CREATE TABLE addon_use (
    run_id           uuid PRIMARY KEY,
    account_addon_id bigint NOT NULL REFERENCES account_addon ON DELETE CASCADE,
    book_id          bigint,
    held_at          timestamptz NOT NULL DEFAULT now(),
    used_at          timestamptz
);
CREATE INDEX addon_use_owner ON addon_use (account_addon_id, used_at);

-- Every event that the processor sent and signed. `applied_at` is set in the transaction of its effect.
CREATE TABLE payment_event (
    id          text PRIMARY KEY,
    type        text NOT NULL,
    payload     jsonb NOT NULL,
    created_at  timestamptz NOT NULL,
    received_at timestamptz NOT NULL DEFAULT now(),
    applied_at  timestamptz,
    outcome     text NOT NULL DEFAULT ''
);
CREATE INDEX payment_event_waiting ON payment_event (created_at, id) WHERE applied_at IS NULL;

-- How often what the processor says of an object was applied. Whoever read the object before another
-- applied it finds a higher number and reads again, so that an older view never replaces a newer one.
CREATE TABLE payment_object (
    id      text PRIMARY KEY,
    version bigint NOT NULL DEFAULT 0
);

-- What an operator did by hand, and why.
CREATE TABLE audit (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    actor      text NOT NULL,
    action     text NOT NULL,
    account_id bigint REFERENCES account ON DELETE SET NULL,
    details    jsonb NOT NULL DEFAULT '{}',
    reason     text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX audit_account ON audit (account_id, id DESC);
