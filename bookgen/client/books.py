"""The books of an account, for scripts: create, write and export them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from bookgen.client.calls import POLL_SECONDS, Calls
from bookgen.client.errors import ApiError

JSON = dict[str, Any]
OnProgress = Callable[[JSON], None]


class WritingEnded(ApiError):
    """A run (the writing of a book) was stopped, was paused or failed before the book was complete.

    `details` has the run's failure, if there was one.
    """


class Books:
    """Creates and finds the account's books."""

    def __init__(self, client: Calls) -> None:
        self._client = client

    async def create(self, title: str, **fields: Any) -> BookHandle:
        """Create a draft of a book. `fields`: as in the API, such as description, genre or target_word_count."""
        return BookHandle(self._client, await self._client.create_book(title=title, **fields))

    async def create_childrens(self, title: str, age_range: str, **fields: Any) -> BookHandle:
        """Create a draft of a picture book. `age_range`: 0-3, 3-5, 6-8 or 9-12.

        `fields`: as in the API, such as theme, page_count or characters. Each of the `characters` is a name, or a dict
        with `name` and `description`.
        """
        made = await self._client.create_childrens_book(title=title, age_range=age_range, **fields)
        return BookHandle(self._client, made)

    async def get(self, book_id: int) -> BookHandle:
        return BookHandle(self._client, await self._client.book(book_id))

    async def list(self) -> list[BookHandle]:
        """List the books, most recently updated first. Call `reload` on a book to load its chapters."""
        return [BookHandle(self._client, data) for data in await self._client.list_books()]


class BookHandle:
    """A book on the server. `data` is the book as JSON, as the server returned it last."""

    def __init__(self, client: Calls, data: JSON) -> None:
        self._client = client
        self.data = data
        self.missing_chapters: tuple[int, ...] = ()  # chapters without text, left out of the files saved last

    def __repr__(self) -> str:
        return f"<Book {self.id} {self.title!r}, {self.status}>"

    @property
    def id(self) -> int:
        return int(self.data["id"])

    @property
    def title(self) -> str:
        return str(self.data["title"])

    @property
    def status(self) -> str:
        """The state of the book: draft, outline, generating or completed."""
        return str(self.data["status"])

    @property
    def blurb(self) -> str:
        """The text for the back cover and for shops; empty if there is none yet."""
        return str(self.data["blurb"])

    @property
    def export_settings(self) -> JSON:
        """The settings for the book's files, such as the font. Settings with default values are left out."""
        return dict(self.data["export_settings"])

    async def set_export_settings(self, **settings: Any) -> None:
        """Store settings for the book's files: isbn, dedication, font, ... Other settings are reset to defaults."""
        self.data = await self._client.change_book(self.id, export_settings=settings)

    @property
    def chapters(self) -> list[JSON]:
        return list(self.data.get("chapters", ()))

    async def reload(self) -> BookHandle:
        self.data = await self._client.book(self.id)
        return self

    async def outline(self) -> list[JSON]:
        """The chapters of the outline. If there is no outline, it is drafted first."""
        if not self.data["chapters_count"]:
            self.data = await self._client.generate_outline(self.id)
        elif "chapters" not in self.data:
            await self.reload()
        return self.chapters

    async def write(self, on_progress: OnProgress | None = None, *, every: float = POLL_SECONDS) -> BookHandle:
        """Write all chapters that are missing. A run in progress is continued, also if it is paused or has failed.

        `on_progress` receives the run's status after each change. `every`: the seconds between two polls of a server
        without long polling. Raises WritingEnded if the run ends before the book is complete.
        """
        await self.outline()
        if self.status != "completed":
            await self.start()
            await self._completed(on_progress, every)
        return self

    async def produce(
        self, on_progress: OnProgress | None = None, *, cover: bool = True, every: float = POLL_SECONDS
    ) -> BookHandle:
        """Make the whole book in one run: outline, chapters, editing, proofreading, blurb, cover and files.

        If such a run is in progress, paused or failed, it is continued. `cover`: whether a new run makes a cover.
        `on_progress` and `every`: as in `write`. Raises WritingEnded if the run ends before the book is complete.
        """
        await self.start_production(cover=cover)
        return await self._completed(on_progress, every)

    async def start(self) -> None:
        """Start a run (the writing of the book), or resume a paused or failed one.

        Does nothing if a run is in progress.
        """
        status = await self._client.status_or_none(self.id)
        match status and status["generation_status"]:
            case "running":
                pass
            case "paused" | "error":
                await self._client.resume(self.id)
            case _:
                await self._client.generate(self.id)

    async def start_production(self, *, cover: bool = True) -> None:
        """Start a production (a run that also edits, proofreads and exports the book), or resume an interrupted one.

        An interrupted production is paused or has failed. `cover`: whether a new production makes a cover. Does nothing
        if a production is running or has finished all chapters.
        """
        status = await self._client.status_or_none(self.id) or {}
        match status.get("mode"), status.get("generation_status"):
            case "automated", "running":
                pass
            case "automated", "completed" if status["completed_chapters"] == status["total_chapters"]:
                pass
            case "automated", "paused" | "error":
                await self._client.resume(self.id)
            case _:
                await self._client.produce(self.id, cover=cover)

    async def save(
        self,
        folder: str | Path = ".",
        formats: Iterable[str] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> list[Path]:
        """Export the book, save the files in `folder`, which is created if needed, and return the files' paths.

        `formats`: such as "pdf"; None: all that the account's plan includes. `settings`: export settings as in the API;
        None: the settings that are stored with the book. Chapters without text are left out of the files; afterwards,
        `missing_chapters` has their numbers.
        """
        target = Path(folder)
        await asyncio.to_thread(target.mkdir, parents=True, exist_ok=True)
        paths = []
        for format in await self._client.export_formats() if formats is None else formats:
            file = await self._client.export(self.id, format, settings)
            path = target / file.filename
            await asyncio.to_thread(path.write_bytes, file.body)
            paths.append(path)
            self.missing_chapters = file.missing_chapters
        return paths

    async def declaration(self) -> JSON:
        """The declaration of who wrote the book's words and made its pictures. Its `statement` is a text."""
        return await self._client.declaration(self.id)

    async def delete(self) -> None:
        await self._client.delete_book(self.id)

    async def _completed(self, on_progress: OnProgress | None, every: float) -> BookHandle:
        """Wait for the end of the run. Raises WritingEnded if it pauses, or ends before the book is complete."""
        async for status in self._client.progress(self.id, every):
            if on_progress is not None:
                on_progress(status)
            if status["generation_status"] == "paused":
                break
        await self.reload()
        if status["generation_status"] != "completed":
            raise _ended(status)
        return self


def _ended(status: JSON) -> WritingEnded:
    failure = status.get("failure") or {}
    code = str(failure.get("code", ""))
    message = str(failure.get("message") or status["status_message"])
    return WritingEnded(0, code if code.isupper() else "WRITING_ENDED", message, failure)
