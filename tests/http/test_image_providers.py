"""Pictures from an image model: the requests, and everything that may be returned."""

from __future__ import annotations

import asyncio
import io
import zlib
from collections.abc import AsyncIterator

import pytest
from PIL import Image

from bookgen.providers import registry
from bookgen.providers.access import Access
from bookgen.providers.registry import ModelSettings, build_image_model
from tests.fakes.image_server import ImageServer, held_until, json, painted, refused, sent, status, unknown
from tests.http.conftest import Api, OpenApi
from tests.http.test_covers import images_used, picture


@pytest.fixture
async def server() -> AsyncIterator[ImageServer]:
    async with ImageServer() as server:
        yield server


@pytest.fixture
async def api(server: ImageServer, open_api: OpenApi) -> Api:
    settings = ModelSettings(access={"openai": Access("key", server.url)}, tries=2, retry_delay=0.01)
    images = build_image_model("openai:gpt-image-2.5-flare", settings)
    return await (await open_api(images=images)).as_new_account("ada")


async def test_a_painted_cover_is_the_models_picture_with_our_lettering(api: Api, server: ImageServer) -> None:
    book = await api.book(title="The Patient Harbour", genre="Literary fiction")

    (cover,) = (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1, "prompt": "a pier"})).body["covers"]

    asked = server.requests[0]
    assert (asked["model"], asked["size"], asked["n"]) == ("gpt-image-2.5-flare", "1024x1536", 1)
    assert "The Patient Harbour" in asked["prompt"]
    assert "without any text" in asked["prompt"]
    assert "a pier" in asked["prompt"]
    assert cover["style"] == "picture"
    with Image.open(io.BytesIO((await picture(api, cover["image_url"])).raw)) as image:
        assert image.size == (1600, 2560)
        assert len(image.convert("RGB").getcolors(1 << 24) or ()) > 200, "the letters have edges"


@pytest.mark.parametrize("blurb", ["A widow crosses the Alps.", ""])
async def test_the_prompt_contains_the_blurb_or_else_the_idea(api: Api, server: ImageServer, blurb: str) -> None:
    book = await api.book(description="She drowns in the end.", blurb=blurb)

    assert (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})).status == 200

    prompt = server.requests[0]["prompt"]
    assert (f"About: {blurb or book['description']}" in prompt, "drowns" in prompt) == (True, not blurb)


async def test_the_cost_of_a_picture_is_in_the_ledger(api: Api) -> None:
    book = await api.book()

    await api.post(f"/books/{book['id']}/generate-cover/", {"count": 2})

    usage = (await api.get(f"/books/{book['id']}/")).body["usage"]
    assert (usage["images"], usage["calls"], usage["output_tokens"]) == (2, 2, 2000)
    assert usage["cost_micros"] == 2 * (50 * 8 + 1000 * 30)
    assert usage["unknown_price"] is False


async def test_the_alt_text_of_an_illustration_is_its_prompt(api: Api, server: ImageServer) -> None:
    book = await api.outlined()

    made = (await api.post(f"/chapters/{book['chapters'][0]['id']}/generate-image/", {"prompt": "A pier in fog"})).body

    assert made["alt_text"] == "A pier in fog"
    assert (made["width"], made["height"]) == (1536, 1024)
    assert server.requests[0]["size"] == "1536x1024"
    assert book["chapters"][0]["title"] in server.requests[0]["prompt"]


def _bomb() -> bytes:
    """A PNG of a few kilobytes that claims 30,000 × 30,000 pixels."""
    head = b"IHDR" + (30_000).to_bytes(4, "big") * 2 + b"\x08\x02\x00\x00\x00"
    body = b"IDAT" + zlib.compress(b"\0" * 1_000_000)
    chunks = (
        len(chunk[4:]).to_bytes(4, "big") + chunk + zlib.crc32(chunk).to_bytes(4, "big")
        for chunk in (head, body, b"IEND")
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


BROKEN = {
    "an SVG": b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)">' + b" " * 200 + b"</svg>",
    "a web page": b"<html><body>" + b"Welcome to the proxy. " * 20 + b"</body></html>",
    "a truncated PNG": painted(1024, 1536)[:2000],
    "a decompression bomb": _bomb(),
    "a GIF": painted(1024, 1536, format="GIF"),
    "a picture far too small": painted(20, 30),
    "almost nothing": b"\x89PNG",
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
async def test_an_unusable_picture_is_an_upstream_error_and_is_not_stored(
    api: Api, server: ImageServer, data: bytes
) -> None:
    book = await api.book()
    server.script(sent(data))

    failed = await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})

    details = failed.body["error"]["details"]
    assert (failed.status, failed.code, details["stage"]) == (502, "UPSTREAM_AI_ERROR", "cover")
    assert await images_used(api) == 0
    db = api.services.database.http
    assert await db.fetchval("SELECT (SELECT count(*) FROM media) + (SELECT count(*) FROM image_hold)") == 0
    shown = (await api.get(f"/books/{book['id']}/")).body
    assert shown["covers"] == []
    assert shown["usage"]["images"] == 1, "the provider charges it all the same"


