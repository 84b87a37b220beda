"""The offline model, which needs no key and no network.

It replies with a sample story, or with sample text made from the brief (the request as fields). A note in the text says
that it is a sample.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bookgen import threads
from bookgen.models import Usage
from bookgen.providers.call_metrics import CallCounts
from bookgen.providers.sample import picture_book, telling
from bookgen.providers.sample.brief import Brief
from bookgen.providers.sample.cast import Cast
from bookgen.providers.sample.cover_design import design
from bookgen.providers.sample.facts import facts
from bookgen.providers.sample.grammar import Grammar
from bookgen.providers.sample.outline import bible, outline_chapters
from bookgen.providers.sample.phrases import language_of, phrases
from bookgen.providers.sample.prose import write_prose
from bookgen.providers.sample.shape import shaped
from bookgen.providers.sample.story import StoryChapter, telling_for
from bookgen.providers.text import StopReason, TextModel, TextReply, TextRequest
from bookgen.words import count_words

NAME = "offline"
CHARACTERS_PER_TOKEN = 4
WORDS_WHEN_NOT_SAID = 700
COUNTS = CallCounts(lambda: NAME)
Bank = Mapping[str, Any]


class OfflineModel(TextModel):
    """Replies at once and without cost. The same request gets the same reply on every machine."""

    name = NAME

    async def complete(self, request: TextRequest) -> TextReply:
        with COUNTS.counted_try() as replied:
            text = await threads.compute(answer, request)
            return replied(TextReply(text, StopReason.END, _usage(request, text), NAME))


def answer(request: TextRequest) -> str:
    brief, stage = Brief.of(request), request.stage
    bank = phrases(language_of(brief.text("language", "en")))
    if request.schema is not None or stage == "digest":  # a digest may be requested without a schema
        known = _story_reply(brief) or (_STRUCTURED[stage](brief, bank) if stage in _STRUCTURED else {})
        if stage == "digest":
            known = {**known, "facts": facts(request, _people(brief, bank))}
        return json.dumps(shaped(request.schema, known) if request.schema else known, ensure_ascii=False)
    return _PROSE.get(stage, _prose)(brief, bank, request)


def _usage(request: TextRequest, text: str) -> Usage:
    return Usage(calls=1, input_tokens=_tokens(sum(map(len, request.texts))), output_tokens=_tokens(len(text)))


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)


# Replies in JSON


def _story_reply(brief: Brief) -> dict[str, Any]:
    """Return the requested outline of a book or digest of a chapter, if the book gets a sample story.

    A digest is the summary and facts of a chapter. The reply is empty for all other calls and books.
    """
    told, stage = telling_for(brief), brief.text("stage")
    if told and stage == "outline":
        return telling.outline(brief, told)
    chapter = _chapter_of_story(brief)
    return telling.digest(chapter) if chapter and stage == "digest" else {}


def _people(brief: Brief, bank: Bank) -> Iterable[Mapping[str, Any]]:
    """Return the people in the book's story bible."""
    told = telling_for(brief)
    settled = told.story.bible if told else bible(brief, bank)
    people: Iterable[Mapping[str, Any]] = settled.get("people", ())
    return people


def _chapter_of_story(brief: Brief) -> StoryChapter | None:
    """Return the chapter of the sample story that a call is about.

    None if the book gets no sample story, or if the chapter's title and summary have both been changed.
    """
    told, number = telling_for(brief), brief.number("chapter_number", 0)
    chapter = told.chapters[number - 1] if told and 1 <= number <= len(told.chapters) else None
    planned = brief.text("chapter_title"), brief.text("chapter_summary")
    return chapter if chapter and (planned[0] == chapter.title or planned[1] == chapter.summary) else None


def _outline(brief: Brief, bank: Bank) -> dict[str, Any]:
    if brief.text("ages"):
        return picture_book.plan(brief, bank)
    first = brief.number("first", 1)
    last = brief.number("last", brief.number("chapter_count", 1))
    return {
        "bible": bible(brief, bank),
        **bible(brief, bank),
        "chapters": _keyed(outline_chapters(brief, bank)[first - 1 : last]),
    }


