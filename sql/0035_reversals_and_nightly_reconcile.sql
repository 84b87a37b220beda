-- A refund that fails, or a dispute that is won, puts the credits back that it took: a `refund` row with a positive
-- amount.
ALTER TABLE credit_transaction DROP CONSTRAINT credit_transaction_check;
ALTER TABLE credit_transaction ADD CONSTRAINT credit_transaction_sign
    CHECK (kind = 'refund' OR (amount > 0) = (kind IN ('purchase', 'bonus')));

-- When one of the processes next compares what was paid with what was given. One row.
CREATE TABLE reconciliation (due_at timestamptz NOT NULL);
CREATE UNIQUE INDEX reconciliation_only ON reconciliation ((true));
INSERT INTO reconciliation VALUES (now());
