"""Password hashing with argon2id in dedicated threads, with a bounded queue."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from bookgen.errors import InvalidInput, RateLimited
from bookgen.processes import STEPS_BACK

MIN_LENGTH = 8
MAX_LENGTH = 128
# By zxcvbn's estimate. At 20 tries per five minutes (`http.auth`), this many guesses take 17 days.
MIN_GUESSES = 100_000
MAX_JUDGED_CHARACTERS = 40  # the time of the estimate grows at least with the square of the length

T = TypeVar("T")


class Passwords:
    """Hashes and checks passwords off the event loop.

    The defaults are OWASP's minimum for argon2id: 19 MiB and some 50 ms per hash. A flood of logins fills a short queue
    and gets 429, instead of filling the memory. `threads`: concurrent hashes per queue.

    Calls with `known` have a queue of their own, so that strangers' sign-ins do not delay them. `known` means that the
    request has a valid token, or comes from a browser or network where the account has signed in before.
    """

    def __init__(
        self,
        *,
        time_cost: int = 2,
        memory_kib: int = 19_456,
        threads: int = 1,
        max_waiting: int = 64,
        max_known_waiting: int = 64,
    ) -> None:
        self._hasher = PasswordHasher(time_cost=time_cost, memory_cost=memory_kib, parallelism=1)
        self._strangers, self._known = _Lane(threads, max_waiting), _Lane(threads, max_known_waiting)
        # A missing account's password is checked against this hash, so that response times reveal nothing.
        self._nobody = self._strangers.executor.submit(self._hasher.hash, "nobody has this password")

    async def hash(self, password: str, *, known: bool = False) -> str:
        return await self._lane(known).run(lambda: self._hasher.hash(_normal(password)))

    async def verify(self, password: str, password_hash: str | None, *, known: bool = False) -> bool:
        """Whether the password is right; False without a `password_hash`.

        A call without a `password_hash` takes as long as one with it, so that the time does not reveal that there is no
        account.
        """
        right = await self._lane(known).run(
            lambda: self._verify(_normal(password), password_hash or self._nobody.result())
        )
        return right and password_hash is not None

    async def require_strong(self, field: str, password: str, *own: str, known: bool = False) -> None:
        """Raise InvalidInput, about `field`, if the password is easy to guess or equals a text in `own`.

        `own`: the account's username and e-mail address. The check runs in a thread, off the event loop.
        """
        await self._lane(known).run(lambda: require_strong(field, password, *own))

    def outdated(self, password_hash: str) -> bool:
        return self._hasher.check_needs_rehash(password_hash)

    def close(self) -> None:
        for lane in (self._strangers, self._known):
            lane.executor.shutdown(wait=False, cancel_futures=True)

    def _lane(self, known: bool) -> _Lane:
        return self._known if known else self._strangers

    def _verify(self, password: str, password_hash: str) -> bool:
        try:
            return self._hasher.verify(password_hash, password)
        except (VerificationError, InvalidHashError):
            return False


class _Lane:
    """Threads that hash passwords, with a bounded queue."""

    def __init__(self, threads: int, max_waiting: int) -> None:
        self.executor = ThreadPoolExecutor(threads, thread_name_prefix="password", initializer=_give_way)
        self._max_waiting = max_waiting
        self._waiting = 0

    async def run(self, work: Callable[[], T]) -> T:
        if self._waiting >= self._max_waiting:
            raise RateLimited(
                "Too many sign-ins at once. Try again in a moment.",
                retry_after=3,
                limit=self._max_waiting,
                remaining=0,
                reset_seconds=3,
                scope="passwords",
            )
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self.executor, work)
        finally:
            self._waiting -= 1


def _give_way() -> None:
    """Lower the priority of this thread below the event loop. Only Linux has a niceness per thread."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + STEPS_BACK)


def require_strong(field: str, password: str, *own: str) -> None:
    """Raise InvalidInput, about `field`, if the password is easy to guess or equals a text in `own`.

    `own`: the account's username and e-mail address. Takes a few milliseconds even for the longest password, because
    only its first characters are rated.
    """
    from zxcvbn import zxcvbn  # its lists of words take a while to load

    folded = _normal(password).casefold()
    words = {_normal(word).casefold() for name in own for word in (name, name.partition("@")[0]) if word}
    if folded in words:
        raise InvalidInput(**{field: ["Your username or e-mail address cannot be your password. Choose another."]})
    judged = _normal(password)[:MAX_JUDGED_CHARACTERS]
    if zxcvbn(judged, user_inputs=sorted(words))["guesses"] < MIN_GUESSES:
        raise InvalidInput(**{field: ["This password is too easy to guess. Use a longer one, such as several words."]})


def _normal(password: str) -> str:
    """The password in Unicode normal form NFKC, since keyboards encode some characters differently."""
    return unicodedata.normalize("NFKC", password)
