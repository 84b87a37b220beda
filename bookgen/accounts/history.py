"""What an account's holder does with it, or whoever acts as one: kept for the operator and told to the owner."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from bookgen.accounts.mailing import LETTERS_AN_HOUR
from bookgen.models import Account, Notice
from bookgen.store import audit, mails
from bookgen.store.database import DB

TOLD = {"password-changed": Notice.PASSWORD_CHANGED, "google-linked": Notice.GOOGLE_LINKED}
NEW = {"new": "yes"}  # of a sign-in: from a browser and a network that were not seen before


async def record(connection: DB, account: Account, action: str, **details: str) -> None:
    """Enter it in the audit, in the transaction that does it, and mail the owner what the owner should know of."""
    await audit.record(connection, actor=account.username, action=action, account_id=account.id, details=details)
    notice = TOLD.get(action)
    if notice and await _is_to_tell(connection, account, action, {}):
        await mails.enqueue(connection, notice, account.email, account.id)


async def record_sign_in(connection: DB, account: Account, way: str, origin: Mapping[str, str], *, new: bool) -> None:
    """Enter a sign-in in the audit. The owner is mailed one that is `new`."""
    details = {"by": way, **origin, **(NEW if new else {})}
    await audit.record(connection, actor=account.username, action="signed-in", account_id=account.id, details=details)
    if new and await _is_to_tell(connection, account, "signed-in", NEW):
        await mails.enqueue(connection, Notice.NEW_SIGN_IN, account.email, account.id, by=way)


async def _is_to_tell(connection: DB, account: Account, action: str, details: Mapping[str, str]) -> bool:
    """Whether it was done no more than LETTERS_AN_HOUR times within the hour: the address may be a stranger's."""
    return await audit.count(connection, account.id, action, timedelta(hours=1), details) <= LETTERS_AN_HOUR
