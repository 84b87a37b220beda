"""`bookgen check`: test everything that the service needs, and say what to do about each problem.

Each check is a function. It returns a phrase that describes what it found, and raises a BookgenError for a problem.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import aiohttp

from bookgen import config, logs
from bookgen.app.database import postgres
from bookgen.app.files import build_files
from bookgen.app.package_data import migrations
from bookgen.app.providers import build_model
from bookgen.commands.model_trouble import explained
from bookgen.errors import BookgenError, FilesUnavailable, NoDatabase, StartupError, UpstreamAIError
from bookgen.files.place import FileMissing
from bookgen.http.edge import listening
from bookgen.models import SAMPLE_WRITER
from bookgen.providers.attempt import CallFailed
from bookgen.providers.text import Message, PromptTooLong, TextModel, TextReply, TextRequest, known_name
from bookgen.render.fonts.missing import to_install
from bookgen.render.fonts.typeface import without_font
from bookgen.settings import Config
from bookgen.store import backups, run_list, stored_files
from bookgen.store.backups import BackupAges
from bookgen.store.connecting import connect
from bookgen.store.database import LEASE_CONNECTIONS, LISTENERS, room
from bookgen.store.migrate import pending
from bookgen.store.pooler import require_prepared_statements
from bookgen.store.postgres import binaries
from bookgen.store.postgres.clusters import majors
from bookgen.store.postgres.space import make_data_folder
from bookgen.store.stored_files import StoredFile
from bookgen.writing import structured
from bookgen.writing.outline_form import ReplyForm, read_first
from bookgen.writing.structured import UnusableReply

CALL_SECONDS = 300.0
LOOK_SECONDS = 3.0  # to ask the server on our port whether it is bookgen
BUSY_SECONDS = 20.0  # how long to wait for a busy model
CHAPTERS = (1, 2)
FORM = ReplyForm(CHAPTERS, bible=True)
QUESTION = TextRequest(
    stage="outline",
    system=(),
    messages=(
        Message(
            "user",
            "Plan a book of two short chapters about a lighthouse in winter. Answer with one JSON object of this form, "
            f'with your words in the place of each "…":\n{FORM.example()}',
        ),
    ),
    max_tokens=1_500,
    least_tokens=800,
    schema=FORM.schema(),
    patience=BUSY_SECONDS,
    brief={"language": "en", "title": "Winter Light", "chapter_count": len(CHAPTERS), "first": 1, "last": 2},
)
Check = Callable[[Config], Awaitable[str]]


async def run(_: argparse.Namespace) -> int:
    """Run all checks. Returns 0 if the service can run, 1 if something has to be fixed first."""
    settings = config.load()
    logs.configure_logs("console", "critical")  # this command prints each problem itself
    print(_line("ok", "settings", _chosen(settings)))
    results = [await _try(name, work, settings) for name, work in CHECKS.items()]
    return 0 if all(results) else 1


async def _try(name: str, work: Check, settings: Config) -> bool:
    try:
        print(_line("ok", name, await work(settings)), flush=True)
    except BookgenError as error:
        print(_line("FAILED", name, str(error)), flush=True)
        return False
    return True


async def address(settings: Config) -> str:
    try:
        with listening.bind(settings.host, settings.port) as bound:
            return f"{listening.address(bound)} is free"
    except StartupError:
        url = listening.url(settings.host, settings.port)
        if not await _is_ours(url):
            raise
        return f"bookgen is already running at {url}"


async def _is_ours(url: str) -> bool:
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(LOOK_SECONDS)) as session,
            session.get(f"{url}/healthz") as answer,
        ):
            return "X-API-Version" in answer.headers
    except (aiohttp.ClientError, TimeoutError, ValueError):
        return False


async def data_folder(settings: Config) -> str:
    """Check that the service can write to the data folder, without creating it."""
    folder = settings.data_dir.absolute()
    while not folder.exists():
        folder = folder.parent
    if folder != settings.data_dir.absolute():
        if os.access(folder, os.W_OK):
            return f"{settings.data_dir} is created at the first start"
        raise StartupError(f"BOOKGEN_DATA_DIR={settings.data_dir} can't be created in {folder}. Make it writable.")
    owner = folder.stat().st_uid
    if owner not in (os.geteuid(), 0) and not os.access(folder, os.W_OK):
        return f"{settings.data_dir} belongs to another user; run the service as that user"
    await asyncio.to_thread(make_data_folder, settings.data_dir)
    return f"{settings.data_dir} is writable"


async def database(settings: Config) -> str:
    try:
        return await _database(settings)
    except NoDatabase:
        bindir = await asyncio.to_thread(binaries.find, settings.pg_bindir)
        return f"none yet in {settings.data_dir}: bookgen serve makes one with PostgreSQL {binaries.major(bindir)}"


async def _database(settings: Config) -> str:
    async with postgres(settings, create=False) as address:
        missing = await pending(address.direct_dsn, migrations())
        if address.pooled and settings.database_statement_cache == "on":
            await require_prepared_statements(address.dsn)
        connection = await connect(address.direct_dsn, timeout=60)
        try:
            version = await connection.fetchval("SHOW server_version")
            connections = _connections(settings, address.pooled, await room(connection))
        finally:
            await connection.close()
    where = "at BOOKGEN_DATABASE_URL" if settings.database_url else f"embedded in {settings.data_dir}"
    where += " (a pooler) and BOOKGEN_DATABASE_DIRECT_URL" if address.pooled else ""
    todo = (
        f"{len(missing)} migrations to apply; bookgen serve or bookgen migrate applies them"
        if missing
        else "schema up to date"
    )
    return f"PostgreSQL {version} {where}, {connections}, {todo}{_left_by_a_move(settings)}"


def _left_by_a_move(settings: Config) -> str:
    """A phrase that names the data folders of older PostgreSQL versions, which can be deleted; empty if there are none.

    Moving the embedded database to a newer PostgreSQL version leaves such a folder.
    """
    if settings.database_url or len(found := majors(settings.data_dir)) < 2:
        return ""
    left = ", ".join(str(settings.data_dir / f"pg{version}") for version in found[:-1])
    return f"; {left} is left from a move to a newer PostgreSQL and can be deleted"


def _connections(settings: Config, pooled: bool, room: int) -> str:
    """Say how many connections a process opens to the database. `room`: how many the database server allows.

    Raises StartupError if the server allows too few.
    """
    sizes, needed = settings.sizes, LEASE_CONNECTIONS + LISTENERS
    if not pooled:
        needed += sizes.run_connections + sizes.http_connections
    if needed > room:
        raise StartupError(
            f"A process opens up to {needed} connections ({sizes.run_connections} of BOOKGEN_DATABASE_POOL, "
            f"{sizes.http_connections} of BOOKGEN_HTTP_POOL and {LEASE_CONNECTIONS + LISTENERS} of its own), and the "
            f"server allows {room}. Lower these settings, or raise the server's max_connections."
        )
    return f"up to {needed} of its {room} connections per process"


async def model(settings: Config) -> str:
    """Check the model by asking it for an outline, the kind of reply that weak models most often get wrong."""
    calls = _Calls(build_model(settings, tries=1))
    name = calls.model.name
    try:
        async with asyncio.timeout(CALL_SECONDS):
            await structured.ask(QUESTION, calls, partial(read_first, last=CHAPTERS[-1]))
    except UnusableReply as error:
        raise _unusable(
            f"{name} answered, but could not plan a book of two chapters in the requested format: "
            f"{error.__cause__}. Choose a model that can."
        ) from error
    except PromptTooLong as error:
        raise _unusable(
            f"{name}: {error} Give the model a longer context: at least 2,048 tokens, 32,768 for long books."
        ) from error
    except UpstreamAIError as error:
        raise _unusable(_why(calls.model.name, error)) from error
    except TimeoutError as error:
        raise _unusable(
            f"{name}: No answer within {CALL_SECONDS:g} seconds. If the server was loading its model, try again. "
            "A model this slow takes hours for a book."
        ) from error
    finally:
        await calls.model.close()
    if calls.replies[-1].model == "offline":
        return "offline: sample text only; set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENAI_BASE_URL for real books"
    mode = calls.replies[-1].json_mode
    return f"{calls.replies[-1].model} planned a book of two chapters" + (f", asked for JSON by {mode}" if mode else "")


def _why(name: str, error: UpstreamAIError) -> str:
    failed = error.__cause__
    if not isinstance(failed, CallFailed):
        return f"{name}: {error}"
    return explained(name, str(failed), address=failed.address, detail=failed.detail, to_do=failed.to_do)


def _unusable(sentence: str) -> UpstreamAIError:
    return UpstreamAIError(sentence, stage=QUESTION.stage, retryable=False)


@dataclass
class _Calls:
    """Calls the model for a check, without recording costs or storing replies.

    It has the same methods as `writing.steps.Steps`. `replies`: the replies so far.
    """

    model: TextModel
    replies: list[TextReply] = field(default_factory=list)

    async def reply(self, request: TextRequest, *, attempt: int = 0) -> TextReply:
        self.replies.append(await self.model.complete(request))
        return self.replies[-1]

    async def has(self, request: TextRequest) -> bool:
        return False

    def for_concurrent_calls(self) -> _Calls:
        return self


async def runs(settings: Config) -> str:
    """Check that no unfinished book waits for a model that this server does not use. Raises StartupError if one does.

    An unfinished book waits for the model that began it, unless BOOKGEN_MODEL names a model.
    """
    chosen = build_model(settings, tries=1)
    await chosen.find_name()
    await chosen.close()
    if (writer := known_name(chosen)) is None:
        return "not checked: the model server does not report its model's name"
    try:
        return await _runs(settings, writer)
    except NoDatabase:
        return "none yet"


async def _runs(settings: Config, writer: str) -> str:
    async with postgres(settings, create=False) as address:
        if await pending(address.direct_dsn, migrations()):
            return "not checked: apply the migrations first"
        connection = await connect(address.direct_dsn, timeout=60)
        try:
            others = await run_list.of_other_models(connection, writer)
        finally:
            await connection.close()
    named = settings.model != "auto" and writer != SAMPLE_WRITER
    if not others or named:
        return "no book waits for another model"
    waiting = ", ".join(f"{count} for {writer}" for writer, count in others.items())
    raise StartupError(
        f"These books wait for the model that started them, which is not {writer}: {waiting}. "
        "Set that model's key, or set BOOKGEN_MODEL to the model that should continue them."
    )


async def backup(settings: Config) -> str:
    """Report the last verified backup. Raises StartupError if scheduled backups are overdue or lack pictures."""
    try:
        ages = await _ages_of_backups(settings)
    except NoDatabase:
        return "nothing to back up yet"
    if ages is None:
        return "not checked: apply the migrations first"
    text = _backup_ages(ages)
    if settings.backup_dir is None:
        return f"{text}; set BOOKGEN_BACKUP_DIR to have backups made by the service"
    if ages.newest is None or ages.newest > 2 * settings.backup_seconds:
        raise StartupError(
            f"{text}, although BOOKGEN_BACKUP_EVERY={settings.backup_every}. The service's log has an event "
            "backup_failed with the reason, unless no service has run since."
        )
    if ages.missing:
        raise StartupError(
            f"{text}. The service's log lists the pictures in an event backup_incomplete. Put the files back, or "
            "delete the pictures."
        )
    return f"{text}, in {settings.backup_dir} every {settings.backup_every}"


def _backup_ages(ages: BackupAges) -> str:
    if ages.newest is None:
        return "no backup was verified yet"
    text = f"the last verified backup is {_hours(ages.newest)} old"
    if not ages.missing:
        return text
    complete = "none is complete" if ages.complete is None else f"the last complete one is {_hours(ages.complete)} old"
    return f"{text} and incomplete (stored pictures that were missing or damaged: {ages.missing}), and {complete}"


async def _ages_of_backups(settings: Config) -> BackupAges | None:
    """The ages of the newest backups; None if the database needs migrations."""
    async with postgres(settings, create=False) as address:
        if await pending(address.direct_dsn, migrations()):
            return None
        connection = await connect(address.direct_dsn, timeout=60)
        try:
            return await backups.ages(connection)
        finally:
            await connection.close()


def _hours(seconds: float) -> str:
    return f"{seconds / 3_600:.1f} h" if seconds < 48 * 3_600 else f"{seconds / 86_400:.1f} days"


async def files(settings: Config) -> str:
    """Check that new files can be written, read and removed, and that every place with stored files can be read."""
    stored = build_files(settings)
    try:
        samples = await _samples(settings)
        await stored.check_place(stored.address, partial(_samples, settings))
        for each in samples:
            await stored.get(each)
    except FilesUnavailable as error:
        raise StartupError(error.reason) from error
    except FileMissing:
        raise StartupError(
            f"The file {each.name} should be stored in {each.place}, but is not there. If {each.place} is a folder, "
            "check that it is mounted."
        ) from None
    others = [each.place for each in samples if each.place != stored.address]
    where = f"{stored.address} can be written and read" if stored.address else "new files are stored in the database"
    return where + (f"; older files are still in {', '.join(others)}: run bookgen files move" if others else "")


async def _samples(settings: Config) -> list[StoredFile]:
    try:
        async with postgres(settings, create=False) as address:
            if await pending(address.direct_dsn, migrations()):
                return []
            connection = await connect(address.direct_dsn, timeout=60)
            try:
                return await stored_files.samples(connection)
            finally:
                await connection.close()
    except NoDatabase:
        return []


async def fonts(_: Config) -> str:
    """Report the languages for which no font is installed. This never fails: other languages need no such font."""
    missing = await asyncio.to_thread(without_font)
    if not missing:
        return "for every language"
    return (
        f"none for {', '.join(missing)}: PDFs and covers in these languages are refused. Install fonts, for example on "
        f"Debian and Ubuntu: {to_install(missing)}"
    )


CHECKS: dict[str, Check] = {
    "address": address,
    "data folder": data_folder,
    "database": database,
    "runs": runs,
    "files": files,
    "backup": backup,
    "fonts": fonts,
    "model": model,
}


def _chosen(settings: Config) -> str:
    env = Path(".env")
    return f"{len(settings.model_fields_set)} set" + (f", also read from {env}" if env.exists() else "")


def _line(result: str, name: str, text: str) -> str:
    return f"{result:<7} {name:<12} {' '.join(text.split())}"
