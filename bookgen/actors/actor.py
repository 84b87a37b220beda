"""Actors, which handle the messages in their mailboxes in order, and the registry of this process's actors.

This module knows nothing about books.
"""

from __future__ import annotations

import asyncio
import contextvars
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Generic, TypeAlias, TypeVar

import structlog

from bookgen.errors import BookgenError, RateLimited, Unavailable

log = structlog.get_logger()

MAX_WAITING = 32
ANSWER_SECONDS = 25.0

# Tasks that nobody awaits. The event loop keeps only weak references to tasks.
_running: set[asyncio.Task[Any]] = set()


def now() -> float:
    """Monotonic loop time in seconds; wall-clock jumps do not affect it."""
    return asyncio.get_running_loop().time()


def spawn(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """Start a task and keep a reference to it until it ends; asyncio alone could lose it to garbage collection.

    The task starts with empty context variables, not with those of the caller.
    """
    task = asyncio.get_running_loop().create_task(work, context=contextvars.Context())
    _running.add(task)
    task.add_done_callback(_running.discard)
    return task


class Actor(ABC):
    """Handles messages one at a time. An idle actor has neither a task nor a mailbox.

    If a message sent with `ask` raises an error, its caller gets the error and the actor continues. If the caller has
    stopped waiting, an unexpected error is logged. If a message sent with `tell` raises an error, the actor crashes:
    all callers that still wait get Unavailable, and `crashed` is called.
    """

    __slots__ = ("_asked", "_crashed", "_inbox", "_task", "last_told")

    def __init__(self) -> None:
        self._inbox: deque[tuple[Any, asyncio.Future[Any] | None]] | None = None
        self._task: asyncio.Task[Any] | None = None
        self._asked = 0
        self._crashed = False
        self.last_told = 0.0

    @abstractmethod
    async def receive(self, message: Any) -> Any:
        """Handle one message and return the answer for `ask`. Never wait for anything slower than the database."""

    @abstractmethod
    def crashed(self, error: Exception) -> None:
        """Clean up after a crash. The actor is not used again."""

    @property
    def idle(self) -> bool:
        """Whether the actor is handling no message."""
        return self._task is None

    def tell(self, message: Any) -> None:
        """Put a message into the mailbox and wait for no answer. A crashed actor ignores the message.

        Unlike `ask`, it never refuses a message, because the reports of the actor's own tasks must not be lost.
        """
        self._post(message, None)

    async def ask(self, message: Any, seconds: float = ANSWER_SECONDS) -> Any:
        """Put a message into the mailbox and wait for the answer.

        Raises RateLimited, without sending the message, if too many callers wait. Raises Unavailable if the actor
        crashes or gives no answer within `seconds`; in the latter case the message is still handled.
        """
        if self._asked >= MAX_WAITING:
            raise RateLimited("Too many requests are waiting for this book. Try again in a moment.", retry_after=1)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked += 1
        self._post(message, answer)
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            raise Unavailable(
                "This book is busy. Read its generation status (GET /books/{id}/generation-status/), then try again."
            ) from None

    def _post(self, message: Any, answer: asyncio.Future[Any] | None) -> None:
        if self._crashed:  # the actor that replaces this one reads from the database what is left to do
            if answer is not None:
                _answer(answer, error=Unavailable())
            return
        if self._inbox is None:
            self._inbox = deque()
        self._inbox.append((message, answer))
        self.last_told = now()
        if self._task is None:
            self._task = spawn(self._work())

    async def _work(self) -> None:
        try:
            while self._inbox:
                message, answer = self._inbox.popleft()
                if answer is not None:
                    self._asked -= 1
                await self._handle(message, answer)
        except Exception as error:
            self._give_up(error)
        finally:
            self._task = None
            self._inbox = None

    async def _handle(self, message: Any, answer: asyncio.Future[Any] | None) -> None:
        try:
            result = await self.receive(message)
        except Exception as error:
            if answer is None:
                raise
            if answer.done() and not isinstance(error, BookgenError):
                log.exception(
                    "error_without_caller",
                    message=type(message).__name__,
                    what="This error occurred after the request had ended, so the client did not receive it.",
                    to_do="Report the traceback as a bug.",
                )
            _answer(answer, error=error)
        except BaseException:
            if answer is not None:
                _answer(answer, error=Unavailable())
            raise
        else:
            if answer is not None:
                _answer(answer, result)

    def _give_up(self, error: Exception) -> None:
        waiting, self._inbox, self._asked, self._crashed = self._inbox or deque(), None, 0, True
        for _, answer in waiting:
            if answer is not None:
                _answer(answer, error=Unavailable())
        self.crashed(error)


def _answer(answer: asyncio.Future[Any], result: Any = None, *, error: BaseException | None = None) -> None:
    if answer.done():  # the caller has gone
        return
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(result)


Key: TypeAlias = tuple[int, int]  # account and book
A = TypeVar("A", bound=Actor)


class Registry(Generic[A]):
    """Finds actors by key, and creates them on demand.

    Actors store each other's keys, not references to each other, since an actor may be replaced or removed.
    """

    def __init__(self, make: Callable[[Key], A]) -> None:
        self._make = make
        self._actors: dict[Key, A] = {}

    def __len__(self) -> int:
        return len(self._actors)

    def __iter__(self) -> Iterator[A]:
        return iter(list(self._actors.values()))

    def find(self, key: Key) -> A | None:
        return self._actors.get(key)

    def find_or_make(self, key: Key) -> A:
        if (actor := self._actors.get(key)) is None:
            actor = self._actors[key] = self._make(key)
        return actor

    def tell(self, key: Key, message: Any) -> None:
        self.find_or_make(key).tell(message)

    def remove(self, key: Key, actor: Actor) -> None:
        """Remove `actor` from the registry, unless a newer actor is registered for `key`."""
        if self._actors.get(key) is actor:
            del self._actors[key]

    def clear(self) -> None:
        self._actors.clear()

    def passivate(self, unused_since: float) -> None:
        """Forget idle actors that have received no message since the loop time `unused_since`."""
        for key, actor in list(self._actors.items()):
            if actor.idle and actor.last_told < unused_since:
                del self._actors[key]
