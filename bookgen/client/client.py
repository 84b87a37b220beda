"""The Python client of the API.

    async with Client("http://127.0.0.1:8000") as client:
        await client.login("me@example.org", "my password")
        book = await client.books.create("The Salt Road", description="A widow smuggles salt over the Alps.")
        await book.write(on_progress=lambda status: print(status["status_message"]))
        await book.save("out/")

A failed call raises an `ApiError`. `bookgen.client.errors` has a subclass for each kind of failure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from bookgen.client.books import Books
from bookgen.client.calls import Calls


class Client(Calls):
    """The API calls of one account, and in `books` the account's books. Use it as an async context manager."""

    def __init__(self, server: str, *, pause: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        super().__init__(server, pause=pause)
        self.books = Books(self)
