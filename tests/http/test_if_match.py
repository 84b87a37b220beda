"""`If-Match`: a change is refused if the resource is no longer the one that its caller has read."""

from __future__ import annotations

import asyncio
from typing import Any

from bookgen.http.edge.contract import guarded
from bookgen.http.routes import ROUTES
from tests.http.conftest import Api
from tests.http.document import DOCUMENT
from tests.http.spec_tables import BODIES


async def illustrated(api: Api) -> dict[str, Any]:
    """The ids of everything that can be changed with If-Match, by the first segment of its path."""
    book = await api.written()
    chapter = book["chapters"][0]["id"]
    await api.patch(f"/chapters/{chapter}/", {"content": f"{book['chapters'][0]['content']} Mine is the the sea."})
    report = (await api.post("/proofreading-reports/", {"book": book["id"]})).body["id"]
    await api.first_suggestion(report)
    return {
        "books": book["id"],
        "chapters": chapter,
        "illustrations": (await api.post(f"/chapters/{chapter}/generate-image/", {})).body["id"],
        "proofreading-reports": report,
        "auth": None,
        "fact_id": (await api.get(f"/books/{book['id']}/facts/")).body[0]["id"],
        "revision_id": (await api.get(f"/chapters/{chapter}/revisions/")).body[0]["id"],
        "cover": (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})).body["covers"][0]["id"],
    }


async def test_every_change_refuses_an_outdated_etag(api: Api) -> None:
    ids = await illustrated(api)
    bodies = BODIES | {
        ("PATCH", "/books/{id}/bible/"): {"premise": "A light."},
        ("PATCH", "/books/{id}/facts/{fact_id}/"): {"value": "Another."},
        ("POST", "/chapters/{id}/regenerate/"): {},
        ("PATCH", "/auth/profile/"): {"first_name": "Ada"},
        ("POST", "/books/{id}/regenerate-chapters/"): {"chapter_ids": [ids["chapters"]]},
        ("POST", "/books/{id}/select-cover/"): {"cover_id": ids["cover"]},
    }
    whole = [(await api.get(path)).raw for path in ("/books/", "/chapters/", "/auth/profile/")]

    for route in ROUTES:
        if route.method in ("PATCH", "DELETE") or guarded.marks(route.handler):
            path = route.path.replace("{id}", str(ids[route.path.split("/")[1]])).format(**ids)
            body = bodies.get((route.method, route.path))
            for tag in ('"stale"', "W/", "nonsense", '"stale", W/"*"'):
                reply = await api.call(route.method, path, json=body, headers={"If-Match": tag})
                assert (reply.status, reply.code) == (409, "CONFLICT"), (route.method, route.path, reply.body)

    assert [(await api.get(path)).raw for path in ("/books/", "/chapters/", "/auth/profile/")] == whole


async def test_a_weak_tag_never_matches(api: Api) -> None:
    book = await api.written()
    facts = f"/books/{book['id']}/facts/"
    fact = (await api.get(facts)).body[0]["id"]

    for path in (
        f"/books/{book['id']}/",
        f"/chapters/{book['chapters'][0]['id']}/",
        f"/books/{book['id']}/bible/",
        f"{facts}{fact}/",
    ):
        tag = (await api.get(path)).headers["ETag"]
        assert (await api.patch(path, {}, headers={"If-Match": f"W/{tag}"})).status == 409, path
        assert (await api.patch(path, {}, headers={"If-Match": f'"other", {tag}'})).status == 200, path
        assert (await api.patch(path, {}, headers={"If-Match": "*"})).status == 200, path


async def test_every_patch_returns_the_etag_of_the_next_read(api: Api) -> None:
    ids = await illustrated(api)
    changes = {
        f"/books/{ids['books']}/": ({"title": "One"}, {"subtitle": "Two"}),
        f"/books/{ids['books']}/bible/": ({"premise": "One."}, {"voice": "Two."}),
        f"/books/{ids['books']}/facts/{ids['fact_id']}/": ({"value": "One"}, {"value": "Two"}),
        f"/chapters/{ids['chapters']}/": ({"content": "One."}, {"title": "Two"}),
        "/auth/profile/": ({"first_name": "One"}, {"last_name": "Two"}),
    }

    for path, (first, second) in changes.items():
        tag = (await api.get(path)).headers["ETag"]
        changed = await api.patch(path, first, headers={"If-Match": tag})
        again = await api.patch(path, second, headers={"If-Match": changed.headers["ETag"]})
        known = await api.get(path, headers={"If-None-Match": again.headers["ETag"]})
        late = await api.patch(path, first, headers={"If-Match": tag})
        assert [changed.status, again.status, known.status, late.status] == [200, 200, 304, 409], path


async def test_creating_or_changing_an_illustration_returns_its_etag(api: Api) -> None:
    book = await api.written()
    made = await api.post(f"/chapters/{book['chapters'][0]['id']}/generate-image/", {})
    path, tag = f"/illustrations/{made.body['id']}/", made.headers["ETag"]

    changed = await api.patch(path, {"caption": "A pier."}, headers={"If-Match": tag})
    late = await api.call("DELETE", path, headers={"If-Match": tag})
    deleted = await api.call("DELETE", path, headers={"If-Match": changed.headers["ETag"]})

    assert [changed.status, late.status, deleted.status] == [200, 409, 204]


async def test_of_several_changes_with_the_same_etag_one_succeeds(api: Api) -> None:
    book = await api.outlined()
    path = f"/books/{book['id']}/"
    read = {"If-Match": (await api.get(path)).headers["ETag"]}

    replies = await asyncio.gather(
        *(api.patch(path, {"title": f"{n}."}, headers=read) for n in range(3)),
        *(api.post(f"{path}update-outline/", {"chapters": [{"title": f"{n}."}]}, headers=read) for n in range(3)),
    )

    assert sorted(reply.status for reply in replies) == [200, *[409] * 5]


async def test_a_book_is_deleted_only_with_its_current_etag(api: Api) -> None:
    book = await api.outlined()
    path = f"/books/{book['id']}/"
    tag = (await api.get(path)).headers["ETag"]
    await api.patch(f"/chapters/{book['chapters'][0]['id']}/", {"content": "A later thought."})

    refused = await api.call("DELETE", path, headers={"If-Match": tag})
    read = await api.get(path)
    deleted = await api.call("DELETE", path, headers={"If-Match": read.headers["ETag"]})

    assert (refused.status, read.status, deleted.status) == (409, 200, 204)


async def test_if_none_match_does_not_apply_to_changes(api: Api) -> None:
    book = await api.book()
    path = f"/books/{book['id']}/"

    changed = await api.patch(path, {"title": "New"}, headers={"If-None-Match": "*"})

    assert (changed.status, changed.body["title"]) == (200, "New")


def test_the_openapi_document_lists_the_changes_that_take_if_match() -> None:
    documented = {
        (method.upper(), path)
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
        if any(each.get("name") == "If-Match" for each in operation.get("parameters", ()))
    }

    assert documented == {(route.method, route.path) for route in ROUTES if guarded.marks(route.handler)}
    assert {(route.method, route.path) for route in ROUTES if route.method in ("PATCH", "DELETE")} <= documented
    for method, path in documented - {("DELETE", path) for _, path in documented}:
        operation = DOCUMENT["paths"][path][method.lower()]
        assert "ETag" in operation["responses"]["200"]["headers"], path
        assert "409" in operation["responses"], path
