"""The table in section 5 of the contract's decisions, over the API: every command in every state of a run."""

from __future__ import annotations

from typing import Any

import pytest

from bookgen.errors import UpstreamAIError
from bookgen.providers.text import TextReply, TextRequest
from tests.http import forms
from tests.http.conftest import Api, OpenApi
from tests.http.test_generation import HeldModel

STATES = ("none", "running", "paused", "stopped", "completed", "error")
IN_PROGRESS, CONFLICT, NONE = (400, "GENERATION_IN_PROGRESS"), (409, "CONFLICT"), (404, "NOT_FOUND")
# A status and its detail: the state of the run, the mode of the new run, or the error code.
TABLE = {
    "generate": ((202, "full"), IN_PROGRESS, IN_PROGRESS, (202, "continue"), (202, "full"), (202, "continue")),
    "pause-generation": (NONE, (200, "paused"), (200, "paused"), CONFLICT, CONFLICT, CONFLICT),
    "resume-generation": (NONE, (200, "running"), (200, "running"), CONFLICT, CONFLICT, (200, "running")),
    "stop-generation": (NONE, (200, "stopped"), (200, "stopped"), (200, "stopped"), CONFLICT, (200, "stopped")),
}
CELLS = [
    pytest.param(message, state, *expected, id=f"{message} when {state}")
    for message, row in TABLE.items()
    for state, expected in zip(STATES, row, strict=True)
]
OF_BOOK = {
    "none": "outline",
    "running": "generating",
    "paused": "generating",
    "stopped": "outline",
    "completed": "completed",
    "error": "outline",
}


class SteeredAuthor(HeldModel):
    """Writes the first chapter, and waits or fails in the second."""

    fails = False

    async def complete(self, request: TextRequest) -> TextReply:
        if request.chapter_number == 2 and request.stage not in ("outline", "rework"):
            if self.fails:
                raise UpstreamAIError("Away.", stage=request.stage, chapter_number=2, retryable=False)
            return await super().complete(request)
        return await super(HeldModel, self).complete(request)


@pytest.fixture
def author() -> SteeredAuthor:
    return SteeredAuthor()


@pytest.fixture
async def api(open_api: OpenApi, author: SteeredAuthor) -> Api:
    return await (await open_api(model=author)).as_new_account("ada")


async def book_in(state: str, api: Api, author: SteeredAuthor) -> dict[str, Any]:
    """A book of two chapters whose run, if it has one, has written the first."""
    book = await api.outlined()
    if state == "none":
        return book
    author.fails = state == "error"
    if state == "completed":
        author.gate.set()
    assert (await api.post(f"/books/{book['id']}/generate/")).status == 202
    if state in ("completed", "error"):
        await api.until(book["id"], state)
        author.gate.clear()
        return book
    await author.asked.wait()
    if state != "running":
        await api.post(f"/books/{book['id']}/{'pause' if state == 'paused' else 'stop'}-generation/")
    return book


@pytest.mark.parametrize(("message", "state", "status", "what"), CELLS)
async def test_every_command_gets_the_specified_answer_in_every_state(
    api: Api, author: SteeredAuthor, message: str, state: str, status: int, what: str
) -> None:
    book = await book_in(state, api, author)
    path = f"/books/{book['id']}"
    before = await api.get(f"{path}/generation-status/")
    author.fails = False

    reply = await api.post(f"{path}/{message}/")

    after = await api.get(f"{path}/generation-status/")
    assert reply.status == status
    if status >= 400:
        assert reply.code == what
        assert after.status == before.status
        assert status == 404 or after.body["generation_status"] == state
    elif status == 202:
        assert forms.misfits(reply.body, forms.GENERATION_START) == []
        assert (reply.body["mode"], after.body["task_id"]) == (what, reply.body["task_id"])
        assert after.body["generation_status"] == "running"
    else:
        assert forms.misfits(reply.body, forms.STEERED) == []
        assert reply.body["generation_status"] == after.body["generation_status"] == what


@pytest.mark.parametrize("state", STATES)
async def test_the_status_of_the_book_follows_its_run(api: Api, author: SteeredAuthor, state: str) -> None:
    book = await book_in(state, api, author)

    shown = (await api.get(f"/books/{book['id']}/")).body

    assert forms.misfits(shown, forms.BOOK) == []
    assert shown["status"] == OF_BOOK[state]
    progress = shown["generation_progress"]
    assert (progress and progress["generation_status"]) == (None if state == "none" else state)
    if state not in ("none", "completed"):
        assert [bool(chapter["content"]) for chapter in shown["chapters"]] == [True, False]
    if state == "error":
        assert progress["failure"]["chapter_number"] == 2
