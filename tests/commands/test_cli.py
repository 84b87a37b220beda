"""The commands as processes: every error is one clear line and an exit code."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest

from bookgen.client import calls
from bookgen.commands import check, unexpected_errors
from bookgen.commands.cli import COMMANDS, main
from bookgen.errors import StartupError, UpstreamAIError
from bookgen.http.edge import listening
from bookgen.render.fonts import typeface
from bookgen.store import backups
from bookgen.store.backups import BackupRecord
from bookgen.store.database import Database
from tests.actors.conftest import Shelf
from tests.composition import settings
from tests.fakes.model_script import fault
from tests.fakes.model_server import ModelServer
from tests.http.conftest import Api, open_api, visitor
from tests.service import ROOT, ServiceProcess, environment, run

__all__ = ["open_api", "visitor"]


LOGIN = ("--login", "ada", "--password", "correct horse 9")


async def refused(folder: Path, *arguments: str, **settings: object) -> str:
    """The one line that a failing command prints. Its exit code is 2."""
    code, said, complained = await run(folder, *arguments, **settings)
    assert (code, said) == (2, ""), complained
    (line,) = complained.splitlines()
    return line.removeprefix("bookgen: ")


@pytest.mark.parametrize("command", [["serve"], ["migrate"], ["check"], ["write", "Title"], ["account", "list"]])
async def test_a_wrong_setting_stops_every_command(tmp_path: Path, command: list[str]) -> None:
    line = await refused(tmp_path, *command, BOOKGEN_PORT="abc")

    assert line == "BOOKGEN_PORT takes 0 to 65535, not 'abc'."


@pytest.mark.parametrize(
    ("setting", "value"),
    [("BOOKGEN_DATABASE_URL", "postgresql://[bad/db"), ("BOOKGEN_ALLOWED_ORIGINS", "https://[bad")],
)
async def test_an_invalid_url_in_a_setting_is_reported_in_one_line(tmp_path: Path, setting: str, value: str) -> None:
    assert (await refused(tmp_path, "account", "list", **{setting: value})).startswith(setting)


@pytest.mark.parametrize("command", [["account", "list"], ["runs", "list"], ["migrate"], ["proof", "Title"]])
async def test_a_command_creates_no_database(tmp_path: Path, command: list[str]) -> None:
    assert (await refused(tmp_path, *command)).startswith(f"There is no database in {tmp_path / 'data'}.")
    assert not (tmp_path / "data").exists()


async def test_a_command_does_not_migrate_the_schema(tmp_path: Path, empty_dsn: str) -> None:
    line = await refused(tmp_path, "account", "list", BOOKGEN_DATABASE_URL=empty_dsn)

    assert line == "The database is empty. Start the service first, or run: bookgen migrate"


async def test_check_lists_what_the_first_start_creates_and_creates_nothing(tmp_path: Path) -> None:
    _, said, _ = await run(tmp_path, "check")

    assert "is created at the first start" in said
    assert "none yet in" in said
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), unexpected_errors.DISK),
        (asyncpg.DiskFullError("could not extend file"), unexpected_errors.DISK),
        (PermissionError(errno.EACCES, "Permission denied", "out.zip"), "out.zip: Permission denied."),
        (asyncpg.UndefinedTableError("no table"), "Database error: no table"),
        (KeyError("book"), "Unexpected KeyError: 'book'"),
    ],
)
def test_every_other_error_is_one_line(error: Exception, said: str) -> None:
    assert str(unexpected_errors.explained(error)) == said


async def test_an_unknown_setting_stops_the_start(tmp_path: Path) -> None:
    line = await refused(tmp_path, "serve", BOOKGEN_MODLE="offline")

    assert line == "BOOKGEN_MODLE is not a setting. Did you mean BOOKGEN_MODEL?"


async def test_a_host_of_another_machine_stops_the_start(tmp_path: Path) -> None:
    line = await refused(tmp_path, "serve", BOOKGEN_HOST="192.0.2.1")

    assert line == "BOOKGEN_HOST=192.0.2.1 is not an address of this machine: Cannot assign requested address."


async def test_a_busy_port_stops_the_start(tmp_path: Path) -> None:
    with listening.bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        line = await refused(tmp_path, "serve", BOOKGEN_PORT=port)

    assert line.startswith(f"BOOKGEN_PORT={port} on 127.0.0.1 can't be used")


@pytest.mark.parametrize("command", [["serve"], ["write", "Title"]])
async def test_an_unwritable_data_folder_stops_the_start(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "file").write_text("")
    line = await refused(tmp_path, *command, BOOKGEN_DATA_DIR=tmp_path / "file" / "data")

    assert line == f"BOOKGEN_DATA_DIR={tmp_path / 'file' / 'data'} can't be written: Not a directory."


@pytest.mark.parametrize("command", [["serve"], ["write", "Title"], ["migrate"], ["account", "list"]])
async def test_an_unreachable_database_stops_the_start(tmp_path: Path, command: list[str]) -> None:
    line = await refused(tmp_path, *command, BOOKGEN_DATABASE_URL="postgresql://u:hush@127.0.0.1:1/books")

    assert line.startswith("BOOKGEN_DATABASE_URL: 127.0.0.1/books can't be reached: ")
    assert "hush" not in line


@pytest.mark.parametrize("password", ["hu@sh:hush", "hu@sh/hush", "hu#sh"])
async def test_a_url_with_an_unquoted_password_is_reported_without_the_password(tmp_path: Path, password: str) -> None:
    line = await refused(tmp_path, "migrate", BOOKGEN_DATABASE_URL=f"postgresql://ada:{password}@127.0.0.1/books")

    assert line.startswith("BOOKGEN_DATABASE_URL is not a valid URL. In a password, write % @ : / ? # as %25 %40 ")


async def test_a_wrong_database_password_is_reported(tmp_path: Path, dsn: str) -> None:
    line = await refused(tmp_path, "serve", BOOKGEN_DATABASE_URL=dsn.replace("bookgen:", "bookgen:x"))

    assert "password authentication failed" in line


async def test_a_schema_newer_than_the_code_stops_the_start(tmp_path: Path, dsn: str, pool: object) -> None:
    for version in (9998, 9999):  # one migration ahead is accepted, because a rollback needs it
        await pool.execute(
            "INSERT INTO schema_migration (version, name, sha256) VALUES ($1, $2, '')", version, f"{version}_later.sql"
        )  # type: ignore[attr-defined]

    line = await refused(tmp_path, "serve", BOOKGEN_DATABASE_URL=dsn)

    assert "migration 9999" in line


def test_the_list_of_commands_imports_none_of_the_service() -> None:
    program = """
