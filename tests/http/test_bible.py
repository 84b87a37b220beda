"""The story bible over the API: the author's entries win, and every chapter is written from them."""

from __future__ import annotations

from typing import Any

import pytest

from bookgen.providers.offline import OfflineModel
from bookgen.providers.text import TextReply, TextRequest
from tests.http.conftest import Api, OpenApi

EMPTY = {
    "kind": "fiction", "premise": "", "voice": "", "voice_sample": "", "arc": [], "people": [], "places": [],
    "terms": [], "motifs": [], "avoid": [], "material": "", "sources": [], "outcome": "", "authored": [],
}  # fmt: skip
ADA = {"name": "Ada Brook", "description": "58, left-handed.", "wants": "A quiet retirement."}


class Listener(OfflineModel):
    """Writes like the offline model and records its prompts."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    async def complete(self, request: TextRequest) -> TextReply:
        self.told.append((request.stage, "\n".join(request.texts)))
        return await super().complete(request)

    def last(self, stage: str) -> str:
        return [text for asked, text in self.told if asked == stage][-1]


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
async def author(open_api: OpenApi, listener: Listener) -> Api:
    return await (await open_api(model=listener)).as_new_account("ada")


@pytest.fixture
async def draft(author: Api) -> int:
    fields = {"title": "A Book", "genre": "Mystery", "chapter_count": 2, "target_word_count": 600}
    return int((await author.post("/books/", fields)).body["id"])


async def change(author: Api, book: int, **fields: Any) -> dict[str, Any]:
    reply = await author.patch(f"/books/{book}/bible/", fields)
    assert reply.status == 200, reply.body
    return dict(reply.body)


async def test_a_draft_has_an_empty_bible_of_the_kind_of_its_genre(author: Api, draft: int) -> None:
    assert (await author.get(f"/books/{draft}/bible/")).body == EMPTY


async def test_the_authors_entries_are_used_for_the_outline_and_survive_it(
    author: Api, draft: int, listener: Listener
) -> None:
    await change(author, draft, people=[ADA], avoid=["Rain on the last page."])

    await author.post(f"/books/{draft}/generate-outline/")

    asked = listener.last("outline")
    assert "- Ada Brook: 58, left-handed.; wants: A quiet retirement." in asked
    assert "- Rain on the last page." in asked
    bible = (await author.get(f"/books/{draft}/bible/")).body
    assert (bible["people"], bible["avoid"], bible["authored"]) == (
        [ADA], ["Rain on the last page."], ["people", "avoid"]
    )  # fmt: skip
    assert bible["premise"], "the model's own entries are there too"


async def test_chapters_are_written_from_the_changed_bible(author: Api, draft: int, listener: Listener) -> None:
    await author.post(f"/books/{draft}/generate-outline/")
    await change(author, draft, voice="In the second person.", kind="memoir")

    await author.post(f"/books/{draft}/generate/")
    await author.until(draft, "completed")

    told = listener.last("chapter")
    assert "Voice: In the second person." in told
    assert "This is a memoir." in told
    assert "Kind:" not in told


async def test_a_bible_sent_back_unchanged_keeps_the_models_entries_as_the_models(author: Api, draft: int) -> None:
    await author.post(f"/books/{draft}/generate-outline/")
    read = (await author.get(f"/books/{draft}/bible/")).body

    assert await change(author, draft, **read) == read


async def test_an_empty_value_removes_a_field_and_leaves_the_others(author: Api, draft: int) -> None:
    await change(author, draft, kind="memoir", premise="A lamp goes out.", people=[ADA])

    bible = await change(author, draft, people=[], kind="", premise="A lamp is lit.")

    assert bible == {**EMPTY, "premise": "A lamp is lit.", "authored": ["premise"]}


async def test_null_changes_nothing(author: Api, draft: int) -> None:
    before = await change(author, draft, kind="memoir", premise="A lamp goes out.", people=[ADA])

    assert await change(author, draft, **dict.fromkeys(before)) == before
    assert await change(author, draft, people=[{**ADA, "role": None}]) == before


async def test_a_change_to_an_outdated_bible_is_refused(author: Api, draft: int) -> None:
    path = f"/books/{draft}/bible/"
    tag = (await author.get(path)).headers["ETag"]
    assert (await author.patch(path, {"premise": "Mine."}, headers={"If-Match": tag})).status == 200

    refused = await author.patch(path, {"premise": "Yours."}, headers={"If-Match": tag})

    assert (refused.status, refused.body["error"]["code"]) == (409, "CONFLICT")
    assert (await author.get(path)).body["premise"] == "Mine."
    assert (await author.get(path)).headers["ETag"] != tag


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"kind": "opera"}, "kind"),
        ({"people": [{"description": "Nobody."}]}, "people"),
        ({"people": [ADA] * 51}, "people"),
        ({"premise": "x" * 2001}, "premise"),
        ({"avoid": [""]}, "avoid"),
    ],
)
async def test_an_invalid_value_is_refused_by_its_field(
    author: Api, draft: int, fields: dict[str, Any], named: str
) -> None:
    refused = await author.patch(f"/books/{draft}/bible/", fields)

    assert (refused.status, list(refused.body["error"]["details"])) == (400, [named])


async def test_the_bible_of_another_account_is_not_found(author: Api, draft: int) -> None:
    stranger = await author.as_new_account("eve")

    assert (await stranger.get(f"/books/{draft}/bible/")).status == 404
    assert (await stranger.patch(f"/books/{draft}/bible/", {"premise": "Mine."})).status == 404


async def test_a_copy_of_a_book_has_its_bible(author: Api, draft: int) -> None:
    before = await change(author, draft, people=[ADA])

    copy = (await author.post(f"/books/{draft}/duplicate/")).body["id"]

    assert (await author.get(f"/books/{copy}/bible/")).body == before


async def test_regenerating_a_chapter_follows_the_authors_instructions(
    author: Api, draft: int, listener: Listener
) -> None:
    await author.post(f"/books/{draft}/generate-outline/")
    await author.post(f"/books/{draft}/generate/")
    await author.until(draft, "completed")
    first, _ = (await author.get(f"/books/{draft}/")).body["chapters"]

    await author.post(f"/chapters/{first['id']}/regenerate/", {"instructions": "Let it rain from the start."})

    told = listener.last("chapter")
    assert "Let it rain from the start." in told
    assert first["content"][-60:].strip() in told, "the whole former text"
    assert f"1. {first['title']}" in told
    kept = (await author.get(f"/chapters/{first['id']}/revisions/")).body
    assert [each["origin"] for each in kept] == ["regenerate"]


async def test_regenerating_a_chapter_tells_the_model_what_later_chapters_rely_on(
    author: Api, listener: Listener
) -> None:
    fields = {"title": "A Book", "chapter_count": 3, "target_word_count": 900}
    book = int((await author.post("/books/", fields)).body["id"])
    await author.post(f"/books/{book}/generate-outline/")
    await author.post(f"/books/{book}/generate/")
    await author.until(book, "completed")
    first = (await author.get(f"/books/{book}/")).body["chapters"][0]

    await author.post(f"/chapters/{first['id']}/regenerate/", {"instructions": "Shorter."})

    assert "What the chapters after it tell and rely on" in listener.last("chapter")
