-- concurrently
-- What `store/retention.py` looks for when it deletes old rows.
CREATE INDEX CONCURRENTLY IF NOT EXISTS audit_created ON audit (created_at);
CREATE INDEX CONCURRENTLY IF NOT EXISTS payment_event_applied ON payment_event (received_at) WHERE applied_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS checkout_unpaid ON checkout (updated_at)
    WHERE status IN ('open', 'expired', 'failed');
CREATE INDEX CONCURRENTLY IF NOT EXISTS run_failed ON run (finished_at) WHERE status = 'error';