import contextlib, sys
from bookgen.commands.cli import main
with contextlib.suppress(SystemExit):
    main(["--help"])
print(*sorted(name for name in sys.modules if name.startswith("bookgen")), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert all(command in done.stdout for command in COMMANDS)
    assert done.stderr.split() == [
        "bookgen",
        "bookgen.commands",
        "bookgen.commands.cli",
        "bookgen.error_base",
        "bookgen.errors",
    ]


def test_modules_imported_later_are_not_needed_for_a_start() -> None:
    program = """
import asyncio, sys
from bookgen.app.serve import LATER, import_the_rest
from bookgen.commands import serve
print(*(name for name in LATER if name in sys.modules))
asyncio.run(import_the_rest())
print(*(name for name in LATER if name not in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout == "\n\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_documents_its_options_and_where_settings_are(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])

    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert f"usage: bookgen {name}" in said
    assert "BOOKGEN_PORT" in said


@pytest.mark.parametrize(("billing", "said"), [("off", "Billing is off, "), ("on", "")])
async def test_the_list_of_accounts_says_when_plans_have_no_effect(
    tmp_path: Path, dsn: str, billing: str, said: str
) -> None:
    code, listed, complained = await run(
        tmp_path, "account", "list", BOOKGEN_DATABASE_URL=dsn, BOOKGEN_BILLING=billing, STRIPE_SECRET_KEY="sk_test_1"
    )

    assert (code, listed.count("\n")) == (0, 1)
    assert complained.startswith(said)
    assert bool(complained) == bool(said)


def test_a_closed_pipe_is_not_an_error(tmp_path: Path, dsn: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)

    ended = subprocess.run(
        [sys.executable, "-m", "bookgen", "account", "list"],
        env=environment(tmp_path, BOOKGEN_DATABASE_URL=dsn, BOOKGEN_BILLING="on"),
        stdout=writer,
        stderr=subprocess.PIPE,
    )

    os.close(writer)
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_a_terminal_limited_to_ascii_breaks_nothing(tmp_path: Path, dsn: str) -> None:
    of_ascii = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}

    ended = subprocess.run(
        [sys.executable, "-m", "bookgen", "account", "create", "ada@example.com", "--username", "Żółć"],
        env=environment(tmp_path, BOOKGEN_DATABASE_URL=dsn) | of_ascii,
        capture_output=True,
    )

    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b"username ????" in ended.stdout


async def test_check_says_ok_of_every_part_that_works(tmp_path: Path, dsn: str) -> None:
    code, said, complained = await run(tmp_path, "check", BOOKGEN_DATABASE_URL=dsn)

    assert (code, complained) == (0, "")
    assert [line.split()[0] for line in said.splitlines()] == ["ok"] * 9


async def test_check_says_how_old_the_last_drilled_backup_is_and_fails_if_it_is_overdue(
    tmp_path: Path, database: Database, dsn: str
) -> None:
    told = {"database_url": dsn, "backup_passphrase": "a grey weighbridge"}
    made_at = await database.http.fetchval("SELECT now() - interval '3 days'")
    assert (await check.backup(settings(tmp_path, **told))).startswith("no backup was verified yet")

    await backups.record(database.http, BackupRecord(made_at, True, 1, "/backups/one"))

    assert (await check.backup(settings(tmp_path, **told))).startswith("the last verified backup is 3.0 days old")
    assert "every 48h" in await check.backup(settings(tmp_path, **told, backup_dir=tmp_path, backup_every="48h"))
    with pytest.raises(StartupError, match="although BOOKGEN_BACKUP_EVERY=24h"):
        await check.backup(settings(tmp_path, **told, backup_dir=tmp_path))


async def test_check_says_that_the_last_backup_is_incomplete_and_fails_if_the_service_made_it(
    tmp_path: Path, database: Database, dsn: str
) -> None:
    told = {"database_url": dsn, "backup_passphrase": "a grey weighbridge"}
    scheduled = settings(tmp_path, **told, backup_dir=tmp_path)
    days = [await database.http.fetchval("SELECT now() - $1 * interval '1 day'", day) for day in range(4)]
    incomplete = (
        "the last verified backup is 24.0 h old and incomplete (stored pictures that were missing or damaged: 2)"
    )
    await backups.record(database.http, BackupRecord(days[1], True, 1, "/backups/two", missing=2))
    assert f"{incomplete}, and none is complete" in await check.backup(settings(tmp_path, **told))

    await backups.record(database.http, BackupRecord(days[3], True, 1, "/backups/one"))

    refusal = re.escape(f"{incomplete}, and the last complete one is 3.0 days old. The service's log lists")
    with pytest.raises(StartupError, match=refusal):
        await check.backup(scheduled)
    await backups.record(database.http, BackupRecord(days[0], True, 1, "/backups/three"))
    assert "incomplete" not in await check.backup(scheduled)


async def test_check_lists_the_languages_that_have_no_font(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typeface, "system_sources", lambda _: ())
    said = await check.fonts(settings(tmp_path))

    assert said.startswith("none for zh, ja, ko, ")
    assert said.endswith("apt install fonts-noto-cjk fonts-noto-core")


async def test_check_says_which_key_is_wrong_and_exits_with_one(tmp_path: Path, dsn: str) -> None:
    async with ModelServer() as models:
        models.script(fault("status", status=401, message="invalid x-api-key", times=9))
        code, said, complained = await run(
            tmp_path, "check", BOOKGEN_DATABASE_URL=dsn,
            ANTHROPIC_API_KEY="sk-ant-hush", ANTHROPIC_BASE_URL=models.anthropic_url,
        )  # fmt: skip

    assert (code, complained) == (1, "")
    (line,) = [line for line in said.splitlines() if line.startswith("FAILED")]
    assert "ANTHROPIC_API_KEY" in line
    assert "hush" not in said
    assert len(models.requests) == 1


async def test_check_says_whether_the_port_is_free_or_bookgen_is_using_it(tmp_path: Path, dsn: str) -> None:
    with listening.bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StartupError, match=rf"BOOKGEN_PORT={port} on 127\.0\.0\.1 can't be used"):
            await check.address(settings(tmp_path, port=port))
    assert await check.address(settings(tmp_path, port=port)) == f"http://127.0.0.1:{port} is free"

    async with ServiceProcess(tmp_path, BOOKGEN_DATABASE_URL=dsn) as service:
        port = int(service.url.rpartition(":")[2])
        said = await check.address(settings(tmp_path, port=port))
    assert said == f"bookgen is already running at {service.url}"


async def test_check_names_an_address_where_nothing_listens(tmp_path: Path, dsn: str) -> None:
    code, said, _ = await run(
        tmp_path, "check", BOOKGEN_DATABASE_URL=dsn,
        OPENAI_BASE_URL="http://127.0.0.1:1/v1", BOOKGEN_MODEL="openai:llama3.1",
    )  # fmt: skip

    assert code == 1
    assert said.splitlines()[-1].endswith(
        "openai:llama3.1 at http://127.0.0.1:1/v1: The model provider could not be reached: "
        "127.0.0.1:1: Connection refused. Is the server running, and is OPENAI_BASE_URL its address?"
    )


async def test_check_does_not_wait_for_a_rate_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "QUESTION", replace(check.QUESTION, patience=check.QUESTION.patience / 1000))
    async with ModelServer() as models:
        models.script(fault("status", status=429, retry_after=3600, message="200 requests a day are used", times=9))
        with pytest.raises(UpstreamAIError, match=r"is busy: 200 requests a day are used\. Try again later"):
            await check.model(settings(tmp_path, openai_base_url=models.openai_url, model="openai:local"))

    assert len(models.requests) == 1


async def test_check_warns_if_the_pools_exceed_what_the_server_allows(tmp_path: Path, dsn: str) -> None:
    with pytest.raises(StartupError, match=r"up to 1011 connections \(8 of .*, 1000 of .* the server allows 197"):
        await check.database(settings(tmp_path, database_url=dsn, database_pool=8, http_pool=1000))

    said = await check.database(settings(tmp_path, database_url=dsn, database_pool=8, http_pool=16))
    assert "up to 27 of its 197 connections per process" in said


async def test_check_lists_the_books_that_wait_for_another_model(tmp_path: Path, dsn: str, database: Database) -> None:
    shelf = Shelf(database.http)
    account, book = await shelf.outlined()
    await shelf.pool.execute(
        "INSERT INTO run (id, book_id, account_id, status, mode, total, writer) "
        "VALUES (gen_random_uuid(), $1, $2, 'running', 'full', 3, 'anthropic:claude-test')",
        book,
        account,
    )

    with pytest.raises(StartupError, match="which is not offline: 1 for anthropic:claude-test"):
        await check.runs(settings(tmp_path, database_url=dsn, model="auto"))
    named = settings(tmp_path, database_url=dsn, model="openai:local", openai_base_url="http://127.0.0.1:9")
    assert await check.runs(named) == "no book waits for another model"


async def test_check_makes_one_real_model_call(tmp_path: Path, dsn: str) -> None:
    async with ModelServer() as models:
        code, said, _ = await run(
            tmp_path, "check", BOOKGEN_DATABASE_URL=dsn, OPENAI_API_KEY="key", OPENAI_BASE_URL=models.openai_url
        )

    assert code == 0
    assert "openai:scripted planned a book of two chapters, asked for JSON by schema" in said.splitlines()[-1]
    assert len(models.requests) == 1


async def test_migrate_lists_what_it_applied(tmp_path: Path, empty_dsn: str) -> None:
    first = await run(tmp_path, "migrate", BOOKGEN_DATABASE_URL=empty_dsn)
    second = await run(tmp_path, "migrate", BOOKGEN_DATABASE_URL=empty_dsn)

    assert first[1].splitlines()[0] == "applied 0001_accounts.sql"
    assert second == (0, "nothing to apply\n", "")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["sing"],
        ["write"],
        ["write", "T", "--format", "mobi"],
        ["write", "T", "--chapters", "x"],
        ["account"],
        ["write", "T", "--server", "localhost:8000", "--login", "ada", "--password", "secret"],
        ["write", "T", "--login", "ada"],
        ["write", "T", "--server", "http://127.0.0.1:1", "--password", "secret"],
    ],
)
async def test_bad_arguments_exit_with_two_and_no_traceback(tmp_path: Path, arguments: list[str]) -> None:
    code, _, complained = await run(tmp_path, *arguments)

    assert code == 2
    assert "Traceback" not in complained


@pytest.mark.parametrize("command", [["proof", "T"], ["write", "T"]])
def test_an_unreachable_server_exits_with_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    monkeypatch.setattr(calls, "BACKOFF_SECONDS", (0.0, 0.0))

    code = main([*command, "--server", "http://127.0.0.1:1", *LOGIN])

    complained = capsys.readouterr().err
    assert code == 1
    assert complained.startswith("bookgen: ")
    assert "Traceback" not in complained


@pytest.mark.parametrize("command", [["proof", "T"], ["write", "T"]])
async def test_a_wrong_login_exits_with_two(tmp_path: Path, visitor: Api, command: list[str]) -> None:
    code, _, complained = await run(tmp_path, *command, "--server", str(visitor.client.make_url("")), *LOGIN)

    assert code == 2, complained
    assert complained.startswith("bookgen: ")
    assert "Traceback" not in complained


@pytest.mark.parametrize("chapters", ["1000", "0"])
async def test_a_value_refused_by_the_api_is_reported_by_its_option(
    tmp_path: Path, visitor: Api, chapters: str
) -> None:
    server = str(visitor.client.make_url(""))
    code, _, complained = await run(
        tmp_path, "write", "T", "--chapters", chapters, "--out", str(tmp_path), "--server", server
    )

    assert code == 2
    (line,) = complained.splitlines()
    assert "--chapters" in line


async def test_an_unwritable_file_is_reported_and_the_book_is_kept(tmp_path: Path, dsn: str) -> None:
    (tmp_path / "T.pdf").mkdir()
    words = ("write", "T", "--chapters", "1", "--words", "300", "--format", "pdf", "--out", str(tmp_path))

    code, said, complained = await run(tmp_path, *words, BOOKGEN_DATABASE_URL=dsn)

    assert (code, complained) == (1, f"bookgen: {tmp_path / 'T.pdf'} can't be written: Is a directory.\n")
    assert said.endswith("Run the same command again to continue.\n")
