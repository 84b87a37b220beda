"""Exports over the API: file names, settings, and the headers that clients rely on."""

from __future__ import annotations

import asyncio
import io
import re
import zipfile
from typing import Any
from urllib.parse import unquote

import pytest
from pypdfium2 import PdfDocument

from bookgen.http.exports import disposition
from bookgen.render.formats import FORMATS
from tests.http.conftest import Api, OpenApi, Reply
from tests.render.test_hostile import CASES
from tests.services.test_exports import HeldPool

PATHS = [each.path for each in FORMATS.values()]
HOSTILE = [
    'a"; filename="evil.exe',
    "..\\..\\evil/../../etc/passwd",
    "line\r\nSet-Cookie: a=b\r\n\r\n<html>",
    "\u202egnp.exe",
    "Übermut, čaj & 書物 👩‍🚀",
    "%0d%0aX: y",
    "....",
    "x" * 200,
]


@pytest.mark.parametrize("title", HOSTILE, ids=range(len(HOSTILE)))
async def test_a_title_cannot_break_out_of_the_file_name(api: Api, title: str) -> None:
    book = await api.written(title=title)

    reply = await api.post(f"/books/{book['id']}/export_epub/", {"settings": {}})

    said = reply.headers["Content-Disposition"]
    plain, extended = re.fullmatch(r'attachment; filename="([^"]*)"; filename\*=UTF-8\'\'([\w%.~-]+)', said).groups()  # type: ignore[union-attr]
    for name in (plain, unquote(extended)):
        assert name.endswith(".epub")
        assert not re.search(r'[/\\\r\n"\x00-\x1f]', name), name
    assert "Set-Cookie" not in reply.headers
    assert plain.isascii()


async def test_no_file_inside_an_archive_is_named_after_the_book(api: Api) -> None:
    book = await api.written(title="../../evil")

    for action in ("export_epub", "export_docx"):
        file = (await api.post(f"/books/{book['id']}/{action}/", {})).raw
        names = zipfile.ZipFile(io.BytesIO(file)).namelist()
        assert names
        assert not [name for name in names if "evil" in name or ".." in name or name.startswith("/")]


def test_a_title_without_ascii_letters_falls_back_to_book_for_old_clients() -> None:
    assert disposition("書物.pdf").startswith('attachment; filename="book.pdf"; ')


@pytest.mark.parametrize("action", [*PATHS, "preview_pdf"])
async def test_exporting_a_book_without_text_is_a_conflict(api: Api, action: str) -> None:
    for book in (await api.book(), await api.outlined()):
        reply = await api.post(f"/books/{book['id']}/{action}/", {"settings": {}})
        assert (reply.status, reply.code) == (409, "CONFLICT")


async def of_three(api: Api, **emptied: str) -> dict[str, Any]:
    """A book of three chapters, some of them with these texts."""
    book = await api.written(chapter_count=3, target_word_count=600)
    for chapter, content in emptied.items():
        path = f"/chapters/{book['chapters'][int(chapter.removeprefix('chapter')) - 1]['id']}/"
        assert (await api.patch(path, {"content": content})).status == 200
    return book


@pytest.mark.parametrize("action", [*PATHS, "preview_pdf"])
async def test_a_header_lists_the_missing_chapters(api: Api, action: str) -> None:
    book = await of_three(api)
    path = f"/books/{book['id']}/{action}/"

    whole = await api.post(path, {})
    await api.patch(f"/chapters/{book['chapters'][1]['id']}/", {"content": ""})
    without_2 = await api.post(path, {})
    await api.patch(f"/chapters/{book['chapters'][2]['id']}/", {"content": " \n"})
    without_2_and_3 = await api.post(path, {})

    assert "X-Missing-Chapters" not in whole.headers
    assert (without_2.status, without_2.headers["X-Missing-Chapters"]) == (200, "2")
    assert (without_2_and_3.status, without_2_and_3.headers["X-Missing-Chapters"]) == (200, "2, 3")


@pytest.mark.parametrize("action", [*PATHS, "preview_pdf"])
async def test_require_complete_refuses_a_book_with_missing_chapters(api: Api, action: str) -> None:
    book = await of_three(api, chapter2="")
    path, complete = f"/books/{book['id']}/{action}/", {"settings": {"require_complete": True}}

    one = await api.post(path, complete)
    await api.patch(f"/chapters/{book['chapters'][0]['id']}/", {"content": ""})
    two = await api.post(path, complete)
    for chapter in book["chapters"][:2]:
        await api.patch(f"/chapters/{chapter['id']}/", {"content": "By hand."})
    none, as_usual = await api.post(path, complete), await api.post(path, {})

    assert (one.status, one.code) == (409, "CONFLICT")
    remedy = "Write the missing text, or export without require_complete."
    assert one.body["error"]["message"] == f"Chapter 2 is not written yet. {remedy}"
    assert two.body["error"]["message"] == f"Chapters 1 and 2 are not written yet. {remedy}"
    assert two.body["error"]["details"] == {"missing_chapters": [1, 2]}
    assert none.status == as_usual.status == 200
    assert none.headers["ETag"] == as_usual.headers["ETag"]


