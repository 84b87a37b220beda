"""Changes by the quality gate are shown and can be undone over the API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bookgen.providers.text import TextModel
from bookgen.writing.material import TextChange
from tests.http.conftest import Api, OpenApi
from tests.writing.authored import authored
from tests.writing.scripted import obedient

ANNOUNCEMENT = "Here is chapter 1, as requested:"
GERMAN = (
    "Sie hatte die Lampe im Fenster stehen lassen, und als er zurückkam, war sie das einzige Licht, das er sah. Er "
    "blieb auf dem Weg stehen und wartete, bis der Wind sich gelegt hatte und der Hund nicht mehr bellte."
)
PLACEHOLDER = "She met [insert name] on the quay."


def careless(request: Any, brief: dict[str, Any], call: int) -> Any:
    """In the first chapter the model announces its text, switches the language once, and leaves a placeholder."""
    text = obedient(request, brief, call)
    if brief["stage"] != "chapter" or brief["chapter_number"] != 1 or brief["part"] != 1:
        return text
    first, *rest = str(text).split("\n\n")
    return "\n\n".join([ANNOUNCEMENT, first, PLACEHOLDER, GERMAN, *rest])


@pytest.fixture
async def model() -> AsyncIterator[TextModel]:
    async with authored(careless, "anthropic") as (_, steps):
        yield steps.model


@pytest.fixture
async def api(model: TextModel, open_api: OpenApi) -> Api:
    return await (await open_api(model=model)).as_new_account("ada")


@pytest.fixture
async def book(api: Api) -> dict[str, Any]:
    return await api.written()


async def quality(api: Api, book: dict[str, Any]) -> list[dict[str, Any]]:
    return list((await api.get(f"/books/{book['id']}/")).body["quality"])


def changes(notes: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {note["kind"]: note for note in notes if "before" in note}


async def test_a_change_shows_the_passage_before_and_after(api: Api, book: dict[str, Any]) -> None:
    chapter = book["chapters"][0]

    notes = await quality(api, book)

    changed = changes(notes)
    assert changed.keys() == {"meta_text", "wrong_language"}
    assert (changed["meta_text"]["before"], changed["meta_text"]["after"]) == (ANNOUNCEMENT, "")
    assert changed["wrong_language"]["before"] == GERMAN
    assert changed["wrong_language"]["after"] in chapter["content"]
    assert ANNOUNCEMENT not in chapter["content"]
    assert GERMAN not in chapter["content"]
    found = [note for note in notes if "before" not in note and note["kind"] == "placeholder"]
    assert [note.keys() for note in found] == [{"chapter_number", "kind", "excerpt", "detail"}]
    assert PLACEHOLDER in chapter["content"]


async def test_one_call_restores_the_models_own_text(api: Api, book: dict[str, Any]) -> None:
    path = f"/chapters/{book['chapters'][0]['id']}/revisions/"
    [listed] = (await api.get(path)).body
    assert listed["origin"] == "quality_gate"
    assert {note["revision"] for note in changes(await quality(api, book)).values()} == {listed["id"]}

    restored = (await api.post(f"{path}{listed['id']}/restore/")).body

    assert restored["content"].startswith(ANNOUNCEMENT)
    assert GERMAN in restored["content"]
    assert restored["word_count"] > book["chapters"][0]["word_count"]
    assert changes(await quality(api, book)) == {}


async def test_one_passage_can_be_restored_and_the_other_change_stays_listed(api: Api, book: dict[str, Any]) -> None:
    chapter = book["chapters"][0]
    changed = changes(await quality(api, book))
    told = {name: changed["meta_text"][name] for name in ("kind", "detail", "before", "after", "follows")}

    content = TextChange(**told).undone(chapter["content"])
    await api.patch(f"/chapters/{chapter['id']}/", {"content": content})

    assert content.startswith(ANNOUNCEMENT)
    assert changes(await quality(api, book)).keys() == {"wrong_language"}


async def test_a_chapter_without_changes_has_no_revision(api: Api, book: dict[str, Any]) -> None:
    assert (await api.get(f"/chapters/{book['chapters'][1]['id']}/revisions/")).body == []


async def test_a_regenerated_chapter_keeps_the_models_own_text_as_a_revision(api: Api, book: dict[str, Any]) -> None:
    path = f"/chapters/{book['chapters'][0]['id']}/"

    assert (await api.post(f"{path}regenerate/")).status == 200

    kept = (await api.get(f"{path}revisions/")).body
    assert sorted(each["origin"] for each in kept) == ["quality_gate", "quality_gate", "regenerate"]
    assert {note["revision"] for note in changes(await quality(api, book)).values()} < {each["id"] for each in kept}


async def test_the_status_of_a_finished_book_counts_its_findings(api: Api, book: dict[str, Any]) -> None:
    found = [note for note in await quality(api, book) if "before" not in note]
    status = (await api.get(f"/books/{book['id']}/generation-status/")).body

    counted = "finding" if len(found) == 1 else f"{len(found)} findings"
    assert status["status_message"].endswith(f"Check the {counted} in the quality notes.")
