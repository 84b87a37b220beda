"""What a plan allows."""

from __future__ import annotations

from dataclasses import replace

import asyncpg
import pytest

from bookgen.billing.plan_features import larger_plan, left, pays_for_any, require_chapter_images, require_format
from bookgen.errors import PlanUpgradeRequired
from bookgen.models import UNLIMITED
from bookgen.store import plans

URL = "https://books.test/plans"


async def test_a_format_outside_the_plan_names_the_allowed_formats(pool):
    free = await plans.find(pool, "free")

    require_format(free, "pdf", URL)
    with pytest.raises(PlanUpgradeRequired) as refused:
        require_format(free, "epub", URL)

    assert refused.value.details == {"requested_format": "epub", "allowed_formats": ["pdf"], "upgrade_url": URL}


async def test_chapter_images_need_a_paid_plan(pool):
    require_chapter_images(await plans.find(pool, "starter"), URL)

    with pytest.raises(PlanUpgradeRequired):
        require_chapter_images(await plans.find(pool, "free"), URL)


@pytest.mark.parametrize(("limit", "taken", "remains"), [(5, 2, 3), (5, 7, 0), (0, 0, 0), (-1, 900, -1)])
def test_the_remaining_allowance_is_never_negative_unless_it_is_unlimited(limit, taken, remains):
    assert left(limit, taken) == remains


async def test_only_a_plan_without_a_limit_of_books_pays_for_any_of_them(pool):
    starter = await plans.find(pool, "starter")
    endless = replace(starter, features=replace(starter.features, books_per_month=UNLIMITED))

    assert pays_for_any(endless, 60_000)
    assert not pays_for_any(endless, 60_001)
    assert not pays_for_any(starter, 60_000)


async def test_a_plan_is_advised_if_it_has_more_books_and_room_for_this_one(pool):
    free, starter, pro = [await plans.find(pool, slug) for slug in ("free", "starter", "pro")]
    endless = replace(pro, features=replace(pro.features, books_per_month=UNLIMITED))

    assert larger_plan(free, [free, starter, pro], 60_000) is starter
    assert larger_plan(free, [free, starter, pro], 60_001) is pro
    assert larger_plan(pro, [free, starter, pro], 60_000) is None
    assert larger_plan(pro, [starter, endless], 60_000) is endless
    assert larger_plan(endless, [starter, pro], 60_000) is None


async def test_the_database_refuses_plan_features_that_the_code_cannot_read(pool):
    with pytest.raises(asyncpg.CheckViolationError):
        await pool.execute("UPDATE plan SET features = features - 'watermark' WHERE slug = 'free'")


async def test_the_seeded_plans_match_the_contract(pool):
    seeded = {plan.slug: plan for plan in await plans.list_active(pool)}
    hosted = await plans.find(pool, "self-hosted")

    assert {slug: str(plan.price_yearly) for slug, plan in seeded.items()} == {
        "free": "0.00",
        "starter": "190.00",
        "pro": "490.00",
    }
    assert seeded["pro"].features.max_word_count_per_book == 150_000
    assert [seeded[slug].features.max_stored_mb for slug in ("free", "starter", "pro")] == [50, 500, 2000]
    assert hosted.features.max_stored_mb == -1
    assert (seeded["free"].features.watermark, seeded["pro"].features.watermark) == (True, False)
    assert (hosted.features.books_per_month, hosted.features.max_word_count_per_book) == (-1, 500_000)
