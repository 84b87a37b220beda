"""Children's books over the API: created, planned, written, illustrated, paid for and exported."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bookgen.client import Client
from bookgen.providers import registry
from bookgen.providers.access import Access
from bookgen.providers.registry import ModelSettings, build_image_model
from tests.fakes.image_server import ImageServer, held_until, json, painted, refused, sent, status, well
from tests.http.conftest import Api, OpenApi, pause
from tests.http.test_covers import images_used, picture
from tests.render_pool import HeldRenderPool

PIP = {"name": "Pip", "description": "a small grey mouse with a red scarf"}
SMALL = {"title": "Pip and the Moon", "age_range": "3-5", "page_count": 8, "characters": [PIP]}


@pytest.fixture
async def server() -> AsyncIterator[ImageServer]:
    async with ImageServer() as server:
        yield server


@pytest.fixture
async def api(server: ImageServer, open_api: OpenApi) -> Api:
    """A service whose pictures are painted by `server`."""
    settings = ModelSettings(access={"openai": Access("key", server.url)}, tries=1, retry_delay=0.01)
    images = build_image_model("openai:gpt-image-2.5-flare", settings)
    return await (await open_api(images=images)).as_new_account("ada")


async def ended(api: Api, book_id: int) -> dict[str, Any]:
    """The final status of the book's run."""
    tag = ""
    async with asyncio.timeout(60):
        while True:
            known = {"Prefer": "wait=20", "If-None-Match": tag}
            reply = await api.get(f"/books/{book_id}/generation-status/", headers=known)
            tag = reply.headers.get("ETag", tag)
            if reply.status == 200 and reply.body["generation_status"] not in ("running", "paused"):
                return dict(reply.body)


async def made(api: Api, **fields: Any) -> dict[str, Any]:
    reply = await api.post("/books/childrens/", {**SMALL, **fields})
    assert reply.status == 201, reply.body
    return dict(reply.body)


async def written(api: Api, **fields: Any) -> dict[str, Any]:
    book = await made(api, **fields)
    assert (await api.post(f"/books/{book['id']}/generate/")).status == 202
    status = await ended(api, book["id"])
    assert status["generation_status"] == "completed", status
    return dict((await api.get(f"/books/{book['id']}/")).body)


async def test_a_draft_has_one_spread_for_every_two_pages(api: Api) -> None:
    book = await made(api, page_count=10, theme="Being brave")

    assert (book["status"], book["kind"], book["age_range"], book["trim_size"]) == (
        "draft", "childrens", "3-5", "8.5x8.5",
    )  # fmt: skip
    assert (book["page_count"], len(book["chapters"]), book["theme"]) == (10, 5, "Being brave")
    assert book["characters"] == [PIP]


async def test_twenty_four_pages_are_the_default(api: Api) -> None:
    reply = await api.post("/books/childrens/", {"title": "Pip", "age_range": "0-3"})

    assert (reply.status, reply.body["page_count"], len(reply.body["chapters"])) == (201, 24, 12)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("page_count", 9),
        ("page_count", 6),
        ("page_count", 42),
        ("age_range", "4-7"),
        ("age_range", None),
        ("title", " "),
        ("characters", [{"description": "nameless"}]),
        ("characters", 7),
        ("characters", ["x"] * 9),
        ("content_language", "tlh"),
    ],
)
async def test_invalid_fields_of_a_childrens_book_are_refused_by_name(api: Api, field: str, value: object) -> None:
    reply = await api.post("/books/childrens/", {**SMALL, field: value})

    assert (reply.status, reply.code) == (400, "VALIDATION_ERROR")
    assert list(reply.body["error"]["details"]) == [field]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("Pip: a mouse", [{"name": "Pip", "description": "a mouse"}]),
        ("Pip, a small red fox", [{"name": "Pip", "description": "a small red fox"}]),
        ("Jean-Luc (a fox)", [{"name": "Jean-Luc", "description": "a fox"}]),
        (
            ["Pip", "Bruno the bear"],
            [{"name": "Pip", "description": ""}, {"name": "Bruno the bear", "description": ""}],
        ),
        ([{"name": "Pip"}], [{"name": "Pip", "description": ""}]),
        ([], []),
    ],
)
async def test_characters_can_be_texts_or_objects(api: Api, given: object, kept: object) -> None:
    assert (await made(api, characters=given))["characters"] == kept


