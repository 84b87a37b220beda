"""`bookgen mcp`, spoken to by the protocol's own client over standard input and output."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import ElicitResult

from bookgen.commands.cli import main
from bookgen.commands.mcp import Tools, build
from tests.http.conftest import PASSWORD, Api, open_api, visitor
from tests.service import environment

__all__ = ["open_api", "visitor"]
MOST_TOOLS = 9
MOST_CHARACTERS = 6_000  # 1,500 tokens
SMALL = {"title": "The Salt Road", "idea": "A widow smuggles salt.", "chapters": 2, "words": 400}


@asynccontextmanager
async def agent(folder: Path, api: Api, **options: Any) -> AsyncIterator[Client]:
    """An agent whose server works for the account `ada` of a running service."""
    arguments = ["-m", "bookgen", "mcp", "--server", str(api.client.make_url("")), "--login", "ada"]
    process = StdioServerParameters(
        command=sys.executable, args=[*arguments, "--password", PASSWORD], env=environment(folder), cwd=folder
    )
    async with Client(process, **options) as client:
        yield client


@pytest.fixture
async def account(visitor: Api) -> Api:
    return await visitor.as_new_account("ada")


async def ask(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    texts = [part.text for part in result.content]
    assert not result.is_error, texts
    return json.loads(texts[0]) if len(texts) == 1 else [json.loads(text) for text in texts]


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0].text)


async def test_the_tools_are_few_and_short() -> None:
    tools = await build(Tools(None), sample=False).list_tools()  # type: ignore[arg-type]

    told = json.dumps([tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools])
    assert len(tools) <= MOST_TOOLS
    assert len(told) <= MOST_CHARACTERS


async def test_an_agent_makes_a_book(tmp_path: Path, account: Api) -> None:
    async with agent(tmp_path, account) as client:
        made = await ask(client, "make_book", **SMALL)
        book = {"book_id": made["id"]}
        changed = await ask(client, "outline", **book, changes=[{"chapter_number": 1, "title": "Salt"}])
        started = await ask(client, "write", **book)
        await account.until(made["id"], "completed")
        status = await ask(client, "status", **book)
        await ask(client, "chapter", **book, chapter_number=2, content="By hand.")
        chapter = await ask(client, "chapter", **book, chapter_number=2)
        paths = await client.call_tool("export", {**book, "folder": str(tmp_path / "out"), "formats": ["epub"]})

    assert changed["chapters"][0]["title"] == "Salt"
    assert status["generation_status"] == "completed"
    assert status["task_id"] == started["task_id"]
    assert chapter["content"] == "By hand."
    assert Path(paths.content[0].text).read_bytes().startswith(b"PK")


async def test_an_agent_has_a_picture_book_produced_and_no_book_made_twice(tmp_path: Path, account: Api) -> None:
    hero = "Pip, a small grey mouse with a red scarf"
    picture_book = {"title": "Pip", "theme": "Being brave.", "age_range": "3-5", "characters": [hero], "pages": 8}
    async with agent(tmp_path, account) as client:
        made = await ask(client, "make_picture_book", **picture_book)
        again = await ask(client, "make_picture_book", **picture_book)
        other = await ask(client, "make_picture_book", **{**picture_book, "theme": "Being kind."})
        started = await ask(client, "write", book_id=made["id"], produce=True)

    book = (await account.get(f"/books/{made['id']}/")).body
    assert made["id"] == again["id"] != other["id"]
    assert book["characters"][0]["name"] == "Pip"
    assert [chapter["summary"] for chapter in made["chapters"]] == [chapter["summary"] for chapter in book["chapters"]]
    assert len(made["chapters"]) == 4
    assert all(chapter["summary"] for chapter in made["chapters"])
    assert book["generation_progress"]["mode"] == "automated"
    assert book["generation_progress"]["task_id"] == started["task_id"]


async def test_the_handle_of_a_task_outlives_the_process_that_gave_it(tmp_path: Path, account: Api) -> None:
    written = await account.written()
    async with agent(tmp_path, account) as client:
        first = await ask(client, "status", book_id=written["id"])
    async with agent(tmp_path, account) as client:
        again = await ask(client, "status", book_id=written["id"])

    assert first["task_id"] == again["task_id"]


async def test_the_reader_is_asked_before_it_costs_where_the_client_can(tmp_path: Path, account: Api) -> None:
    asked: list[str] = []

    async def decline(_context: Any, request: Any) -> ElicitResult:
        asked.append(request.message)
        return ElicitResult(action="decline")

    async with agent(tmp_path, account, elicitation_callback=decline) as client:
        made = await ask(client, "make_book", **SMALL)
        told = await refusal(client, "write", book_id=made["id"])

    assert "“The Salt Road”, 2 chapters" in asked[0]
    assert "does not want it written now" in told
    assert (await account.get(f"/books/{made['id']}/generation-status/")).status == 404


async def test_a_refusal_says_what_to_do_next(tmp_path: Path, account: Api) -> None:
    async with agent(tmp_path, account) as client:
        missing = await refusal(client, "status", book_id=4711)
        wrong = await refusal(client, "make_book", **{**SMALL, "language": "tlh"})

    assert "list_books" in missing
    assert "content_language" in wrong


def test_without_its_extra_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    monkeypatch.delitem(sys.modules, "bookgen.commands.mcp")

    assert main(["mcp"]) == 2
    assert "pip install 'bookgen[mcp]'" in capsys.readouterr().err
