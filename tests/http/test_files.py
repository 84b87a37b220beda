"""The API with files in a bucket: callers see no difference, except while the bucket is away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from bookgen.files.cleanup import sweep
from tests.fakes.s3_server import KEY_ID, REGION, SECRET, S3Server
from tests.http.conftest import Api, OpenApi
from tests.http.test_covers import picture

BUCKET = {"files": "s3://books/of/ada", "aws_access_key_id": KEY_ID, "aws_secret_access_key": SECRET}


@pytest.fixture
async def server() -> AsyncIterator[S3Server]:
    async with S3Server() as server:
        yield server


@pytest.fixture
async def kept_in_rows(open_api: OpenApi) -> Api:
    return await (await open_api()).as_new_account("ada")


@pytest.fixture
async def api(open_api: OpenApi, server: S3Server, kept_in_rows: Api) -> Api:
    """The same account through a service with a bucket."""
    api = await open_api(**BUCKET, aws_region=REGION, s3_endpoint=server.url)
    server.calls.clear()
    return Api(api.client, api.services, api.tokens, api.rights, kept_in_rows.access, kept_in_rows.account_id)


async def test_pictures_and_exports_are_in_the_bucket_and_the_same_for_callers(api: Api, server: S3Server) -> None:
    book = await api.written()
    (cover,) = (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})).body["covers"]
    await api.post(f"/books/{book['id']}/select-cover/", {"cover_id": cover["id"]})
    made = (await api.post(f"/chapters/{book['chapters'][0]['id']}/generate-image/", {})).body

    first = await api.post(f"/books/{book['id']}/export_epub/", {})
    server.calls.clear()
    second = await api.post(f"/books/{book['id']}/export_epub/", {})
    shown = [await picture(api, url) for url in (cover["image_url"], cover["thumbnail_url"], made["image_url"])]
    part = await picture(api, cover["image_url"], Range="bytes=0-1")

    db = api.services.database.http
    assert first.raw == second.raw
    assert [method for method, _ in server.calls] == ["GET"] * 7  # two pictures, the file, and what was shown
    assert {each.raw for each in shown} | {first.raw} == set(server.objects.values())
    assert (part.status, part.raw) == (206, shown[0].raw[:2])
    assert await db.fetchval("SELECT count(*) FROM media WHERE body IS NOT NULL") == 0
    keys = [url.rpartition("/")[2] for url in (cover["image_url"], made["image_url"])]
    assert not [name for name in server.objects if any(key in name for key in keys)]


async def test_a_copy_has_files_of_its_own(api: Api, server: S3Server) -> None:
    book = await api.outlined()
    await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})
    copied = (await api.post(f"/books/{book['id']}/duplicate/")).body
    (cover,) = copied["covers"]
    assert len(server.objects) == 4

    await api.delete(f"/books/{book['id']}/")
    assert await sweep(api.services.database.http, api.services.files) == 2

    assert len(server.objects) == 2
    assert (await picture(api, cover["image_url"])).raw in server.objects.values()


async def test_a_copy_waits_for_pictures_that_come_while_it_is_made_and_leaves_lost_ones_out(
    api: Api, server: S3Server
) -> None:
    book = await api.outlined()
    await api.post(f"/books/{book['id']}/generate-cover/", {"count": 2})
    server.objects.pop(next(iter(server.objects)))
    added = asyncio.Event()

    async def add(method: str, _key: str) -> None:
        if method == "GET" and not added.is_set():
            added.set()
            server.before = None
            await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})

    server.before = add
    copied = await api.post(f"/books/{book['id']}/duplicate/")

    assert (copied.status, len(copied.body["covers"])) == (201, 2)
    for cover in copied.body["covers"]:
        assert (await picture(api, cover["image_url"])).status == 200


async def test_half_of_the_files_may_be_elsewhere(kept_in_rows: Api, api: Api) -> None:
    book = await kept_in_rows.written()
    (old,) = (await kept_in_rows.post(f"/books/{book['id']}/generate-cover/", {"count": 1})).body["covers"]
    (new,) = (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})).body["covers"]
    await api.post(f"/books/{book['id']}/select-cover/", {"cover_id": new["id"]})

    assert [(await picture(api, cover["image_url"])).status for cover in (old, new)] == [200, 200]
    assert (await api.post(f"/books/{book['id']}/export_epub/", {})).status == 200
    assert len((await api.post(f"/books/{book['id']}/duplicate/")).body["covers"]) == 2


async def test_while_the_bucket_is_away_callers_are_told_to_wait_and_exports_without_pictures_are_made(
    api: Api, server: S3Server
) -> None:
    book = await api.written()
    (cover,) = (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})).body["covers"]
    server.broken = 403  # which is not tried again

    shown = await picture(api, cover["image_url"])
    refused = await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})
    exported = await api.post(f"/books/{book['id']}/export_epub/", {})

    assert (shown.status, shown.headers["Retry-After"]) == (503, "5")
    assert (refused.status, refused.code) == (503, "SERVICE_UNAVAILABLE")
    assert "books" not in refused.body["error"]["message"]
    assert exported.status == 200
    assert (await api.get(f"/books/{book['id']}/")).status == 200
    server.broken = 0
    assert (await picture(api, cover["image_url"])).status == 200


async def test_a_production_waits_for_its_bucket_and_paints_nothing_twice(api: Api, server: S3Server) -> None:
    book = await api.book()
    refused = asyncio.Event()

    async def refuse(method: str, _key: str) -> None:
        if method == "PUT" and not refused.is_set():
            refused.set()
            server.broken = 403
        elif method == "PUT":
            server.broken = 0

    server.before = refuse
    assert (await api.post(f"/books/{book['id']}/produce/", {})).status == 202
    await api.until(book["id"], "completed")

    db = api.services.database.http
    assert refused.is_set()
    assert await db.fetchval("SELECT count(*) FROM model_call WHERE stage = 'cover' AND images > 0") == 1
    assert await db.fetchval("SELECT count(*) FROM cover WHERE is_selected") == 1
