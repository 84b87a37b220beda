"""JSON is read through whatever surrounds it, and never made up."""

import json
import random

import pytest

from bookgen.errors import UpstreamAIError
from bookgen.providers.text import Message, StopReason, TextRequest
from bookgen.writing import structured
from bookgen.writing.outline import draft_outline
from bookgen.writing.structured import Malformed, UnusableReply, parse
from tests.fakes.model_garbage import GARBAGE
from tests.writing.scripted import Scripted, a_book, obedient, outline_reply, says

GOOD = outline_reply({"first": 1, "last": 10})


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Sure! Here it is:\n\n{GOOD}\n\nLet me know if {{anything}} is missing.",
        f"<think>{{maybe}} so</think>\n{GOOD}",
        GOOD.replace("}]", "},]"),
        "{ // the outline\n" + GOOD[1:],
        f"{GOOD}\n{GOOD}",
        json.dumps({"response": json.loads(GOOD)}),
        f"[{GOOD}]",
        GOOD.replace("Mara learns", "Mara\nlearns"),
        "\ufeff" + GOOD,
    ],
)
async def test_a_complete_object_is_read_whatever_surrounds_it(text):
    assert await parse(text) == json.loads(GOOD) or len((await parse(text))["chapters"]) == 10


@pytest.mark.parametrize("text", ["", "null", "I would rather not.", "[]", "{}", '{"a": 1', GOOD[: len(GOOD) * 2 // 3]])
async def test_an_incomplete_object_is_refused(text):
    with pytest.raises(Malformed):
        await parse(text)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.8, 0.95, 0.99])
async def test_a_cut_object_is_never_completed_by_guessing(share):
    with pytest.raises(Malformed):
        await parse(GOOD[: int(len(GOOD) * share)], cut=True)


@pytest.mark.parametrize("kind", sorted(GARBAGE))
async def test_every_kind_of_garbage_is_recovered_in_at_most_two_more_calls(kind):
    def once(request, brief, call):
        return GARBAGE[kind](GOOD) if call == 1 else GOOD

    steps = Scripted(once)

    outline = await draft_outline(a_book(bible={}), steps)

    assert [chapter.title for chapter in outline.chapters] == [
        chapter["title"] for chapter in json.loads(GOOD)["chapters"]
    ]
    assert len(steps.calls) <= 2


@pytest.mark.parametrize(
    "text",
    [
        '{"a": ' + "[" * 100_000 + "}",
        '{"a": ' * 3_000 + "1" + "}" * 3_000,
        '{"a": ' * 300 + "1" + "}" * 300,
        '{"a": ' + "[" * 300 + "]" * 300 + "}",
        "<think>" * 50_000 + "{",
    ],
)
async def test_an_endlessly_nested_object_is_refused(text):
    with pytest.raises(Malformed):
        await parse(text)


async def test_characters_that_the_database_cannot_store_are_removed():
    hostile = GOOD.replace("Mara learns", "Mara \\u0000\\ud800learns\\u0007").replace("The ", "\\u0000The ")
    steps = Scripted(lambda *_: hostile)

    outline = await draft_outline(a_book(bible={}), steps)

    texts = [text for chapter in outline.chapters for text in (chapter.title, chapter.summary)]
    assert all(text.isprintable() and text.encode() for text in [*texts, str(outline.bible)])
    assert texts[1].startswith("Mara learns on day 1")


async def test_a_field_without_printable_characters_is_empty():
    hostile = json.loads(GOOD)
    hostile["chapters"][3]["title"] = "\x00\u200b"
    steps = Scripted(lambda request, brief, call: json.dumps(hostile) if call == 1 else GOOD)

    await draft_outline(a_book(bible={}), steps)

    assert "chapter 4 has no text" in steps.calls[1][0].messages[-1].text


async def test_a_reply_too_long_to_be_quoted_is_requested_again():
    steps = Scripted(lambda request, brief, call: "{" + " " * 70_000 if call == 1 else GOOD)

    await draft_outline(a_book(bible={}), steps)

    assert [attempt for _, attempt in steps.calls] == [0, 1]


async def test_a_model_with_garbage_in_four_of_ten_replies_loses_few_outlines():
    rng = random.Random(4)
    lost = 0
    for _ in range(100):
        steps = Scripted(lambda *_: rng.choice(list(GARBAGE.values()))(GOOD) if rng.random() < 0.4 else GOOD)
        try:
            outline = await draft_outline(a_book(bible={}), steps)
        except UpstreamAIError:
            lost += 1
        else:
            assert len(outline.chapters) == 10
            assert all(chapter.summary.startswith("Mara") for chapter in outline.chapters)
        assert len(steps.calls) <= 3
    assert lost <= 2


async def test_the_repair_request_quotes_the_reply_and_says_what_is_wrong():
    steps = Scripted(lambda request, brief, call: '{"chapters": []}' if call == 1 else GOOD)

    await draft_outline(a_book(bible={}), steps)

    repair = steps.calls[1][0]
    assert [message.role for message in repair.messages] == ["user", "assistant", "user"]
    assert repair.messages[1].text == '{"chapters": []}'
    assert '"premise"' in repair.messages[2].text


async def test_a_reply_cut_by_length_gets_more_room_for_its_repair():
    request = TextRequest("outline", (), (Message("user", "Plan."),), 1_000)
    steps = Scripted(lambda request, brief, call: says(GOOD[:500], StopReason.LENGTH) if call == 1 else GOOD)

    await structured.ask(request, steps, lambda reply: reply)

    assert [asked.max_tokens for asked, _ in steps.calls] == [1_000, 2_000]
    assert "it stops before its end; keep the texts shorter so that it fits" in steps.calls[1][0].messages[2].text


BIBLE_FIRST = json.dumps({"bible": json.loads(GOOD)["bible"], "chapters": json.loads(GOOD)["chapters"]})
CHAPTERS_START = BIBLE_FIRST.index('"chapters"')


@pytest.mark.parametrize(
    ("end", "kept"),
    [
        ((CHAPTERS_START + len(BIBLE_FIRST)) // 2, 4),
        (len(BIBLE_FIRST) - 2, 10),
        (CHAPTERS_START + 60, 0),
        (BIBLE_FIRST.index('"places"') + 30, 0),
    ],
    ids=["in a chapter", "after the last", "in the first chapter", "in the bible"],
)
async def test_the_complete_chapters_of_a_cut_outline_are_kept_and_only_the_rest_is_requested(end, kept):
    def cut_once(request, brief, call):
        return says(BIBLE_FIRST[:end], StopReason.LENGTH) if call == 1 else outline_reply(brief)

    steps = Scripted(cut_once)

    outline = await draft_outline(a_book(bible={}), steps)

    planned = [(chapter.title, chapter.summary) for chapter in outline.chapters]
    assert planned == [(each["title"], each["summary"]) for each in json.loads(GOOD)["chapters"]]
    assert outline.bible["premise"] == json.loads(GOOD)["bible"]["premise"]
    asked = [(request.described()["first"], request.described()["last"]) for request, _ in steps.calls]
    assert asked == [(1, 10)] + [(kept + 1, 10)] * (kept < 10)


async def test_an_outline_cut_before_its_first_chapter_is_requested_in_parts():
    def short_of_breath(request, brief, call):
        text = outline_reply(brief)
        return says(text[:4_000], StopReason.LENGTH) if len(text) > 4_000 else text

    steps = Scripted(short_of_breath)

    outline = await draft_outline(a_book(bible={}), steps)

    assert len(outline.chapters) == 10
    assert [request.described()["last"] for request, _ in steps.calls][:2] == [10, 0]
    assert len(steps.calls) <= 4


async def test_an_outline_that_is_always_cut_is_an_error_that_says_so():
    steps = Scripted(lambda *_: says('{"bible": {"premise": "A ', StopReason.LENGTH))

    with pytest.raises(UnusableReply, match=r": it stops before its end\. Try again; another model may do better\.$"):
        await draft_outline(a_book(bible={}), steps)

    assert len(steps.calls) == 2


async def test_an_empty_reply_is_requested_again_at_once():
    steps = Scripted(lambda request, brief, call: "" if call == 1 else GOOD)

    await draft_outline(a_book(bible={}), steps)

    assert [attempt for _, attempt in steps.calls] == [0, 1]


async def test_a_reply_that_never_becomes_json_is_a_typed_error_after_three_calls():
    steps = Scripted(lambda request, brief, call: "No.")

    with pytest.raises(UnusableReply) as failed:
        await draft_outline(a_book(bible={}), steps)

    assert (failed.value.stage, failed.value.retryable, len(steps.calls)) == ("outline", True, 3)


async def test_a_refusal_is_not_repaired():
    steps = Scripted(lambda request, brief, call: says("I cannot.", StopReason.REFUSAL))

    with pytest.raises(UpstreamAIError) as failed:
        await draft_outline(a_book(bible={}), steps)

    assert (failed.value.retryable, len(steps.calls)) == (False, 1)


async def test_an_endless_reply_is_not_parsed():
    request = TextRequest("outline", (), (Message("user", "Plan."),), 10)
    steps = Scripted(lambda *_: "{" * (structured.MAX_REPLY_CHARACTERS + 1))

    with pytest.raises(UnusableReply):
        await structured.ask(request, steps, lambda reply: reply)


def test_the_scripted_model_follows_its_script():
    assert obedient(TextRequest("outline", (), (), 1), {"stage": "outline", "first": 1, "last": 10}, 1) == GOOD
