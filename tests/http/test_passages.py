"""Regenerating one passage: a suggestion that the author can preview, apply or dismiss."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bookgen.providers.offline import OfflineModel
from bookgen.providers.text import StopReason, TextReply, TextRequest
from tests.http.conftest import Api, OpenApi, Reply

NEW = "The lamp was lit, and nobody asked by whom."
WISH = "Shorter, and without the weather."


class PassageWriter(OfflineModel):
    """Writes like the offline model, and sends `reply` for a passage."""

    def __init__(self) -> None:
        self.reply, self.stop = NEW, StopReason.END
        self.asked: list[TextRequest] = []

    async def complete(self, request: TextRequest) -> TextReply:
        reply = await super().complete(request)
        if request.stage != "passage":
            return reply
        self.asked.append(request)
        return replace(reply, text=self.reply, stop=self.stop)


@pytest.fixture
def model() -> PassageWriter:
    return PassageWriter()


@pytest.fixture
async def author(open_api: OpenApi, model: PassageWriter) -> Api:
    return await (await open_api(model=model)).as_new_account("ada")


@pytest.fixture
async def chapter(author: Api) -> dict[str, Any]:
    book = await author.written(title="A Book", genre="Mystery", chapter_count=2, target_word_count=600)
    return dict(book["chapters"][0])


def second_paragraph(chapter: dict[str, Any]) -> tuple[int, int]:
    text = chapter["content"]
    start = text.index("\n\n") + 2
    return start, text.index("\n\n", start) if "\n\n" in text[start:] else len(text)


async def rewrite(author: Api, chapter: dict[str, Any], start: int, end: int, wish: str = WISH) -> Reply:
    body = {"passage": {"start": start, "end": end}, "instructions": wish}
    return await author.post(f"/chapters/{chapter['id']}/regenerate/", body)


async def test_regenerating_a_passage_returns_a_suggestion_and_leaves_the_chapter_unchanged(
    author: Api, chapter: dict[str, Any], model: PassageWriter
) -> None:
    start, end = second_paragraph(chapter)

    reply = await rewrite(author, chapter, start, end)

    assert reply.status == 200, reply.body
    former, suggestion = chapter["content"][start:end], reply.body
    assert (suggestion["original_text"], suggestion["suggested_text"]) == (former, NEW)
    assert (suggestion["start"], suggestion["end"], suggestion["status"]) == (start, end, "pending")
    assert (WISH in suggestion["explanation"], suggestion["safe"]) == (True, False)
    told = model.asked[0].messages[-1].text
    assert WISH in told
    assert f"<passage>\n{former.strip()}\n</passage>" in told
    assert chapter["content"][:start].strip()[-40:] in told
    assert (await author.get(f"/chapters/{chapter['id']}/")).body["content"] == chapter["content"]


async def test_the_suggestion_can_be_previewed_and_applied_like_any_other(author: Api, chapter: dict[str, Any]) -> None:
    start, end = second_paragraph(chapter)
    suggestion = (await rewrite(author, chapter, start, end)).body
    report = f"/proofreading-reports/{suggestion['report']}/"

    preview = await author.get(f"{report}suggestions/{suggestion['id']}/preview/")
    applied = await author.post(f"{report}apply/", {"suggestion_ids": [suggestion["id"]]})

    assert (preview.body["before"], preview.body["after"]) == (suggestion["original_text"], NEW)
    assert (applied.body["applied"], applied.body["chapters"]) == (1, [chapter["id"]])
    expected = chapter["content"][:start] + NEW + chapter["content"][end:]
    assert (await author.get(f"/chapters/{chapter['id']}/")).body["content"] == expected
    told = (await author.get(report)).body
    assert (told["kind"], told["status"], told["progress"]) == ("passage", "completed", 100)
    assert told["summary"] == "One passage, rewritten as you asked."


async def test_white_space_around_the_passage_is_kept(author: Api, chapter: dict[str, Any]) -> None:
    start, end = second_paragraph(chapter)

    suggestion = (await rewrite(author, chapter, start - 2, end)).body

    assert suggestion["suggested_text"] == f"\n\n{NEW}"


async def test_regenerating_a_passage_counts_as_one_edit_and_no_check(author: Api, chapter: dict[str, Any]) -> None:
    before = (await author.get("/auth/subscriptions/current/")).body["usage"]

    await rewrite(author, chapter, *second_paragraph(chapter))

    after = (await author.get("/auth/subscriptions/current/")).body["usage"]
    assert after["ai_edits_used"] == before["ai_edits_used"] + 1
    assert after["proofreading_checks_used"] == before["proofreading_checks_used"]


async def test_a_dismissed_request_can_be_repeated(author: Api, chapter: dict[str, Any]) -> None:
    first = (await rewrite(author, chapter, *second_paragraph(chapter))).body
    path = f"/proofreading-reports/{first['report']}/suggestions/{first['id']}/dismiss/"
    assert (await author.post(path)).status == 200

    second = await rewrite(author, chapter, *second_paragraph(chapter))

    assert (second.status, second.body["status"]) == (200, "pending")


@pytest.mark.parametrize(
    ("reply", "stop", "why"),
    [
        ("", StopReason.END, "it is empty"),
        (NEW, StopReason.LENGTH, "breaks off"),
        ("", StopReason.REFUSAL, "refused"),
    ],
)
async def test_an_unusable_reply_changes_nothing(
    author: Api, chapter: dict[str, Any], model: PassageWriter, reply: str, stop: StopReason, why: str
) -> None:
    model.reply, model.stop = reply, stop

    refused = await rewrite(author, chapter, *second_paragraph(chapter))

    assert (refused.status, refused.body["error"]["code"]) == (502, "UPSTREAM_AI_ERROR")
    assert why in refused.body["error"]["message"]
    assert (await author.get("/proofreading-reports/")).body == []


@pytest.mark.parametrize(
    ("start", "end", "why"),
    [
        (5, 5, "Must be greater than `start` (5)."),
        (0, 20_001, "A passage has at most 20,000 characters. Rewrite the chapter instead."),
    ],
)
async def test_an_invalid_passage_is_refused(
    author: Api, chapter: dict[str, Any], start: int, end: int, why: str
) -> None:
    refused = await rewrite(author, chapter, start, end)

    assert (refused.status, refused.body["error"]["details"]["passage"]) == (400, [f"end: {why}"])


async def test_a_passage_outside_the_chapter_or_without_a_word_is_refused(author: Api, chapter: dict[str, Any]) -> None:
    length, gap = len(chapter["content"]), chapter["content"].index("\n\n")

    beyond, blank = await rewrite(author, chapter, 0, length + 1), await rewrite(author, chapter, gap, gap + 2)

    assert (beyond.status, beyond.body["error"]["details"]["passage"]) == (
        400,
        [f"`end` is beyond the chapter, which has {length:,} characters."],
    )
    assert (blank.status, blank.body["error"]["details"]["passage"]) == (
        400,
        ["The passage has no words. Choose a longer passage."],
    )


async def test_a_passage_of_another_account_is_not_found(author: Api, chapter: dict[str, Any]) -> None:
    eve = await author.as_new_account("eve")

    assert (await rewrite(eve, chapter, 0, 20)).status == 404
