"""`Idempotency-Key`: a repeated request gets the first answer and is not carried out again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bookgen.errors import UpstreamAIError
from bookgen.http.edge.contract import repeatable
from bookgen.http.edge.idempotency import MAX_ANSWER_BYTES
from bookgen.http.routes import ROUTES
from bookgen.providers.offline import OfflineModel
from bookgen.providers.text import TextReply, TextRequest
from tests.fakes.model_script import fault
from tests.fakes.model_server import ModelServer
from tests.fakes.stripe_server import FakeStripe
from tests.http.blackbox import BlackboxCaller
from tests.http.conftest import PREFIX, Api, OpenApi, pause
from tests.http.document import DOCUMENT
from tests.service import ServiceProcess

FORM = {"title": "A Book", "chapter_count": 2, "target_word_count": 400}
KEY = {"Idempotency-Key": "6f1c5d0e-6f0a-4f0e-9d8e-0f6e4f2b7a11"}


class HeldOutlineModel(OfflineModel):
    """Holds its outlines until released, or refuses the first one."""

    def __init__(self) -> None:
        self.asked, self.may = asyncio.Event(), asyncio.Event()
        self.refuses = False

    async def complete(self, request: TextRequest) -> TextReply:
        if request.stage == "outline":
            self.asked.set()
            await self.may.wait()
        if self.refuses:
            self.refuses = False
            raise UpstreamAIError(stage=request.stage, retryable=True)
        return await super().complete(request)


async def test_creating_a_book_twice_with_one_key_creates_one_book(api: Api) -> None:
    first = await api.post("/books/", FORM, headers=KEY)
    await api.patch(f"/books/{first.body['id']}/", {"title": "Renamed"})

    again = await api.post("/books/", dict(reversed(FORM.items())), headers=KEY)
    alias = await api.post("/books/", FORM, headers=KEY, prefix="/api")

    assert (again.status, again.raw) == (alias.status, alias.raw) == (201, first.raw)
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert len((await api.get("/books/")).body) == 1


@pytest.mark.parametrize(
    ("path", "body"), [("/books/", {**FORM, "title": "Another"}), ("/books/childrens/", FORM), ("/books/?a=1", FORM)]
)
async def test_a_different_request_with_the_same_key_is_a_conflict(api: Api, path: str, body: dict[str, Any]) -> None:
    await api.post("/books/", FORM, headers=KEY)

    other = await api.post(path, {**body, "age_range": "3-5", "theme": "x", "page_count": 8}, headers=KEY)

    assert (other.status, other.code) == (409, "CONFLICT")
    assert "Send a new key" in other.body["error"]["message"]
    assert len((await api.get("/books/")).body) == 1


async def test_keys_are_separate_for_each_account(api: Api) -> None:
    mine = await api.post("/books/", FORM, headers=KEY)
    eve = await api.as_new_account("eve")

    hers = await eve.post("/books/", FORM, headers=KEY)

    assert (hers.status, hers.body["id"] != mine.body["id"]) == (201, True)
    assert len((await eve.get("/books/")).body) == 1


async def test_the_key_of_a_request_in_progress_is_a_conflict(open_api: OpenApi) -> None:
    model = HeldOutlineModel()
    api = await (await open_api(model=model)).as_new_account("ada")
    path = f"/books/{(await api.book())['id']}/generate-outline/"
    first = asyncio.create_task(api.post(path, headers=KEY))
    await model.asked.wait()

    early = await api.post(path, headers=KEY)
    model.may.set()

    assert (early.status, early.code) == (409, "CONFLICT")
    assert "still being handled" in early.body["error"]["message"]
    assert (await first).status == 200
    assert (await api.post(path, headers=KEY)).raw == (await first).raw


async def test_a_failed_request_leaves_its_key_free(open_api: OpenApi) -> None:
    model = HeldOutlineModel()
    model.refuses = True
    model.may.set()
    api = await (await open_api(model=model)).as_new_account("ada")
    path = f"/books/{(await api.book())['id']}/generate-outline/"

    assert (await api.post(path, headers=KEY)).status == 502
    assert (await api.post(path, headers=KEY)).status == 200


async def test_starting_a_run_twice_with_one_key_starts_one_run(api: Api) -> None:
    book = await api.outlined()
    path = f"/books/{book['id']}/generate/"

    first = await api.post(path, headers=KEY)
    again = await api.post(path, headers=KEY)
    await api.until(book["id"], "completed")
    late = await api.post(path, headers=KEY)

    assert (first.status, first.raw) == (again.status, again.raw) == (202, late.raw)
    assert (await api.get(f"/books/{book['id']}/generation-status/")).body["task_id"] == first.body["task_id"]


async def test_a_checkout_started_twice_with_one_key_is_one_session(shop: Api, stripe: FakeStripe) -> None:
    ada = await shop.as_new_account("ada")

    first = await ada.post("/auth/credits/checkout/", {"package": "single"}, headers=KEY)
    again = await ada.post("/auth/credits/checkout/", {"package": "single"}, headers=KEY)

    assert (first.status, again.status, again.raw) == (200, 200, first.raw)
    assert again.headers["Idempotent-Replayed"] == "true"


async def test_an_answer_too_large_to_store_is_built_again_for_the_same_book(api: Api) -> None:
    book = await api.written()
    await api.patch(f"/chapters/{book['chapters'][0]['id']}/", {"content": "word " * (MAX_ANSWER_BYTES // 4)})
    path = f"/books/{book['id']}/duplicate/"

    first = await api.post(path, headers=KEY)
    again = await api.post(path, headers=KEY)

    assert (first.status, again.status) == (201, 201)
    assert again.body["id"] == first.body["id"]
    assert len((await api.get("/books/")).body) == 2
    kept = await api.services.database.http.fetchval("SELECT answer FROM idempotency_key")
    assert kept is None


@pytest.mark.parametrize("key", ["", "x" * 256, "naïve", "a\tb"])
async def test_an_invalid_key_is_refused(api: Api, key: str) -> None:
    refused = await api.post("/books/", FORM, headers={"Idempotency-Key": key})

    assert (refused.status, refused.code) == (400, "VALIDATION_ERROR")
    assert (await api.get("/books/")).body == []


async def test_two_keys_in_one_request_are_refused(api: Api) -> None:
    headers = [("Authorization", f"Bearer {api.access}"), *KEY.items(), *KEY.items()]

    reply = await api.client.post(f"{PREFIX}/books/", json=FORM, headers=headers)

    assert reply.status == 400
    assert (await api.get("/books/")).body == []


async def test_a_key_of_255_characters_is_accepted(api: Api) -> None:
    for _ in range(2):
        assert (await api.post("/books/", FORM, headers={"Idempotency-Key": "x" * 255})).status == 201
    assert len((await api.get("/books/")).body) == 1


async def test_a_key_can_be_reused_after_a_day(api: Api) -> None:
    await api.post("/books/", FORM, headers=KEY)
    await api.services.database.http.execute("UPDATE idempotency_key SET started_at = now() - interval '25 hours'")

    assert (await api.post("/books/", {**FORM, "title": "Another"}, headers=KEY)).status == 201


async def test_a_request_killed_with_its_server_can_be_retried_with_its_key(tmp_path: Path) -> None:
    async with ModelServer() as models, aiohttp.ClientSession() as http:
        told = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": models.anthropic_url}
        models.script(fault("hold"))
        async with ServiceProcess(tmp_path, **told) as service:
            ada = BlackboxCaller(service, http)
            account = {"username": "ada", "email": "ada@example.com", "password": "correct horse 7"}
            ada = ada.with_token((await ada.send("POST", "/auth/register/", json=account)).body["tokens"]["access"])
            made = await ada.send("POST", "/books/", json=FORM, headers=KEY)
            outline = f"/books/{made.body['id']}/generate-outline/"
            other = {"Idempotency-Key": "outline"}
            asking = asyncio.create_task(ada.send("POST", outline, headers=other))
            await models.arrived(1)
            await service.kill()
            await asyncio.gather(asking, return_exceptions=True)
        async with ServiceProcess(tmp_path, **told) as service:
            ada = BlackboxCaller(service, http, ada.token)
            kept = await ada.send("POST", "/books/", json=FORM, headers=KEY)
            async with asyncio.timeout(60):
                while (drawn := await ada.send("POST", outline, headers=other)).status == 409:
                    await pause()  # until the dead process's lease is over

    assert (kept.status, kept.raw) == (201, made.raw)
    assert (drawn.status, len(drawn.body["chapters"])) == (200, 2)


def test_the_openapi_document_lists_the_calls_that_take_a_key() -> None:
    documented = {
        (method.upper(), path)
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
        if any(each.get("name") == "Idempotency-Key" for each in operation.get("parameters", ()))
    }

    assert documented == {(route.method, route.path) for route in ROUTES if repeatable.marks(route.handler)}
    assert {("POST", "/books/"), ("POST", "/books/{id}/generate/"), ("POST", "/books/{id}/produce/")} <= documented
    assert not {route.path for route in ROUTES if route.public} & {path for _, path in documented}
