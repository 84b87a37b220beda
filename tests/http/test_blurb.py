"""The blurb of a book: set, changed and copied by its author, and printed. The idea is never printed."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pypdfium2
import pytest

from tests.http.conftest import Api

IDEA = "Quenella the lamplighter murdered the harbourmaster herself."
BLURB = "A lamplighter looks for whoever put out the harbour light.\n\nShe has one night.\u00a0"
PRINTED = ("A lamplighter looks for whoever put out the harbour light.", "She has one night.")


async def test_a_blurb_can_be_set_and_changed_and_cleared(api: Api) -> None:
    book = (await api.post("/books/", {"title": "Light", "description": IDEA, "blurb": "One."})).body
    path = f"/books/{book['id']}/"

    assert book["blurb"] == "One."
    assert [each["blurb"] for each in (await api.get("/books/")).body] == ["One."]
    assert (await api.patch(path, {"blurb": "Two."})).body["blurb"] == "Two."
    assert (await api.patch(path, {"title": "Lights"})).body["blurb"] == "Two."
    assert (await api.patch(path, {"blurb": ""})).body["blurb"] == ""
    assert (await api.get(path)).body["blurb"] == ""


async def test_a_new_book_has_no_blurb(api: Api) -> None:
    childrens = {"title": "Pip", "age_range": "3-5", "page_count": 8}

    assert (await api.book())["blurb"] == ""
    assert (await api.post("/books/childrens/", childrens)).body["blurb"] == ""
    assert (await api.post("/books/childrens/", childrens | {"blurb": "A mouse."})).body["blurb"] == "A mouse."


async def test_a_blurb_of_more_than_4000_characters_is_refused(api: Api) -> None:
    book = await api.book(blurb="b" * 4_000)

    reply = await api.patch(f"/books/{book['id']}/", {"blurb": "b" * 4_001})

    assert (reply.status, list(reply.body["error"]["details"])) == (400, ["blurb"])
    assert (await api.get(f"/books/{book['id']}/")).body["blurb"] == "b" * 4_000


async def test_a_copy_has_the_blurb_of_its_original(api: Api) -> None:
    book = await api.book(blurb=BLURB)

    assert (await api.post(f"/books/{book['id']}/duplicate/")).body["blurb"] == BLURB.strip()


@pytest.mark.parametrize("blurb", [BLURB, ""])
async def test_files_contain_the_blurb_and_never_the_idea(api: Api, blurb: str) -> None:
    book = await api.written(description=IDEA, subtitle="In three nights")
    await api.patch(f"/books/{book['id']}/", {"blurb": blurb})

    files = await texts_of_files(api, book["id"])

    for name, text in files.items():
        assert "Quenella" not in text, name
        assert "harbourmaster" not in text, name
        for line in PRINTED:
            assert (line in text) is (bool(blurb) and name in ("back cover", "content.opf", "core.xml")), name
    assert ("description>" in files["content.opf"]) is bool(blurb), "without a blurb nothing stands in for it"
    assert "three nights" not in files["back cover"].partition("\n")[0], "nor does the subtitle"


async def test_a_finished_book_gets_a_blurb_that_is_in_its_files(api: Api) -> None:
    book = await api.written(title="The Harbour Light", description=IDEA)
    files = await texts_of_files(api, book["id"])

    assert book["blurb"].startswith("“The Harbour Light” is a sample.")
    assert "is a sample" in files["back cover"]
    assert "is a sample" in files["content.opf"]
    assert book["usage"]["calls"] == book["chapters_count"] * 2 + 2, "outline, texts, notes, blurb"


async def test_the_authors_blurb_is_kept(api: Api) -> None:
    book = await api.written(blurb="Mine.")

    assert book["blurb"] == "Mine."


async def texts_of_files(api: Api, book_id: int) -> dict[str, str]:
    """The text of each PDF with its metadata, and of each part of the other formats."""
    texts = {
        "back cover": text_of_pdf(await exported(api, book_id, "pdf", cover_wrap=True)),
        "pdf": text_of_pdf(await exported(api, book_id, "pdf")),
        "print": text_of_pdf(await exported(api, book_id, "pdf", profile="print")),
    }
    for format in ("epub", "docx"):
        archive = zipfile.ZipFile(io.BytesIO(await exported(api, book_id, format)))
        for name in archive.namelist():
            texts[name.rpartition("/")[2]] = archive.read(name).decode(errors="replace")
    assert {"content.opf", "chapter001.xhtml", "title.xhtml", "core.xml", "document.xml"} <= texts.keys()
    return texts


async def exported(api: Api, book_id: int, format: str, **settings: Any) -> bytes:
    reply = await api.post(f"/books/{book_id}/export_{format}/", {"settings": settings})
    assert reply.status == 200
    return reply.raw


def text_of_pdf(data: bytes) -> str:
    document = pypdfium2.PdfDocument(data)
    pages = [" ".join(page.get_textpage().get_text_bounded().split()) for page in document]
    return "\n".join([*pages, *document.get_metadata_dict().values(), data.decode("latin-1")])
