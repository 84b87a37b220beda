"""Local servers and models as they are found in practice: each profile ends as documented, and no nonsense becomes a
book.

A profile describes a server and how a small book of two chapters ends with it. The clock is virtual, so that a first
token after 300 s and three tokens a second are exactly that. PROFILES=all also tests every server that refuses a form
of JSON, each form, and every way in which servers refuse a prompt that is too long.
"""

from __future__ import annotations

import asyncio
import os
import re
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from bookgen.errors import UpstreamAIError
from bookgen.providers.access import Access
from bookgen.providers.registry import ModelSettings, build_text_model
from bookgen.writing.material import ChapterDraft, Material
from bookgen.writing.outline import draft_outline
from tests.fakes.model_errors import IN_REAL_WORDS, OVER_THE_WINDOW
from tests.fakes.model_script import ScriptedFault, fault
from tests.fakes.model_server import ModelServer
from tests.virtual_time import run
from tests.writing.authored import Paid, write_book
from tests.writing.plain_prose import plain_prose
from tests.writing.scripted import a_book, a_chapter

ALL = os.environ.get("PROFILES") == "all"
WORDS = 300  # a chapter
ALWAYS = 10**6  # times
A_BOOK = ""  # how a good profile ends
GERMAN = "Der alte Mann ging durch die Stadt, sah auf das Meer und war froh, dass er noch da war. Er hatte Hunger. "
LOOP = "The tide came in and nobody spoke of it. "
SAME = (
    '{"bible": {"premise": "A", "voice": "B"}, "chapters": {"chapter_1": {"title": "The Sea", "summary": "They go."}, '
)
SAME += '"chapter_2": {"title": "The Sea", "summary": "They go."}}}'


@dataclass(frozen=True)
class ServerProfile:
    """`ends`: A_BOOK, or the text of the error. `books`: how many are written at once."""

    ends: str = A_BOOK
    script: tuple[ScriptedFault, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    books: int = 1


def chapters(kind: str, /, times: int = ALWAYS, **options: Any) -> tuple[ScriptedFault, ...]:
    return (fault(kind, stage="chapter", times=times, **options),)


def outlines(kind: str, /, times: int = ALWAYS, **options: Any) -> tuple[ScriptedFault, ...]:
    return (fault(kind, stage="outline", times=times, **options),)


PROFILES = {
    "obedient": ServerProfile(),
    "one slot, two books": ServerProfile(settings={"slots": 1, "delay": 30}, books=2),
    "first token after 300 s": ServerProfile(settings={"delay": 300}),
    "three tokens a second": ServerProfile(settings={"chunk": 60, "chunk_delay": 5.0}),
    "both, for two books at one slot": ServerProfile(
        settings={"delay": 300, "chunk": 120, "chunk_delay": 10.0, "slots": 1}, books=2
    ),
    "thinks aloud": ServerProfile(settings={"reasoning": plain_prose(200), "think_tags": True}),
    "whole replies without usage": ServerProfile(settings={"streams": False, "usage": False}),
    "half the words asked for": ServerProfile(settings={"length_factor": 0.5}),
    "twice the words asked for": ServerProfile(settings={"length_factor": 2.0}),
    "window 2,048": ServerProfile(settings={"window": 2_048, "window_as": "llama.cpp"}),
    "window 4,096": ServerProfile(settings={"window": 4_096, "window_as": "vllm"}),
    "window 8,192": ServerProfile(settings={"window": 8_192, "window_as": "lm studio"}),
    "window 2,048, dropped without a word": ServerProfile(settings={"window": 2_048}),
    "window 2,048 and no form of JSON": ServerProfile(
        settings={"window": 2_048, "window_as": "vllm", "rejects": ["response_format"], "reject_style": "openrouter"}
    ),
    "window 512": ServerProfile("context window holds about", settings={"window": 512, "window_as": "vllm"}),
    "loops once": ServerProfile(script=chapters("text", 1, text=LOOP * 400)),
    "loops for ever": ServerProfile("chapter 1 cannot be used", chapters("text", text=LOOP * 400)),
    "loops in its outline": ServerProfile(
        "repeats one passage", outlines("text", text='{"bible": {"premise": "' + LOOP * 400)
    ),
    "echoes once": ServerProfile(script=chapters("echo", 1)),
    "echoes for ever": ServerProfile("repeats its instructions", chapters("echo")),
    "echoes the form of its outline": ServerProfile("placeholder|form", outlines("echo")),
    "wrong language once": ServerProfile(script=chapters("text", 1, text=GERMAN * 20)),
    "wrong language for ever": ServerProfile("not in English", chapters("text", text=GERMAN * 20)),
    "a few words": ServerProfile("of 300 words", chapters("text", text="He waited by the door.")),
    "nothing": ServerProfile("empty answer", chapters("empty")),
    "a proxy's page": ServerProfile("not a model's answer", outlines("html")),
    "prose for an outline": ServerProfile("no JSON object", outlines("garbage", kind="prose")),
    "one chapter twice": ServerProfile("same summary|different titles", outlines("text", text=SAME)),
    "an outline cut in mid-object": ServerProfile(script=outlines("truncate", 1, fraction=0.6)),
    "an outline cut whatever is asked": ServerProfile("stops before its end", outlines("truncate", fraction=0.01)),
    "refuses": ServerProfile("refused to write", chapters("refusal")),
    "does not know the model": ServerProfile(
        "does not know this model", outlines("status", status=404, message="model not found")
    ),
}
if ALL:
    for name in IN_REAL_WORDS:
        for refused in ("response_format", "response_format.json_schema"):
            told = {"rejects": [refused], "reject_style": name}
            PROFILES[f"{name} refuses {refused}"] = ServerProfile(settings=told)
    for name in OVER_THE_WINDOW:
        for size in (2_048, 4_096, 8_192):
            PROFILES[f"{name} with {size:,}"] = ServerProfile(settings={"window": size, "window_as": name})


async def written(profile: ServerProfile) -> list[list[ChapterDraft]]:
    async with ModelServer() as server:
        server.configure(**profile.settings)
        server.script(*profile.script)
        model = build_text_model("auto", ModelSettings({"openai": Access(url=server.openai_url)}))
        try:
            return await asyncio.gather(*(book(model, number) for number in range(1, profile.books + 1)))
        finally:
            await model.close()


async def book(model: Any, number: int) -> list[ChapterDraft]:
    steps = Paid(model)
    wanted = a_book(
        id=number, account_id=number, title=f"Book {number}", chapter_count=2, target_word_count=2 * WORDS, bible={}
    )
    outline = await draft_outline(wanted, steps)
    planned = tuple(
        replace(a_chapter(place, words=each.target_word_count), title=each.title, summary=each.summary)
        for place, each in enumerate(outline.chapters, 1)
    )
    drafts, _ = await write_book(Material(replace(wanted, bible=outline.bible), planned), steps)
    return drafts


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_every_server_profile_ends_as_documented_and_no_nonsense_becomes_a_book(profile: ServerProfile) -> None:
    if profile.ends:
        with pytest.raises(UpstreamAIError, match=profile.ends):
            run(written(profile))
        return

    books = run(written(profile))

    texts = [draft.content for drafts in books for draft in drafts]
    assert len(texts) == 2 * profile.books
    for draft in (draft for drafts in books for draft in drafts):
        kinds = {finding.kind for finding in draft.findings}
        assert abs(draft.word_count - WORDS) <= WORDS * 0.25 or {"runaway", "length"} <= kinds
    assert not any(re.search("announce nothing|Der alte Mann|<think", text) or text.count(LOOP) > 2 for text in texts)
