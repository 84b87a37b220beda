"""Covers of finished books: the design that a text model chooses, and the prompt for an image model."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from PIL import Image, ImageChops

from bookgen.providers.access import Access
from bookgen.providers.registry import ModelSettings, build_image_model, build_text_model
from bookgen.writing import cover_idea
from tests.fakes.image_server import ImageServer
from tests.fakes.model_script import fault
from tests.http.conftest import Api, OpenApi
from tests.http.test_childrens import PIP, written
from tests.http.test_covers import front_of, picture
from tests.writing.authored import ScriptServer, sent

IDEA = {"families": ["emblem", "horizon"], "motif": "bell", "palettes": ["ocean"], "mood": "solemn"}
TEXT = "The brass bell hung on the quay where it had hung since the war, and nobody had rung it in nine years. " * 2
BIBLE = {"premise": "A ferryman sinks his boat.", "motifs": ["the brass bell, cracked"]}
DESIGNS = "SELECT array_agg(design -> 'subject' ->> 'motif' ORDER BY id) FROM cover WHERE book_id = $1"
CALLS = "SELECT count(*) FROM model_call WHERE stage = 'design'"


class Designer(ScriptServer):
    """A text model that answers every call with `text`."""

    def __init__(self) -> None:
        self.text = json.dumps(IDEA)
        super().__init__(lambda *_: self.text)


@pytest.fixture
async def designer() -> AsyncIterator[Designer]:
    async with Designer() as server:
        yield server


@pytest.fixture
async def api(designer: Designer, open_api: OpenApi) -> Api:
    settings = ModelSettings(access={"anthropic": Access("key", designer.anthropic_url)}, tries=0, retry_delay=0.01)
    model = build_text_model("anthropic:claude-opus-5-5", settings)
    return await (await open_api(model=model)).as_new_account("ada")


async def finished(api: Api, **fields: Any) -> dict[str, Any]:
    """A book that its author has written."""
    book = await api.book(**{"title": "The Crossing", "genre": "Business", **fields})
    entries = [{"title": "One"}, {"title": "Two"}]
    told = (await api.post(f"/books/{book['id']}/update-outline/", {"chapters": entries})).body
    assert (await api.patch(f"/books/{book['id']}/bible/", BIBLE)).status == 200
    for chapter in told["chapters"]:
        await api.patch(f"/chapters/{chapter['id']}/", {"content": TEXT})
    return book


async def covers_of(api: Api, book: dict[str, Any], **asked: Any) -> list[dict[str, Any]]:
    reply = await api.post(f"/books/{book['id']}/generate-cover/", asked)
    assert reply.status == 200, reply.body
    return list(reply.body["covers"])


async def test_covers_of_a_finished_book_use_the_models_choice_first_and_other_designs_after_it(
    api: Api, designer: Designer
) -> None:
    book = await finished(api)

    first = await covers_of(api, book, count=3)
    second = await covers_of(api, book, count=1)

    styles = [cover["style"] for cover in (*first, *second)]
    assert styles[:2] == ["emblem", "horizon"]
    assert len(set(styles)) == 4
    assert await api.services.database.http.fetchval(DESIGNS, book["id"]) == ["bell"] * 4
    assert len(designer.requests) == 1, "the answer is kept"
    assert "the brass bell, cracked" in sent(designer.requests[0])


async def test_the_call_for_the_choice_is_in_the_ledger(api: Api) -> None:
    book = await finished(api)

    await covers_of(api, book, count=1)

    usage = (await api.get(f"/books/{book['id']}/")).body["usage"]
    assert (usage["calls"], usage["images"]) == (2, 1)
    assert usage["cost_micros"] > 0
    assert await api.services.database.http.fetchval(CALLS) == 1


async def test_the_same_book_has_the_same_cover_pixel_for_pixel(api: Api) -> None:
    book, seen = await finished(api), []

    for _ in range(2):
        (cover,) = await covers_of(api, book, count=1)
        with Image.open(io.BytesIO((await picture(api, cover["image_url"])).raw)) as image:
            seen.append(image.tobytes())
        await api.services.database.http.execute("DELETE FROM cover WHERE book_id = $1", book["id"])

    assert seen[0] == seen[1]


async def test_the_model_is_asked_again_after_the_end_of_the_book_changed(api: Api, designer: Designer) -> None:
    book = await finished(api)
    await covers_of(api, book, count=1)
    chapter = (await api.get(f"/books/{book['id']}/")).body["chapters"][-1]["id"]

    await api.patch(f"/chapters/{chapter}/", {"content": "The lighthouse stood above the quay. " * 8})
    designer.text = json.dumps(IDEA | {"motif": "lighthouse"})
    await covers_of(api, book, count=1)

    assert await api.services.database.http.fetchval(DESIGNS, book["id"]) == ["bell", "lighthouse"]


@pytest.mark.parametrize("text", ["I would rather not.", '{"families": ["<svg onload=alert(1)>"], "motif": "whistle"}'])
async def test_without_a_usable_answer_the_cover_is_drawn_from_the_genre(
    api: Api, designer: Designer, text: str
) -> None:
    book = await finished(api)
    designer.text = text

    (cover,) = await covers_of(api, book, count=1)

    assert cover["style"] in ("tiles", "swiss"), "the families of business books"
    assert await api.services.database.http.fetchval(DESIGNS, book["id"]) == [""]


async def test_an_unreachable_model_does_not_stop_a_cover(
    api: Api, designer: Designer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cover_idea, "PATIENCE_SECONDS", 0.1)
    book = await finished(api)
    designer.script(fault("status", status=500, times=50))

    (cover,) = await covers_of(api, book, count=1)

    assert cover["style"] in ("tiles", "swiss")
    assert len(designer.requests) >= 1


@pytest.mark.parametrize(("text", "style"), [(json.dumps(IDEA), {"emblem"}), ("No.", {"tiles", "swiss"})])
async def test_a_production_uses_the_models_choice_or_none(
    api: Api, designer: Designer, text: str, style: set[str]
) -> None:
    book = await finished(api, content_language="de")
    designer.text = text

    assert (await api.post(f"/books/{book['id']}/produce/", {"again": True})).status == 202
    await api.until(book["id"], "completed")

    (cover,) = (await api.get(f"/books/{book['id']}/")).body["covers"]
    assert (cover["style"] in style, cover["is_selected"]) == (True, True)


async def test_a_draft_is_drawn_from_its_genre_without_a_model_call(api: Api, designer: Designer) -> None:
    (cover,) = await covers_of(api, await api.book(genre="Business"), count=1)

    assert (cover["style"] in ("tiles", "swiss"), designer.requests) == (True, [])


async def test_a_requested_style_takes_precedence_over_the_models_choice(api: Api) -> None:
    (cover,) = await covers_of(api, await finished(api), count=1, style="botanical")
    (next_one,) = await covers_of(api, await finished(api), count=1)

    assert (cover["style"], next_one["style"]) == ("botanical", "emblem")


async def test_the_print_cover_is_drawn_from_the_models_choice(api: Api) -> None:
    book = await finished(api)
    (cover,) = await covers_of(api, book, count=1)
    await api.post(f"/books/{book['id']}/select-cover/", {"cover_id": cover["id"]})
    export = f"/books/{book['id']}/export_pdf/", {"settings": {"cover_wrap": True, "profile": "print"}}
    other = "UPDATE cover SET design = jsonb_set(design, '{subject, motif}', '\"key\"')"

    bell = await api.post(*export)
    await api.services.database.http.execute(other)
    key = await api.post(*export)

    assert (bell.status, key.status) == (200, 200)
    difference = ImageChops.difference(*(front_of(each.raw).convert("L") for each in (bell, key)))
    left, _, right, _ = difference.getbbox() or (0, 0, 0, 0)
    assert 0.3 < (left + right) / 2 / difference.width < 0.7, "only what is on the disc"
    assert 0 < right - left < 0.7 * difference.width


@pytest.fixture
async def painter() -> AsyncIterator[ImageServer]:
    async with ImageServer() as server:
        yield server


@pytest.fixture
async def painting(painter: ImageServer, open_api: OpenApi) -> Api:
    settings = ModelSettings(access={"openai": Access("key", painter.url)}, tries=0, retry_delay=0.01)
    images = build_image_model("openai:gpt-image-2.5-flare", settings)
    return await (await open_api(images=images)).as_new_account("ada")


async def test_the_image_prompt_starts_with_the_authors_wish_and_describes_the_finished_book(
    painting: Api, painter: ImageServer
) -> None:
    book = await finished(painting)

    await covers_of(painting, book, count=1, style="woodcut", prompt="a bell")

    prompt = painter.requests[0]["prompt"]
    assert prompt.startswith("The author wishes for: woodcut; a bell\n")
    assert "no text, letters" in prompt
    assert "About: A ferryman sinks his boat." in prompt
    assert "the brass bell, cracked" in prompt
    assert "nobody had rung it" in prompt
    assert await painting.services.database.http.fetchval(CALLS) == 0, "the text model is not asked"


async def test_the_painted_cover_of_a_picture_book_shows_the_hero_from_the_character_sheet(
    painting: Api, painter: ImageServer
) -> None:
    book = await written(painting)
    before = len(painter.requests)

    await covers_of(painting, book, count=1, style="in blue")

    asked = painter.requests[before]
    assert asked["image[]"], "the character sheet goes with it"
    assert "The author wishes for: in blue" in asked["prompt"]
    assert f"The hero, {PIP['name']}, is on it" in asked["prompt"]
    assert PIP["description"] in asked["prompt"]


async def test_the_drawn_cover_of_a_picture_book_shows_the_hero(open_api: OpenApi) -> None:
    api = await (await open_api()).as_new_account("ada")
    book = await written(api)

    covers = await covers_of(api, book, count=3)

    assert [cover["style"] for cover in covers] == ["hero"] * 3
    figures = "SELECT design -> 'subject' -> 'figures' ->> 0 FROM cover WHERE id = $1"
    hero = await api.services.database.http.fetchval(figures, covers[0]["id"])
    assert hero == f"{PIP['name']}: {PIP['description']}"
