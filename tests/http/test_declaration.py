"""The AI declaration of a book, and the marks in its files and pictures."""

from __future__ import annotations

import io
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pikepdf
import pytest
from cryptography.x509 import load_pem_x509_certificates
from PIL import Image

from bookgen.providers.access import Access
from bookgen.providers.registry import ModelSettings, build_image_model
from bookgen.providers.text import TextModel
from bookgen.store import provenance
from bookgen.words import count_words
from tests.fakes.image_server import ImageServer
from tests.http.conftest import Api, OpenApi
from tests.render.test_marks import READERS, URI, in_picture
from tests.services.test_picture_marks import manifest_of
from tests.writing.authored import authored
from tests.writing.scripted import obedient

OWN = "My grandfather sold herring from a blue cart until the winter when the harbour froze."


@pytest.fixture
async def model() -> AsyncIterator[TextModel]:
    async with authored(obedient, "anthropic") as (_, steps):
        yield steps.model


@pytest.fixture
async def api(model: TextModel, open_api: OpenApi) -> Api:
    return await (await open_api(model=model)).as_new_account("ada")


@pytest.fixture
async def book(api: Api) -> dict[str, Any]:
    return await api.written()


async def declaration(api: Api, book: dict[str, Any]) -> dict[str, Any]:
    reply = await api.get(f"/books/{book['id']}/declaration/")
    assert reply.status == 200
    return dict(reply.body)


async def counted(api: Api, book: dict[str, Any]) -> tuple[int, int, int]:
    text = (await declaration(api, book))["text"]
    return text["model_words"], text["edited_words"], text["human_words"]


async def rewrite(api: Api, chapter: dict[str, Any], content: str) -> None:
    assert (await api.patch(f"/chapters/{chapter['id']}/", {"content": content})).status == 200


async def marks(api: Api, book: dict[str, Any]) -> set[str | None]:
    """The origins declared in the files of all formats."""
    found = set()
    for kind, read in READERS.items():
        reply = await api.post(f"/books/{book['id']}/export_{kind}/", {})
        assert reply.status == 200
        found.add(read(reply.raw))
    return found


async def test_a_book_written_by_a_model_declares_it_everywhere(
    api: Api, model: TextModel, book: dict[str, Any]
) -> None:
    said = await declaration(api, book)

    words = sum(chapter["word_count"] for chapter in book["chapters"])
    assert said["text"] == {
        "model_words": words,
        "human_words": 0,
        "edited_words": 0,
        "sample_words": 0,
        "chapters": [{"chapter_number": number, "origin": "model"} for number in (1, 2)],
    }
    assert (said["models"], said["translation"]) == ([model.name], None)
    assert said["statement"].startswith("Text: AI-generated.")
    assert await marks(api, book) == {URI.format("trainedAlgorithmicMedia")}


async def test_the_authors_words_are_counted_as_the_authors(api: Api, book: dict[str, Any]) -> None:
    first, second = book["chapters"]
    await rewrite(api, first, f"{first['content']}\n\n{OWN}")

    assert await counted(api, book) == (first["word_count"] + second["word_count"], 0, count_words(OWN))
    assert [each["origin"] for each in (await declaration(api, book))["text"]["chapters"]] == ["edited", "model"]
    assert await marks(api, book) == {URI.format("compositeWithTrainedAlgorithmicMedia")}


async def test_a_book_written_by_its_author_alone_has_no_mark(api: Api, book: dict[str, Any]) -> None:
    for chapter in book["chapters"]:
        await rewrite(api, chapter, OWN)

    said = await declaration(api, book)

    assert await counted(api, book) == (0, 0, 2 * count_words(OWN))
    assert said["statement"].startswith("Text: not AI-generated;")
    assert await marks(api, book) == {None}


async def test_a_restored_text_of_the_model_is_the_models_again(api: Api, book: dict[str, Any]) -> None:
    first, second = book["chapters"]
    await rewrite(api, first, OWN)
    [revision] = (await api.get(f"/chapters/{first['id']}/revisions/")).body

    await api.post(f"/chapters/{first['id']}/revisions/{revision['id']}/restore/")

    assert await counted(api, book) == (first["word_count"] + second["word_count"], 0, 0)


