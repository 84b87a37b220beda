"""`bookgen write`: the whole way from an idea to files, over the HTTP API of a server."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import getpass
import hmac
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bookgen import config
from bookgen.client.client import ApiError, Client, InvalidRequest, Unauthenticated, Unavailable
from bookgen.commands.own_server import own_server
from bookgen.commands.progress import Display, make_display
from bookgen.errors import StartupError
from bookgen.render.formats import FORMATS
from bookgen.render.trim import DEFAULT_TRIM, TRIMS
from bookgen.store.postgres.keyfile import kept_secret
from bookgen.store.postgres.space import make_data_folder

SAMPLE = "No model is set up, so this is a sample. For a real book set ANTHROPIC_API_KEY or OPENAI_API_KEY."
# Two accounts, because a sample is no book to go on with once there is a model.
WRITER, SAMPLER = "writer", "sampler"
LOCAL_AUTHOR = "Anonymous"
POLL_LOCAL, POLL_REMOTE = 0.5, 15.0
INTERRUPTED = 130


@dataclass(frozen=True)
class Destination:
    """Where to write, and as whom. Without a login the account is one of this computer's, named by who writes."""

    url: str
    password: str
    login: str | None = None
    suffix: str = ""
    poll_seconds: float = POLL_LOCAL


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("title", metavar="TITLE")
    parser.add_argument("--genre", default="")
    parser.add_argument("--author", default="", help="the name on the title page")
    parser.add_argument("--audience", default="", help="who it is for")
    parser.add_argument("--description", default="", help="the idea, in a few sentences")
    parser.add_argument("--chapters", type=int, metavar="N", help="1 to 100 (10)")
    parser.add_argument("--words", type=int, metavar="N", help="length of the whole book (20000)")
    parser.add_argument("--language", metavar="TAG", help="such as en, de, pt, ja (en)")
    parser.add_argument("--trim", metavar="SIZE", help=f"{', '.join(TRIMS)} ({DEFAULT_TRIM})")
    formats = ",".join(FORMATS)
    parser.add_argument("--format", type=_formats, default=tuple(FORMATS), metavar="LIST", help=f"{formats} (all)")
    parser.add_argument("--out", type=Path, default=Path(), metavar="DIR", help="folder for the files (this one)")
    parser.add_argument("--new", action="store_true", help="write a finished book of that title once more")
    parser.add_argument("--server", type=_url, metavar="URL", help="a running server, instead of one of its own")
    parser.add_argument("--login", metavar="NAME", help="e-mail or username there, else an account is made")
    parser.add_argument("--password", help="its password; asked for when it is not given")


def _formats(text: str) -> tuple[str, ...]:
    chosen = tuple(part.strip().lower() for part in text.split(",") if part.strip())
    if not chosen or any(format not in FORMATS for format in chosen):
        raise argparse.ArgumentTypeError(f"takes some of {','.join(FORMATS)}, not {text!r}")
    return chosen


def _url(text: str) -> str:
    if not text.startswith(("http://", "https://")):
        raise argparse.ArgumentTypeError(f"takes an address like https://books.example.org, not {text!r}")
    return text


async def run(options: argparse.Namespace) -> int:
    """0 with the files written, 1 when the book can't be finished now, 130 after Ctrl-C."""
    _make_folder(options.out)
    display = make_display()
    async with _server(options) as server, Client(server.url) as client:
        journey = Journey(client, options, display, server)
        with _interruptible():
            try:
                return await journey.go()
            except asyncio.CancelledError:
                _present_task().uncancel()
                return await journey.pause()
            except ApiError as error:
                again = isinstance(error, Unavailable) or error.details.get("retryable", False)
                display.failed(str(error), {**error.details, "retryable": again})
                return 2 if isinstance(error, InvalidRequest) else 1


