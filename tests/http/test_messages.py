"""Every message says what is wrong, with the value, and what to do."""

from typing import Any

import pytest

from tests.http.conftest import Api

MISSING = {
    "/nope/": "No such path. GET /api/v1/docs/ lists all paths.",
    "/docs/nope/": "No such path. GET /api/v1/docs/ lists all paths.",
    "/books/999999/": "No such book, or it is not yours.",
    "/books/999999/generation-status/": "No such book, or it is not yours.",
    "/chapters/999999/": "No such chapter, or it is not yours.",
    "/proofreading-reports/999999/": "No such proofreading report, or it is not yours.",
    "/books/{book}/generation-status/": "This book has never been generated. Start its writing first "
    "(POST /books/{id}/generate/).",
    f"/books/{10**30}/": "No such book, or it is not yours.",
    "/books/{book}/facts/999999/": "No such fact of this book, or it is not yours.",
    "/chapters/{chapter}/revisions/999999/": "No such revision of this chapter, or it is not yours.",
}


async def test_a_404_says_what_is_missing(api: Api) -> None:
    book = await api.outlined()
    ids = {"book": book["id"], "chapter": book["chapters"][0]["id"]}

    told = {}
    for path in MISSING:
        reply = await api.get(path.replace("{book}", str(ids["book"])).replace("{chapter}", str(ids["chapter"])))
        assert reply.status == 404
        told[path] = reply.body["error"]["message"]
    steered = await api.post(f"/books/{book['id']}/pause-generation/")
    proofread = await api.post("/proofreading-reports/", {"book": 999999})

    assert told == MISSING
    assert steered.body["error"]["message"] == MISSING["/books/{book}/generation-status/"]
    assert proofread.body["error"]["message"] == MISSING["/books/999999/"]


async def test_a_browser_gets_a_page_for_an_unknown_address_but_json_below_the_api(api: Api) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml"}
    for path, kind in [("/nope", "text/html"), ("/api/v1/nope/", "application/json")]:
        async with api.client.get(path, headers=browser) as reply:
            assert (reply.status, reply.content_type) == (404, kind)


@pytest.mark.parametrize(
    ("body", "details"),
    [
        ({}, {"title": ["This field is required."]}),
        ({"title": " "}, {"title": ["Must not be empty."]}),
        ({"title": 5}, {"title": ["Must be a string."]}),
        ({"title": "x" * 201}, {"title": ["Must have at most 200 characters (got 201)."]}),
        ({"title": "A", "chapter_count": 101}, {"chapter_count": ["Must be from 1 to 100 (got 101)."]}),
        ({"title": "A", "chapter_count": "ten"}, {"chapter_count": ["Must be a whole number from 1 to 100."]}),
        ({"title": "A", "chapter_count": 1e300}, {"chapter_count": ["Must be from 1 to 100 (got 1e+300)."]}),
        ({"title": "A", "target_word_count": "5"}, {"target_word_count": ["Must be a whole number of at least 1."]}),
        ({"title": "A", "target_word_count": 0}, {"target_word_count": ["Must be at least 1 (got 0)."]}),
        (
            {"title": "A", "target_word_count": 2**70},
            {"target_word_count": ["Must be a smaller number (got 1180591620717411303424)."]},
        ),
    ],
)
async def test_the_message_for_a_field_contains_its_limits(
    api: Api, body: dict[str, Any], details: dict[str, list[str]]
) -> None:
    reply = await api.post("/books/", body)

    assert (reply.status, reply.body["error"]["details"]) == (400, details)


async def test_the_message_for_a_nested_field_contains_its_path(api: Api) -> None:
    book = await api.book()

    entries = ["Arrival", {"title": 5}, {"id": 0}]
    reply = await api.post(f"/books/{book['id']}/update-outline/", {"chapters": entries})

    assert reply.body["error"]["details"]["chapters"] == [
        "[0]: Must be an object.",
        "[1].title: Must be a string.",
        "[2].id: Must be at least 1 (got 0).",
    ]


async def test_a_title_without_a_font_gets_a_warning_when_it_is_set(api: Api) -> None:
    cuneiform = await api.post("/books/", {"title": "\U00012000"})
    renamed = await api.patch(f"/books/{cuneiform.body['id']}/", {"title": "Глава Ω"})

    assert cuneiform.status == 201
    assert "U+12000 CUNEIFORM SIGN A" in cuneiform.body["font_warning"]
    assert "apt install fonts-noto-core" in cuneiform.body["font_warning"]
    assert renamed.body["font_warning"] is None
