"""Productions over the API: from an idea to finished files, and what each failure leaves behind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bookgen.providers.access import Access
from bookgen.providers.registry import ModelSettings, build_image_model
from bookgen.render.formats import FORMATS
from tests.fakes.image_server import ImageServer, json, painted, refused, sent, status
from tests.http.conftest import Api, OpenApi, pause
from tests.http.test_covers import images_used
from tests.http.test_proofreading import FIRST, SECOND, Proofreader, edit
from tests.render_pool import HeldRenderPool

OWN_BY_MONTH = """
    INSERT INTO account_addon (account_id, addon_id, billing_type)
    SELECT $1, id, 'monthly' FROM addon WHERE slug = 'automated-production'
"""
PAID_COVER = "SELECT count(*) = 1 FROM model_call WHERE stage = 'cover' AND images = 1"
FILES = "SELECT array_agg(kind ORDER BY kind) FROM export_file WHERE book_id = $1"


@pytest.fixture
async def server() -> AsyncIterator[ImageServer]:
    async with ImageServer() as server:
        yield server


@pytest.fixture
def proofreader() -> Proofreader:
    return Proofreader()


@pytest.fixture
async def painting(server: ImageServer, open_api: OpenApi, proofreader: Proofreader) -> Api:
    settings = ModelSettings(access={"openai": Access("key", server.url)}, tries=2, retry_delay=0.01)
    images = build_image_model("openai:gpt-image-2.5-flare", settings)
    return await (await open_api(images=images, model=proofreader)).as_new_account("ada")


async def with_texts(api: Api, language: str = "de") -> dict[str, Any]:
    """A book with both chapters written by its author, the first with mistakes. German has no checker."""
    book = await api.outlined(content_language=language)
    for chapter, content in zip(book["chapters"], (FIRST, SECOND), strict=True):
        await api.patch(f"/chapters/{chapter['id']}/", {"content": content})
    return book


async def produce(api: Api, book: dict[str, Any]) -> dict[str, Any]:
    started = await api.post(f"/books/{book['id']}/produce/")
    assert started.status == 202, started.body
    return dict(started.body)


async def files(api: Api, book: dict[str, Any]) -> list[str]:
    return list(await api.services.database.http.fetchval(FILES, book["id"]) or ())


async def test_one_call_makes_the_book_and_the_files_of_the_plan(open_api: OpenApi) -> None:
    api = await (await open_api(billing="on")).as_new_account("ada")
    await api.services.database.http.execute(OWN_BY_MONTH, api.account_id)
    book = await api.book(title="The Patient Harbour", target_word_count=300, content_language="de")

    started = await produce(api, book)
    over = await api.until(book["id"], "completed")

    assert (started["mode"], started["book_id"]) == ("automated", book["id"])
    assert (over["mode"], over["task_id"], over["percentage"]) == ("automated", started["task_id"], 100.0)
    said, _, _ = over["status_message"].partition(" Check the ")  # the sample text may have findings
    assert said == "Completed. Both chapters are written, the cover and the files are ready."
    shown = (await api.get(f"/books/{book['id']}/")).body
    assert shown["status"] == "completed"
    assert all(chapter["content"] for chapter in shown["chapters"])
    assert [cover["is_selected"] for cover in shown["covers"]] == [True]
    assert await images_used(api) == 1
    assert await files(api, book) == ["pdf"]
    assert (await api.post(f"/books/{book['id']}/export_pdf/", {"settings": {}})).status == 200
    assert await files(api, book) == ["pdf"], "no file was made that was not ready"
    (report,) = (await api.get(f"/proofreading-reports/?book={book['id']}")).body
    assert report["status"] == "completed"
    (owned,) = (await api.get("/auth/addons/my_addons/")).body
    assert (owned["uses_this_period"], owned["uses_remaining"]) == (1, -1)


async def test_a_production_without_a_cover_makes_everything_else(painting: Api, server: ImageServer) -> None:
    book = await with_texts(painting)

    started = await painting.post(f"/books/{book['id']}/produce/", {"cover": False})
    over = await painting.until(book["id"], "completed")

    assert started.status == 202
    assert over["status_message"].startswith("Completed. Both chapters are written, the files are ready.")
    assert (await painting.get(f"/books/{book['id']}/")).body["covers"] == []
    assert await files(painting, book) == sorted(FORMATS)
    assert (server.requests, await images_used(painting)) == ([], 0)


async def test_safe_corrections_are_applied_and_a_selected_cover_is_kept(
    painting: Api, server: ImageServer, proofreader: Proofreader
) -> None:
    proofreader.edits = [edit("spelld", "spelled")]
    book = await with_texts(painting, "en")
    words = f"{FIRST}\n\nIt kept a diffrent colour, and they were spelld alike."
    await painting.patch(f"/chapters/{book['chapters'][0]['id']}/", {"content": words})
    (cover,) = (await painting.post(f"/books/{book['id']}/generate-cover/", {"count": 1})).body["covers"]
    await painting.post(f"/books/{book['id']}/select-cover/", {"cover_id": cover["id"]})

    await produce(painting, book)
    await painting.until(book["id"], "completed")

    first = (await painting.get(f"/books/{book['id']}/")).body["chapters"][0]
    assert first["content"] == words.replace("said ,", "said,").replace("spelld", "spelled")
    (report,) = (await painting.get(f"/proofreading-reports/?book={book['id']}")).body
    found = (await painting.get(f"/proofreading-reports/{report['id']}/suggestions/")).body["results"]
    statuses = {each["original_text"]: each["status"] for each in found}
    assert statuses == {"the the": "pending", "said ,": "applied", "spelld": "applied"}
    newest, *_ = (await painting.get(f"/chapters/{first['id']}/revisions/")).body
    assert newest["origin"] == "proofreading"
    assert len(server.requests) == await images_used(painting) == 1


FAILURES = (
    (refused(), 1, False),
    (json({"created": 1}), 2, True),
    (sent(b"<svg/>" + b" " * 200), 1, True),
    (sent(painted(20, 30)), 1, True),
)


async def test_a_failed_cover_leaves_the_book_unharmed_and_the_run_can_be_resumed(
    painting: Api, server: ImageServer
) -> None:
    book = await with_texts(painting)
    db = painting.services.database.http
    start = "produce"
    for answer, times, retryable in FAILURES:
        server.script(*[answer] * times)
        await painting.post(f"/books/{book['id']}/{start}/")
        failed = await painting.until(book["id"], "error")

        failure = failed["failure"]
        assert (failure["code"], failure["stage"], failure["retryable"]) == ("UPSTREAM_AI_ERROR", "cover", retryable)
        assert failed["status_message"].startswith("Failed while making the cover. ")
        assert await images_used(painting) == 0
        assert await db.fetchval("SELECT (SELECT count(*) FROM media) + (SELECT count(*) FROM image_hold)") == 0
        shown = (await painting.get(f"/books/{book['id']}/")).body
        assert (shown["status"], shown["covers"]) == ("outline", [])
        assert [chapter["word_count"] > 0 for chapter in shown["chapters"]] == [True, True]
        start = "resume-generation"

    run = (await painting.post(f"/books/{book['id']}/resume-generation/")).body
    await painting.until(book["id"], "completed")

    (cover,) = (await painting.get(f"/books/{book['id']}/")).body["covers"]
    assert cover["style"] == "picture"
    assert await files(painting, book) == sorted(FORMATS)
    assert await images_used(painting) == 1
    paid = "SELECT count(*) FROM model_call WHERE run_id = $1::uuid AND stage = 'cover' AND cost_micros = $2"
    assert await db.fetchval(paid, run["task_id"], 50 * 8 + 1000 * 30) == 3, "two that were of no use, and the cover"


async def test_the_run_waits_for_an_unreachable_image_provider_and_is_not_charged_a_try(
    painting: Api, server: ImageServer
) -> None:
    book = await with_texts(painting)
    server.script(*[status(503)] * 4)
    told = set()

    await produce(painting, book)
    path = f"/books/{book['id']}/generation-status/"
    while (progress := (await painting.get(path)).body)["generation_status"] != "completed":
        told.add(progress["status_message"].partition(" since")[0])
        await pause()

    assert "Waiting for the model" in told

    assert len(server.requests) == 5
    assert await images_used(painting) == 1


async def test_without_the_addon_it_is_a_402_that_names_it(open_api: OpenApi) -> None:
    api = await (await open_api(billing="on")).as_new_account("ada")
    book = await api.book()

    refusal = await api.post(f"/books/{book['id']}/produce/")

    details = refusal.body["error"]["details"]
    assert (refusal.status, refusal.code) == (402, "PLAN_UPGRADE_REQUIRED")
    assert details == {
        "addon": "automated-production",
        "upgrade_url": "http://books.example/api/v1/auth/addons/available/",
    }
    assert (await api.get(f"/books/{book['id']}/generation-status/")).status == 404


async def test_another_accounts_book_is_not_found_and_a_running_book_is_not_produced_again(painting: Api) -> None:
    book = await painting.book()
    stranger = await painting.as_new_account("eve")
    assert (await stranger.post(f"/books/{book['id']}/produce/")).status == 404

    await produce(painting, book)
    again = await painting.post(f"/books/{book['id']}/produce/")

    assert (again.status, again.code) == (400, "GENERATION_IN_PROGRESS")
    await painting.post(f"/books/{book['id']}/stop-generation/")


async def test_a_paid_cover_is_recorded_even_if_its_run_stops_before_it_is_processed(
    open_api: OpenApi, server: ImageServer, proofreader: Proofreader
) -> None:
    pool = HeldRenderPool()
    images = build_image_model("openai:gpt-image-2.5-flare", ModelSettings(access={"openai": Access("k", server.url)}))
    api = await (await open_api(images=images, model=proofreader, pool=pool)).as_new_account("ada")
    book = await with_texts(api)
    await produce(api, book)
    await pool.asked.wait()

    await api.post(f"/books/{book['id']}/stop-generation/")

    await api.until_true(PAID_COVER)
    assert await images_used(api) == 0


async def test_a_finished_book_is_produced_again_only_on_request(painting: Api) -> None:
    book = await painting.outlined()
    path = f"/books/{book['id']}/produce/"
    await painting.post(path)
    await painting.until(book["id"], "completed")

    refused = await painting.post(path)
    kept = (await painting.get(f"/books/{book['id']}/")).body["chapters"]
    again = await painting.post(path, {"again": True})
    await painting.until(book["id"], "completed")

    assert (refused.status, refused.code) == (409, "CONFLICT")
    assert '{"again": true}' in refused.body["error"]["message"]
    assert all(chapter["content"] for chapter in kept)
    assert again.status == 202
    assert (await painting.get(f"/chapters/{kept[0]['id']}/revisions/")).body
