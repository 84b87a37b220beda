"""A script's way from an idea to files, with and without an event loop, against the real service."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from bookgen.client import Client, SyncClient, WritingEnded
from bookgen.client.books import BookHandle, Books
from bookgen.client.sync import SyncBook, SyncBooks
from bookgen.errors import UpstreamAIError
from bookgen.providers.offline import OfflineModel
from bookgen.providers.text import TextReply, TextRequest
from bookgen.render.formats import FORMATS
from tests.http.conftest import PASSWORD, Api, OpenApi, open_api, visitor

__all__ = ["open_api", "visitor"]
SMALL = {"chapter_count": 2, "target_word_count": 400}
SERVICE = ("asyncpg", "reportlab", "pydantic_settings", "stripe", "anthropic", "openai", "marshmallow", "argon2")


class RefusingChapterTwo(OfflineModel):
    async def complete(self, request: TextRequest) -> TextReply:
        if request.chapter_number == 2 and request.stage != "outline":
            raise UpstreamAIError("It may not be written.", stage=request.stage, chapter_number=2, retryable=False)
        return await super().complete(request)


def address(api: Api) -> str:
    return str(api.client.make_url(""))


async def test_a_book_is_created_written_and_saved(visitor: Api, tmp_path: Path) -> None:
    told: list[str] = []
    async with Client(address(visitor)) as client:
        await client.register("ada", "ada@example.com", PASSWORD)
        book = await client.books.create("The Salt Road", **SMALL)
        await book.write(lambda status: told.append(status["generation_status"]), every=0.01)
        files = await book.save(tmp_path / "out")

    assert (book.status, len(book.chapters)) == ("completed", 2)
    assert told[-1] == "completed"
    assert {file.name for file in files} == {f"The Salt Road.{each.extension}" for each in FORMATS.values()}
    assert (tmp_path / "out" / "The Salt Road.pdf").read_bytes().startswith(b"%PDF-")


async def test_a_book_is_saved_in_the_formats_of_its_plan_by_default(open_api: OpenApi, tmp_path: Path) -> None:
    service = await open_api(billing="on")  # the free plan exports only PDF
    async with Client(address(service)) as client:
        await client.register("ada", "ada@example.com", PASSWORD)
        book = await client.books.create("The Salt Road", **SMALL)
        await book.write(every=0.01)
        files = await book.save(tmp_path)

    assert [file.name for file in files] == ["The Salt Road.pdf"]


@pytest.mark.parametrize("login", ["ada@sea", "ada@example.com"])
async def test_login_accepts_a_username_or_an_address(visitor: Api, login: str) -> None:
    async with Client(address(visitor)) as client:
        await client.register("ada@sea", "ada@example.com", PASSWORD)

        assert (await client.login(login, PASSWORD))["username"] == "ada@sea"


async def test_a_book_is_produced_in_one_call_and_not_twice(visitor: Api) -> None:
    told: list[str] = []

    def script() -> tuple[str, str, int, str]:
        with SyncClient(address(visitor)) as client:
            client.register("ada", "ada@example.com", PASSWORD)
            book = client.books.create("The Salt Road", chapter_count=1, target_word_count=200, content_language="de")
            book.produce(lambda status: told.append(status["mode"]), every=0.05)
            first = book.data["generation_progress"]["task_id"]
            second = book.produce(every=0.05).data["generation_progress"]["task_id"]
            return first, second, len(book.data["covers"]), book.blurb

    first, second, covers, blurb = await asyncio.to_thread(script)

    assert set(told) == {"automated"}
    assert (first, covers) == (second, 1)
    assert blurb.startswith("„The Salt Road“ ist ein Muster.")


async def test_a_book_with_a_new_outline_is_produced_again(visitor: Api) -> None:
    async with Client(address(visitor)) as client:
        await client.register("ada", "ada@example.com", PASSWORD)
        book = await client.books.create("The Salt Road", chapter_count=1, target_word_count=200)
        await book.produce(every=0.05)
        await client.generate_outline(book.id)

        await book.produce(every=0.05)

    assert book.data["chapters"][0]["content"]


async def test_missing_chapters_of_saved_files_are_reported(visitor: Api, tmp_path: Path) -> None:
    account = await visitor.as_new_account("ada")
    written = await account.written()

    def script() -> tuple[list[Path], tuple[int, ...], tuple[int, ...]]:
        with SyncClient(address(visitor)) as client:
            client.login("ada", PASSWORD)
            book = client.books.get(written["id"])
            book.save(tmp_path, ["epub"])
            whole = book.missing_chapters
            client.call("PATCH", f"/chapters/{written['chapters'][0]['id']}/", {"content": ""})
            return book.save(tmp_path, ["epub"]), whole, book.missing_chapters

    files, whole, without_one = await asyncio.to_thread(script)

    assert [file.name for file in files] == ["A Book.epub"]
    assert (whole, without_one) == ((), (1,))


async def test_a_script_can_make_any_call_by_its_path(visitor: Api) -> None:
    def script() -> list[str]:
        with SyncClient(address(visitor)) as client:
            client.register("ada", "ada@example.com", PASSWORD)
            book = client.books.create("The Salt Road")
            client.call("PATCH", f"/books/{book.id}/", {"title": "The Silk Road"})
            client.call("POST", f"/books/{book.id}/duplicate/")
            assert client.call("DELETE", f"/books/{book.id}/") == {}
            return [each["title"] for each in client.call("GET", "/books/")]

    assert await asyncio.to_thread(script) == ["The Silk Road"]


async def test_the_synchronous_client_does_the_same(visitor: Api, tmp_path: Path) -> None:
    def script() -> list[str]:
        with SyncClient(address(visitor)) as client:
            client.register("ada", "ada@example.com", PASSWORD)
            client.books.create("The Salt Road", **SMALL)
            [book] = client.books.list()
            return [path.name for path in book.write(every=0.01).save(tmp_path, ["epub"])]

    assert await asyncio.to_thread(script) == ["The Salt Road.epub"]


async def test_writing_continues_with_the_existing_chapters(visitor: Api) -> None:
    account = await visitor.as_new_account("ada")
    written = await account.written()
    async with Client(address(visitor)) as client:
        await client.login("ada", PASSWORD)
        book = await client.books.get(written["id"])
        await book.write(every=0.01)

    status = (await account.get(f"/books/{written['id']}/generation-status/")).body
    assert status["finished_at"] == written["generation_progress"]["finished_at"]


async def test_a_run_that_ends_early_raises_an_error_with_the_reason(open_api: OpenApi) -> None:
    visitor = await open_api(model=RefusingChapterTwo())
    async with Client(address(visitor)) as client:
        await client.register("ada", "ada@example.com", PASSWORD)
        book = await client.books.create("The Salt Road", **SMALL)
        with pytest.raises(WritingEnded, match=r"It may not be written\.") as ended:
            await book.write(every=0.01)

    assert (ended.value.code, ended.value.details["chapter_number"]) == ("UPSTREAM_AI_ERROR", 2)


@pytest.mark.parametrize(("waiting", "plain"), [(BookHandle, SyncBook), (Books, SyncBooks)])
def test_the_synchronous_client_has_every_method_of_the_asynchronous_one(waiting: type, plain: type) -> None:
    public = {name for name in vars(waiting) if not name.startswith("_")}

    assert public - vars(plain).keys() == set()


def test_importing_the_client_does_not_import_the_service() -> None:
    code = f"import sys, bookgen.client; sys.exit(sorted(set({SERVICE!r}) & set(sys.modules)) != [])"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