async def test_a_regenerated_chapter_is_the_models(api: Api, book: dict[str, Any]) -> None:
    first = book["chapters"][0]
    await rewrite(api, first, OWN)
    assert (await api.post(f"/chapters/{first['id']}/regenerate/")).status == 200

    assert (await counted(api, book))[1:] == (0, 0)


async def test_edits_are_compared_with_the_newest_generated_text(open_api: OpenApi) -> None:
    again = False

    def other_words(request: Any, brief: dict[str, Any], call: int) -> Any:
        text = obedient(request, brief, call)
        return re.sub(r"\w{4,}", lambda word: word[0][::-1], text) if again and brief["stage"] == "chapter" else text

    async with authored(other_words, "anthropic") as (_, steps):
        api = await (await open_api(model=steps.model)).as_new_account("ada")
        first, second = (await api.written())["chapters"]
        again = True
        newer = (await api.post(f"/chapters/{first['id']}/regenerate/")).body
        assert newer["content"] != first["content"]
        await rewrite(api, first, f"{newer['content']}\n\n{OWN}")

        found = await counted(api, {"id": first["book"]})

    assert found == (newer["word_count"] + second["word_count"], 0, count_words(OWN))


async def test_a_copy_of_a_book_has_the_same_origins(api: Api, book: dict[str, Any]) -> None:
    await api.post(f"/chapters/{book['chapters'][0]['id']}/generate-image/", {})
    said = await declaration(api, book)

    copy = (await api.post(f"/books/{book['id']}/duplicate/")).body

    copied = await declaration(api, copy)
    assert (copied["text"], copied["images"], copied["models"]) == (said["text"], said["images"], said["models"])


async def test_other_accounts_cannot_read_the_declaration(api: Api, book: dict[str, Any]) -> None:
    stranger = await api.as_new_account("eve")

    assert (await stranger.get(f"/books/{book['id']}/declaration/")).status == 404


async def test_every_query_filters_by_account(api: Api, book: dict[str, Any]) -> None:
    await rewrite(api, book["chapters"][0], OWN)
    await api.post(f"/chapters/{book['chapters'][0]['id']}/generate-image/", {})
    stranger, db = await api.as_new_account("eve"), api.services.database.http
    [revision] = await provenance.revisions(db, api.account_id, book["id"])

    for account_id, theirs in ((api.account_id, True), (stranger.account_id, False)):
        asked = account_id, book["id"]
        found = (
            await provenance.revisions(db, *asked),
            await provenance.texts(db, *asked, [revision.id]),
            await provenance.pictures(db, *asked),
            await provenance.models(db, *asked),
        )
        assert [bool(each) for each in found] == [theirs] * 4


async def test_sample_text_is_distinguished_from_a_models(open_api: OpenApi) -> None:
    api = await (await open_api()).as_new_account("ada")
    book = await api.written()

    said = await declaration(api, book)

    assert said["text"]["sample_words"] == sum(chapter["word_count"] for chapter in book["chapters"])
    assert (said["text"]["model_words"], said["models"]) == (0, [])
    assert await marks(api, book) == {URI.format("algorithmicMedia")}


async def test_an_operator_can_turn_the_marks_off(open_api: OpenApi, model: TextModel) -> None:
    api = await (await open_api(model=model, mark_origin="off")).as_new_account("ada")
    book = await api.written()
    [cover] = (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})).body["covers"]

    assert in_picture(await shown(api, cover["image_url"])) is None
    assert await marks(api, book) == {None}
    assert (await counted(api, book))[0] > 0


async def shown(api: Api, url: str) -> bytes:
    return (await api.get(url[url.index("/media/") :], prefix="")).raw


