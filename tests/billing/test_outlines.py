"""How many outlines in a period cost no AI edit."""

from __future__ import annotations

from bookgen.billing import outlines


async def test_outlines_in_flight_count_like_finished_ones(pool, quota, make_account) -> None:
    account = await make_account()
    for _ in range(14):
        await outlines.count_free(pool, quota, account)

    standing = await quota.standing(pool, account)
    assert await outlines.is_free(pool, standing, 0)
    assert not await outlines.is_free(pool, standing, 0, in_flight=1)
    assert not await outlines.is_free(pool, standing, 0, in_flight=2)


async def test_the_fourth_outline_of_a_book_is_never_free(pool, quota, make_account) -> None:
    standing = await quota.standing(pool, await make_account())

    assert [await outlines.is_free(pool, standing, made) for made in (0, 2, 3, 4)] == [True, True, False, False]
