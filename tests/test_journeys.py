"""From an idea to a book, through the real service, its real database and the real SDKs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from bookgen.client.client import Client
from bookgen.client.errors import ApiError
from bookgen.commands.write import NO_PRODUCTION
from bookgen.render.formats import FORMATS
from tests.canaries import CANARY
from tests.fakes.image_server import ImageServer, refused
from tests.fakes.model_script import Call, fault
from tests.fakes.model_server import ModelServer
from tests.service import ServiceProcess, environment, run

AFTER_THE_CHAPTERS = ("review", "proofreading", "proofreading", "blurb")  # of a production of two short chapters
EXTENSIONS = [each.extension for each in FORMATS.values()]
PASSWORD = f"Z{CANARY}"
TEN_CHAPTERS = {
    "title": "The Salt Road",
    "description": f"A road of {CANARY}.",
    "chapter_count": 10,
    "target_word_count": 5000,
}


@pytest.fixture
async def models() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


async def signed_in(client: Client) -> Client:
    await client.register("ada", "ada@example.org", PASSWORD)
    return client


async def begun(client: Client, **fields: Any) -> int:
    """A book with an outline whose run has been accepted."""
    book = await client.create_book(**{**TEN_CHAPTERS, **fields})
    await client.generate_outline(book["id"])
    await client.generate(book["id"])
    return int(book["id"])


async def texts(client: Client, book_id: int) -> list[str]:
    return [chapter["content"] for chapter in (await client.book(book_id))["chapters"]]


def lost_sentences(call: Call, book: dict[str, Any]) -> list[str]:
    """The complete sentences of a chapter reply that are in neither the book nor its change notes."""
    if call.stage != "chapter" or call.ended != "answered":
        return []
    sentences = re.split(r"(?<=[.!?])\s+", call.reply.strip())
    finished = sentences[:-1] if call.fault.startswith("truncate") else sentences
    kept = [chapter["content"] for chapter in book["chapters"]] + [note.get("before", "") for note in book["quality"]]
    return [sentence for sentence in finished if not any(sentence in text for text in kept)]


def length_findings(book: dict[str, Any]) -> list[int]:
    """The chapters whose notes say that their length is far from the budget."""
    return [note["chapter_number"] for note in book["quality"] if note["kind"] == "length"]


async def test_a_killed_service_continues_where_it_was(tmp_path: Path, models: ModelServer) -> None:
    models.script(fault("hold", stage="chapter", chapter_number=5))
    settings = {"ANTHROPIC_API_KEY": f"key-{CANARY}", "ANTHROPIC_BASE_URL": models.anthropic_url}
    async with ServiceProcess(tmp_path, **settings) as service, Client(service.url) as client:
        book_id = await begun(await signed_in(client))
        await models.until(lambda: any(call.brief.get("chapter_number") == 5 for call in models.requests))
        before = await texts(client, book_id)
        await service.kill()
    assert [bool(text) for text in before] == [True] * 4 + [False] * 6

    async with ServiceProcess(tmp_path, **settings) as service, Client(service.url) as client:
        await client.login("ada", PASSWORD)
        status = await client.finished(book_id, every=0.2)
        after = await texts(client, book_id)

    assert status["generation_status"] == "completed"
    assert after[:4] == before[:4]
    assert all(after)
    assert len(after) == 10


async def test_a_book_waits_for_its_model_when_the_key_is_removed(
    tmp_path: Path, dsn: str, models: ModelServer
) -> None:
    models.script(fault("hold", stage="chapter", chapter_number=2, times=2))
    key = {
        "BOOKGEN_DATABASE_URL": dsn,
        "ANTHROPIC_API_KEY": f"key-{CANARY}",
        "ANTHROPIC_BASE_URL": models.anthropic_url,
    }
    async with ServiceProcess(tmp_path, **key) as service, Client(service.url) as client:
        book_id = await begun(await signed_in(client), chapter_count=3, target_word_count=1500)
        await models.until(lambda: any(call.brief.get("chapter_number") == 2 for call in models.requests))
        await service.kill()

    async with ServiceProcess(tmp_path, BOOKGEN_DATABASE_URL=dsn) as service, Client(service.url) as client:
        await client.login("ada", PASSWORD)
        waiting = await client.status(book_id)
        code, listed, _ = await run(tmp_path, "runs", "list", BOOKGEN_DATABASE_URL=dsn)
        chapters = (await client.book(book_id))["chapters"]
        await service.stop()
    models.release()
    models.forget_script()

    async with ServiceProcess(tmp_path, **key) as service, Client(service.url) as client:
        await client.login("ada", PASSWORD)
        status = await client.finished(book_id, every=0.2)
        after = (await client.book(book_id))["chapters"]

    assert waiting["generation_status"] == "running"
    assert waiting["status_message"].startswith("This book is being written by anthropic:")
    assert [bool(each["content"]) for each in chapters] == [True, False, False]
    assert (code, "This book is being written by anthropic:" in listed) == (0, True)
    assert status["generation_status"] == "completed"
    assert [(bool(each["content"]), each["is_sample"]) for each in after] == [(True, False)] * 3


async def test_a_killed_database_restarts_and_the_book_is_finished(tmp_path: Path, models: ModelServer) -> None:
    models.script(fault("hold", stage="chapter", chapter_number=3))
    settings = {"ANTHROPIC_API_KEY": f"key-{CANARY}", "ANTHROPIC_BASE_URL": models.anthropic_url}
    async with ServiceProcess(tmp_path, **settings) as service, Client(service.url) as client:
        book_id = await begun(await signed_in(client), chapter_count=4, target_word_count=2000)
        await models.until(lambda: any(call.brief.get("chapter_number") == 3 for call in models.requests))
        before = await texts(client, book_id)
        (pid_file,) = (tmp_path / "data").glob("pg*/postmaster.pid")
        os.kill(int(pid_file.read_text().split()[0]), signal.SIGKILL)
        models.release()
        status = await client.finished(book_id, every=0.2)
        after = await texts(client, book_id)

    assert status["generation_status"] == "completed"
    assert after[:2] == before[:2]
    assert all(after)
    written = [call.brief["chapter_number"] for call in models.requests if call.stage == "chapter"]
    assert written.count(3) == 1


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
async def test_a_book_is_written_through_the_real_sdk(
    tmp_path: Path, dsn: str, models: ModelServer, provider: str
) -> None:
    urls = {"anthropic": models.anthropic_url, "openai": models.openai_url}
    settings = {f"{provider.upper()}_API_KEY": f"key-{CANARY}", f"{provider.upper()}_BASE_URL": urls[provider]}
    async with ServiceProcess(tmp_path, BOOKGEN_DATABASE_URL=dsn, **settings) as service, Client(service.url) as client:
        book_id = await begun(await signed_in(client), chapter_count=3, target_word_count=3000)
        status = await client.finished(book_id, every=0.2)
        files = [await client.export(book_id, format) for format in FORMATS]

    assert status["generation_status"] == "completed"
    assert [file.body[:4] for file in files] == [b"%PDF", b"PK\x03\x04", b"PK\x03\x04"]
    assert {call.protocol for call in models.requests} <= (
        {"anthropic"} if provider == "anthropic" else {"responses", "chat"}
    )


async def test_write_saves_a_cover_and_three_files_and_names_them(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("write", "The Salt Road", "--chapters", "3", "--words", "3000", "--out", str(out))

    code, said, complained = await run(tmp_path, *words)

    assert (code, complained) == (0, "")
    assert said.splitlines()[-4:] == [str(out / f"The Salt Road.{end}") for end in ("jpg", *EXTENSIONS)]
    assert {path.suffix for path in out.iterdir()} == {f".{end}" for end in ("jpg", *EXTENSIONS)}
    with Image.open(out / "The Salt Road.jpg") as cover:
        assert cover.size == (1600, 2560)


async def test_write_saves_no_cover_if_none_is_wanted(tmp_path: Path, dsn: str) -> None:
    words = ("write", "The Salt Road", "--chapters", "1", "--words", "800", "--format", "epub", "--no-cover")

    code, said, _ = await run(tmp_path, *words, "--out", str(tmp_path / "out"), BOOKGEN_DATABASE_URL=dsn)

    assert code == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["The Salt Road.epub"]
    assert "Creating the cover" not in said


async def test_ctrl_c_pauses_and_the_same_command_continues(tmp_path: Path, models: ModelServer) -> None:
    models.script(fault("hold", stage="chapter", chapter_number=2))
    settings = {"OPENAI_API_KEY": f"key-{CANARY}", "OPENAI_BASE_URL": models.openai_url}
    words = ("write", "The Salt Road", "--chapters", "3", "--words", "3000", "--out", str(tmp_path / "out"))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bookgen", *words,
        env=environment(tmp_path, **settings), cwd=tmp_path, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    await models.until(lambda: any(call.brief.get("chapter_number") == 2 for call in models.requests))

    process.send_signal(signal.SIGINT)
    models.release()
    said, _ = await process.communicate()

    assert process.returncode == 130
    assert b"Run the same command again to continue." in said
    calls = len(models.requests)
    code, said, complained = await run(tmp_path, *words, **settings)
    assert (code, complained) == (0, "")
    assert "Generating the outline" not in said
    again = [call for call in models.requests[calls:] if call.stage == "chapter" and call.brief["chapter_number"] == 1]
    assert again == []


async def test_a_finished_book_is_not_written_twice(tmp_path: Path, dsn: str, models: ModelServer) -> None:
    settings = {"BOOKGEN_DATABASE_URL": dsn, "OPENAI_API_KEY": f"key-{CANARY}", "OPENAI_BASE_URL": models.openai_url}
    words = ("write", "The Salt Road", "--chapters", "2", "--words", "1500", "--format", "pdf", "--out", str(tmp_path))
    await run(tmp_path, *words, **settings)
    calls = len(models.requests)

    code, said, _ = await run(tmp_path, *words, **settings)

    assert (code, len(models.requests)) == (0, calls)
    assert "Use --new to write a new book with it" in said


async def test_a_sample_book_is_generated_again_once_there_is_a_model(
    tmp_path: Path, dsn: str, models: ModelServer
) -> None:
    words = ("write", "The Salt Road", "--chapters", "2", "--words", "1500", "--format", "pdf", "--out", str(tmp_path))
    await run(tmp_path, *words, BOOKGEN_DATABASE_URL=dsn)

    settings = {"BOOKGEN_DATABASE_URL": dsn, "OPENAI_API_KEY": f"key-{CANARY}", "OPENAI_BASE_URL": models.openai_url}
    code, said, complained = await run(tmp_path, *words, **settings)

    assert (code, complained) == (0, "")
    assert "Generating the outline ..." in said
    assert {call.stage for call in models.requests} >= {"outline", "chapter"}


async def test_write_has_the_book_read_by_an_editor_and_proofread_before_it_saves_the_files(
    tmp_path: Path, dsn: str, models: ModelServer
) -> None:
    settings = {"BOOKGEN_DATABASE_URL": dsn, "OPENAI_API_KEY": f"key-{CANARY}", "OPENAI_BASE_URL": models.openai_url}

    code, said, complained = await run(
        tmp_path, "write", "The Salt Road", "--chapters", "2", "--words", "1500", "--format", "epub", "--no-cover",
        "--out", str(tmp_path), **settings,
    )  # fmt: skip

    assert (code, complained) == (0, "")
    assert [call.stage for call in models.requests if call.stage in AFTER_THE_CHAPTERS] == list(AFTER_THE_CHAPTERS)
    assert "The editor read the book and found nothing to change." in said
    with zipfile.ZipFile(tmp_path / "The Salt Road.epub") as epub:
        package = next(name for name in epub.namelist() if name.endswith(".opf"))
        assert "<dc:description" in epub.read(package).decode()


async def test_write_makes_a_book_without_an_editor_if_the_plan_includes_no_productions(
    tmp_path: Path, dsn: str, models: ModelServer
) -> None:
    models.script(fault("status", status=429, retry_after=1.5, stage="blurb"))
    settings = {"OPENAI_API_KEY": f"key-{CANARY}", "OPENAI_BASE_URL": models.openai_url, "BOOKGEN_BILLING": "on"}
    async with ServiceProcess(tmp_path, BOOKGEN_DATABASE_URL=dsn, **settings) as service, Client(service.url) as client:
        await signed_in(client)
        code, said, complained = await run(
            tmp_path, "write", "The Salt Road", "--chapters", "1", "--words", "800", "--format", "pdf", "--no-cover",
            "--out", str(tmp_path), "--server", service.url, "--login", "ada", "--password", PASSWORD,
        )  # fmt: skip

    assert (code, complained) == (0, "")
    assert NO_PRODUCTION in said
    assert "Drafting the blurb ..." in said
    assert {call.stage for call in models.requests} == {"outline", "chapter", "digest", "blurb"}


async def test_write_saves_the_files_even_if_the_cover_is_refused(
    tmp_path: Path, dsn: str, models: ModelServer
) -> None:
    async with ImageServer() as images:
        images.script(refused())
        settings = {
            "BOOKGEN_DATABASE_URL": dsn,
            "ANTHROPIC_API_KEY": f"key-{CANARY}",
            "ANTHROPIC_BASE_URL": models.anthropic_url,
            "OPENAI_API_KEY": f"key-{CANARY}",
            "OPENAI_BASE_URL": images.url,
            "BOOKGEN_IMAGE_MODEL": "openai:gpt-image-2.5-flare",
        }
        words = ("write", "The Salt Road", "--chapters", "1", "--words", "800", "--format", "epub")
        code, said, complained = await run(tmp_path, *words, "--out", str(tmp_path), **settings)

    assert (code, complained) == (0, "")
    assert "The cover could not be created: " in said
    assert said.splitlines()[-1] == str(tmp_path / "The Salt Road.epub")
    assert len(images.requests) == 1


async def test_write_continues_a_run_that_somebody_else_has_started(tmp_path: Path, dsn: str) -> None:
    async with ServiceProcess(tmp_path, BOOKGEN_DATABASE_URL=dsn) as service, Client(service.url) as client:
        book_id = await begun(await signed_in(client), chapter_count=2, target_word_count=1500)
        with contextlib.suppress(ApiError):  # the sample model may have finished
            await client.pause(book_id)
        code, said, complained = await run(
            tmp_path, "write", "The Salt Road", "--format", "epub", "--no-cover", "--out", str(tmp_path),
            "--server", service.url, "--login", "ada", "--password", PASSWORD,
        )  # fmt: skip
        status = await client.status(book_id)

    assert (code, complained) == (0, "")
    assert (status["generation_status"], status["mode"]) == ("completed", "full")
    assert said.splitlines()[-1] == str(tmp_path / "The Salt Road.epub")


async def test_write_uses_a_running_server(tmp_path: Path, dsn: str) -> None:
    async with ServiceProcess(tmp_path, BOOKGEN_DATABASE_URL=dsn) as service, Client(service.url) as client:
        await signed_in(client)
        code, said, complained = await run(
            tmp_path, "write", "The Salt Road", "--chapters", "1", "--words", "800", "--format", "epub",
            "--out", str(tmp_path), "--server", service.url, "--login", "ada", "--password", PASSWORD,
        )  # fmt: skip
        titles = [book["title"] for book in await client.list_books()]

    assert (code, complained) == (0, "")
    assert said.splitlines()[-1] == str(tmp_path / "The Salt Road.epub")
    assert titles == ["The Salt Road"]


async def test_write_reports_the_settings_in_which_an_existing_book_differs(tmp_path: Path, dsn: str) -> None:
    words = ("write", "The Salt Road", "--chapters", "3", "--words", "800", "--genre", "Novel", "--language", "EN")
    async with ServiceProcess(tmp_path, BOOKGEN_DATABASE_URL=dsn) as service, Client(service.url) as client:
        await signed_in(client)
        await client.create_book(title="The Salt Road", chapter_count=1, target_word_count=800, genre="Short stories")
        code, said, _ = await run(
            tmp_path, *words, "--format", "epub", "--no-cover",
            "--server", service.url, "--login", "ada", "--password", PASSWORD,
        )  # fmt: skip

    assert code == 0
    assert (
        "Continuing the book with this title and its original settings: --genre 'Short stories', --chapters 1. "
        "Use another title to start another book.\n"
    ) in said


async def test_write_creates_its_own_account_on_a_server_with_open_registration(tmp_path: Path, dsn: str) -> None:
    words = ("write", "The Salt Road", "--chapters", "1", "--words", "800", "--format", "pdf", "--out", str(tmp_path))
    async with ServiceProcess(tmp_path, BOOKGEN_DATABASE_URL=dsn) as service:
        first = await run(tmp_path, *words, "--server", service.url)
        again = await run(tmp_path, *words, "--server", service.url)

    assert [(code, complained) for code, _, complained in (first, again)] == [(0, "")] * 2
    assert "The author is Anonymous. Use --author to set another name.\nGenerating the outline ..." in first[1]
    assert "The book with this title is finished" in again[1]


async def test_write_asks_for_a_login_if_registration_is_closed(tmp_path: Path, dsn: str) -> None:
    async with ServiceProcess(tmp_path, BOOKGEN_DATABASE_URL=dsn, BOOKGEN_REGISTRATION="closed") as service:
        code, _, complained = await run(tmp_path, "write", "The Salt Road", "--server", service.url)

    assert code == 2
    assert complained == (
        f"bookgen: No account can be created at {service.url}: registration is closed or needs a verified e-mail. "
        "Sign in to your account with --login.\n"
    )


async def test_write_sets_no_cap_for_strangers_if_its_server_has_none(
    tmp_path: Path, dsn: str, models: ModelServer
) -> None:
    settings = {
        "BOOKGEN_DATABASE_URL": dsn,
        "ANTHROPIC_API_KEY": f"key-{CANARY}",
        "ANTHROPIC_BASE_URL": models.anthropic_url,
    }
    words = ("write", "The Salt Road", "--chapters", "1", "--words", "500", "--format", "epub", "--no-cover")

    code, _, _ = await run(tmp_path, *words, "--out", str(tmp_path), **settings)

    assert code == 0
    assert "strangers_may_spend" not in (tmp_path / "data" / "write.log").read_text()


async def test_a_model_failure_is_reported_with_a_remedy(tmp_path: Path, dsn: str, models: ModelServer) -> None:
    models.script(fault("status", status=401, message="invalid x-api-key", times=99))
    settings = {"BOOKGEN_DATABASE_URL": dsn, "ANTHROPIC_API_KEY": "wrong", "ANTHROPIC_BASE_URL": models.anthropic_url}

    code, said, complained = await run(tmp_path, "write", "The Salt Road", "--out", str(tmp_path), **settings)

    assert code == 1
    assert complained == "bookgen: The model provider does not accept this server's key.\n"
    assert said.splitlines()[2:] == [
        f"anthropic:claude-sonnet-5-5 at {models.anthropic_url}: The model provider does not accept this server's key: "
        "invalid x-api-key. Correct ANTHROPIC_API_KEY."
    ]


async def test_sigterm_stops_the_service_and_its_database_with_exit_code_zero(tmp_path: Path) -> None:
    async with ServiceProcess(tmp_path) as service, Client(service.url) as client:
        await signed_in(client)
        code = await service.stop()

    assert code == 0
    assert not any((tmp_path / "data").glob("pg*/postmaster.pid"))


async def test_a_second_service_joins_the_database_of_the_first(tmp_path: Path) -> None:
    async with ServiceProcess(tmp_path) as first, ServiceProcess(tmp_path) as second:
        async with Client(first.url) as client:
            await signed_in(client)
        await first.kill()
        async with Client(second.url) as client:
            await client.login("ada", PASSWORD)
            book = await client.create_book(title="Written by the second")

    assert book["title"] == "Written by the second"


async def test_the_curl_commands_in_the_readme_create_a_book_each_time(tmp_path: Path, dsn: str) -> None:
    readme = (Path(__file__).parent.parent / "README.md").read_text()
    lines = readme.partition("## The API in curl")[2].partition("```sh\n")[2].partition("```")[0]
    async with ServiceProcess(tmp_path, BOOKGEN_DATABASE_URL=dsn) as service:
        pasted = lines.replace("http://127.0.0.1:8000", service.url).replace("sleep 15", "sleep 0.2") * 2
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        shell = await asyncio.create_subprocess_exec(
            "sh", "-eu", "-c", pasted, cwd=tmp_path, env={**os.environ, "PATH": path},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        said, _ = await shell.communicate()

    assert shell.returncode == 0, said.decode()
    assert (tmp_path / "book.pdf").read_bytes()[:5] == b"%PDF-"
    assert (tmp_path / "book.epub").read_bytes()[:2] == b"PK"


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
async def test_a_failing_provider_still_gives_a_book_and_a_ledger_exact_to_the_token(
    tmp_path: Path, dsn: str, models: ModelServer, provider: str
) -> None:
    models.configure(length_factor=[0.5, 1.5])
    models.script(
        fault("garbage", kind="trailing_comma", stage="outline"),
        fault("status", status=500, stage="chapter"),
        fault("truncate", stage="chapter", times=2),
        fault("status", status=429, retry_after=0.1),
        fault("truncate_flagged_end", stage="chapter"),
        fault("cut", stage="chapter"),
        fault("garbage", kind="prose", stage="digest"),
    )
    settings = {
        "BOOKGEN_DATABASE_URL": dsn,
        "ANTHROPIC_API_KEY": f"key-{CANARY}",
        "ANTHROPIC_BASE_URL": models.anthropic_url,
    }
    if provider == "openai":
        settings = {
            "BOOKGEN_DATABASE_URL": dsn,
            "OPENAI_API_KEY": f"key-{CANARY}",
            "OPENAI_BASE_URL": models.openai_url,
        }
    async with ServiceProcess(tmp_path, **settings) as service, Client(service.url) as client:
        book_id = await begun(await signed_in(client), chapter_count=4, target_word_count=4000)
        status = await client.finished(book_id, every=0.2)
        while not (book := await client.book(book_id))["blurb"]:  # noqa: ASYNC110 (the signal is the answer of the last call)
            await asyncio.sleep(0.2)

    usage = book["usage"]
    assert status["generation_status"] == "completed"
    assert [each for call in models.requests for each in lost_sentences(call, book)] == []
    assert length_findings(book) == [
        chapter["chapter_number"]
        for chapter in book["chapters"]
        if not 0.75 <= chapter["word_count"] / chapter["target_word_count"] <= 1.25
    ]
    assert usage["calls"] == models.ledger["calls"]
    assert usage["input_tokens"] == models.ledger["input"]
    assert usage["output_tokens"] == models.ledger["output"]
    assert usage["cache_write_tokens"] == models.ledger["cache_write"]
    assert usage["cache_read_tokens"] == models.ledger["cache_read"]