async def test_drawn_pictures_are_not_a_models(api: Api, book: dict[str, Any]) -> None:
    [cover] = (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})).body["covers"]
    await api.post(f"/books/{book['id']}/select-cover/", {"cover_id": cover["id"]})
    drawn = (await api.post(f"/chapters/{book['chapters'][0]['id']}/generate-image/", {})).body

    urls = [cover["image_url"], cover["thumbnail_url"], drawn["image_url"]]
    assert {in_picture(await shown(api, url)) for url in urls} == {URI.format("algorithmicMedia")}
    assert (await declaration(api, book))["images"] == {"model": 0, "human": 0, "drawn": 2}


async def test_pictures_of_an_image_model_are_marked_and_mark_the_file(open_api: OpenApi, model: TextModel) -> None:
    async with ImageServer() as server:
        settings = ModelSettings(access={"openai": Access("key", server.url)}, tries=2, retry_delay=0.01)
        images = build_image_model("openai:gpt-image-2.5-flare", settings)
        api = await (await open_api(model=model, images=images)).as_new_account("ada")
        book = await api.written()
        for chapter in book["chapters"]:
            await rewrite(api, chapter, OWN)
        [cover] = (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})).body["covers"]
        await api.post(f"/books/{book['id']}/select-cover/", {"cover_id": cover["id"]})
        painted = (await api.post(f"/chapters/{book['chapters'][0]['id']}/generate-image/", {})).body

        assert in_picture(await shown(api, painted["image_url"])) == URI.format("trainedAlgorithmicMedia")
        # The title is drawn over the model's picture.
        assert in_picture(await shown(api, cover["image_url"])) == URI.format("compositeWithTrainedAlgorithmicMedia")
        assert (await declaration(api, book))["images"] == {"model": 2, "human": 0, "drawn": 0}
        assert await marks(api, book) == {URI.format("compositeWithTrainedAlgorithmicMedia")}
        bare = {"settings": {"include_cover": False, "include_illustrations": False}}
        file = (await api.post(f"/books/{book['id']}/export_pdf/", bare)).raw
        assert READERS["pdf"](file) is None


async def test_the_pictures_in_a_pdf_keep_their_marks(api: Api, book: dict[str, Any]) -> None:
    await api.post(f"/chapters/{book['chapters'][0]['id']}/generate-image/", {})

    file = (await api.post(f"/books/{book['id']}/export_pdf/", {})).raw

    with pikepdf.open(io.BytesIO(file)) as pdf:
        [picture] = [image.read_raw_bytes() for page in pdf.pages for image in page.get_images().values()]
    with Image.open(io.BytesIO(picture)) as image:
        assert image.format == "JPEG"
    assert in_picture(picture) == URI.format("algorithmicMedia")


async def test_a_server_signs_all_its_pictures_with_one_stored_key(open_api: OpenApi, tmp_path: Path) -> None:
    before, after = await open_api(), await open_api()
    kept = tmp_path / "origin.pem"
    chain = load_pem_x509_certificates(kept.read_bytes())
    serials = set()
    for name, api in (("ada", before), ("bob", after)):
        account = await api.as_new_account(name)
        book = await account.outlined()
        [cover] = (await account.post(f"/books/{book['id']}/generate-cover/", {"count": 1})).body["covers"]
        for url in (cover["image_url"], cover["thumbnail_url"]):
            state, manifest = manifest_of(await shown(account, url))
            assert state == "Valid"
            serials.add(int(manifest["signature_info"]["cert_serial_number"]))

    assert serials == {chain[0].serial_number}
    assert kept.stat().st_mode & 0o777 == 0o600


async def test_an_unwritable_data_folder_leaves_pictures_marked_but_unsigned(open_api: OpenApi, tmp_path: Path) -> None:
    (tmp_path / "origin.pem").mkdir()
    api = await (await open_api()).as_new_account("ada")
    book = await api.outlined()

    [cover] = (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})).body["covers"]

    picture = await shown(api, cover["image_url"])
    assert in_picture(picture) == URI.format("algorithmicMedia")
    assert b"c2pa" not in picture