async def test_each_spread_gets_a_short_text_and_one_picture_with_alt_text(api: Api) -> None:
    book = await written(api)

    assert book["status"] == "completed"
    for chapter in book["chapters"]:
        assert 0 < chapter["word_count"] < 60
        assert chapter["summary"]
        (illustration,) = chapter["illustrations"]
        assert illustration["alt_text"].startswith("Pip")
        assert (await picture(api, illustration["image_url"])).status == 200
    assert await images_used(api) == 4
    assert book["usage"]["images"] == 5, "four pictures and the character sheet"


async def test_every_picture_request_includes_the_character_sheet(api: Api, server: ImageServer) -> None:
    book = await written(api)
    await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})
    await api.post(f"/chapters/{book['chapters'][0]['id']}/generate-image/", {"prompt": "Pip sleeps"})

    sheet, *others = server.requests
    approved = (await picture(api, book["character_sheet_url"])).raw
    assert "image[]" not in sheet
    assert "character sheet" in sheet["prompt"]
    assert len(others) == 4 + 2
    for request in others:
        assert request["image[]"] == [approved]
        assert PIP["description"] in request["prompt"]
    assert {request["size"] for request in others} == {"1024x1024", "1024x1536"}


async def test_a_provider_without_reference_images_gets_the_hero_in_words(api: Api, server: ImageServer) -> None:
    server.edits = False

    await written(api)

    assert len(server.requests) == 5
    for request in server.requests:
        assert "image[]" not in request
        assert PIP["description"] in request["prompt"]


async def test_the_plan_can_be_created_and_changed_before_the_book_is_written(api: Api, server: ImageServer) -> None:
    book = await made(api)
    planned = (await api.post(f"/books/{book['id']}/generate-outline/")).body
    entry = {"chapter_number": 2, "title": "My own", "summary": "Pip finds a drum."}
    await api.post(f"/books/{book['id']}/update-outline/", {"chapters": [entry]})

    assert planned["status"] == "outline"
    assert all(chapter["summary"] for chapter in planned["chapters"])
    assert (await api.post(f"/books/{book['id']}/generate/")).status == 202
    await ended(api, book["id"])
    chapters = (await api.get(f"/books/{book['id']}/")).body["chapters"]
    assert (chapters[1]["title"], chapters[1]["summary"]) == ("My own", "Pip finds a drum.")


FAILURES = (
    refused(),
    json({"created": 1}),
    sent(b"<svg/>" + b" " * 200),
    sent(painted(20, 30)),
    held_until(asyncio.Event()),
)


async def test_a_failed_picture_fails_the_run_and_resuming_retries_it(
    open_api: OpenApi, server: ImageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "MIN_IMAGE_SECONDS", 2.0)
    access = {"openai": Access("key", server.url)}
    hurried = ModelSettings(access=access, tries=1, retry_delay=0.01, timeout=0.1)
    images = build_image_model("openai:gpt-image-2.5-flare", hurried)
    api = await (await open_api(images=images)).as_new_account("ada")
    book = await made(api)
    start = "generate"
    for answer in FAILURES:
        server.script(*[answer] * 2)
        await api.post(f"/books/{book['id']}/{start}/")

        failed = await ended(api, book["id"])

        failure = failed["failure"]
        assert failed["generation_status"] == "error"
        assert (failure["code"], failure["stage"], failure["retryable"]) == ("UPSTREAM_AI_ERROR", "illustration", True)
        assert await images_used(api) == 0
        server.forget_script()
        start = "resume-generation"
    assert (await api.post(f"/books/{book['id']}/resume-generation/")).status == 200
    assert (await ended(api, book["id"]))["generation_status"] == "completed"
    assert await images_used(api) == 4


async def test_the_run_waits_for_an_unreachable_image_provider(api: Api, server: ImageServer) -> None:
    server.script(*[status(503)] * 4)

    book = await written(api)

    assert all(chapter["illustrations"] for chapter in book["chapters"])
    assert await images_used(api) == 4
    assert len(server.requests) == 4 + 5


async def test_a_rewritten_book_gets_new_pictures_and_keeps_its_hero(api: Api, server: ImageServer) -> None:
    first = await written(api)
    await api.post(f"/books/{first['id']}/generate/")
    await ended(api, first["id"])

    second = (await api.get(f"/books/{first['id']}/")).body

    assert second["character_sheet_url"] == first["character_sheet_url"]
    assert len(server.requests) == 1 + 8
    for before, after in zip(first["chapters"], second["chapters"], strict=True):
        assert len(after["illustrations"]) == 1
        assert after["illustrations"][0]["id"] != before["illustrations"][0]["id"]
    assert await api.services.database.http.fetchval("SELECT count(*) FROM media") == 5


