"""Actions on an account: recorded in the audit log for the operator, and reported to the owner by e-mail."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from bookgen.accounts.mailing import LETTERS_AN_HOUR
from bookgen.models import Account, Notice
from bookgen.store import audit, mails
from bookgen.store.database import DB

TOLD = {"password-changed": Notice.PASSWORD_CHANGED, "google-linked": Notice.GOOGLE_LINKED}
ENDED = {"ended": "yes"}  # linking Google ended the former password and tokens
NEW = {"new": "yes"}  # a sign-in from a new browser and a new network


async def record(connection: DB, account: Account, action: str, **details: str) -> None:
    """Record an action in the audit log, in the action's transaction. E-mail the owner if TOLD lists the action."""
    await audit.record(connection, actor=account.username, action=action, account_id=account.id, details=details)
    notice = TOLD.get(action)
    if notice and await _is_to_tell(connection, account, action, {}):
        await mails.enqueue(connection, notice, account.email, account.id, **details)


async def record_sign_in(connection: DB, account: Account, way: str, origin: Mapping[str, str], *, new: bool) -> None:
    """Record a sign-in in the audit log. If it is `new`, also e-mail the owner.

    `way`: how the user signed in, such as "Google". `origin`: `Caller.origin`. `new`: the account was used
    before, but from neither this browser nor this network.
    """
    details = {"by": way, **origin, **(NEW if new else {})}
    await audit.record(connection, actor=account.username, action="signed-in", account_id=account.id, details=details)
    if new and await _is_to_tell(connection, account, "signed-in", NEW):
        await mails.enqueue(connection, Notice.NEW_SIGN_IN, account.email, account.id, by=way)


async def _is_to_tell(connection: DB, account: Account, action: str, details: Mapping[str, str]) -> bool:
    """Whether to e-mail the owner about an action that was just recorded.

    Returns False if the account has more than LETTERS_AN_HOUR such actions within an hour. The address may belong to a
    stranger, who must not be flooded.
    """
    return await audit.count(connection, account.id, action, timedelta(hours=1), details) <= LETTERS_AN_HOUR
