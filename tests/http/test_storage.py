"""How much text and how many pictures an account may store, and what works on a full disk."""

import asyncio

import pytest

from bookgen.http.edge.contract import grows
from bookgen.http.routes import ROUTES
from bookgen.providers.access import Access
from bookgen.providers.registry import ModelSettings, build_image_model
from bookgen.render.formats import FORMATS
from bookgen.store import storage
from tests.fakes.image_server import ImageServer, held_until
from tests.http.conftest import Api, OpenApi, Reply
from tests.http.test_covers import images_used

MEGABYTE = 1_000_000
TWO_MEGABYTES = """
    UPDATE plan SET features = features || '{"max_stored_mb": 2, "chapter_images": true}' WHERE slug = 'free'
"""


@pytest.fixture
async def small(open_api: OpenApi) -> Api:
    """An account whose plan stores one megabyte."""
    api = await (await open_api(billing="on")).as_new_account("ada")
    await api.services.database.http.execute(
        """UPDATE plan SET features = features || '{"max_stored_mb": 1, "chapter_images": true}' WHERE slug = 'free'"""
    )
    return api


async def save(api: Api, chapter: int, size: int) -> Reply:
    return await api.patch(f"/chapters/{chapter}/", {"content": "x" * size})


async def kept(api: Api) -> int:
    return await storage.stored(api.services.database.http, api.account_id)


async def filled(api: Api, **fields: int) -> dict:
    """A book that leaves only a hundred bytes of the account's megabyte."""
    book = await api.outlined(**fields)
    room = MEGABYTE - await kept(api) - 100
    assert (await save(api, book["chapters"][0]["id"], room)).status == 200
    return book


async def test_a_text_beyond_the_storage_limit_is_402_and_leaves_the_chapter(small: Api) -> None:
    chapter = (await small.outlined())["chapters"][0]
    assert (await save(small, chapter["id"], 600_000)).status == 200

    refused = await save(small, chapter["id"], 600_001)

    details = refused.body["error"]["details"]
    assert (refused.status, refused.code) == (402, "PLAN_UPGRADE_REQUIRED")
    assert (details["requested"], details["max_allowed"]) == (2, 1)
    assert (await small.get(f"/chapters/{chapter['id']}/")).body["content"] == "x" * 600_000
    assert (await small.get(f"/chapters/{chapter['id']}/revisions/")).body == []


@pytest.mark.parametrize(("letter", "letters"), [("x", 330_000), ("ж", 165_000)])
async def test_revisions_count_by_their_bytes(small: Api, letter: str, letters: int) -> None:
    chapter = (await small.outlined())["chapters"][0]["id"]

    saved = [await small.patch(f"/chapters/{chapter}/", {"content": letter * (letters + more)}) for more in range(4)]

    assert [reply.status for reply in saved] == [200, 200, 200, 402]
    assert 3 * 330_000 < await kept(small) <= MEGABYTE


async def test_growth_is_measured_in_bytes_and_not_in_characters(small: Api) -> None:
    book = await small.outlined()
    chapter = book["chapters"][0]["id"]
    plain = {"id": chapter, "summary": "a" * 1_000}
    outline = f"/books/{book['id']}/update-outline/"
    assert (await small.post(outline, {"chapters": [plain]})).status == 200
    assert (await save(small, chapter, MEGABYTE - await kept(small) - 100)).status == 200

    longer = {"summary": "\N{SLIGHTLY SMILING FACE}" * 1_000}
    refused = [
        await small.post(outline, {"chapters": [plain | longer]}),
        await small.patch(f"/chapters/{chapter}/", longer),
        await small.patch(f"/books/{book['id']}/", {"description": longer["summary"]}),
    ]

    assert [reply.status for reply in refused] == [402, 402, 402]
    assert await kept(small) <= MEGABYTE


async def test_books_without_text_count_too(small: Api) -> None:
    book = await small.outlined(chapter_count=100, target_word_count=20_000)

    copies = [await small.post(f"/books/{book['id']}/duplicate/") for _ in range(10)]

    assert {copy.status for copy in copies} == {201, 402}


async def test_concurrent_copies_cannot_exceed_the_storage_limit(small: Api) -> None:
    book = await small.outlined()
    await save(small, book["chapters"][0]["id"], 300_000)

    copies = await asyncio.gather(*(small.post(f"/books/{book['id']}/duplicate/") for _ in range(5)))

    assert sorted(copy.status for copy in copies) == [201, 201, 402, 402, 402]
    assert await kept(small) <= MEGABYTE


