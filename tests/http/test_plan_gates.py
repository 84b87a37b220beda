"""What the free plan refuses, and the messages."""

import pytest

from bookgen.billing import credits
from bookgen.models import CreditKind
from bookgen.store.database import Database
from tests.http.conftest import Api, OpenApi
from tests.http.test_generation import HeldModel


@pytest.fixture
async def free(open_api: OpenApi) -> Api:
    return await (await open_api(billing="on")).as_new_account("ada")


@pytest.mark.parametrize("words", [20_001, 2_000_000_000])
async def test_a_book_longer_than_the_plan_allows_is_a_402_with_the_limit(free: Api, words: int) -> None:
    refused = await free.post("/books/", {"title": "Long", "target_word_count": words})

    details = refused.body["error"]["details"]
    assert (refused.status, refused.code) == (402, "PLAN_UPGRADE_REQUIRED")
    assert (details["requested"], details["max_allowed"]) == (words, 20_000)
    assert details["upgrade_url"].startswith("http://books.example/")


async def test_a_plan_without_a_word_limit_accepts_books_of_any_length(free: Api) -> None:
    await free.services.database.http.execute(
        """UPDATE plan SET features = features || '{"max_word_count_per_book": -1}' WHERE slug = 'free'"""
    )

    book = await free.outlined(target_word_count=3_000_000)
    started = await free.post(f"/books/{book['id']}/generate/")
    await free.post(f"/books/{book['id']}/stop-generation/")

    assert (book["target_word_count"], started.status) == (3_000_000, 202)
    assert (await free.get("/auth/subscriptions/current/")).body["limits"]["max_word_count_per_book"] == -1


async def test_creation_without_an_allowance_left_is_a_402_with_the_lower_case_code(free: Api) -> None:
    await free.written()

    refused = await free.post("/books/", {"title": "Second"})

    details = refused.body["error"]["details"]
    assert (refused.status, refused.code) == (402, "quota_exceeded")
    assert (details["quota_type"], details["limit"], details["used"], details["remaining"]) == ("books", 1, 1, 0)
    assert details["upgrade"].keys() == {"url", "plan", "credits_url"}


async def test_generating_a_second_book_is_a_402_while_the_first_holds_the_allowance(free: Api) -> None:
    first, second = await free.outlined(), await free.outlined()
    assert (await free.post(f"/books/{first['id']}/generate/")).status == 202

    refused = await free.post(f"/books/{second['id']}/generate/")

    assert (refused.status, refused.code) == (402, "quota_exceeded")


async def test_a_book_cannot_be_extended_beyond_the_plan_later(free: Api) -> None:
    book = await free.book()

    refused = await free.patch(f"/books/{book['id']}/", {"target_word_count": 20_001})

    assert (refused.status, refused.code) == (402, "PLAN_UPGRADE_REQUIRED")
    assert (await free.get(f"/books/{book['id']}/")).body["target_word_count"] == 400


async def test_chapter_budgets_cannot_exceed_the_plan(free: Api) -> None:
    book = await free.outlined()
    chapter = book["chapters"][0]["id"]

    saved = await free.patch(f"/chapters/{chapter}/", {"target_word_count": 20_000})
    outlined = await free.post(
        f"/books/{book['id']}/update-outline/", {"chapters": [{"title": "Endless", "target_word_count": 20_000}]}
    )
    within = await free.patch(f"/chapters/{chapter}/", {"target_word_count": 5_000})

    assert (saved.status, saved.code) == (outlined.status, outlined.code) == (402, "PLAN_UPGRADE_REQUIRED")
    assert within.status == 200
    assert len((await free.get(f"/books/{book['id']}/")).body["chapters"]) == 2


async def test_budgets_beyond_the_plan_are_paid_by_a_credit_that_covers_them(free: Api, database: Database) -> None:
    await grant(database, free.account_id)
    book = await free.outlined()
    await free.patch(f"/chapters/{book['chapters'][0]['id']}/", {"target_word_count": 30_000})

    started = await free.post(f"/books/{book['id']}/generate/")

    assert started.status == 202
    assert (await free.get(f"/books/{book['id']}/")).body["funding_source"] == "credits"


async def test_a_book_cannot_outgrow_the_hold_of_its_run(open_api: OpenApi, database: Database) -> None:
    free = await (await open_api(billing="on", model=HeldModel())).as_new_account("ada")
    await grant(database, free.account_id)
    book = await free.outlined()
    await free.post(f"/books/{book['id']}/generate/")

    longer = await free.patch(f"/books/{book['id']}/", {"target_word_count": 30_000})
    budget = await free.patch(f"/chapters/{book['chapters'][1]['id']}/", {"target_word_count": 30_000})
    await free.post(f"/books/{book['id']}/stop-generation/")
    stopped = await free.patch(f"/books/{book['id']}/", {"target_word_count": 30_000})

    assert (longer.status, longer.code) == (budget.status, budget.code) == (402, "PLAN_UPGRADE_REQUIRED")
    assert longer.body["error"]["details"]["max_allowed"] == 20_000
    assert stopped.status == 200


async def grant(database: Database, account_id: int) -> None:
    """Grant a credit of 50,000 words."""
    async with database.http.acquire() as connection, connection.transaction():
        await credits.grant(connection, account_id, 1, 50_000, CreditKind.BONUS, "Welcome")


async def test_a_format_outside_the_plan_is_a_402_with_the_allowed_formats(free: Api) -> None:
    book = await free.written()

    refused = await free.post(f"/books/{book['id']}/export_epub/", {"settings": {}})

    assert (refused.status, refused.code) == (402, "PLAN_UPGRADE_REQUIRED")
    assert (
        refused.body["error"]["details"] | {"requested_format": "epub", "allowed_formats": ["pdf"]}
        == (refused.body["error"]["details"])
    )


async def test_the_default_length_never_exceeds_what_the_caller_may_have(free: Api) -> None:
    assert (await free.post("/books/", {"title": "Short"})).body["target_word_count"] == 20_000
