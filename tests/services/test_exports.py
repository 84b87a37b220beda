"""From rows in the database to files, through real worker processes."""

from __future__ import annotations

import asyncio
import io
import zipfile
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pikepdf
import pytest

from bookgen.billing.quota import Quota
from bookgen.errors import Conflict, InvalidInput, NotFound, PlanUpgradeRequired, RenderTimeout
from bookgen.render.pool import RenderPool
from bookgen.render.settings import ExportSettings
from bookgen.services import exports as service
from bookgen.services.exports import Publisher, file_name
from bookgen.store import exports
from bookgen.store.database import Database

PROSE = "# The Tide\n\nThe harbour was *quiet*, and nobody spoke.\n\n***\n\n“Come in,” she said.[^1]\n\n[^1]: A note.\n"


@pytest.fixture
async def publisher(database: Database) -> AsyncIterator[Publisher]:
    publisher = Publisher(database, Quota(billing=False))
    yield publisher
    await publisher.close()


@pytest.fixture
async def account_id(database: Database) -> int:
    return int(
        await database.http.fetchval(
            "INSERT INTO account (username, email, password_hash, first_name, last_name)"
            " VALUES ('ingrid', 'ingrid@example.org', 'x', 'Ingrid', 'Lindqvist') RETURNING id"
        )
    )


@pytest.fixture
async def book_id(database: Database, account_id: int) -> int:
    return await add_book(database, account_id, content=PROSE)


async def add_book(database: Database, account_id: int, *, content: str) -> int:
    book_id = await database.http.fetchval(
        "INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language)"
        " VALUES ($1, 'The Patient Harbour', 1, 1000, '6x9', 'en') RETURNING id",
        account_id,
    )
    await database.http.execute(
        "INSERT INTO chapter (book_id, chapter_number, title, content, target_word_count)"
        " VALUES ($1, 1, 'The Tide', $2, 1000)",
        book_id,
        content,
    )
    return int(book_id)


async def test_each_export_is_a_file_of_its_format(publisher: Publisher, account_id: int, book_id: int) -> None:
    pdf = await publisher.export(account_id, book_id, "pdf", ExportSettings())
    docx = await publisher.export(account_id, book_id, "docx", ExportSettings())
    epub = await publisher.export(account_id, book_id, "epub", ExportSettings())

    with pikepdf.open(io.BytesIO(pdf.body)) as opened:
        assert opened.docinfo["/Title"] == "The Patient Harbour"
    assert "word/document.xml" in zipfile.ZipFile(io.BytesIO(docx.body)).namelist()
    assert zipfile.ZipFile(io.BytesIO(epub.body)).read("mimetype") == b"application/epub+zip"
    assert (pdf.filename, epub.content_type) == ("The Patient Harbour.pdf", "application/epub+zip")


async def test_on_an_almost_full_disk_a_file_is_made_and_not_stored(
    database: Database, account_id: int, book_id: int
) -> None:
    publisher = Publisher(database, Quota(billing=False), shortage=lambda: "The disk is almost full.")

    made = await publisher.export(account_id, book_id, "epub", ExportSettings())

    assert made.body.startswith(b"PK")
    assert await database.http.fetchval("SELECT count(*) FROM export_file") == 0
    await publisher.close()


async def test_a_book_of_another_account_is_not_found(publisher: Publisher, account_id: int, book_id: int) -> None:
    with pytest.raises(NotFound):
        await publisher.export(account_id + 1, book_id, "pdf", ExportSettings())


async def test_a_book_without_a_written_chapter_is_a_conflict(
    publisher: Publisher, database: Database, account_id: int
) -> None:
    empty = await add_book(database, account_id, content="")

    with pytest.raises(Conflict):
        await publisher.export(account_id, empty, "pdf", ExportSettings())


async def test_the_free_plan_exports_only_a_watermarked_pdf(database: Database, account_id: int, book_id: int) -> None:
    publisher = Publisher(database, Quota(billing=True))
    try:
        with pytest.raises(PlanUpgradeRequired) as refused:
            await publisher.export(account_id, book_id, "docx", ExportSettings())
        free = await publisher.export(account_id, book_id, "pdf", ExportSettings())
    finally:
        await publisher.close()

    assert refused.value.details["requested_format"] == "docx"
    assert len(free.body) > 1000


async def test_a_repeated_export_returns_the_stored_file(
    publisher: Publisher, database: Database, account_id: int, book_id: int
) -> None:
    first = await publisher.export(account_id, book_id, "epub", ExportSettings())
    kept = await exports.find(database.http, book_id, first.etag)
    second = await publisher.export(account_id, book_id, "epub", ExportSettings())

    assert kept
    assert kept.body == first.body == second.body
    assert await exports.total(database.http, account_id) == 2


async def test_concurrent_requests_share_one_rendering(
    publisher: Publisher, database: Database, account_id: int, book_id: int
) -> None:
    files = await asyncio.gather(*(publisher.export(account_id, book_id, "pdf", ExportSettings()) for _ in range(6)))

    assert len({file.etag for file in files}) == 1
    assert await database.http.fetchval("SELECT count(*) FROM export_file") == 1


