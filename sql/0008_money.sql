-- Accounts that are older than plans get what every new account gets.
INSERT INTO subscription (account_id, plan_id, anchor)
SELECT account.id, plan.id, account.created_at FROM account JOIN plan ON plan.slug = 'free'
ON CONFLICT (account_id) DO NOTHING;

-- The days of grace have a beginning, or they would have no end.
UPDATE subscription SET past_due_since = updated_at WHERE status = 'past_due' AND past_due_since IS NULL;
ALTER TABLE subscription ADD CONSTRAINT subscription_past_due_since
    CHECK (status <> 'past_due' OR past_due_since IS NOT NULL);
UPDATE account_addon SET past_due_since = now() WHERE status = 'past_due' AND past_due_since IS NULL;
ALTER TABLE account_addon ADD CONSTRAINT account_addon_past_due_since
    CHECK (status <> 'past_due' OR past_due_since IS NOT NULL);

-- A book costs one credit, and whoever pays with a lot owns it.
ALTER TABLE credit_transaction ADD CONSTRAINT credit_transaction_one_credit_a_book
    CHECK (kind <> 'book_spend' OR amount = -1);
ALTER TABLE credit_lot ADD CONSTRAINT credit_lot_owner UNIQUE (id, account_id);
ALTER TABLE credit_transaction ADD CONSTRAINT credit_transaction_own_lot
    FOREIGN KEY (lot_id, account_id) REFERENCES credit_lot (id, account_id);
ALTER TABLE hold ADD CONSTRAINT hold_own_lot
    FOREIGN KEY (lot_id, account_id) REFERENCES credit_lot (id, account_id);
ALTER TABLE consumption ADD CONSTRAINT consumption_own_lot
    FOREIGN KEY (lot_id, account_id) REFERENCES credit_lot (id, account_id);
