import asyncio
from typing import Any

import pytest

from bookgen.providers.offline import OfflineModel
from bookgen.providers.text import TextReply, TextRequest
from bookgen.store.database import Database
from bookgen.store.notifications import JOINED
from tests.http.conftest import Api, OpenApi


class HeldModel(OfflineModel):
    """The offline model, whose chapters wait until the test releases them."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.asked = asyncio.Event()

    async def complete(self, request: TextRequest) -> TextReply:
        if request.stage not in ("outline", "rework"):
            self.asked.set()
            await self.gate.wait()
        return await super().complete(request)


@pytest.fixture
def model() -> HeldModel:
    return HeldModel()


@pytest.fixture
async def api(open_api: OpenApi, model: HeldModel) -> Api:
    return await (await open_api(model=model)).as_new_account("ada")


@pytest.fixture
async def running(api: Api, model: HeldModel) -> dict[str, Any]:
    """A book whose first chapter is being written."""
    book = await api.outlined()
    assert (await api.post(f"/books/{book['id']}/generate/")).status == 202
    await model.asked.wait()
    return book


async def steer(api: Api, book: dict[str, Any], verb: str) -> Any:
    return await api.post(f"/books/{book['id']}/{verb}-generation/")


async def test_generate_answers_at_once_with_the_run(api: Api) -> None:
    book = await api.outlined()

    reply = await api.post(f"/books/{book['id']}/generate/")

    assert reply.status == 202
    assert reply.body.keys() == {"message", "book_id", "task_id", "mode"}
    assert (reply.body["book_id"], reply.body["mode"]) == (book["id"], "full")


async def test_staff_can_see_how_many_actors_are_active(api: Api, running: dict[str, Any]) -> None:
    staff = await api.as_new_account("boss")
    await api.services.database.http.execute("UPDATE account SET is_staff = true")

    overview = (await staff.get("/admin/overview/")).body

    assert overview["actors"] == {"resident": 1, "running": 1, "queued": 0}
    assert overview["runs"]["by_status"] == {"running": 1}


async def test_generate_without_an_outline_is_a_400(api: Api) -> None:
    book = await api.book()

    assert (await api.post(f"/books/{book['id']}/generate/")).status == 400


async def test_a_second_generate_is_refused_while_the_run_is_active(api: Api, running: dict[str, Any]) -> None:
    first = await api.post(f"/books/{running['id']}/generate/")
    await steer(api, running, "pause")
    second = await api.post(f"/books/{running['id']}/generate/")

    assert (first.status, first.code) == (second.status, second.code) == (400, "GENERATION_IN_PROGRESS")


async def test_a_book_without_a_run_has_no_status_and_cannot_be_paused(api: Api) -> None:
    book = await api.outlined()

    assert (await api.get(f"/books/{book['id']}/generation-status/")).status == 404
    for verb in ("pause", "resume", "stop"):
        assert (await steer(api, book, verb)).code == "NOT_FOUND"


async def test_the_status_shows_which_chapters_have_content(api: Api, running: dict[str, Any]) -> None:
    body = (await api.get(f"/books/{running['id']}/generation-status/")).body

    assert (body["generation_status"], body["completed_chapters"], body["total_chapters"]) == ("running", 0, 2)
    assert (body["current_chapter"], body["percentage"], body["failure"]) == (1, 0.0, None)
    assert [item["has_content"] for item in body["outline"]] == [False, False]
    assert "error" not in body


async def test_pause_and_resume_carry_the_book_to_its_end(api: Api, model: HeldModel, running: dict[str, Any]) -> None:
    paused = await steer(api, running, "pause")
    status = (await api.get(f"/books/{running['id']}/generation-status/")).body
    model.gate.set()
    resumed = await steer(api, running, "resume")
    await api.until(running["id"], "completed")

    assert paused.body | {"book_id": running["id"], "generation_status": "paused"} == paused.body
    assert status["generation_status"] == "paused"
    assert "finishing chapter 1" in status["status_message"]
    assert resumed.body["generation_status"] == "running"


async def test_stopping_a_run_sets_the_book_back_to_outline(api: Api, running: dict[str, Any]) -> None:
    stopped = await steer(api, running, "stop")

    assert stopped.body["generation_status"] == "stopped"
    assert (await api.get(f"/books/{running['id']}/")).body["status"] == "outline"
    assert (await steer(api, running, "stop")).status == 200
    assert (await steer(api, running, "pause")).status == (await steer(api, running, "resume")).status == 409


async def test_a_command_refused_by_an_ended_run_names_the_request_that_works(
    api: Api, running: dict[str, Any]
) -> None:
    await api.post(f"/books/{running['id']}/stop-generation/")

    refused = await api.post(f"/books/{running['id']}/pause-generation/")

    assert (refused.status, refused.body["error"]["message"]) == (
        409,
        "This run was stopped, so it cannot be paused. Start a new one (POST /books/{id}/generate/).",
    )


async def test_a_second_book_waits_for_its_turn_and_its_status_says_so(api: Api, running: dict[str, Any]) -> None:
    other = await api.outlined(title="Second")

    accepted = await api.post(f"/books/{other['id']}/generate/")
    body = (await api.get(f"/books/{other['id']}/generation-status/")).body

    assert accepted.status == 202
    assert body["generation_status"] == "running"
    assert "Place 1" in body["status_message"]


async def test_an_edit_during_generation_wins_over_the_models_text(
    api: Api, model: HeldModel, running: dict[str, Any]
) -> None:
    chapter = f"/chapters/{running['chapters'][0]['id']}/"
    edited = await api.patch(chapter, {"content": "The author's own words."})
    model.gate.set()
    await api.until(running["id"], "completed")

    assert edited.status == 200
    assert (await api.get(chapter)).body["content"] == "The author's own words."
    revisions = (await api.get(f"{chapter}revisions/")).body
    assert [revision["origin"] for revision in revisions] == ["model"]


async def test_deleting_a_running_book_ends_its_run(api: Api, running: dict[str, Any]) -> None:
    assert (await api.delete(f"/books/{running['id']}/")).status == 204
    assert (await api.get(f"/books/{running['id']}/generation-status/")).status == 404


@pytest.mark.parametrize("ended", [False, True])
async def test_a_status_is_cached_until_its_owner_changes_something_or_another_process_joins(
    api: Api, running: dict[str, Any], database: Database, ended: bool
) -> None:
    path, second = f"/books/{running['id']}/generation-status/", running["chapters"][1]["id"]
    if ended:
        assert (await api.post(f"/books/{running['id']}/stop-generation/")).status == 200

    async def title() -> str:
        return str((await api.get(path)).body["outline"][1]["title"])

    before = await title()
    await database.http.execute("UPDATE chapter SET title = 'Told to nobody' WHERE id = $1", second)
    assert await title() == before

    assert (await api.patch(f"/chapters/{second}/", {"title": "By its author"})).status == 200
    assert await title() == "By its author"

    await database.http.execute("UPDATE chapter SET title = 'By another process' WHERE id = $1", second)
    api.services.supervisor._notified(JOINED)
    assert await title() == "By another process"


async def test_the_next_status_includes_the_words_just_received(
    api: Api, running: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/books/{running['id']}/generation-status/"
    before = (await api.get(path)).body["words_written"]

    monkeypatch.setattr(api.services.supervisor.runs_in_flight, "words_in_flight", lambda run: 120)

    assert (await api.get(path)).body["words_written"] == before + 120


async def test_the_time_left_is_estimated_from_the_start_and_while_queued(api: Api, model: HeldModel) -> None:
    first, second = [await api.outlined(chapter_count=60, target_word_count=6_000) for _ in range(2)]
    for book in (first, second):
        await api.post(f"/books/{book['id']}/generate/")
    await model.asked.wait()

    at_work, waits = [(await api.get(f"/books/{book['id']}/generation-status/")).body for book in (first, second)]
    listed = {book["id"]: book["generation_progress"] for book in (await api.get("/books/")).body}
    await steer(api, first, "pause")
    paused = (await api.get(f"/books/{first['id']}/generation-status/")).body

    assert (at_work["phase"], waits["phase"], at_work["queue_position"]) == ("chapters", "chapters", None)
    assert waits["queue_position"] == 1
    assert 0 < at_work["estimated_seconds_remaining"] < waits["estimated_seconds_remaining"]
    assert listed[second["id"]]["estimated_seconds_remaining"] == waits["estimated_seconds_remaining"]
    assert paused["estimated_seconds_remaining"] is None


async def test_a_production_without_an_outline_also_has_an_estimate(open_api: OpenApi) -> None:
    class HeldAtOnceModel(HeldModel):
        async def complete(self, request: TextRequest) -> TextReply:
            self.asked.set()
            await self.gate.wait()
            return await OfflineModel.complete(self, request)

    model = HeldAtOnceModel()
    api = await (await open_api(model=model)).as_new_account("ada")
    book = await api.book()
    await api.post(f"/books/{book['id']}/produce/")
    await model.asked.wait()

    status = (await api.get(f"/books/{book['id']}/generation-status/")).body

    assert (status["phase"], status["estimated_seconds_remaining"] > 0) == ("outline", True)
    await steer(api, book, "stop")