class Journey:
    """Finds or makes the book, sees it written, fetches its files."""

    def __init__(self, client: Client, options: argparse.Namespace, display: Display, server: Destination) -> None:
        self._client = client
        self._options = options
        self._display = display
        self._server = server
        self._book_id: int | None = None

    async def go(self) -> int:
        site = await self._client.public_settings()
        sample = site["models"] == ["offline"]
        if sample:
            self._display.say(SAMPLE)
        await self._sign_in(SAMPLER if sample else WRITER, site)
        book = await self._begun() or await self._create()
        self._book_id = book["id"]
        if book["status"] != "completed":
            if not book["chapters_count"]:
                self._display.say("Drafting the outline ...")
                book = await self._client.generate_outline(book["id"])
            self._display.outline(await self._client.book(book["id"]))
            if not await self._write(book["id"]):
                return 1
        return await self._export(book["id"])

    async def _sign_in(self, name: str, site: dict[str, Any]) -> None:
        """By the login that was given, else by an account that this computer makes itself on the first call."""
        server, name = self._server, f"{name}{self._server.suffix}"
        if server.login:
            await self._client.login(server.login, server.password)
            return
        try:
            await self._client.login(name, server.password)
        except Unauthenticated:
            if not site["registration_enabled"] or site["email_verification_required"]:
                raise StartupError(f"No account can be made at {server.url}: name yours with --login.") from None
            await self._client.register(name, f"{name}@bookgen.test", server.password, first_name=LOCAL_AUTHOR)

    async def pause(self) -> int:
        """After Ctrl-C: nothing written is lost, and the same command goes on."""
        if self._book_id is not None:
            with contextlib.suppress(ApiError):  # no run yet, or one that has just ended
                await self._client.pause(self._book_id)
        self._display.paused()
        return INTERRUPTED

    async def _begun(self) -> dict[str, Any] | None:
        """The newest book of this title that is not finished or, unless another is asked for, that is."""
        title = self._options.title.strip()
        books = [book for book in await self._client.books() if book["title"] == title]
        for book in books:
            if book["status"] != "completed":
                self._display.say("Going on with the book of this title, as it was begun.")
                return book
        if books and not self._options.new:
            self._display.say("The book of this title is finished; --new writes it once more.")
            return books[0]
        return None

    async def _create(self) -> dict[str, Any]:
        options = self._options
        fields = {
            "title": options.title,
            "author_name": options.author,
            "genre": options.genre,
            "target_audience": options.audience,
            "description": options.description,
            "chapter_count": options.chapters,
            "target_word_count": options.words,
            "content_language": options.language,
            "trim_size": options.trim,
        }
        return await self._client.create_book(
            **{name: value for name, value in fields.items() if value not in (None, "")}
        )

    async def _write(self, book_id: int) -> bool:
        await self._set_going(book_id)
        with self._display.following() as show:
            async for status in self._client.progress(book_id, self._server.poll_seconds):
                show(status)
                if status["generation_status"] == "paused":
                    break
        if status["generation_status"] == "completed":
            return True
        failure = status.get("failure") or {}
        self._display.failed(failure.get("message") or status["status_message"], failure)
        return False

    async def _set_going(self, book_id: int) -> None:
        status = await self._client.status_or_none(book_id)
        match status and status["generation_status"]:
            case "running":
                pass
            case "paused":
                await self._client.resume(book_id)
            case _:
                await self._client.generate(book_id)

    async def _export(self, book_id: int) -> int:
        paths = []
        for format in self._options.format:
            file = await self._client.export(book_id, format)
            path = self._options.out / file.filename
            try:
                await asyncio.to_thread(path.write_bytes, file.body)
            except OSError as error:
                self._display.failed(f"{path} can't be written: {error.strerror}.", {"retryable": True})
                return 1
            paths.append(path)
        self._display.finished(await self._client.book(book_id), paths)
        return 0


@contextlib.asynccontextmanager
async def _server(options: argparse.Namespace) -> AsyncIterator[Destination]:
    if options.login and not options.server:
        raise StartupError("--login names an account on a --server.")
    if options.password and not options.login:
        raise StartupError("--password is that of a --login.")
    if options.server and options.login:
        password = options.password or await asyncio.to_thread(getpass.getpass)
        yield Destination(options.server, password, options.login, poll_seconds=POLL_REMOTE)
        return
    settings = config.load()
    make_data_folder(settings.data_dir)
    key = kept_secret(settings.data_dir / "write.key")
    if options.server:
        # Every server is told another password, and the name is nobody else's there.
        password = hmac.new(key.encode(), options.server.encode(), "sha256").hexdigest()
        yield Destination(options.server, password, suffix=f"-{password[:8]}", poll_seconds=POLL_REMOTE)
        return
    async with own_server(settings) as url:
        yield Destination(url, key)


@contextlib.contextmanager
def _interruptible() -> Any:
    """The first Ctrl-C cancels the present task; the second ends the program as usual."""
    loop, task = asyncio.get_running_loop(), _present_task()

    def interrupt() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        task.cancel()

    loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _present_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("Ctrl-C is heeded in a task only.")
    return task


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(13, "Permission denied")
    except OSError as error:
        raise StartupError(f"{path} can't be written: {error.strerror}.") from error
