"""`bookgen proof` as it is used: by title, against a running server, also one that is killed while it reads."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bookgen.client.client import Client
from bookgen.commands import proof
from tests.canaries import CANARY
from tests.fakes.model_script import fault
from tests.fakes.model_server import ModelServer
from tests.http.conftest import PASSWORD
from tests.service import ServiceProcess, run

SLIP = "The lamp went out over the the water.\n\nShe said , at last, that it was cold."
MENDED = "The lamp went out over the water.\n\nShe said , at last, that it was cold."


@pytest.fixture
async def models() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


async def author_with_a_book(client: Client) -> dict[str, Any]:
    await client.register("ada", "ada@example.com", PASSWORD)
    book = await client.create_book(title="Salt", chapter_count=1, target_word_count=500)
    return await client.update_outline(book["id"], [{"title": "One", "summary": "Of salt."}])


async def test_proof_shows_each_change_and_applies_what_is_chosen(tmp_path: Path, dsn: str) -> None:
    async with ServiceProcess(tmp_path, BOOKGEN_DATABASE_URL=dsn) as service, Client(service.url) as client:
        book = await author_with_a_book(client)
        await client.change_chapter(book["chapters"][0]["id"], content=SLIP)
        options = ("--server", service.url, "--login", "ada", "--password", PASSWORD)

        code, said, complained = await run(tmp_path, "proof", "Salt", "--apply", "major", *options)
        missing = await run(tmp_path, "proof", "Pepper", *options)
        content = (await client.book(book["id"]))["chapters"][0]["content"]

    assert (code, complained) == (0, "")
    assert "2 suggestions: 1 major, 1 minor" in said
    assert "over [-the the-]{+the+} water" in said
    assert "1 suggestion applied." in said
    assert content == MENDED
    assert (missing[0], missing[2]) == (2, "bookgen: There is no book 'Pepper'. Your books: Salt.\n")


async def test_proof_can_apply_the_safe_changes_only(tmp_path: Path, dsn: str) -> None:
    async with ServiceProcess(tmp_path, BOOKGEN_DATABASE_URL=dsn) as service, Client(service.url) as client:
        book = await author_with_a_book(client)
        await client.change_chapter(book["chapters"][0]["id"], content=SLIP)
        options = ("--server", service.url, "--login", "ada", "--password", PASSWORD)

        _, said, _ = await run(tmp_path, "proof", "Salt", "--apply", "safe", *options)
        content = (await client.book(book["id"]))["chapters"][0]["content"]

    assert "1 chapter read; 2 suggestions" in said
    assert "water. ¶ She [-said ,-]{+said,+} at last" in " ".join(said.split())
    assert content == SLIP.replace("said ,", "said,")


@pytest.mark.parametrize(("typed", "letter"), [("Yes\n", "y"), (" s\n", "s"), ("\n", ""), ("", "q")])
def test_the_prompt_shows_the_choices_and_end_of_input_quits(
    typed: str, letter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, color_system=None, width=120)
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))

    with console.capture() as said:
        chosen = proof.answer(console)

    assert chosen == letter
    assert "[y]es, [n]o, [d]ismiss" in said.get()


async def test_a_report_survives_a_kill_of_its_server_and_repeats_at_most_one_call(
    tmp_path: Path, dsn: str, models: ModelServer
) -> None:
    models.script(fault("hold", stage="proofreading"))
    settings = {"OPENAI_API_KEY": f"key-{CANARY}", "OPENAI_BASE_URL": models.openai_url, "BOOKGEN_DATABASE_URL": dsn}
    async with ServiceProcess(tmp_path, **settings) as service, Client(service.url) as client:
        book = await author_with_a_book(client)
        await client.change_chapter(book["chapters"][0]["id"], content=SLIP)
        report = await client.proofread(book["id"])
        await models.until(lambda: any(call.stage == "proofreading" for call in models.requests))
        await service.kill()

    async with ServiceProcess(tmp_path, **settings) as again, Client(again.url) as client:
        await client.login("ada", PASSWORD)
        reports = [each async for each in client.reading(report["id"], 0.2)]
        found = [each["original_text"] async for each in client.suggestions(report["id"])]

    assert reports[-1]["status"] == "completed"
    assert found == ["the the", "said ,"]
    assert [call.stage for call in models.requests].count("proofreading") == 2