async def test_every_growing_request_is_refused_at_the_storage_limit(small: Api) -> None:
    book = await filled(small)
    chapter = book["chapters"][1]
    await small.patch(f"/chapters/{chapter['id']}/", {"content": "short"})
    await small.patch(f"/chapters/{chapter['id']}/", {"content": "shrt"})
    revision = (await small.get(f"/chapters/{chapter['id']}/revisions/")).body[0]["id"]
    images = (await small.get("/auth/subscriptions/usage/")).body[0]["ai_images_generated"]
    await small.patch(f"/chapters/{chapter['id']}/", {"content": "y" * (MEGABYTE - await kept(small))})

    refused = [
        await small.post(f"/chapters/{chapter['id']}/revisions/{revision}/restore/"),
        await small.post("/books/", {"title": "Another", "target_word_count": 400}),
        await small.patch(f"/books/{book['id']}/", {"description": "z" * 5_000}),
        await small.post(
            f"/books/{book['id']}/update-outline/", {"chapters": [{"title": "More", "summary": "s" * 99}]}
        ),
        await small.post(f"/books/{book['id']}/duplicate/"),
        await small.post(f"/books/{book['id']}/generate-cover/", {"count": 1}),
        await small.post(f"/chapters/{chapter['id']}/generate-image/", {}),
        await small.post(f"/books/{book['id']}/generate/"),
    ]

    assert [(reply.status, reply.code) for reply in refused] == [(402, "PLAN_UPGRADE_REQUIRED")] * len(refused)
    assert {reply.body["error"]["details"]["max_allowed"] for reply in refused} == {1}
    assert (await small.get("/auth/subscriptions/usage/")).body[0]["ai_images_generated"] == images
    assert await kept(small) == MEGABYTE


async def test_beyond_the_limit_texts_can_be_shortened_and_deletions_free_space(small: Api) -> None:
    book = await filled(small)
    chapter = book["chapters"][0]["id"]
    await small.services.database.http.execute(
        """UPDATE plan SET features = features || '{"max_stored_mb": 0}' WHERE slug = 'free'"""
    )

    changes = [
        await small.patch(f"/chapters/{chapter}/", {"title": "T", "summary": ""}),
        await small.patch(f"/books/{book['id']}/", {"description": "", "trim_size": "a5"}),
        await small.patch(f"/chapters/{chapter}/", {"content": ""}),
    ]
    await small.delete(f"/books/{book['id']}/")

    assert [change.status for change in changes] == [200, 200, 200]
    assert await kept(small) == 0


async def test_a_run_that_reaches_the_limit_keeps_its_text_and_can_be_resumed_when_there_is_space(small: Api) -> None:
    book = await filled(small, chapter_count=3)
    full, last, missing = (chapter["id"] for chapter in book["chapters"])
    assert (await small.post(f"/books/{book['id']}/generate/")).status == 202

    failure = (await small.until(book["id"], "error"))["failure"]

    assert (failure["code"], failure["chapter_number"], failure["retryable"]) == ("PLAN_UPGRADE_REQUIRED", 3, True)
    assert (
        failure["message"]
        == "Your plan stores up to 1 MB of text and pictures. Delete a book, or upgrade to a larger plan."
    )
    written = (await small.get(f"/chapters/{last}/")).body["content"]
    assert written
    assert not (await small.get(f"/chapters/{missing}/")).body["content"]
    assert (await small.post(f"/books/{book['id']}/resume-generation/")).status == 402

    await small.services.database.http.execute("UPDATE chapter SET content = 'Short.' WHERE id = $1", full)
    assert (await small.post(f"/books/{book['id']}/resume-generation/")).status == 200
    await small.until(book["id"], "completed")
    assert (await small.get(f"/chapters/{last}/")).body["content"] == written


async def test_pictures_count_too(small: Api) -> None:
    await small.services.database.http.execute(TWO_MEGABYTES)
    book = await small.outlined()
    before = await kept(small)

    made = await small.post(f"/books/{book['id']}/generate-cover/", {"count": 1})

    assert made.status == 200
    assert await kept(small) - before > 10_000
    assert await kept(small) == before + await small.services.database.http.fetchval(
        "SELECT sum(octet_length(body)) FROM media"
    )


async def test_no_picture_is_generated_beyond_the_storage_limit(small: Api) -> None:
    book = await filled(small)

    refused = await small.post(f"/books/{book['id']}/generate-cover/", {"count": 1})

    db = small.services.database.http
    assert refused.status == 402
    assert await db.fetchval("SELECT count(*) FROM media") == 0
    assert await db.fetchval("SELECT count(*) FROM model_call WHERE stage = 'cover'") == 0
    assert await images_used(small) == 0


