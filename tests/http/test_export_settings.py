"""The settings that a book keeps for its exports: typed, guarded, used by exports that send none, and copied."""

from __future__ import annotations

import io
from typing import Any

import pytest
from pypdfium2 import PdfDocument

from bookgen.client import Client
from bookgen.render.formats import FORMATS
from tests.http.conftest import PASSWORD, Api

ISBN = "978-3-16-148410-0"
LOOK = {"dedication": "For Ada", "isbn": ISBN, "font": "sans", "font_size": 12, "justify": False}
WRONG = {
    "isbn": "isbn: Must be a valid ISBN-10 or ISBN-13.",
    "font_size": "font_size: Must be from 8 to 18 (got 99).",
    "font": "font: Must be one of: serif, sans, dyslexic.",
    "justify": "justify: Must be true or false.",
}


async def chosen(api: Api, settings: Any = LOOK, **fields: Any) -> dict[str, Any]:
    """A written book with these settings."""
    book = await api.written(**fields)
    changed = await api.patch(f"/books/{book['id']}/", {"export_settings": settings})
    assert changed.status == 200, changed.body
    return dict(changed.body)


def text_of(pdf: bytes) -> str:
    document = PdfDocument(io.BytesIO(pdf))
    text = "\n".join(page.get_textpage().get_text_range() for page in document)
    document.close()
    return text


async def test_a_new_book_has_no_settings_of_its_own(api: Api) -> None:
    assert (await api.book())["export_settings"] == {}


async def test_the_settings_are_kept_and_shown_as_they_were_sent(api: Api) -> None:
    book = await chosen(api)

    assert book["export_settings"] == LOOK
    assert (await api.get(f"/books/{book['id']}/?fields=export_settings")).body == {"export_settings": LOOK}
    assert [listed["export_settings"] for listed in (await api.get("/books/")).body] == [LOOK]


async def test_a_book_is_created_with_its_settings(api: Api) -> None:
    made = await api.post("/books/", {"title": "The Salt Road", "export_settings": LOOK})
    picture_book = {"title": "The Fox", "age_range": "3-5", "page_count": 8, "export_settings": LOOK}
    childrens = await api.post("/books/childrens/", picture_book)

    assert [each.body["export_settings"] for each in (made, childrens)] == [LOOK, LOOK]


async def test_the_settings_are_replaced_as_a_whole_and_null_stands_for_a_default(api: Api) -> None:
    path = f"/books/{(await chosen(api))['id']}/"

    one = await api.patch(path, {"export_settings": {"font": "sans", "dedication": None, "unknown": 1}})
    same = await api.patch(path, {"export_settings": None})
    none = await api.patch(path, {"export_settings": {}})

    assert [each.body["export_settings"] for each in (one, same, none)] == [{"font": "sans"}, {"font": "sans"}, {}]


@pytest.mark.parametrize("name", WRONG)
async def test_a_wrong_setting_is_refused_as_an_export_refuses_it(api: Api, name: str) -> None:
    path = f"/books/{(await chosen(api))['id']}/"
    wrong = {name: {"isbn": "123", "font_size": 99, "font": "comic", "justify": "yes"}[name]}

    refused = await api.patch(path, {"export_settings": wrong})
    exported = await api.post(f"{path}export_pdf/", {"settings": wrong})

    assert refused.body["error"]["details"] == {"export_settings": [WRONG[name]]}
    assert exported.body["error"]["details"] == {"settings": [WRONG[name]]}
    assert (await api.get(path)).body["export_settings"] == LOOK


async def test_if_match_guards_the_settings(api: Api) -> None:
    book = await api.book()
    path = f"/books/{book['id']}/"
    tag = (await api.get(path)).headers["ETag"]

    first = await api.patch(path, {"export_settings": {"font": "sans"}}, headers={"If-Match": tag})
    late = await api.patch(path, {"export_settings": {"font": "serif"}}, headers={"If-Match": tag})

    assert (first.status, late.code) == (200, "CONFLICT")
    assert first.headers["ETag"] != tag
    assert (await api.get(path)).body["export_settings"] == {"font": "sans"}


async def test_an_export_without_settings_has_the_books_and_one_with_settings_only_its_own(api: Api) -> None:
    path = f"/books/{(await chosen(api))['id']}/"

    own = [(await api.post(f"{path}export_pdf/", body)).raw for body in (None, {}, {"settings": None})]
    sent = (await api.post(f"{path}export_pdf/", {"settings": LOOK})).raw
    plain = (await api.post(f"{path}export_pdf/", {"settings": {}})).raw
    preview = (await api.post(f"{path}preview_pdf/")).raw

    assert own == [sent] * 3
    assert all(each in text_of(sent) for each in ("For Ada", ISBN))
    assert not any(each in text_of(plain) for each in ("For Ada", ISBN))
    assert "For Ada" in text_of(preview)


async def test_the_preview_pages_have_the_books_settings(api: Api) -> None:
    path = f"/books/{(await chosen(api, {'dedication': 'For Ada', 'cover_wrap': True}))['id']}/preview-data/"

    pages = (await api.get(path)).body["pages"]
    images = (await api.post(path)).body["pages"]
    plain = (await api.post(path, {"settings": {}})).body["pages"]

    assert ["For Ada" in str(each) for each in (pages, images, plain)] == [True, True, False]


async def test_a_production_prepares_the_files_that_the_book_asks_for(api: Api) -> None:
    book = await api.outlined()
    path = f"/books/{book['id']}/"
    await api.patch(path, {"export_settings": LOOK})
    assert (await api.post(f"{path}produce/")).status == 202
    await api.until(book["id"], "completed")
    prepared = "SELECT count(*) FROM export_file"
    assert await api.services.database.http.fetchval(prepared) == len(FORMATS)

    await api.post(f"{path}export_pdf/")

    assert await api.services.database.http.fetchval(prepared) == len(FORMATS)


async def test_a_copy_keeps_the_settings_and_no_isbn(api: Api) -> None:
    book = await chosen(api)

    copy = (await api.post(f"/books/{book['id']}/duplicate/")).body

    assert copy["export_settings"] == {name: value for name, value in LOOK.items() if name != "isbn"}
    assert (await api.get(f"/books/{book['id']}/")).body["export_settings"] == LOOK


async def test_long_settings_count_as_storage(open_api: Any) -> None:
    shop = await open_api(billing="on")
    account = await shop.as_new_account("ada")
    book = await account.book()
    await shop.services.database.http.execute("UPDATE plan SET features = features || '{\"max_stored_mb\": 0}'")

    refused = await account.patch(f"/books/{book['id']}/", {"export_settings": {"copyright_text": "x" * 5000}})

    assert refused.code == "PLAN_UPGRADE_REQUIRED"


async def test_the_python_client_stores_the_settings_and_saves_files_with_them(visitor: Api, tmp_path: Any) -> None:
    account = await visitor.as_new_account("ada")
    written = await account.written()
    async with Client(str(visitor.client.make_url(""))) as client:
        await client.login("ada", PASSWORD)
        book = await client.books.get(written["id"])
        await book.set_export_settings(dedication="For Ada")
        [own] = await book.save(tmp_path / "own", ["pdf"])
        [plain] = await book.save(tmp_path / "plain", ["pdf"], {})

    assert book.export_settings == {"dedication": "For Ada"}
    assert ["For Ada" in text_of(each.read_bytes()) for each in (own, plain)] == [True, False]
