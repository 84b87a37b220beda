"""Deletes old rows of tables that otherwise only grow, once they are no longer needed.

Each statement deletes a bounded number of rows and leaves out rows that another transaction has locked.
"""

from __future__ import annotations

from bookgen.store.database import DB

BATCH = 1000

# Stripe repeats an event for three days. Applying one again does no harm: it makes our rows say what Stripe says now.
PAYMENT_EVENTS = """
    DELETE FROM payment_event
     WHERE id = ANY(ARRAY(SELECT id FROM payment_event
                           WHERE applied_at IS NOT NULL AND received_at < now() - interval '180 days'
                           LIMIT $1 FOR UPDATE SKIP LOCKED))
"""

# A session at Stripe expires after a day. A paid or refunded checkout stays: credits and add-ons refer to it.
CHECKOUTS = """
    DELETE FROM checkout
     WHERE id = ANY(ARRAY(SELECT id FROM checkout
                           WHERE status IN ('open', 'expired', 'failed') AND updated_at < now() - interval '90 days'
                           LIMIT $1 FOR UPDATE SKIP LOCKED))
"""

AUDIT = """
    DELETE FROM audit
     WHERE id = ANY(ARRAY(SELECT id FROM audit WHERE created_at < now() - interval '2 years'
                           LIMIT $1 FOR UPDATE SKIP LOCKED))
"""

# A failed run that is resumed later makes these model calls again. Every other ended run has no steps.
STEPS = """
    DELETE FROM step
     WHERE (book_id, key) IN (SELECT s.book_id, s.key FROM step s JOIN run r ON r.id = s.run_id
                               WHERE r.status = 'error' AND r.finished_at < now() - interval '90 days'
                               LIMIT $1 FOR UPDATE OF s SKIP LOCKED)
"""


KEYS = """
    DELETE FROM idempotency_key
     WHERE (account_id, key) IN (SELECT account_id, key FROM idempotency_key
                                  WHERE started_at < now() - interval '24 hours'
                                  LIMIT $1 FOR UPDATE SKIP LOCKED)
"""

CALLER_BUCKETS = """
    DELETE FROM caller_bucket
     WHERE (name, caller) IN (SELECT name, caller FROM caller_bucket WHERE full_at < now()
                               LIMIT $1 FOR UPDATE SKIP LOCKED)
"""


REGISTRATIONS = """
    DELETE FROM registration
     WHERE (day, network) IN (SELECT day, network FROM registration WHERE day < current_date
                               LIMIT $1 FOR UPDATE SKIP LOCKED)
"""


async def delete_old_rows(db: DB) -> None:
    """Delete one batch of each kind of old row."""
    for statement in (PAYMENT_EVENTS, CHECKOUTS, AUDIT, STEPS, KEYS, CALLER_BUCKETS, REGISTRATIONS):
        await db.execute(statement, BATCH)
