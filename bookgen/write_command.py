"""`bookgen write`: the whole way from an idea to files, over the HTTP API of a server."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import getpass
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bookgen import config
from bookgen.app import make_data_folder
from bookgen.client import ApiError, Client, InvalidRequest, Unauthenticated, Unavailable
from bookgen.errors import StartupError
from bookgen.keyfile import kept_secret
from bookgen.progress import Display, make_display
from bookgen.store.postmaster import die_with_parent

SAMPLE = "No model is set up, so this is a sample. For a real book set ANTHROPIC_API_KEY or OPENAI_API_KEY."
FORMATS = ("pdf", "docx", "epub")
LOCAL_LOGIN = "writer"
LOCAL_AUTHOR = "Anonymous"
LOCAL_EMAIL = "writer@bookgen.test"
POLL_LOCAL, POLL_REMOTE = 0.5, 15.0
START_SECONDS = 330.0
STOP_SECONDS = 60.0
INTERRUPTED = 130


@dataclass(frozen=True)
class Server:
    url: str
    login: str
    password: str
    local: bool

    @property
    def poll_seconds(self) -> float:
        return POLL_LOCAL if self.local else POLL_REMOTE


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("title", metavar="TITLE")
    parser.add_argument("--genre", default="")
    parser.add_argument("--author", default="", help="the name on the title page")
    parser.add_argument("--audience", default="", help="who it is for")
    parser.add_argument("--description", default="", help="the idea, in a few sentences")
    parser.add_argument("--chapters", type=int, metavar="N", help="1 to 100 (10)")
    parser.add_argument("--words", type=int, metavar="N", help="length of the whole book (20000)")
    parser.add_argument("--language", metavar="TAG", help="such as en, de, pt, ja (en)")
    parser.add_argument("--trim", metavar="SIZE", help="such as 6x9, 5x8, a5 (6x9)")
    parser.add_argument("--format", type=_formats, default=FORMATS, metavar="LIST", help="pdf,docx,epub (all)")
    parser.add_argument("--out", type=Path, default=Path(), metavar="DIR", help="folder for the files (this one)")
    parser.add_argument("--new", action="store_true", help="write a finished book of that title once more")
    parser.add_argument("--server", metavar="URL", help="a running server, instead of one of its own")
    parser.add_argument("--login", metavar="NAME", help="e-mail or username there")
    parser.add_argument("--password", help="its password; asked for when it is not given")


def _formats(text: str) -> tuple[str, ...]:
    chosen = tuple(part.strip().lower() for part in text.split(",") if part.strip())
    if not chosen or any(format not in FORMATS for format in chosen):
        raise argparse.ArgumentTypeError(f"takes some of {','.join(FORMATS)}, not {text!r}")
    return chosen


async def write(options: argparse.Namespace) -> int:
    """0 with the files written, 1 when the book can't be finished now, 130 after Ctrl-C."""
    _make_folder(options.out)
    display = make_display()
    async with _server(options) as server, Client(server.url) as client:
        journey = Journey(client, options, display, server)
        with _interruptible():
            try:
                return await journey.go()
            except asyncio.CancelledError:
                _uncancel()
                return await journey.pause()
            except ApiError as error:
                again = isinstance(error, Unavailable) or error.details.get("retryable", False)
                display.failed(str(error), {**error.details, "retryable": again})
                return 2 if isinstance(error, InvalidRequest) else 1


