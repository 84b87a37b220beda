"""Polls of a status cached in this process: they pass the middleware and need no query."""

import asyncio
from typing import Any

import pytest

from bookgen.http.edge import middleware
from bookgen.providers.offline import OfflineModel
from bookgen.providers.text import TextReply, TextRequest
from bookgen.rate_limits import Budget, LimitClass, Limiter
from bookgen.store import accounts
from tests.http.conftest import Api, OpenApi

READS = 50


class SilentModel(OfflineModel):
    """Drafts outlines, and never answers a call for a chapter."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def complete(self, request: TextRequest) -> TextReply:
        if request.stage != "outline":
            self.asked.set()
            await asyncio.Event().wait()
        return await super().complete(request)


@pytest.fixture
def model() -> SilentModel:
    return SilentModel()


@pytest.fixture
async def api(open_api: OpenApi, model: SilentModel) -> Api:
    limiter = Limiter({limit: Budget(READS if limit is LimitClass.READ else 1000, 3600) for limit in LimitClass})
    return await (await open_api(model=model, limiter=limiter)).as_new_account("ada")


@pytest.fixture
async def path(api: Api, model: SilentModel) -> str:
    """The status path of a book that is being written, already cached."""
    book = await api.outlined()
    assert (await api.post(f"/books/{book['id']}/generate/")).status == 202
    await model.asked.wait()
    path = f"/books/{book['id']}/generation-status/"
    assert (await api.get(path)).status == 200
    return path


@pytest.fixture
def only_kept(api: Api, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the status unreadable in the database."""

    async def read_anew(*_: Any) -> bytes:
        raise AssertionError("The status was read from the database.")

    monkeypatch.setattr(api.services.supervisor.statuses, "read_anew", read_anew)


@pytest.mark.usefixtures("only_kept")
async def test_a_poll_of_a_cached_status_reads_nothing(api: Api, path: str) -> None:
    assert (await api.get(path)).status == 200


@pytest.mark.usefixtures("only_kept")
async def test_a_poll_passes_through_the_middleware(api: Api, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    numbered = iter(["first", "second"])
    monkeypatch.setattr(middleware, "request_id", lambda _: next(numbered))

    replies = [await api.get(path, prefix=prefix) for prefix in ("/api/v1", "/api")]

    assert [reply.headers["X-Request-Id"] for reply in replies] == ["first", "second"]


@pytest.mark.usefixtures("only_kept")
async def test_an_unchanged_status_is_a_304_with_the_usual_headers(api: Api, path: str) -> None:
    first = await api.get(path)

    again = await api.get(path, headers={"If-None-Match": first.headers["ETag"]})

    assert (again.status, again.raw) == (304, b"")
    assert again.headers.keys() == first.headers.keys() - {"Content-Type", "Content-Length"}
    assert again.headers["ETag"] == first.headers["ETag"]
    assert int(again.headers["RateLimit-Remaining"]) == int(first.headers["RateLimit-Remaining"]) - 1


async def test_a_change_by_the_owner_is_in_the_next_poll(api: Api, path: str) -> None:
    chapter = (await api.get(path)).body["outline"][1]["id"]

    await api.patch(f"/chapters/{chapter}/", {"title": "Another title"})

    assert (await api.get(path)).body["outline"][1]["title"] == "Another title"


async def test_a_poll_needs_the_right_to_read_the_book(api: Api, path: str) -> None:
    stranger = await api.as_new_account("eve")
    await stranger.get("/books/")  # both tokens are cached
    assert (await stranger.get(path)).status == 404
    assert (await (await api.as_nobody()).get(path)).body["error"]["code"] == "AUTHENTICATION_REQUIRED"
    assert (await api.get(path, headers={"Authorization": f"Bearer {api.access} x"})).body["error"]["code"] == (
        "TOKEN_INVALID"
    )

    await accounts.block(api.services.database.http, api.account_id, "spam")
    await api.rights.look(api.services.supervisor.end_runs)

    assert (await api.get(path)).status == 403


async def test_polls_beyond_the_rate_limit_are_refused(api: Api, path: str) -> None:
    refused = [reply for _ in range(READS + 2) if (reply := await api.get(path)).status != 200]

    assert {reply.status for reply in refused} == {429}
    assert refused[-1].headers["RateLimit-Remaining"] == "0"
