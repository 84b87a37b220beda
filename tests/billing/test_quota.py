"""Allowances: held at the start of a run, consumed once at its end, given back if nothing was written."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest

from bookgen.billing import edits
from bookgen.billing.funds import Funds
from bookgen.billing.images import held_images, require_images
from bookgen.billing.quota import Quota
from bookgen.billing.storage import require_room, require_stored
from bookgen.errors import BookQuotaExceeded, PlanUpgradeRequired, QuotaExceeded
from bookgen.models import Allowance, FundingSource, Rewrite
from bookgen.store import credits as ledger
from bookgen.store import image_holds, subscriptions


@pytest.fixture
def hold(pool, quota):
    async def hold(account_id, book_id, words=10_000, run_id=None):
        async with pool.acquire() as connection, connection.transaction():
            run_id = run_id or uuid4()
            standing = await quota.standing(connection, account_id)
            return run_id, await quota.hold_book(connection, standing, book_id, run_id, words)

    return hold


@pytest.fixture
def complete(pool, quota):
    async def complete(account_id, book_id, run_id, words=9_000):
        async with pool.acquire() as connection, connection.transaction():
            await quota.consume_book(connection, account_id, book_id, run_id, words)

    return complete


@pytest.fixture
def release(pool, quota):
    async def release(book_id, *, wrote):
        async with pool.acquire() as connection, connection.transaction():
            await quota.release_book(connection, book_id, wrote=wrote)

    return release


async def test_a_new_account_is_on_the_free_plan(pool, quota, make_account):
    account = await make_account()

    assert (await quota.plan(pool, account)).slug == "free"
    assert (await subscriptions.find(pool, account)).status == "active"


async def test_of_two_concurrent_starts_for_the_last_allowance_one_succeeds(make_account, make_book, hold):
    account = await make_account()
    books = [await make_book(account) for _ in range(8)]

    results = await asyncio.gather(*(hold(account, book) for book in books), return_exceptions=True)

    refused = [result for result in results if isinstance(result, BookQuotaExceeded)]
    assert len(refused) == 7
    assert "reserved for books in progress, and you have no credits left. Wait" in str(refused[0])
    assert refused[0].details == {
        "quota_type": "books",
        "limit": 1,
        "used": 0,
        "reserved": 1,
        "remaining": 0,
        "period_end": "2026-02-28T12:00:00Z",
        "upgrade_url": "https://books.test/api/v1/auth/subscriptions/plans/",
        "upgrade": {
            "url": "https://books.test/api/v1/auth/subscriptions/plans/",
            "plan": "starter",
            "credits_url": "https://books.test/api/v1/auth/credits/packages/",
        },
    }


async def test_completing_a_run_twice_consumes_one_allowance(pool, quota, make_account, make_book, hold, complete):
    account = await make_account("starter")
    book = await make_book(account)
    run, _ = await hold(account, book)

    await asyncio.gather(*(complete(account, book, run) for _ in range(4)))

    usage = await quota.usage(pool, account)
    assert usage.books_created == 1
    assert (await quota.creation_options(pool, account)).subscription_remaining == 4


async def test_generating_a_completed_book_consumes_another_allowance(
    pool, quota, make_account, make_book, hold, complete
):
    account = await make_account("starter")
    book = await make_book(account)

    for _ in range(2):
        run, _ = await hold(account, book)
        await complete(account, book, run)

    assert (await quota.usage(pool, account)).books_created == 2


async def test_a_run_that_wrote_nothing_gives_its_hold_back(make_account, make_book, hold, release):
    account = await make_account()
    book, other = await make_book(account), await make_book(account)
    await hold(account, book)

    await release(book, wrote=False)

    await hold(account, other)


@pytest.mark.parametrize("words", [10_000, 20_000])
async def test_a_stopped_book_keeps_its_hold_and_continues_on_it(
    pool, quota, make_account, make_book, hold, release, complete, words
):
    account = await make_account()
    book, other = await make_book(account), await make_book(account)
    await hold(account, book)

    await release(book, wrote=True)

    with pytest.raises(BookQuotaExceeded):
        await hold(account, other)
    await pool.execute("""UPDATE plan SET features = features || '{"books_per_month": 0}' WHERE slug = 'free'""")
    run, source = await hold(account, book, words)
    await complete(account, book, run)
    assert source is FundingSource.SUBSCRIPTION
    assert (await quota.usage(pool, account)).books_created == 1


async def wrote(pool, account, book, words, status="stopped"):
    """Insert a run of the book that wrote this many words."""
    return await pool.fetchval(
        """INSERT INTO run (id, book_id, account_id, status, mode, total, words_written)
           VALUES (gen_random_uuid(), $1, $2, $3, 'full', 3, $4) RETURNING id""",
        book,
        account,
        status,
        words,
    )


async def test_a_hold_pays_for_three_times_its_words_over_any_number_of_runs(
    pool, quota, make_account, make_book, hold, release
):
    account = await make_account()
    book = await make_book(account)
    await wrote(pool, account, book, 1_000_000)  # before the hold the hold
    for _ in range(2):
        run, _ = await hold(account, book)
        await wrote(pool, account, book, 25_000)
        await release(book, wrote=True)
    run, _ = await hold(account, book)
    standing = await quota.standing(pool, account)

    await wrote(pool, account, book, 9_999)
    await quota.require_words_left(pool, standing, run, 10_000)
    await wrote(pool, account, book, 1)
    with pytest.raises(QuotaExceeded, match="it counts as another book"):
        await quota.require_words_left(pool, standing, run, 10_000)
    await quota.require_words_left(pool, standing, run, 20_001)  # under a larger plan at its start


async def test_a_book_rewritten_beyond_its_hold_needs_another_allowance(
    pool, quota, make_account, make_book, hold, release, complete
):
    account = await make_account("starter")
    book = await make_book(account)
    run, _ = await hold(account, book)
    await wrote(pool, account, book, 1_000_000)
    await release(book, wrote=True)

    await hold(account, book, run_id=run)

    await quota.require_words_left(pool, await quota.standing(pool, account), run, 10_000)
    assert (await quota.creation_options(pool, account)).subscription_remaining == 3
    await complete(account, book, run)
    assert (await quota.usage(pool, account)).books_created == 1


async def test_a_plan_with_unlimited_books_does_not_limit_their_words(pool, quota, make_account, make_book, hold):
    await pool.execute("""UPDATE plan SET features = features || '{"books_per_month": -1}' WHERE slug = 'pro'""")
    account = await make_account("pro")
    book = await make_book(account)
    run, _ = await hold(account, book)
    await wrote(pool, account, book, 10_000_000)

    await quota.require_words_left(pool, await quota.standing(pool, account), run, 10_000)


async def test_deleting_a_stopped_book_returns_nothing_in_this_period(
    pool, clock, make_account, make_book, hold, release
):
    account = await make_account()
    book, other = await make_book(account), await make_book(account)
    await hold(account, book)
    await release(book, wrote=True)

    await pool.execute("DELETE FROM book WHERE id = $1", book)

    with pytest.raises(BookQuotaExceeded):
        await hold(account, other)
    clock.now += timedelta(days=31)
    await hold(account, other)


async def test_what_a_stopped_book_holds_pays_for_nothing_in_the_next_period(
    pool, quota, clock, make_account, make_book, hold, release, complete
):
    account = await make_account()
    book = await make_book(account)
    await hold(account, book)
    await release(book, wrote=True)

    clock.now += timedelta(days=31)
    run_id, _ = await hold(account, book)
    await complete(account, book, run_id)

    assert (await quota.usage(pool, account)).books_created == 1
    with pytest.raises(BookQuotaExceeded):
        await hold(account, await make_book(account))


async def test_a_run_across_two_periods_counts_in_the_first(
    pool, quota, clock, make_account, make_book, hold, complete
):
    account = await make_account()
    book, other = await make_book(account), await make_book(account)
    run, _ = await hold(account, book)
    before = await quota.usage(pool, account)

    clock.now += timedelta(days=31)
    await hold(account, other)
    await complete(account, book, run)

    current, earlier = await quota.usage_history(pool, account)
    assert (current.books_created, earlier.books_created) == (0, 1)
    assert earlier.period_start == before.period_start


async def test_the_history_goes_back_six_periods_newest_first(
    pool, quota, clock, make_account, make_book, hold, complete
):
    account = await make_account()
    for _ in range(8):
        book = await make_book(account)
        run, _ = await hold(account, book)
        await complete(account, book, run)
        clock.now += timedelta(days=31)

    current, *earlier = await quota.usage_history(pool, account)

    assert (current.books_created, [period.books_created for period in earlier]) == (0, [1] * 6)
    starts = [current.period_start, *(period.period_start for period in earlier)]
    assert starts == sorted(starts, reverse=True)


async def test_the_plan_pays_before_credits_do(pool, quota, make_account, make_book, hold, complete, grant):
    account = await make_account()
    await grant(account, 1)
    first, second = await make_book(account), await make_book(account)

    assert (await hold(account, first))[1] is FundingSource.SUBSCRIPTION
    run, source = await hold(account, second)
    await complete(account, second, run)

    assert source is FundingSource.CREDITS
    wallet = await ledger.wallet(pool, account)
    assert (wallet.balance, wallet.total_used) == (0, 1)
    newest = (await ledger.transactions(pool, account, 20))[0]
    assert (newest.kind, newest.amount, newest.balance_after, newest.book_id) == ("book_spend", -1, 0, second)


async def test_credits_are_taken_from_the_oldest_lot_that_covers_the_book(
    pool, make_account, make_book, hold, complete, grant
):
    account = await make_account()
    await grant(account, 1, words=30_000)
    await grant(account, 1, words=80_000)
    await grant(account, 1, words=90_000)
    book = await make_book(account, 70_000)

    run, _ = await hold(account, book, 70_000)
    await complete(account, book, run)

    assert [r["remaining"] for r in await pool.fetch("SELECT remaining FROM credit_lot ORDER BY id")] == [1, 0, 1]


async def test_a_book_may_be_as_long_as_the_plan_allows_while_it_has_books_left(pool, quota, make_account):
    account = await make_account("starter")

    options = await quota.creation_options(pool, account)

    assert (options.subscription_remaining, options.max_words) == (5, 60_000)


async def test_books_written_and_books_in_progress_both_count(pool, quota, make_account):
    standing = await quota.standing(pool, await make_account("starter"))

    assert [Funds(standing, used, held, []).books_left for used, held in [(0, 0), (1, 1), (3, 3)]] == [5, 3, 0]


async def test_a_held_credit_is_not_offered_to_a_second_book(pool, quota, make_account, make_book, hold, grant):
    account = await make_account()
    await grant(account, 1)
    books = [await make_book(account) for _ in range(3)]
    await hold(account, books[0])
    await hold(account, books[1])

    with pytest.raises(BookQuotaExceeded):
        await hold(account, books[2])
    options = await quota.creation_options(pool, account)
    assert (options.can_create, options.suggested_source, options.max_words) == (False, "none", 0)
    assert options.credits_balance == 1


async def test_a_book_longer_than_any_source_allows_asks_for_an_upgrade(pool, quota, make_account, grant):
    account = await make_account()
    await grant(account, 1, words=50_000)

    await quota.require_book(pool, account, 50_000)
    with pytest.raises(PlanUpgradeRequired) as refused:
        await quota.require_book(pool, account, 50_001)

    assert refused.value.details["requested"] == 50_001
    assert refused.value.details["max_allowed"] == 50_000


async def test_a_hold_too_small_for_a_grown_book_is_replaced(
    pool, quota, make_account, make_book, hold, release, grant
):
    account = await make_account()
    await grant(account, 1, words=50_000)
    book = await make_book(account)
    await hold(account, book)
    await release(book, wrote=True)

    _, source = await hold(account, book, 40_000)

    assert source is FundingSource.CREDITS
    assert (await quota.creation_options(pool, account)).subscription_remaining == 1


async def test_a_book_can_outgrow_its_hold_only_between_runs(
    pool, quota, make_account, make_book, hold, release, grant
):
    account = await make_account()
    await grant(account, 1, words=50_000)
    book = await make_book(account)
    await hold(account, book)

    await quota.require_words(pool, account, book, 20_000)
    with pytest.raises(PlanUpgradeRequired) as refused:
        await quota.require_words(pool, account, book, 20_001)
    await release(book, wrote=True)
    await quota.require_words(pool, account, book, 50_000)

    assert refused.value.details["max_allowed"] == 20_000


async def test_concurrent_spending_never_exceeds_the_limit(pool, quota, make_account):
    account = await make_account()

    results = await asyncio.gather(
        *(quota.spend(pool, account, Allowance.AI_EDITS) for _ in range(12)), return_exceptions=True
    )

    refused = [result for result in results if isinstance(result, QuotaExceeded)]
    assert len(refused) == 7
    assert refused[0].details["quota_type"] == "ai_edits"
    assert refused[0].details["used"] == refused[0].details["limit"] == 5
    assert refused[0].details["remaining"] == 0


async def test_the_first_spend_of_a_period_takes_no_more_than_the_limit_either(pool, quota, make_account):
    account = await make_account()

    with pytest.raises(QuotaExceeded):
        await quota.spend(pool, account, Allowance.AI_EDITS, 6)

    assert (await quota.usage(pool, account)).used(Allowance.AI_EDITS) == 0
    await quota.spend(pool, account, Allowance.AI_EDITS, 5)
    assert (await quota.usage(pool, account)).used(Allowance.AI_EDITS) == 5


async def test_work_in_flight_reduces_what_is_left(pool, quota, make_account):
    account = await make_account()
    await quota.spend(pool, account, Allowance.AI_EDITS, 3)

    standing = await quota.standing(pool, account)

    await quota.require(pool, standing, Allowance.PROOFREADING_CHECKS, in_flight=0)
    await quota.require(pool, standing, Allowance.AI_EDITS, in_flight=1)
    with pytest.raises(QuotaExceeded) as refused:
        await quota.require(pool, standing, Allowance.AI_EDITS, in_flight=2)

    assert refused.value.details["used"] == 3
    assert refused.value.details["remaining"] == 0
    with pytest.raises(QuotaExceeded) as one_is_left:
        await quota.require(pool, standing, Allowance.AI_EDITS, in_flight=1, amount=2)
    assert one_is_left.value.details["remaining"] == 1
    end = standing.period.end
    date = f"{end:%b} {end.day}, {end.year}"
    assert str(refused.value).startswith(f"You have 0 of 5 AI edits left until {date}. Wait for the next period")
    assert str(one_is_left.value).startswith(f"You have 1 of 5 AI edits left until {date}; this needs 2. Wait")


async def test_counted_images_are_kept_even_if_removing_their_hold_fails(database, quota, make_account):
    account = await make_account()

    async with held_images(database, quota, account, 1) as held:
        await held.consume(database.http, 1)
        await database.http.execute("ALTER TABLE image_hold RENAME TO image_hold_elsewhere")

    await database.http.execute("ALTER TABLE image_hold_elsewhere RENAME TO image_hold")
    assert await database.http.fetchval("SELECT count(*) FROM image_hold") == 0


async def test_a_run_can_hold_exactly_the_images_that_are_left(pool, quota, make_account, make_book):
    account = await make_account()
    book = await make_book(account)
    standing = await quota.standing(pool, account)
    await image_holds.add(pool, uuid4(), account, 1, standing.period.start, standing.period.end, 60.0)

    await require_images(pool, quota, standing, book, 3)
    with pytest.raises(QuotaExceeded):
        await require_images(pool, quota, standing, book, 4)


async def test_the_image_of_a_run_is_held_while_the_run_waits(pool, quota, make_account, make_book):
    account = await make_account()
    run, standing = (
        await wrote(pool, account, await make_book(account), 0, "running"),
        await quota.standing(pool, account),
    )
    await image_holds.add(pool, run, account, 1, standing.period.start, standing.period.end, -1.0)
    await image_holds.remove(pool, account, uuid4())

    assert await image_holds.held(pool, account, standing.period.start) == 1
    await pool.execute("UPDATE run SET status = 'stopped'")
    assert await image_holds.held(pool, account, standing.period.start) == 0


async def test_without_billing_nothing_is_refused_and_everything_is_counted(pool, clock, make_account, make_book):
    quota = Quota(billing=False, clock=clock)
    account = await make_account()
    for _ in range(3):
        book, run = await make_book(account, 400_000), uuid4()
        async with pool.acquire() as connection, connection.transaction():
            await quota.require_book(connection, account, 400_000)
            await quota.hold_book(connection, await quota.standing(connection, account), book, run, 400_000)
            await quota.consume_book(connection, account, book, run, 390_000)
    await quota.spend(pool, account, Allowance.AI_IMAGES, 500)

    usage = await quota.usage(pool, account)
    options = await quota.creation_options(pool, account)
    assert (await quota.plan(pool, account)).slug == "self-hosted"
    assert (usage.books_created, usage.ai_images_generated) == (3, 500)
    assert (options.subscription_remaining, options.max_words) == (-1, 500_000)


async def test_editing_a_plans_row_applies_at_once(pool, quota, make_account, make_book, hold):
    account = await make_account()
    await hold(account, await make_book(account))

    await pool.execute(
        "UPDATE plan SET features = features || jsonb_build_object('books_per_month', 2) WHERE slug = 'free'"
    )

    await hold(account, await make_book(account))


@pytest.mark.parametrize("growth", [50_000_001, 51_000_000])
async def test_a_storage_refusal_says_how_many_megabytes_are_needed(pool, quota, make_account, growth):
    account = await make_account()

    with pytest.raises(PlanUpgradeRequired) as refused:
        await require_stored(pool, quota, account, growth=growth)

    assert (refused.value.details["requested"], refused.value.details["max_allowed"]) == (51, 50)


async def test_work_is_refused_by_the_first_byte_without_room(pool, quota, make_account):
    standing = await quota.standing(pool, await make_account())

    await require_room(pool, quota, standing, growth=50_000_000)
    with pytest.raises(PlanUpgradeRequired):
        await require_room(pool, quota, standing, growth=50_000_001)


async def test_a_rewrite_beyond_the_unpaid_words_is_refused_where_it_is_counted(pool, quota, make_account):
    account = await make_account()

    async with pool.acquire() as connection, connection.transaction():
        await edits.spend(connection, quota, account, Rewrite(1, 10_000))
        with pytest.raises(QuotaExceeded, match="up to 10,000 words"):
            await edits.spend(connection, quota, account, Rewrite(1, 1))
