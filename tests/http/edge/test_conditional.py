"""Conditional requests: ETags that change with the answer, and 304 without a body."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bookgen.http.edge.contract import conditional
from bookgen.http.routes import ROUTES
from tests.http.conftest import Api, pause
from tests.http.document import DOCUMENT
from tests.http.test_contract import HEADERS

TAGGED = [route for route in ROUTES if conditional.marks(route.handler)]


async def paths_of(api: Api) -> list[str]:
    book = await api.written()
    ids = {
        "books": book["id"],
        "chapters": book["chapters"][0]["id"],
    }
    await api.patch(f"/chapters/{ids['chapters']}/", {"content": f"{book['chapters'][0]['content']} The the sea."})
    ids["proofreading-reports"] = report = await report_on(api, book)
    within = {
        "fact_id": (await api.get(f"/books/{book['id']}/facts/")).body[0]["id"],
        "revision_id": (await api.get(f"/chapters/{ids['chapters']}/revisions/")).body[0]["id"],
        "suggestion_id": await api.first_suggestion(report),
    }
    paths = [route.path.replace("{id}", str(ids.get(route.path.split("/")[1]))) for route in TAGGED]
    return [path.format(**within) for path in paths]


async def report_on(api: Api, book: dict[str, Any]) -> int:
    """A finished report."""
    report = (await api.post("/proofreading-reports/", {"book": book["id"]})).body
    async with asyncio.timeout(60):
        while report["status"] != "completed":
            await pause()
            report = (await api.get(f"/proofreading-reports/{report['id']}/")).body
    return int(report["id"])


async def test_an_unchanged_answer_is_304(api: Api) -> None:
    paths = await paths_of(api)

    for path in paths:
        first = await api.get(path)
        again = await api.get(path, headers={"If-None-Match": first.headers["ETag"]})
        assert (first.status, again.status, again.raw) == (200, 304, b""), path
        assert again.headers["ETag"] == first.headers["ETag"]
        assert again.headers["Cache-Control"] == first.headers["Cache-Control"]
        assert all(name in again.headers for name in HEADERS)
        assert "Content-Type" not in again.headers
    assert {"/books/", "/chapters/", "/schema/"} <= set(paths)


@pytest.mark.parametrize("given", ["{tag}", "W/{tag}", '"other", {tag}', 'W/"other",W/{tag}', "*"])
async def test_if_none_match_takes_weak_tags_lists_and_a_star(api: Api, given: str) -> None:
    await api.book()
    tag = (await api.get("/books/")).headers["ETag"]

    assert (await api.get("/books/", headers={"If-None-Match": given.replace("{tag}", tag)})).status == 304


@pytest.mark.parametrize("given", ["", '"other"', "nonsense", 'W/""', ","])
async def test_a_different_etag_gets_the_full_answer(api: Api, given: str) -> None:
    assert (await api.get("/books/", headers={"If-None-Match": given})).status == 200


async def test_a_change_alters_the_etag_of_every_answer_that_shows_it(api: Api) -> None:
    book = await api.written()
    chapter = book["chapters"][0]["id"]
    paths = ["/books/", f"/books/{book['id']}/", "/chapters/", f"/chapters/{chapter}/"]
    before = [(await api.get(path)).headers["ETag"] for path in paths]

    await api.patch(f"/chapters/{chapter}/", {"content": "Other words."})

    for path, tag in zip(paths, before, strict=True):
        reply = await api.get(path, headers={"If-None-Match": tag})
        assert (reply.status, reply.headers["ETag"] != tag) == (200, True), path


async def test_the_status_has_a_new_etag_after_progress(api: Api) -> None:
    book = await api.written()
    path = f"/books/{book['id']}/generation-status/"
    tag = (await api.get(path)).headers["ETag"]

    await api.post(f"/books/{book['id']}/generate/")
    moved = await api.get(path, headers={"If-None-Match": tag})

    assert moved.status == 200
    assert moved.body["task_id"] != book["generation_progress"]["task_id"]


async def test_an_etag_gives_no_access(api: Api) -> None:
    book = await api.book()
    tag = (await api.get(f"/books/{book['id']}/")).headers["ETag"]
    eve = await api.as_new_account("eve")

    assert (await eve.get(f"/books/{book['id']}/", headers={"If-None-Match": tag})).status == 404
    assert (await eve.get(f"/books/{book['id']}/", headers={"If-None-Match": "*"})).status == 404


def test_the_openapi_document_says_which_answers_have_etags() -> None:
    documented = {
        (path, method)
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
        if "304" in operation["responses"] and "ETag" in operation["responses"]["200"]["headers"]
    }

    assert documented == {(route.path, "get") for route in TAGGED}
