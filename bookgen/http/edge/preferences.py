"""The Prefer header (RFC 7240): `wait=N` waits for a change of what the caller has, and `return=minimal`."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from aiohttp import web

MAX_SECONDS = 60
MAX_PER_ACCOUNT = 32
MAX_TOTAL = 4_000

_WAIT = re.compile(r'\s*wait\s*=\s*"?([0-9]{1,9})[0-9]*"?\s*(?:;.*)?', re.I)

_MINIMAL = re.compile(r'\s*return\s*=\s*"?minimal"?\s*(?:;.*)?', re.I)


class Waiters:
    """Counts the requests that wait for a change. If too many wait, a further request is answered without waiting."""

    def __init__(self) -> None:
        self._of_account: Counter[int] = Counter()

    @contextlib.contextmanager
    def admitted(self, request: web.Request, account_id: int) -> Iterator[int]:
        """Yield how many seconds the request may wait: 0 without `Prefer: wait`, or if too many requests wait."""
        seconds = wait_seconds(request.headers.getall("Prefer", ()))
        if not seconds or self._of_account[account_id] >= MAX_PER_ACCOUNT or self._of_account.total() >= MAX_TOTAL:
            yield 0
            return
        self._of_account[account_id] += 1
        try:
            yield seconds
        finally:
            self._of_account[account_id] -= 1
            if not self._of_account[account_id]:
                del self._of_account[account_id]


def prefers_minimal(headers: Iterable[str]) -> bool:
    """Whether the Prefer headers ask for `return=minimal`."""
    return any(_MINIMAL.fullmatch(each) for header in headers for each in header.split(","))


def wait_seconds(headers: Iterable[str]) -> int:
    """The seconds of the first `wait` in the Prefer headers, at most MAX_SECONDS; 0 if no header has one."""
    found = (_WAIT.fullmatch(each) for header in headers for each in header.split(","))
    return next((min(int(wait[1]), MAX_SECONDS) for wait in found if wait), 0)
