"""Limits the attempts to guess the password of one account."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import AsyncIterator, Mapping

from aiohttp import web

from bookgen.http.edge.admission import give_back_to_shared, take_from_shared
from bookgen.http.edge.keys import ACCOUNT_ID, SERVICES, VERDICT
from bookgen.rate_limits import Budget, LimitClass
from bookgen.store import accounts
from bookgen.store.accounts import LoginCandidate

# How many attempts at one account's password are allowed: as many as sign-ins from one address, but at most
# MAX_ATTEMPTS, and in a period that is WINDOWS times as long.
MAX_ATTEMPTS = 20
WINDOWS = 5


@contextlib.asynccontextmanager
async def own_password_attempt(request: web.Request, origin: Mapping[str, str]) -> AsyncIterator[None]:
    """Count an attempt to enter the caller's own current password, which the `with` block checks.

    If the block raises no error, the attempt does not count. `origin`: the caller's browser or network. Raises
    RateLimited after too many attempts.
    """
    db = request.app[SERVICES].database.http
    candidate = await accounts.candidate_by_id(db, request[ACCOUNT_ID], origin)
    async with password_attempt(request, candidate):
        yield


@contextlib.asynccontextmanager
async def password_attempt(request: web.Request, candidate: LoginCandidate) -> AsyncIterator[None]:
    """Count an attempt to enter a password, which the `with` block checks. Raises RateLimited after too many attempts.

    If the block raises no error, the attempt does not count. `candidate`: the name that the caller entered, and the
    account with this name.

    Attempts are counted per account, whatever the caller's address, the spelling of the name, or the server process. A
    browser or network from which the account has signed in before has a separate count, so that strangers cannot lock
    the owner out. Names without an account are counted separately. Otherwise many such names could push the counts of
    accounts out of the rate limiter's memory.
    """
    per_address = request.app[SERVICES].limiter.budgets[LimitClass.AUTH]
    budget = Budget(min(per_address.capacity, MAX_ATTEMPTS), per_address.seconds * WINDOWS)
    name, guessed = "guesses at nobody", hashlib.sha256(candidate.name.encode()).hexdigest()
    if candidate.account is not None:
        name, guessed = "guesses", f"{candidate.account.id} {candidate.known_origin or ''}"
    verdict = await take_from_shared(request.app, name, guessed, budget)
    if not verdict.allowed:
        request[VERDICT] = verdict
        raise verdict.refusal("login", "Too many password attempts. Wait the number of seconds in Retry-After.")
    yield
    await give_back_to_shared(request.app, name, guessed, budget)
