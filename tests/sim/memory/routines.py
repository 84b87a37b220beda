"""Functions that have to do with the server's state, and the service's own functions and triggers."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.sim.memory.errors import SqlError
from tests.sim.memory.values import DAY
from tests.sim.recorder import WITHOUT_LEASE

if TYPE_CHECKING:
    from tests.sim.memory.catalog import TableShape
    from tests.sim.memory.statements import Execution

LEDGER_LOCK = 1668244340  # the first number of the lock that `reserve_cost` takes


def nextval(execution: Execution, sequence: int) -> int:
    sequences = execution.store.sequences
    sequences[sequence] += 1
    return sequences[sequence] - 1


def _notify(execution: Execution, channel: str, payload: str) -> str:
    execution.transaction.notified[channel, payload] = None
    return ""


def _lock(execution: Execution, *key: int) -> str:
    execution.lock_advisory(key)
    return ""


def _folded(_execution: Execution, name: str | None) -> str | None:
    return name and unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).lower())


def _folded_address(execution: Execution, address: str | None) -> str | None:
    folded = _folded(execution, address)
    if folded and folded.endswith("@googlemail.com"):
        return folded.removesuffix("@googlemail.com") + "@gmail.com"
    return folded


SPENT = "SELECT coalesce(sum(cost_micros), 0)::bigint FROM model_call WHERE {}"
RESERVED_FOR = "SELECT coalesce(sum(cost_micros), 0)::bigint FROM cost_reservation WHERE {} AND call_id <> $3"
TODAY = "created_at >= $2"
CAPS = (
    ("book", "book_id = $1 AND $2::timestamptz IS NOT NULL", f"book_id = $1 AND {TODAY}"),
    ("account_day", f"account_id = $1 AND {TODAY}", f"account_id = $1 AND {TODAY}"),
    ("day", f"$1::bigint IS NULL AND {TODAY}", f"$1::bigint IS NULL AND {TODAY}"),
)
RESERVE = """
    INSERT INTO cost_reservation (call_id, account_id, book_id, cost_micros) VALUES ($1, $2, $3, $4)
    ON CONFLICT DO NOTHING
"""


def _reserve_cost(
    execution: Execution, call: bytes, account: int | None, book: int | None, micros: int, *caps: int | None
) -> tuple[str | None, int | None, int | None]:
    today = execution.now // DAY * DAY
    execution.lock_advisory((LEDGER_LOCK, account or 0 if caps[2] is None else 0))
    for (name, paid, reserved_for), cap, key in zip(CAPS, caps, (book, account, None), strict=True):
        if cap is None:
            continue
        ((spent,),) = execution.run(SPENT.format(paid), key, today)
        ((reserved,),) = execution.run(RESERVED_FOR.format(reserved_for), key, today, call)
        if spent >= cap or spent + reserved + micros > cap:
            return name, spent, reserved
    if micros > 0:
        execution.run(RESERVE, call, account, book, micros)
    return None, None, None


SPECIAL: dict[str, Callable[..., Any]] = {
    "now": lambda execution: execution.now,
    "clock_timestamp": lambda execution: execution.now,
    "nextval": nextval,
    "pg_notify": _notify,
    "pg_advisory_xact_lock": _lock,
    "folded": _folded,
    "folded_address": _folded_address,
    "reserve_cost": _reserve_cost,
}


# Triggers. `old` and `new` are rows; one before a row comes may give another.


def _value(shape: TableShape, row: Any, name: str) -> Any:
    return row[next(place for place, column in enumerate(shape.columns) if column.name == name)]


KEEP_TWENTY = """
    DELETE FROM chapter_revision
     WHERE chapter_id = $1
       AND id <= (SELECT id FROM chapter_revision WHERE chapter_id = $1 ORDER BY id DESC OFFSET 20 LIMIT 1)
"""


def _forget_old_revisions(execution: Execution, shape: TableShape, _old: Any, new: Any) -> None:
    execution.run(KEEP_TWENTY, _value(shape, new, "chapter_id"))


SUBSCRIBE = """
    INSERT INTO subscription (account_id, plan_id, anchor)
    SELECT $1::bigint, plan.id, $2::timestamptz FROM plan WHERE plan.slug = 'free' ON CONFLICT (account_id) DO NOTHING
