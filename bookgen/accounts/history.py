"""What an account's holder does with it, or whoever acts as one: kept for the operator and told to the owner."""

from __future__ import annotations

from datetime import timedelta

from bookgen.accounts.mailing import LETTERS_AN_HOUR
from bookgen.models import Account, Notice
from bookgen.store import audit, mails
from bookgen.store.database import DB

TOLD = {"password-changed": Notice.PASSWORD_CHANGED, "google-linked": Notice.GOOGLE_LINKED}


async def record(connection: DB, account: Account, action: str, **details: str) -> None:
    """Enter it in the audit, in the transaction that does it, and mail the owner what the owner should know of.

    No more than LETTERS_AN_HOUR of a kind: the address may be a stranger's.
    """
    await audit.record(connection, actor=account.username, action=action, account_id=account.id, details=details)
    notice = TOLD.get(action)
    if notice and await audit.count(connection, account.id, action, timedelta(hours=1)) <= LETTERS_AN_HOUR:
        await mails.enqueue(connection, notice, account.email, account.id)