async def test_a_copy_has_its_own_pictures_and_its_own_character_sheet(api: Api) -> None:
    book = await written(api)
    hero = (await picture(api, book["character_sheet_url"])).raw

    copy = (await api.post(f"/books/{book['id']}/duplicate/")).body
    await api.delete(f"/books/{book['id']}/")

    assert [len(chapter["illustrations"]) for chapter in copy["chapters"]] == [1, 1, 1, 1]
    assert (await picture(api, copy["character_sheet_url"])).raw == hero


async def test_a_new_plan_deletes_the_old_hero(api: Api) -> None:
    book = await written(api)

    planned = (await api.post(f"/books/{book['id']}/generate-outline/")).body

    assert planned["character_sheet_url"] is None
    assert (await picture(api, book["character_sheet_url"])).status == 404


async def test_a_changed_hero_applies_from_the_next_outline_on(api: Api, server: ImageServer) -> None:
    book, prose = await made(api), await api.book()
    path, otto = f"/books/{book['id']}/", {"name": "Otto", "description": "a round brown bear"}
    gate = asyncio.Event()
    server.script(held_until(gate))

    changed = (await api.patch(path, {"characters": [otto], "theme": "Being brave"})).body
    refused = await api.patch(f"/books/{prose['id']}/", {"theme": "Being brave"})
    await api.post(f"{path}generate/")
    await server.asked.wait()
    running = await api.patch(path, {"characters": [PIP]})
    gate.set()
    await ended(api, book["id"])

    assert changed["theme"] == "Being brave"
    assert otto["description"] in server.requests[0]["prompt"]
    assert (running.status, running.code) == (400, "GENERATION_IN_PROGRESS")
    assert (refused.status, list(refused.body["error"]["details"])) == (400, ["theme"])


async def test_deleting_a_book_deletes_its_pictures(api: Api) -> None:
    book = await written(api)

    assert (await api.delete(f"/books/{book['id']}/")).status == 204

    assert await api.services.database.http.fetchval("SELECT count(*) FROM media") == 0


async def bought(api: Api) -> None:
    """A paid single use of the add-on."""
    for statement in (
        "INSERT INTO checkout (account_id, kind, slug, billing, amount_cents, status)"
        " SELECT id, 'addon', 'childrens-book', 'per_use', 399, 'paid' FROM account",
        "INSERT INTO account_addon (account_id, addon_id, billing_type)"
        " SELECT account.id, addon.id, 'per_use' FROM account, addon WHERE addon.slug = 'childrens-book'",
    ):
        await api.services.database.http.execute(statement)


async def uses(api: Api) -> tuple[int, int]:
    """The uses left, and those made in this period."""
    (owned,) = (await api.get("/auth/addons/my_addons/")).body
    return owned["uses_remaining"], owned["uses_this_period"]


@pytest.fixture
async def shop(server: ImageServer, open_api: OpenApi) -> Api:
    """The same with billing, on the free plan."""
    settings = ModelSettings(access={"openai": Access("key", server.url)}, tries=1, retry_delay=0.01)
    images = build_image_model("openai:gpt-image-2.5-flare", settings)
    return await (await open_api(images=images, billing="on")).as_new_account("ada")


async def test_without_the_addon_it_is_a_402_that_names_the_addon(shop: Api) -> None:
    reply = await shop.post("/books/childrens/", SMALL)

    assert (reply.status, reply.code) == (402, "PLAN_UPGRADE_REQUIRED")
    assert reply.body["error"]["details"]["addon"] == "childrens-book"
    assert (await shop.get("/books/")).body == []


async def test_a_single_use_is_held_by_the_run_and_counted_on_completion(shop: Api, server: ImageServer) -> None:
    await bought(shop)
    book = await made(shop)
    server.script(refused())
    assert await uses(shop) == (1, 0)

    await shop.post(f"/books/{book['id']}/generate/")
    await ended(shop, book["id"])
    held = await uses(shop)
    await shop.post(f"/books/{book['id']}/resume-generation/")
    await ended(shop, book["id"])

    assert held in ((0, 0), (1, 0)), "kept for the book once something was paid for it"
    assert await uses(shop) == (0, 1)
    again = await shop.post("/books/childrens/", SMALL)
    assert (again.status, again.body["error"]["details"]["addon"]) == (402, "childrens-book")


