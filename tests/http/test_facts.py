"""The facts of the story over the API: noted after a chapter, corrected by the author, compared by rules."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from bookgen.providers.offline import OfflineModel
from bookgen.providers.text import TextReply, TextRequest
from tests.http.conftest import Api, OpenApi
from tests.http.test_proofreading import ended, suggestions
from tests.writing.scripted import chapter_text

NOTED = {
    1: [("dies", "Tobias", "of the fever"), ("person", "Ada", "58 years old")],
    2: [("acts", "Tobias", "opens the door"), ("thread_opened", "the letter", "Who wrote it?")],
}
INVENTED = {"kind": "person", "subject": "Nobody", "value": "seven", "quote": "This stands nowhere."}
CHAPTER = "Tobias was dead by the morning.\n\nAda was 58, and did not feel it."


class Noting(OfflineModel):
    """Writes like the offline model, and notes the given facts of a chapter, each with its own passage."""

    name = "noting"

    def __init__(self) -> None:
        self.told: list[str] = []
        self.noted: dict[int, list[tuple[str, str, str]]] = {**NOTED, 3: []}
        self.begins_blurb = asyncio.Event()  # the last chapter has been noted by then

    async def complete(self, request: TextRequest) -> TextReply:
        reply = await super().complete(request)
        match request.stage:
            case "chapter":
                self.told.append("\n".join(request.texts))
            case "digest":
                facts = noted(request, self.noted[request.chapter_number or 0])
                return replace(reply, text=json.dumps({**json.loads(reply.text), "facts": facts}))
            case "blurb":
                self.begins_blurb.set()
            case "review":
                return replace(reply, text='{"findings": []}')
        return reply


def noted(request: TextRequest, facts: list[tuple[str, str, str]]) -> list[dict[str, str]]:
    passages = [passage[:40] for passage in chapter_text(request).strip().split("\n\n") if "*" not in passage]
    return [INVENTED, *(entry(*fact, passage) for fact, passage in zip(facts, passages[-2:], strict=False))]


def entry(kind: str, subject: str, value: str, quote: str) -> dict[str, str]:
    return {"kind": kind, "subject": subject, "value": value, "quote": quote}


@pytest.fixture(params=["noting", "anthropic:claude-sonnet-5-5"], ids=["by digests", "in view"])
def model(request: pytest.FixtureRequest) -> Noting:
    """A model that gets digests of earlier chapters, and one that gets their text."""
    model = Noting()
    model.name = request.param
    return model


@pytest.fixture
async def author(open_api: OpenApi, model: Noting) -> Api:
    return await (await open_api(model=model)).as_new_account("ada")


@pytest.fixture
async def book(author: Api) -> dict[str, Any]:
    return await author.written(title="A Book", genre="Mystery", chapter_count=3, target_word_count=900)


async def facts(author: Api, book: dict[str, Any]) -> list[dict[str, Any]]:
    return list((await author.get(f"/books/{book['id']}/facts/")).body)


async def decide(author: Api, book: dict[str, Any], fact: dict[str, Any], **fields: Any) -> dict[str, Any]:
    reply = await author.patch(f"/books/{book['id']}/facts/{fact['id']}/", fields)
    assert reply.status == 200, reply.body
    return dict(reply.body)


async def rewrite_last(author: Api, book: dict[str, Any]) -> None:
    reply = await author.post(f"/chapters/{book['chapters'][2]['id']}/regenerate/")
    assert reply.status == 200, reply.body


async def continuity(author: Api, report: Any) -> list[dict[str, Any]]:
    assert report.status == 202, report.body
    return await suggestions(author, await ended(author, report.body["id"]), "?type=continuity")


async def test_facts_are_listed_with_quotes_from_their_chapters(author: Api, book: dict[str, Any]) -> None:
    listed = await facts(author, book)

    names = ("chapter_number", "event", "kind", "subject", "value")
    assert [tuple(each[name] for name in names) for each in listed] == [
        (1, "dies", "person", "Tobias", "of the fever"),
        (1, None, "person", "Ada", "58 years old"),
        (2, "acts", "person", "Tobias", "opens the door"),
        (2, None, "thread_opened", "the letter", "Who wrote it?"),
    ]  # fmt: skip
    assert {(each["status"], each["reason"]) for each in listed} == {("settled", "")}
    assert all(each["quote"] in book["chapters"][each["chapter_number"] - 1]["content"] for each in listed)
    copy = (await author.post(f"/books/{book['id']}/duplicate/")).body
    assert [fact | {"id": 0} for fact in await facts(author, copy)] == [fact | {"id": 0} for fact in listed]


async def test_later_chapters_use_the_facts_as_the_author_corrected_them(
    author: Api, book: dict[str, Any], model: Noting
) -> None:
    in_view = book["chapters"][0]["content"] in model.told[-1]
    assert in_view == (model.name != "noting")
    assert ("Ada: 58 years old" in model.told[-1]) != in_view
    death, age, _, thread = await facts(author, book)

    changed = await decide(author, book, age, value="61 years old")
    await decide(author, book, thread, status="wrong")
    await decide(author, book, death, status="intended", reason="He is a ghost.")
    await rewrite_last(author, book)

    assert changed == {**age, "value": "61 years old"}
    told = model.told[-1]
    assert "The author has decided this. It holds, whatever earlier chapters say:" in told
    assert told.count("Ada: 61 years old") == (1 if in_view else 2)  # also in the digest of its chapter
    assert "Tobias dies: of the fever (intended: He is a ghost.)" in told
    assert "58 years old" not in told
    assert "Who wrote it?" not in told
    assert await decide(author, book, age, value="58 years old") == age


async def test_a_contradiction_is_reported_with_both_passages_until_it_is_marked_intended(
    author: Api, book: dict[str, Any]
) -> None:
    death, _, act, _ = await facts(author, book)
    asked = ("/proofreading-reports/", {"book": book["id"]}), (f"/books/{book['id']}/review/", None)

    for path, body in asked:
        (found,) = await continuity(author, await author.post(path, body))
        assert (found["chapter_number"], found["original_text"], found["severity"]) == (2, act["quote"], "major")
        assert found["explanation"].startswith("Tobias is already dead, but acts here.")
        assert f"Chapter 1: “{death['quote']}”" in found["explanation"]

    await decide(author, book, act, status="intended", reason="He is a ghost.")
    for path, body in asked:
        assert await continuity(author, await author.post(path, body)) == []


async def test_facts_follow_the_current_text_and_keep_the_authors_decisions(author: Api, book: dict[str, Any]) -> None:
    death, _, act, thread = await facts(author, book)
    await decide(author, book, death, status="intended", reason="He is a ghost.")

    await author.patch(f"/chapters/{book['chapters'][0]['id']}/", {"content": CHAPTER})
    assert await facts(author, book) == [act, thread]
    await rewrite_last(author, book)  # so that the changed chapter is read again

    death, age, *rest = await facts(author, book)
    assert rest == [act, thread]
    assert (death["quote"], death["status"]) == ("Tobias was dead by the morning.", "intended")
    assert (age["quote"], age["status"]) == ("Ada was 58, and did not feel it.", "settled")


async def test_the_last_chapter_is_noted_at_the_end_and_again_after_a_change(author: Api, model: Noting) -> None:
    model.noted[3] = [("acts", "Tobias", "comes to tea"), ("person", "Ada", "left-handed")]
    book = await author.written(title="A Book", genre="Mystery", chapter_count=3, target_word_count=900)
    await asyncio.wait_for(model.begins_blurb.wait(), 30)
    last = [fact for fact in await facts(author, book) if fact["chapter_number"] == 3]
    assert [fact["value"] for fact in last] == ["comes to tea", "left-handed"]

    changed = "Tobias poured out the tea.\n\nAda took the cup with her left hand."
    await author.patch(f"/chapters/{book['chapters'][2]['id']}/", {"content": changed})
    found = await continuity(author, await author.post("/proofreading-reports/", {"book": book["id"]}))

    assert [each["original_text"] for each in found if each["chapter_number"] == 3] == ["Tobias poured out the tea."]


async def test_a_passage_that_contradicts_a_changed_bible_entry_is_reported(author: Api, book: dict[str, Any]) -> None:
    people = f"/books/{book['id']}/bible/"
    await author.patch(people, {"people": [{"name": "Ada", "description": "58, left-handed."}]})
    await author.patch(f"/chapters/{book['chapters'][0]['id']}/", {"content": CHAPTER})
    await rewrite_last(author, book)

    await author.patch(people, {"people": [{"name": "Ada", "description": "61, left-handed."}]})

    assert "61 years old" in [fact["value"] for fact in await facts(author, book)]
    found = await continuity(author, await author.post("/proofreading-reports/", {"book": book["id"]}))
    assert [(each["original_text"], each["explanation"]) for each in found if each["chapter_number"] == 1] == [
        ("Ada was 58, and did not feel it.", "The author has corrected this fact: Ada: 61 years old.")
    ]


async def test_a_passage_noted_after_the_bible_changed_is_reported_while_the_bible_has_the_entry(
    author: Api, book: dict[str, Any]
) -> None:
    people = f"/books/{book['id']}/bible/"
    await author.patch(people, {"people": [{"name": "Ada", "description": "58, left-handed."}]})
    await author.patch(f"/chapters/{book['chapters'][0]['id']}/", {"content": CHAPTER})
    await author.patch(people, {"people": [{"name": "Ada", "description": "61, left-handed."}]})
    assert [fact["chapter_number"] for fact in await facts(author, book)] == [2, 2], "the chapter is not noted yet"

    async def reported() -> list[tuple[str, str]]:
        found = await continuity(author, await author.post("/proofreading-reports/", {"book": book["id"]}))
        return [(each["original_text"], each["explanation"]) for each in found if each["chapter_number"] == 1]

    passage = "Ada was 58, and did not feel it."
    assert await reported() == [(passage, "The story bible now says: Ada: 61, left-handed.")]
    copy = (await author.post(f"/books/{book['id']}/duplicate/")).body
    found = await continuity(author, await author.post(f"/books/{copy['id']}/review/"))
    assert passage in [each["original_text"] for each in found]
    await author.patch(people, {"people": [{"name": "Ada", "description": "58, left-handed."}]})
    assert await reported() == []


async def test_a_fact_can_be_changed_by_its_author_only_with_its_current_etag(
    author: Api, book: dict[str, Any]
) -> None:
    fact = (await facts(author, book))[0]
    path = f"/books/{book['id']}/facts/{fact['id']}/"
    read = await author.get(path)
    tag = {"If-Match": read.headers["ETag"]}
    assert read.body == fact
    assert (await author.patch(path, {"reason": "Mine."}, headers=tag)).status == 200

    refused = await author.patch(path, {"reason": "Yours."}, headers=tag)

    assert (refused.status, refused.body["error"]["code"]) == (409, "CONFLICT")
    assert (await author.get(path)).body == {**fact, "reason": "Mine."}
    assert (await author.patch(path, (await author.get(path)).body)).body == {**fact, "reason": "Mine."}
    for fields in ({"status": "true"}, {"value": " "}, {"reason": "x" * 501}):
        wrong = await author.patch(path, fields)
        assert (wrong.status, list(wrong.body["error"]["details"])) == (400, list(fields))
    stranger = await author.as_new_account("eve")
    assert (await stranger.get(f"/books/{book['id']}/facts/")).status == 404
    assert (await stranger.patch(path, {"reason": "Hers."})).status == 404