class Journey:
    """Finds or makes the book, sees it written, fetches its files."""

    def __init__(self, client: Client, options: argparse.Namespace, display: Display, server: Server) -> None:
        self._client = client
        self._options = options
        self._display = display
        self._server = server
        self._book_id: int | None = None

    async def go(self) -> int:
        if (await self._client.public_settings())["models"] == ["offline"]:
            self._display.say(SAMPLE)
        await _sign_in(self._client, self._server)
        book = await self._unfinished() or await self._finished() or await self._create()
        self._book_id = book["id"]
        if book["status"] != "completed":
            if not book["chapters_count"]:
                self._display.say("Drafting the outline ...")
                book = await self._client.generate_outline(book["id"])
            self._display.outline(await self._client.book(book["id"]))
            if not await self._write(book["id"]):
                return 1
        return await self._export(book["id"])

    async def pause(self) -> int:
        """After Ctrl-C: nothing written is lost, and the same command goes on."""
        if self._book_id is not None:
            with contextlib.suppress(ApiError):  # no run yet, or one that has just ended
                await self._client.pause(self._book_id)
        self._display.paused()
        return INTERRUPTED

    async def _unfinished(self) -> dict[str, Any] | None:
        return await self._find(lambda book: book["status"] != "completed")

    async def _finished(self) -> dict[str, Any] | None:
        return None if self._options.new else await self._find(lambda book: book["status"] == "completed")

    async def _find(self, wanted: Any) -> dict[str, Any] | None:
        books = await self._client.books()
        return next((book for book in books if book["title"] == self._options.title and wanted(book)), None)

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
        return await self._client.create_book(**{name: value for name, value in fields.items() if value})

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
            await asyncio.to_thread(path.write_bytes, file.body)
            paths.append(path)
        self._display.finished(await self._client.book(book_id), paths)
        return 0


async def _sign_in(client: Client, server: Server) -> None:
    """The writer's account of a server of our own is made on the first call."""
    try:
        await client.login(server.login, server.password)
    except Unauthenticated:
        if not server.local:
            raise
        await client.register(LOCAL_LOGIN, LOCAL_EMAIL, server.password, first_name=LOCAL_AUTHOR)


@contextlib.asynccontextmanager
async def _server(options: argparse.Namespace) -> AsyncIterator[Server]:
    if options.server:
        if not options.login:
            raise StartupError("--server needs --login.")
        password = options.password or await asyncio.to_thread(getpass.getpass)
        yield Server(options.server, options.login, password, local=False)
        return
    settings = config.load()
    make_data_folder(settings.data_dir)
    log = settings.data_dir / "write.log"
    with log.open("wb") as output:
        process = await _start_server(output)
        try:
            url = await _address(process, log)
            password = kept_secret(settings.data_dir / "write.key")
            yield Server(url, LOCAL_LOGIN, password, local=True)
        finally:
            await _stop(process)


async def _start_server(log: Any) -> asyncio.subprocess.Process:
    """On a free loopback port, for this user alone: neither plans nor closed doors apply."""
    own = {
        "BOOKGEN_HOST": "127.0.0.1",
        "BOOKGEN_PORT": "0",
        "BOOKGEN_PUBLIC_URL": "",
        "BOOKGEN_BILLING": "off",
        "BOOKGEN_REGISTRATION": "open",
        "BOOKGEN_EMAIL_VERIFICATION": "off",
        "BOOKGEN_LOG_FORMAT": "json",
    }
    parent = os.getpid()
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bookgen", "serve",
        env={**os.environ, **own},
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=log,
        start_new_session=True,  # Ctrl-C is ours: the server has a book to pause first
        preexec_fn=lambda: die_with_parent(parent, signal.SIGTERM),
    )  # fmt: skip


async def _address(process: asyncio.subprocess.Process, log: Path) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(START_SECONDS):
        line = (await process.stdout.readline()).decode()
    if not line:
        await process.wait()
        raise StartupError(_refusal(log))
    return next(word for word in line.split() if word.startswith("http"))


def _refusal(log: Path) -> str:
    """Why the server did not start, in its own words."""
    lines = log.read_text(errors="replace").splitlines()
    said = [line.removeprefix("bookgen: ") for line in lines if line.startswith("bookgen: ")]
    return "\n".join(said) or f"the server ended at once; see {log}"


async def _stop(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


@contextlib.contextmanager
def _interruptible() -> Any:
    """The first Ctrl-C cancels the present task; the second ends the program as usual."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def interrupt() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        task.cancel()

    loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _uncancel() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(13, "Permission denied")
    except OSError as error:
        raise StartupError(f"{path} can't be written: {error.strerror}.") from error