async def test_a_run_without_enough_images_left_does_not_start(shop: Api) -> None:
    await bought(shop)
    book = await made(shop, page_count=10)

    refused = await shop.post(f"/books/{book['id']}/generate/")

    details = refused.body["error"]["details"]
    assert (refused.status, refused.code) == (429, "QUOTA_EXCEEDED")
    assert (details["quota_type"], details["limit"], details["used"]) == ("ai_images", 4, 0)
    assert await uses(shop) == (1, 0)


async def test_the_images_of_a_run_are_held_from_its_start(shop: Api, server: ImageServer) -> None:
    await bought(shop)
    book = await made(shop)
    gate = asyncio.Event()
    server.script(held_until(gate))
    await shop.post(f"/books/{book['id']}/generate/")
    await server.asked.wait()

    refused = await shop.post(f"/books/{book['id']}/generate-cover/", {"count": 1})
    gate.set()
    await ended(shop, book["id"])

    assert (refused.status, refused.code) == (429, "QUOTA_EXCEEDED")
    assert await images_used(shop) == 4


async def test_a_run_paused_during_a_picture_keeps_it_and_requests_no_other(api: Api, server: ImageServer) -> None:
    book = await made(api)
    gate = asyncio.Event()
    server.script(well, held_until(gate))
    await api.post(f"/books/{book['id']}/generate/")
    while len(server.requests) < 2:
        server.asked.clear()
        await server.asked.wait()

    await api.post(f"/books/{book['id']}/pause-generation/")
    gate.set()
    while (await api.get(f"/chapters/{book['chapters'][0]['id']}/")).body["status"] != "completed":
        await pause()
    asked = len(server.requests)
    await api.post(f"/books/{book['id']}/resume-generation/")
    await ended(api, book["id"])

    assert asked == 2, "the sheet and the picture that was being painted"
    assert len(server.requests) == 5
    assert await images_used(api) == 4


KEEPING = "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'media'::regclass AND NOT granted)"
GIVE_UP_KEEPING = "SELECT pg_cancel_backend(pid) FROM pg_locks WHERE relation = 'media'::regclass AND NOT granted"
PAID = "SELECT count(*) = 1 FROM model_call WHERE stage = 'illustration' AND images = 1"


async def test_a_paid_picture_is_recorded_even_if_its_run_stops_before_it_is_processed(
    open_api: OpenApi, server: ImageServer
) -> None:
    pool = HeldRenderPool()
    images = build_image_model("openai:gpt-image-2.5-flare", ModelSettings(access={"openai": Access("k", server.url)}))
    api = await (await open_api(images=images, pool=pool)).as_new_account("ada")
    book = await made(api)
    await api.post(f"/books/{book['id']}/generate/")
    await pool.asked.wait()

    await api.post(f"/books/{book['id']}/stop-generation/")

    await api.until_true(PAID)


async def test_a_paid_picture_is_recorded_even_if_its_run_stops_before_it_is_stored(
    api: Api, server: ImageServer
) -> None:
    book = await made(api)
    async with api.services.database.http.acquire() as connection, connection.transaction():
        await connection.execute("LOCK TABLE media IN EXCLUSIVE MODE")
        await api.post(f"/books/{book['id']}/generate/")
        await api.until_true(KEEPING)

        stopping = asyncio.create_task(api.post(f"/books/{book['id']}/stop-generation/"))
        await api.until_true("SELECT count(DISTINCT pid) = 2 FROM pg_locks WHERE NOT granted")
        await connection.execute(GIVE_UP_KEEPING)
        await stopping

    await api.until_true(PAID)


async def test_the_client_creates_a_childrens_book_in_one_call(open_api: OpenApi, server: ImageServer) -> None:
    settings = ModelSettings(access={"openai": Access("key", server.url)}, tries=1, retry_delay=0.01)
    visitor = await open_api(images=build_image_model("openai:gpt-image-2.5-flare", settings))
    async with Client(str(visitor.client.make_url(""))) as client:
        await client.register("ada", "ada@example.com", "correct horse battery")
        book = await client.books.create_childrens("Pip", "3-5", page_count=8, characters=["Pip the mouse"])
        await book.write(every=0.01)

    assert (book.status, len(book.chapters)) == ("completed", 4)
    assert all(chapter["illustrations"] for chapter in book.chapters)