async def test_a_refusal_by_moderation_is_not_retried(api: Api, server: ImageServer) -> None:
    book = await api.outlined()
    server.script(refused())

    failed = await api.post(f"/chapters/{book['chapters'][0]['id']}/generate-image/", {"prompt": "x"})

    details = failed.body["error"]["details"]
    assert (failed.status, details["stage"], details["retryable"]) == (502, "illustration", False)
    assert details["chapter_number"] == 1
    assert len(server.requests) == 1
    assert await images_used(api) == 0


@pytest.mark.parametrize("answer", [json({"created": 1, "data": []}), json({"created": 1}), json(["nothing"])])
async def test_a_malformed_reply_is_an_upstream_error(api: Api, server: ImageServer, answer) -> None:
    book = await api.book()
    server.script(answer, answer)

    failed = await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})

    assert (failed.status, failed.code) == (502, "UPSTREAM_AI_ERROR")
    assert await images_used(api) == 0


@pytest.mark.parametrize("stage", ["cover", "illustration"])
async def test_a_provider_timeout_is_an_upstream_error(
    server: ImageServer, open_api: OpenApi, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    monkeypatch.setattr(registry, "MIN_IMAGE_SECONDS", 0.2)
    settings = ModelSettings(access={"openai": Access("key", server.url)}, tries=1, retry_delay=0.01, timeout=0.1)
    images = build_image_model("openai:gpt-image-2.5-flare", settings)
    api = await (await open_api(images=images)).as_new_account("ada")
    book = await api.outlined()
    server.script(*[held_until(asyncio.Event())] * 2)
    cover, picture = f"/books/{book['id']}/generate-cover/", f"/chapters/{book['chapters'][0]['id']}/generate-image/"

    failed = await (api.post(cover, {"count": 1}) if stage == "cover" else api.post(picture, {"prompt": "x"}))

    details = failed.body["error"]["details"]
    assert (failed.status, failed.code, details["stage"]) == (502, "UPSTREAM_AI_ERROR", stage)
    assert details["retryable"] is True
    assert await images_used(api) == 0
    assert await api.services.database.http.fetchval("SELECT count(*) FROM image_hold") == 0


async def test_a_picture_of_the_wrong_size_is_cropped_to_the_cover(api: Api, server: ImageServer) -> None:
    book = await api.book()
    server.script(sent(painted(1280, 720, format="WEBP")))

    (cover,) = (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})).body["covers"]

    assert (cover["width"], cover["height"]) == (1600, 2560)
    with Image.open(io.BytesIO((await picture(api, cover["image_url"])).raw)) as image:
        assert image.size == (1600, 2560)


async def test_a_failed_request_is_retried_once(api: Api, server: ImageServer) -> None:
    book = await api.book()
    server.script(status(500))

    made = await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})

    assert made.status == 200
    assert len(server.requests) == 2


async def test_variants_that_succeeded_are_kept_and_counted(api: Api, server: ImageServer) -> None:
    book = await api.book()
    server.script(refused())

    made = (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 3})).body["covers"]

    assert len(made) == 2
    assert await images_used(api) == 2
    assert await api.services.database.http.fetchval("SELECT count(*) FROM image_hold") == 0


async def test_a_field_unknown_to_the_server_is_left_out_from_then_on(api: Api, server: ImageServer) -> None:
    book = await api.book()
    server.script(unknown("quality"))

    for _ in range(2):
        assert (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})).status == 200

    assert ["quality" in body for body in server.requests] == [True, False, False]


async def test_a_reached_cap_stops_the_next_picture(server: ImageServer, open_api: OpenApi) -> None:
    settings = ModelSettings(access={"openai": Access("key", server.url)}, retry_delay=0.01)
    images = build_image_model("openai:gpt-image-2.5-flare", settings)
    api = await (await open_api(images=images, book_cost_cap="0.22")).as_new_account("ada")
    book = await api.book()
    assert (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})).status == 200

    failed = await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})

    assert (failed.status, failed.code) == (502, "UPSTREAM_AI_ERROR")
    assert "cost cap of this book" in failed.body["error"]["message"]
    assert len(server.requests) == 1


async def test_covers_are_drawn_locally_without_a_key_and_painted_with_one() -> None:
    assert build_image_model("auto", ModelSettings()) is None
    elsewhere = ModelSettings(access={"openai": Access("key", "http://127.0.0.1:11434/v1")})
    assert build_image_model("auto", elsewhere) is None
    painter = build_image_model("auto", ModelSettings(access={"openai": Access("key")}))
    assert painter is not None
    assert painter.name == "openai:gpt-image-2.5-flare"
    await painter.close()