def _rework(brief: Brief, bank: Bank) -> dict[str, Any]:
    """Return new titles and summaries for the requested chapters. No title is already used in the outline."""
    wanted = [one for one in brief.fields.get("chapters", []) if isinstance(one, dict)]
    taken = {one.get("title") for one in wanted}
    count = brief.number("chapter_count", 1)
    longer = Brief({**brief.fields, "chapter_count": count * 2 + len(wanted)}, brief.salt)
    fresh = [one for one in outline_chapters(longer, bank)[count:] if one["title"] not in taken]
    renumbered = ({**new, "number": old.get("number")} for old, new in zip(wanted, fresh, strict=False))
    return {"chapters": _keyed(renumbered)}


def _keyed(chapters: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {f"chapter_{chapter['number']}": chapter for chapter in chapters}


def _digest(brief: Brief, bank: Bank) -> dict[str, Any]:
    lists, cast, rng = bank["outline"], Cast.of(brief, bank), brief.call_rng()
    words = {
        "hero": cast.people[0].split()[0],
        "friend": rng.choice(cast.people[1:]).split()[0],
        "they2": "they",
        "place": rng.choice(cast.places),
        "thing": rng.choice(cast.things),
    }
    grammar = Grammar(lists, rng)
    threads = brief.fields.get("threads") or []
    return {
        "summary": grammar.sentence("summary", lists["summary"], words),
        "threads_opened": [grammar.sentence("thread", lists["thread"], words)] if len(threads) < 3 else [],
        "threads_closed": [1] if len(threads) > 2 else [],
    }


# Replies in prose


def _prose(brief: Brief, bank: Bank, request: TextRequest) -> str:
    told, chapter = telling_for(brief), _chapter_of_story(brief)
    name = "note" if not told or not chapter else "story_note" if told.is_whole else "beginning_note"
    note = f"{bank[name]}\n\n" if _opens_book(brief) else ""
    if chapter:
        return note + telling.prose(brief, chapter, request)
    words = brief.number("words", WORDS_WHEN_NOT_SAID) - count_words(note)
    return note + write_prose(brief, bank, max(words, 1))


def _opens_book(brief: Brief) -> bool:
    return (
        brief.number("chapter_number", 0) == 1
        and brief.number("part", 1) == 1
        and brief.text("task", "write") == "write"
        and brief.text("stage") == "chapter"
    )


def _revision(brief: Brief, bank: Bank, request: TextRequest) -> str:
    if _chapter_of_story(brief):
        return brief.text("passage")
    return write_prose(brief, bank, max(count_words(brief.text("passage")), 1))


def _passages(brief: Brief, bank: Bank, request: TextRequest) -> str:
    """Return up to two passages of the prompt that share words with the question, in the prompt's order.

    The passages that share the most words are chosen.
    """
    asked = _long_words(brief.text("question", request.messages[-1].text))
    passages = [passage.strip() for passage in "\n\n".join(request.texts).split("\n\n")]
    ranked = sorted(passages, key=lambda passage: -len(asked & _long_words(passage)))[:2]
    found = [passage[:600] for passage in passages if passage in ranked and asked & _long_words(passage)]
    return "\n\n".join([*found, f"({bank['notice']})"])


def _long_words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 3}


def _blurb(brief: Brief, bank: Bank, request: TextRequest) -> str:
    return str(bank["blurb"]).replace("{title}", brief.title)


_STRUCTURED: dict[str, Callable[[Brief, Bank], dict[str, Any]]] = {
    "outline": _outline,
    "chapter": picture_book.spread,  # of a picture book; chapters of other books are requested as prose
    "rework": _rework,
    "digest": _digest,
    "design": lambda brief, _bank: design(brief),
}
_PROSE: dict[str, Callable[[Brief, Bank, TextRequest], str]] = {
    "revise": _revision,
    "passage": _revision,
    "support": _passages,
    "blurb": _blurb,
}
