"""The client for scripts without an event loop: the same calls, each of which waits for its answer.

with SyncClient("http://127.0.0.1:8000") as client:
    client.login("me@example.org", "my password")
    book = client.books.create("The Salt Road", description="A widow smuggles salt over the Alps.")
    book.write(on_progress=lambda status: print(status["status_message"]))
    book.save("out/")
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeVar

from bookgen.client.books import BookHandle, OnProgress
from bookgen.client.calls import POLL_SECONDS
from bookgen.client.client import Client

JSON = dict[str, Any]
T = TypeVar("T")


class RunsOnLoop(Protocol):
    """A function that runs a coroutine to its end on the client's own event loop, and returns the result."""

    def __call__(self, work: Coroutine[Any, Any, T], /) -> T: ...


class SyncClient:
    """The API calls of one account on one server. Use it as a context manager, in one thread."""

    def __init__(self, server: str) -> None:
        self._client = Client(server)
        self._runner = asyncio.Runner()
        self.books = SyncBooks(self._client, self._runner.run)

    def __enter__(self) -> SyncClient:
        self._runner.run(self._client.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._runner.run(self._client.__aexit__(kind, error, traceback))
        self._runner.close()

    def register(self, username: str, email: str, password: str, **names: str) -> JSON:
        return self._runner.run(self._client.register(username, email, password, **names))

    def login(self, login: str, password: str) -> JSON:
        """Sign in and return the user. `login`: an e-mail address or a username."""
        return self._runner.run(self._client.login(login, password))

    def call(self, method: str, path: str, body: JSON | None = None) -> Any:
        """Make any call that returns JSON, for example `call("POST", f"/books/{book_id}/duplicate/")`."""
        return self._runner.run(self._client.call(method, path, body))


class SyncBooks:
    """Creates and finds the account's books."""

    def __init__(self, client: Client, run: RunsOnLoop) -> None:
        self._books = client.books
        self._run = run

    def create(self, title: str, **fields: Any) -> SyncBook:
        """Create a draft of a book. `fields`: as in the API, such as description, genre or target_word_count."""
        return SyncBook(self._run(self._books.create(title, **fields)), self._run)

    def create_childrens(self, title: str, age_range: str, **fields: Any) -> SyncBook:
        """Create a draft of a picture book. `fields`: as in the API, such as theme, page_count or characters."""
        return SyncBook(self._run(self._books.create_childrens(title, age_range, **fields)), self._run)

    def get(self, book_id: int) -> SyncBook:
        return SyncBook(self._run(self._books.get(book_id)), self._run)

    def list(self) -> list[SyncBook]:
        """List the books, most recently updated first."""
        return [SyncBook(book, self._run) for book in self._run(self._books.list())]


class SyncBook:
    """A book on the server. `data` is the book as JSON, as the server returned it last."""

    def __init__(self, book: BookHandle, run: RunsOnLoop) -> None:
        self._book = book
        self._run = run

    def __repr__(self) -> str:
        return repr(self._book)

    @property
    def id(self) -> int:
        return self._book.id

    @property
    def title(self) -> str:
        return self._book.title

    @property
    def status(self) -> str:
        """The state of the book: draft, outline, generating or completed."""
        return self._book.status

    @property
    def blurb(self) -> str:
        """The text for the back cover and for shops; empty if there is none yet."""
        return self._book.blurb

    @property
    def data(self) -> JSON:
        return self._book.data

    @property
    def export_settings(self) -> JSON:
        """The settings for the book's files, such as the font. Settings with default values are left out."""
        return self._book.export_settings

    def set_export_settings(self, **settings: Any) -> None:
        """Store settings for the book's files: isbn, dedication, font, ... Other settings are reset to defaults."""
        self._run(self._book.set_export_settings(**settings))

    @property
    def chapters(self) -> list[JSON]:
        return self._book.chapters

    @property
    def missing_chapters(self) -> tuple[int, ...]:
        """The numbers of the chapters that the files saved last leave out, because these chapters have no text."""
        return self._book.missing_chapters

    def reload(self) -> SyncBook:
        self._run(self._book.reload())
        return self

    def outline(self) -> list[JSON]:
        """The chapters of the outline. If there is no outline, it is drafted first."""
        return self._run(self._book.outline())

    def write(self, on_progress: OnProgress | None = None, *, every: float = POLL_SECONDS) -> SyncBook:
        """Write all chapters that are missing. Raises WritingEnded if the run ends before the book is complete."""
        self._run(self._book.write(on_progress, every=every))
        return self

    def produce(
        self, on_progress: OnProgress | None = None, *, cover: bool = True, every: float = POLL_SECONDS
    ) -> SyncBook:
        """Make the whole book in one run: outline, chapters, editing, proofreading, blurb, cover and files.

        `cover`: whether a new run makes a cover. Raises WritingEnded if the run ends before the book is complete.
        """
        self._run(self._book.produce(on_progress, cover=cover, every=every))
        return self

    def start(self) -> None:
        """Start a run (the writing of the book), or resume a paused or failed one.

        Does nothing if a run is in progress.
        """
        self._run(self._book.start())

    def start_production(self, *, cover: bool = True) -> None:
        """Start a production (a run that also edits, proofreads and exports the book), or resume an interrupted one.

        An interrupted production is paused or has failed. `cover`: whether a new production makes a cover. Does nothing
        if a production is running or has finished all chapters.
        """
        self._run(self._book.start_production(cover=cover))

    def save(
        self,
        folder: str | Path = ".",
        formats: Iterable[str] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> list[Path]:
        """Export the book in `formats` (default: all that the account's plan includes). Returns the files' paths."""
        return self._run(self._book.save(folder, formats, settings))

    def declaration(self) -> JSON:
        """The declaration of who wrote the book's words and made its pictures. Its `statement` is a text."""
        return self._run(self._book.declaration())

    def delete(self) -> None:
        self._run(self._book.delete())
