"""The overview for staff."""

from __future__ import annotations

from typing import Any

from tests.accounts.door import Door


async def staff(door: Door) -> str:
    token = await door.access("boss")
    await door.database.http.execute("UPDATE account SET is_staff = true WHERE username = 'boss'")
    return token


async def test_only_staff_can_read_the_overview(door: Door) -> None:
    status, answer = await door.call("GET", "/admin/overview/", token=await door.access("ada"))

    assert (status, answer["error"]["code"]) == (403, "PERMISSION_DENIED")


async def test_granting_or_revoking_staff_takes_effect_at_the_next_request(door: Door) -> None:
    token = await door.access("boss")

    before, _ = await door.call("GET", "/admin/overview/", token=token)
    await door.database.http.execute("UPDATE account SET is_staff = true")
    given, _ = await door.call("GET", "/admin/overview/", token=token)
    await door.database.http.execute("UPDATE account SET is_staff = false")
    taken, _ = await door.call("GET", "/admin/overview/", token=token)

    assert (before, given, taken) == (403, 200, 403)


async def test_an_empty_service_has_an_overview_of_zeros(door: Door) -> None:
    status, body = await door.call("GET", "/admin/overview/", token=await staff(door))

    assert status == 200
    nothing: dict[str, Any] = {
        "calls": 0,
        "input_tokens": 0,
        "output_tokens": 0,
        "cache_write_tokens": 0,
        "cache_read_tokens": 0,
        "images": 0,
        "cost_micros": 0,
        "currency": "USD",
        "unknown_price": False,
    }
    assert body == {
        "accounts": {"total": 1, "blocked": 0},
        "books": {"total": 0, "by_status": {}},
        "runs": {"by_status": {}},
        "actors": {"resident": 0, "running": 0, "queued": 0},
        "usage": {**nothing, "by_model": []},
    }


async def test_totals_cover_all_accounts_and_each_model(door: Door) -> None:
    token = await staff(door)
    ada = (await door.register("ada"))["user"]["id"]
    await door.block((await door.register("eve"))["user"]["id"])
    await door.database.http.execute(
        """
        INSERT INTO model_call (account_id, stage, model, input_tokens, output_tokens, cache_write_tokens,
                                cache_read_tokens, images, cost_micros)
        VALUES ($1, 'chapter', 'known', 10, 20, 3, 4, 0, 500), ($1, 'chapter', 'known', 1, 2, 0, 0, 0, 50),
               (NULL, 'cover', 'unknown', 0, 0, 0, 0, 2, NULL)
        """,
        ada,
    )

    _, body = await door.call("GET", "/admin/overview/", token=token)

    assert body["accounts"] == {"total": 3, "blocked": 1}
    known, unknown = body["usage"].pop("by_model")
    assert (known["model"], known["calls"], known["input_tokens"], known["cost_micros"]) == ("known", 2, 11, 550)
    assert (known["unknown_price"], unknown["unknown_price"]) == (False, True)
    assert body["usage"] == {
        "calls": 3,
        "input_tokens": 11,
        "output_tokens": 22,
        "cache_write_tokens": 3,
        "cache_read_tokens": 4,
        "images": 2,
        "cost_micros": 550,
        "currency": "USD",
        "unknown_price": True,
    }