async def test_an_edit_changes_the_etag_of_the_file(
    publisher: Publisher, database: Database, account_id: int, book_id: int
) -> None:
    before = await publisher.export(account_id, book_id, "epub", ExportSettings())
    await database.http.execute("UPDATE chapter SET content = 'Other words.' WHERE book_id = $1", book_id)
    after = await publisher.export(account_id, book_id, "epub", ExportSettings())

    assert before.etag != after.etag


async def test_the_preview_has_every_page(publisher: Publisher, account_id: int, book_id: int) -> None:
    data = orjson.loads((await publisher.pages(account_id, book_id)).json)
    pdf = await publisher.export(account_id, book_id, "pdf", ExportSettings())

    with pikepdf.open(io.BytesIO(pdf.body)) as opened:
        assert data["page_count"] == len(data["pages"]) == len(opened.pages)
    assert {page["kind"] for page in data["pages"]} <= {"title", "copyright", "toc", "chapter"}
    assert "harbour was" in "".join(page["html"] for page in data["pages"])


async def test_a_character_without_a_font_is_named_in_the_error(
    publisher: Publisher, database: Database, account_id: int
) -> None:
    book = await add_book(database, account_id, content="A sign: \U00012000.")

    with pytest.raises(InvalidInput) as refused:
        await publisher.export(account_id, book, "pdf", ExportSettings())

    assert "U+12000" in str(refused.value.details["content"])


def test_a_file_name_keeps_the_title_without_forbidden_characters() -> None:
    assert file_name('Über "Wörter": a/b', "pdf") == "Über Wörter a b.pdf"
    assert file_name("...", "epub") == "book.epub"
    assert file_name("漢" * 200, "pdf") == f"{'漢' * 66}.pdf"  # a file name has at most 255 bytes
    assert file_name("A \u202efdp.gpj\u202c \u2066title", "pdf") == "A fdp.gpj title.pdf"


class HeldPool(RenderPool):
    """Renders nothing until released, and records cancelled jobs."""

    def __init__(self) -> None:
        super().__init__(workers=1)
        self.outcome: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.asked, self.called_off = asyncio.Semaphore(0), asyncio.Event()
        self.jobs = 0

    async def run(self, job: Any) -> Any:
        self.jobs += 1
        self.asked.release()
        try:
            return await asyncio.shield(self.outcome)
        except asyncio.CancelledError:
            self.called_off.set()
            raise


@pytest.fixture
async def held(database: Database) -> AsyncIterator[tuple[Publisher, HeldPool]]:
    pool = HeldPool()
    publisher = Publisher(database, Quota(billing=False), pool)
    yield publisher, pool
    await publisher.close()


async def test_rendering_continues_while_any_of_its_callers_waits(
    held: tuple[Publisher, HeldPool], account_id: int, book_id: int
) -> None:
    publisher, pool = held
    first = asyncio.create_task(publisher.export(account_id, book_id, "pdf", ExportSettings()))
    await pool.asked.acquire()
    second = asyncio.create_task(publisher.export(account_id, book_id, "pdf", ExportSettings()))
    await _until(lambda: any(shared.callers == 2 for shared in publisher._under_way.values()))

    first.cancel()
    await asyncio.wait([first])
    assert not pool.called_off.is_set()
    second.cancel()
    await pool.called_off.wait()

    assert pool.jobs == 1
    assert not publisher._under_way


async def test_a_rendering_that_timed_out_is_not_retried_until_the_book_changes(
    database: Database, held: tuple[Publisher, HeldPool], account_id: int, book_id: int
) -> None:
    publisher, pool = held
    pool.outcome.set_exception(RenderTimeout())
    with pytest.raises(RenderTimeout):
        await publisher.export(account_id, book_id, "pdf", ExportSettings())

    for settings in (ExportSettings(), ExportSettings(font_size=9)):
        with pytest.raises(Conflict, match="too long"):
            await publisher.export(account_id, book_id, "pdf", settings)
    assert pool.jobs == 1

    await database.http.execute("UPDATE chapter SET content = 'Short.', updated_at = now() WHERE book_id = $1", book_id)
    with pytest.raises(RenderTimeout):
        await publisher.export(account_id, book_id, "pdf", ExportSettings())


async def test_a_rendering_that_timed_out_is_retried_after_a_while(
    held: tuple[Publisher, HeldPool], account_id: int, book_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher, pool = held
    pool.outcome.set_exception(RenderTimeout())
    with pytest.raises(RenderTimeout):
        await publisher.export(account_id, book_id, "pdf", ExportSettings())
    monkeypatch.setattr(service, "RETRY_SECONDS", 0.0)

    with pytest.raises(RenderTimeout):
        await publisher.export(account_id, book_id, "pdf", ExportSettings())


async def _until(happened: Any) -> None:
    async with asyncio.timeout(10):
        while not happened():  # noqa: ASYNC110 (a caller that joins others tells nobody)
            await asyncio.sleep(0)