"""


def _subscribe(execution: Execution, shape: TableShape, _old: Any, new: Any) -> None:
    execution.run(SUBSCRIBE, _value(shape, new, "id"), _value(shape, new, "created_at"))


def _give_slot(execution: Execution, shape: TableShape, _old: Any, new: Any) -> None:
    execution.run("INSERT INTO account_slot (account_id) VALUES ($1) ON CONFLICT DO NOTHING", _value(shape, new, "id"))


RESERVED = "SELECT 1 FROM former_address WHERE email_key = $1 AND account_id <> $2 AND reserved_until > now()"


def _refuse_reserved_address(execution: Execution, shape: TableShape, _old: Any, new: Any) -> None:
    if execution.run(RESERVED, _value(shape, new, "email_key"), _value(shape, new, "id")):
        raise SqlError("23505", "this address may still be taken back", "account_email")


def _refuse_change_of_ledger(*_: Any) -> None:
    raise SqlError("23000", "the credit ledger is append-only")


def _require_equal_balance(execution: Execution, shape: TableShape, old: Any, new: Any) -> None:
    holder = _value(shape, new or old, "account_id")
    ((shown, booked, lots),) = execution.run(BALANCES, holder)
    if not (shown or 0) == booked == lots:
        raise SqlError("23000", f"account {holder}: balance {shown}, ledger {booked}, lots {lots}")


BALANCES = """
    SELECT (SELECT balance FROM wallet WHERE account_id = $1),
           (SELECT coalesce(sum(amount), 0) FROM credit_transaction WHERE account_id = $1),
           (SELECT coalesce(sum(remaining), 0) FROM credit_lot WHERE account_id = $1)
"""


def _forget_media(execution: Execution, shape: TableShape, old: Any, _new: Any) -> None:
    keys = [_value(shape, old, column.name) for column in shape.columns
            if column.name in ("image_key", "thumbnail_key")]  # fmt: skip
    execution.run("DELETE FROM media WHERE key = ANY($1::text[])", keys)


def _settle_reservation(execution: Execution, shape: TableShape, _old: Any, new: list[Any]) -> list[Any]:
    call = _value(shape, new, "call_id")
    settled = execution.run("DELETE FROM cost_reservation WHERE call_id = $1 RETURNING created_at", call)
    if settled:
        new[next(place for place, column in enumerate(shape.columns) if column.name == "created_at")] = settled[0][0]
    return new


CHARGED = "INSERT INTO seen.charge SELECT $1::bigint, pid FROM process WHERE boot_id = $2"
PID = "SELECT pid FROM process WHERE boot_id = $1"
BREACH = "INSERT INTO seen.breach VALUES ($1, $2)"
EARLIER = "SELECT 1 FROM run r WHERE r.account_id = $1 AND r.status = 'queued' AND r.queue_seq < $2"
SPREAD = """
    SELECT (SELECT count(*) FROM run WHERE status = 'running'),
           (SELECT count(*) FROM run WHERE status = 'running' AND owner = $1),
           (SELECT count(*) FROM process WHERE lease_until > now() AND NOT draining)
"""


def _note(execution: Execution, shape: TableShape, old: Any, new: Any) -> None:
    """The twin of `tests.sim.recorder`'s."""
    names = {column.name: place for place, column in enumerate(shape.columns)}
    was, now = (lambda name: old[names[name]]), (lambda name: new[names[name]])
    book = now("book_id")
    if now("crash_count") > was("crash_count") and was("status") == "running":
        execution.run(CHARGED, book, was("owner"))
    if now("call_no") > was("call_no"):
        found = execution.run(PID, now("owner"))
        if found and found[0][0] != execution.transaction.session.disposition.pid:
            execution.run(BREACH, "a process has written or begun a chapter of it that had lost it", book)
    if now("written") > was("written") and was("status") in ("stopped", "completed", "error"):
        execution.run(BREACH, "a chapter of it was written after its end", book)
    if now("written") > was("written") and now("crash_count") > 0:
        execution.run(BREACH, "it is still suspected after its progress", book)
    owners = was("owner"), now("owner")
    if None not in owners and owners[0] != owners[1] and now("epoch") == was("epoch"):
        execution.run(BREACH, "another process has it under the same epoch", book)
    if was("status") == "paused" and now("status") in ("queued", "running") and now("queue_seq") == was("queue_seq"):
        execution.run(BREACH, "it has kept its place in the queue over a pause", book)
    begins = was("status") == "queued" and now("status") == "running"
    if begins and execution.run(EARLIER, now("account_id"), now("queue_seq")):
        execution.run(BREACH, "it was started before one that was accepted earlier", book)


def _note_owner(execution: Execution, shape: TableShape, old: Any, new: Any) -> None:
    """The twin of `tests.sim.recorder`'s."""
    owner = _value(shape, new, "owner")
    if owner and not (old and _value(shape, old, "owner") == owner) and not execution.run(PID, owner):
        execution.run(BREACH, WITHOUT_LEASE, _value(shape, new, "book_id"))
    if owner and old and _value(shape, old, "owner") != owner and _value(shape, old, "status") == "running":
        ((running, mine, processes),) = execution.run(SPREAD, owner)
        if mine > 1 + math.ceil(running / max(1, processes)):
            execution.run(BREACH, "it was taken by a process that had its share", _value(shape, new, "book_id"))


TRIGGERS: dict[str, Callable[..., Any]] = {
    "forget_old_revisions": _forget_old_revisions,
    "subscribe_new_account": _subscribe,
    "give_slot_to_new_account": _give_slot,
    "refuse_reserved_address": _refuse_reserved_address,
    "refuse_change_of_ledger": _refuse_change_of_ledger,
    "require_equal_balance": _require_equal_balance,
    "forget_media": _forget_media,
    "settle_reservation": _settle_reservation,
    "note": _note,
    "note_owner": _note_owner,
}