async def test_chapters_keep_their_numbers_when_others_are_missing_from_the_file(api: Api) -> None:
    book = await of_three(api, chapter1="The first.", chapter2="", chapter3="The third.")

    texts = await texts_of_files(api, book["id"])

    for format, text in texts.items():
        numbers = re.findall(r"chapter (\w+)", text.lower())
        assert {"three", "3"} & set(numbers), (format, numbers)
        assert not {"two", "2"} & set(numbers), (format, numbers)


async def texts_of_files(api: Api, book_id: int) -> dict[str, str]:
    """The text of each file of the book."""
    files = {name: (await api.post(f"/books/{book_id}/export_{name}/", {})).raw for name in ("pdf", "docx", "epub")}
    texts = {"pdf": " ".join(page.get_textpage().get_text_bounded() for page in PdfDocument(files["pdf"]))}
    for name in ("docx", "epub"):
        archive = zipfile.ZipFile(io.BytesIO(files[name]))
        parts = [part for part in archive.namelist() if part.endswith(("document.xml", ".xhtml"))]
        texts[name] = re.sub(r"<[^>]+>", " ", " ".join(archive.read(part).decode() for part in parts))
    return texts


@pytest.mark.parametrize(
    "settings",
    [{"font_size": 7}, {"font_size": "12"}, {"line_spacing": 2.1}, {"font": "comic"}, {"include_toc": 1},
     {"profile": "web"}, {"chapter_starts": "left"}, {"isbn": 5}, {"paper": ["white"]}, {"justify": "true"},
     {"require_complete": 1}],
)  # fmt: skip
async def test_a_wrong_setting_is_refused_under_settings(api: Api, settings: dict[str, Any]) -> None:
    book = await api.written()

    reply = await api.post(f"/books/{book['id']}/export_pdf/", {"settings": settings})

    assert (reply.status, list(reply.body["error"]["details"])) == (400, ["settings"])


async def test_unknown_settings_are_ignored_and_do_not_change_the_etag(api: Api) -> None:
    book = await api.written()
    path = f"/books/{book['id']}/export_epub/"

    replies = [await api.post(path, body) for body in ({}, {"settings": {}}, {"settings": {"glitter": True}})]

    assert len({reply.headers["ETag"] for reply in replies}) == len({reply.raw for reply in replies}) == 1


async def test_only_the_newest_eight_files_of_a_book_are_kept(api: Api) -> None:
    book = await api.written()
    path = f"/books/{book['id']}/export_epub/"

    for number in range(11):
        reply = await api.post(path, {"settings": {"dedication": f"For reader {number}."}})
        assert reply.status == 200

    assert await api.services.database.http.fetchval("SELECT count(*) FROM export_file") == 8


@pytest.mark.parametrize("action", [*PATHS, "preview_pdf", "preview-data"])
async def test_hostile_text_is_exported_or_refused_with_the_reason(api: Api, action: str) -> None:
    title = "<b>An uncommonly long title</b> that goes on " * 8
    assert (await api.post("/books/", {"title": title[:300]})).status == 400
    book = await api.written(title=title[:200])
    first, second = book["chapters"][:2]
    text = "\n\n".join(CASES.values()).replace("\x00", "")  # JSON can contain it, PostgreSQL cannot
    for chapter in (first, second):
        assert (await api.patch(f"/chapters/{chapter['id']}/", {"content": text})).status == 200

    made = await ask(api, book, action)
    await api.patch(f"/chapters/{second['id']}/", {"content": "A cuneiform sign: \U00012000"})
    strange = await ask(api, book, action)

    assert made.status == 200
    assert len(made.raw) > 5_000
    if action in PATHS and action != "export_pdf":  # the reader's program draws these
        assert strange.status == 200
    else:
        assert (strange.status, "U+12000" in str(strange.body)) == (400, True)


async def ask(api: Api, book: dict[str, Any], action: str) -> Reply:
    path = f"/books/{book['id']}/{action}/"
    return await (api.get(path) if action == "preview-data" else api.post(path, {"settings": {}}))


@pytest.mark.parametrize("action", ["POST /{}/export_pdf/", "POST /{}/preview_pdf/", "GET /{}/preview-data/"])
async def test_a_job_is_cancelled_when_its_caller_disconnects(api: Api, action: str) -> None:
    book = await api.written()
    pool = HeldPool()
    api.services.publisher._pool = pool
    method, path = action.format(f"api/v1/books/{book['id']}").split()
    body = b"{}" if method == "POST" else b""

    _, writer = await asyncio.open_connection("127.0.0.1", api.client.port)
    writer.write(
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {api.access}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
    )
    await asyncio.wait_for(pool.asked.acquire(), 20)
    writer.close()

    await asyncio.wait_for(pool.called_off.wait(), 20)
    assert (await api.get("/books/")).status == 200


async def test_reading_the_preview_counts_as_an_expensive_request(open_api: OpenApi) -> None:
    api = await (await open_api(rate_expensive="2/minute")).as_new_account("ada")
    book = await api.book()

    seen = [(await ask(api, book, action)).status for action in ("export_pdf", "preview-data", "preview-data")]

    assert seen == [409, 409, 429]
