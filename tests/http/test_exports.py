"""Exports over the wire: names that break nothing, settings, and what a client may count on in the headers."""

from __future__ import annotations

import asyncio
import io
import re
import zipfile
from typing import Any
from urllib.parse import unquote

import pytest

from bookgen.http.exports import disposition
from tests.http.conftest import Api, OpenApi, Reply
from tests.render.test_hostile import CASES
from tests.services.test_publishing import HeldPool

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
async def test_a_title_stays_a_title_in_the_name_of_the_file(api: Api, title: str) -> None:
    book = await api.written(title=title)

    reply = await api.post(f"/books/{book['id']}/export_epub/", {"settings": {}})

    said = reply.headers["Content-Disposition"]
    plain, extended = re.fullmatch(r'attachment; filename="([^"]*)"; filename\*=UTF-8\'\'([\w%.~-]+)', said).groups()  # type: ignore[union-attr]
    for name in (plain, unquote(extended)):
        assert name.endswith(".epub")
        assert not re.search(r'[/\\\r\n"\x00-\x1f]', name), name
    assert "Set-Cookie" not in reply.headers
    assert plain.isascii()


async def test_no_part_of_a_file_is_named_after_the_book(api: Api) -> None:
    book = await api.written(title="../../evil")

    for action in ("export_epub", "export_docx"):
        file = (await api.post(f"/books/{book['id']}/{action}/", {})).raw
        names = zipfile.ZipFile(io.BytesIO(file)).namelist()
        assert names
        assert not [name for name in names if "evil" in name or ".." in name or name.startswith("/")]


def test_a_name_of_nothing_that_old_clients_know_is_book() -> None:
    assert disposition("書物.pdf").startswith('attachment; filename="book.pdf"; ')


@pytest.mark.parametrize("action", ["export_pdf", "export_docx", "export_epub", "preview_pdf"])
async def test_a_book_with_no_written_chapter_is_a_conflict(api: Api, action: str) -> None:
    for book in (await api.book(), await api.outlined()):
        reply = await api.post(f"/books/{book['id']}/{action}/", {"settings": {}})
        assert (reply.status, reply.code) == (409, "CONFLICT")


@pytest.mark.parametrize(
    "settings",
    [{"font_size": 7}, {"font_size": "12"}, {"line_spacing": 2.1}, {"font": "comic"}, {"include_toc": 1},
     {"profile": "web"}, {"chapter_starts": "left"}, {"isbn": 5}, {"paper": ["white"]}, {"justify": "true"}],
)  # fmt: skip
async def test_a_wrong_setting_is_refused_under_settings(api: Api, settings: dict[str, Any]) -> None:
    book = await api.written()

    reply = await api.post(f"/books/{book['id']}/export_pdf/", {"settings": settings})

    assert (reply.status, list(reply.body["error"]["details"])) == (400, ["settings"])


async def test_unknown_settings_are_dropped_and_the_same_book_has_the_same_tag(api: Api) -> None:
    book = await api.written()
    path = f"/books/{book['id']}/export_epub/"

    replies = [await api.post(path, body) for body in ({}, {"settings": {}}, {"settings": {"glitter": True}})]

    assert len({reply.headers["ETag"] for reply in replies}) == len({reply.raw for reply in replies}) == 1


@pytest.mark.parametrize("action", ["export_pdf", "export_docx", "export_epub", "preview_pdf", "preview-data"])
async def test_hostile_text_is_a_file_or_a_refusal_that_says_why(api: Api, action: str) -> None:
    title = "<b>An uncommonly long title</b> that goes on " * 8
    assert (await api.post("/books/", {"title": title[:300]})).status == 400
    book = await api.written(title=title[:200])
    first, second = book["chapters"][:2]
    text = "\n\n".join(CASES.values()).replace("\x00", "")  # which JSON could carry and PostgreSQL could not
    for chapter in (first, second):
        assert (await api.patch(f"/chapters/{chapter['id']}/", {"content": text})).status == 200

    made = await ask(api, book, action)
    await api.patch(f"/chapters/{second['id']}/", {"content": "A cuneiform sign: \U00012000"})
    strange = await ask(api, book, action)

    assert made.status == 200
    assert len(made.raw) > 5_000
    if action in ("export_docx", "export_epub"):  # the reader's program draws these
        assert strange.status == 200
    else:
        assert (strange.status, "U+12000" in str(strange.body)) == (400, True)


async def ask(api: Api, book: dict[str, Any], action: str) -> Reply:
    path = f"/books/{book['id']}/{action}/"
    return await (api.get(path) if action == "preview-data" else api.post(path, {"settings": {}}))


@pytest.mark.parametrize("action", ["POST /{}/export_pdf/", "POST /{}/preview_pdf/", "GET /{}/preview-data/"])
async def test_a_job_whose_caller_has_left_is_called_off(api: Api, action: str) -> None:
    book = await api.written()
    pool = HeldPool()
    api.services.publisher._pool = pool
    method, path = action.format(f"api/v1/books/{book['id']}").split()
    body = b"{}" if method == "POST" else b""

    _, writer = await asyncio.open_connection("127.0.0.1", api.client.port)
    writer.write(
        f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {api.access}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
    )
    await asyncio.wait_for(pool.asked.acquire(), 20)
    writer.close()

    await asyncio.wait_for(pool.called_off.wait(), 20)
    assert (await api.get("/books/")).status == 200


async def test_looking_at_the_pages_is_as_dear_as_an_export(open_api: OpenApi) -> None:
    api = await (await open_api(rate_expensive="2/minute")).as_new_account("ada")
    book = await api.book()

    seen = [(await ask(api, book, action)).status for action in ("export_pdf", "preview-data", "preview-data")]

    assert seen == [409, 409, 429]