@pytest.mark.parametrize(
    ("meanwhile", "answer"),
    [("UPDATE chapter SET content = repeat('x', 2000000)", 402), ("DELETE FROM book", 404)],
    ids=["the room is taken", "the book is deleted"],
)
@pytest.mark.parametrize("what", ["a cover", "an illustration"])
async def test_a_generated_picture_counts_even_if_it_cannot_be_stored(
    open_api: OpenApi, what: str, meanwhile: str, answer: int
) -> None:
    async with ImageServer() as server:
        settings = ModelSettings(access={"openai": Access("key", server.url)})
        images = build_image_model("openai:gpt-image-2.5-flare", settings)
        api = await (await open_api(billing="on", images=images)).as_new_account("ada")
        db = api.services.database.http
        await db.execute(TWO_MEGABYTES)
        book = await api.outlined()
        painted = asyncio.Event()
        server.script(held_until(painted))
        if what == "a cover":
            asking = api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})
        else:
            asking = api.post(f"/chapters/{book['chapters'][0]['id']}/generate-image/", {})
        asked = asyncio.create_task(asking)
        await server.asked.wait()
        await db.execute(meanwhile)
        painted.set()

        assert (await asked).status == answer

        assert await db.fetchval("SELECT count(*) FROM media") == 0
        assert await db.fetchval("SELECT sum(images) FROM model_call") == 1
        assert await images_used(api) == 1
        assert await db.fetchval("SELECT count(*) FROM image_hold") == 0


async def test_every_listing_of_a_plan_includes_the_storage_limit(small: Api) -> None:
    current = (await small.get("/auth/subscriptions/current/")).body
    sold = {
        plan["slug"]: plan["features"]["max_stored_mb"] for plan in (await small.get("/auth/subscriptions/plans/")).body
    }

    assert current["limits"]["max_stored_mb"] == current["plan"]["features"]["max_stored_mb"] == 1
    assert sold == {"free": 1, "starter": 500, "pro": 2000}


async def test_without_billing_storage_is_unlimited(api: Api) -> None:
    chapter = (await api.outlined())["chapters"][0]["id"]

    assert (await api.get("/auth/subscriptions/current/")).body["limits"]["max_stored_mb"] == -1
    assert (await save(api, chapter, 1_000_000)).status == 200


async def test_a_limit_set_by_the_operator_applies_from_the_next_save(api: Api) -> None:
    chapter = (await api.outlined())["chapters"][0]["id"]
    assert (await save(api, chapter, 600_000)).status == 200

    await api.services.database.http.execute(
        """UPDATE plan SET features = features || '{"max_stored_mb": 1}' WHERE slug = 'self-hosted'"""
    )

    assert (await save(api, chapter, 600_001)).status == 402
    assert (await api.get(f"/chapters/{chapter}/")).body["content"] == "x" * 600_000
    assert (await save(api, chapter, 300_000)).status == 200


# What an account may do on a full disk: steer, select, buy, edit its profile. None of it stores more text.
SMALL = {
    "/auth/profile/",
    "/auth/change-password/",
    "/auth/delete-account/",
    "/auth/subscriptions/checkout/",
    "/auth/subscriptions/portal/",
    "/auth/addons/checkout/",
    "/auth/credits/checkout/",
    "/books/{id}/pause-generation/",
    "/books/{id}/resume-generation/",
    "/books/{id}/stop-generation/",
    "/books/{id}/select-cover/",
    "/books/{id}/facts/{fact_id}/",
    *(f"/books/{{id}}/{each.path}/" for each in FORMATS.values()),
    "/books/{id}/preview_pdf/",
    "/books/{id}/preview-data/",
    "/proofreading-reports/{id}/suggestions/{suggestion_id}/dismiss/",
}
GROWING = [route for route in ROUTES if grows.marks(route.handler)]


def test_every_write_is_marked_as_growing_or_listed_as_small() -> None:
    writes = {route.path for route in ROUTES if route.method in ("POST", "PATCH") and not route.public}

    assert writes == {route.path for route in GROWING} | SMALL


async def test_on_an_almost_full_disk_nothing_can_grow_and_everything_can_be_read(open_api: OpenApi) -> None:
    api = await (await open_api(least_free=1 << 62)).as_new_account("ada")

    refused = [
        await api.call(
            route.method,
            route.path.replace("{id}", "1").replace("{suggestion_id}", "1").replace("{revision_id}", "1"),
            json={},
        )
        for route in GROWING
    ]

    assert {(reply.status, reply.code, reply.headers["Retry-After"]) for reply in refused} == {
        (503, "SERVICE_UNAVAILABLE", "60")
    }
    assert (await api.get("/books/")).status == 200
    assert (await api.patch("/auth/profile/", {"first_name": "Ada"})).status == 200
