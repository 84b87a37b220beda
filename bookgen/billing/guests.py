"""Buyers without an account: the one with their e-mail address, or a new one and a mailed way in."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator

from bookgen.errors import InvalidInput
from bookgen.models import LinkPurpose
from bookgen.store import accounts, mails
from bookgen.store.accounts import NewAccount
from bookgen.store.database import DB

ATTEMPTS = 8


async def account_for(connection: DB, email: str) -> tuple[int, bool]:
    """Whose purchase this is, and whether the account is new.

    Only a new account is mailed a magic link: paying with somebody's address is no way into their account.
    """
    for username in _usernames(email):
        known = await accounts.find_by_email(connection, email)
        if known:
            return known.id, False
        try:
            async with connection.transaction():
                created = await accounts.create(connection, NewAccount(username=username, email=email))
        except InvalidInput:  # the name was taken, or the address was, a moment ago
            continue
        await mails.enqueue(connection, LinkPurpose.MAGIC_LOGIN, created.email)
        return created.id, True
    raise AssertionError("eight random usernames were taken")


def _usernames(email: str) -> Iterator[str]:
    name = re.sub(r"[^\w.+-]", "", email.partition("@")[0])[:100]
    name = name if len(name) >= 3 else "reader"
    yield name
    for _ in range(ATTEMPTS):
        yield f"{name}-{secrets.token_hex(4)}"
