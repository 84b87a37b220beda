"""A scripted model: it answers from the brief, counts its calls, and errs as told."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bookgen.models import Book, BookStatus, Chapter, ChapterStatus, Usage
from bookgen.providers.text import StopReason, TextReply, TextRequest
from bookgen.words import count_words
from bookgen.writing.material import Material

NOW = datetime(2026, 1, 1, tzinfo=UTC)


Answer = Callable[[TextRequest, dict[str, Any], int], str | TextReply]


@dataclass
class Scripted:
    """Steps over a function of (request, brief, number of the call). Stores replies like the real ones."""

    answer: Answer
    calls: list[tuple[TextRequest, int]] = field(default_factory=list)
    stored: dict[tuple[TextRequest, int], TextReply] = field(default_factory=dict)

    async def reply(self, request: TextRequest, *, attempt: int = 0) -> TextReply:
        key = (request_key(request), attempt)
        if key not in self.stored:
            self.calls.append((request, attempt))
            answer = self.answer(request, request.described(), len(self.calls))
            self.stored[key] = answer if isinstance(answer, TextReply) else says(answer)
        return self.stored[key]

    async def has(self, request: TextRequest) -> bool:
        return (request_key(request), 0) in self.stored

    def for_concurrent_calls(self) -> Scripted:
        return self

    def of_stage(self, stage: str) -> list[TextRequest]:
        return [request for request, _ in self.calls if request.stage == stage]


def request_key(request: TextRequest) -> Any:
    return (str(request.described()), request.system, request.messages, request.max_tokens)


def says(text: str, stop: StopReason = StopReason.END) -> TextReply:
    return TextReply(text, stop, Usage(calls=1, input_tokens=1, output_tokens=1), "scripted")


NOUNS = ("harbour", "lantern", "ledger", "orchard", "violin", "staircase", "kettle", "compass", "winter", "letter")

_ALPHABETS = {
    "en": ("bcdfglmnprstv", "aeiou"),
    "ru": ("бвгдклмнпрст", "аеиоу"),
    "th": ("กขคงจชดตนบปมรลว", "าอะ"),
}


def sentence(number: int, language: str = "en") -> str:
    """A unique sentence that contains its number, in words without meaning."""
    rng = random.Random(number)
    if language in ("zh", "ja"):
        letters = [chr(rng.randint(0x4E00, 0x8FFF)) for _ in range(rng.randint(16, 40))]
        if language == "ja":
            letters[1::2] = [chr(rng.randint(0x3042, 0x3082)) for _ in letters[1::2]]
        return "".join(letters[:8]) + str(number) + "".join(letters[8:]) + "。"
    words = [_word(rng, language) for _ in range(rng.randint(8, 20))]
    words[rng.randint(1, 6)] = str(number)
    return "".join(words) if language == "th" else f"{words[0].capitalize()} {' '.join(words[1:])}."


def _word(rng: random.Random, language: str) -> str:
    consonants, vowels = _ALPHABETS[language]
    return "".join(rng.choice(consonants) + rng.choice(vowels) for _ in range(rng.randint(2, 3)))


def prose(words: int, first: int, language: str = "en") -> str:
    """Numbered sentences of about `words` words, five per paragraph, starting with number `first`."""
    picked: list[str] = []
    written, number = 0, first
    while written < words:
        picked.append(sentence(number, language))
        written += count_words(picked[-1])
        number += 1
    glue = "" if language in ("zh", "ja") else " "
    return "\n\n".join(glue.join(picked[start : start + 5]) for start in range(0, len(picked), 5))


def next_number(request: TextRequest, brief: dict[str, Any]) -> int:
    """The number of the sentence that follows the chapter's text so far."""
    said = [message.text for message in request.messages if message.role == "assistant"]
    start = brief["chapter_number"] * 10_000
    numbers = [int(found) for text in said for found in re.findall(r"\d+", text)]
    return max(numbers, default=start - 1) + 1


def outline_reply(brief: dict[str, Any]) -> str:
    """As long as a good model's: summaries of some 50 words, a bible with a dozen entries."""
    numbers = range(brief["first"], brief["last"] + 1)
    reply: dict[str, Any] = {
        "chapters": [
            {
                "number": number,
                "title": f"The {NOUNS[number % 10].title()} of Day {number}",
                "summary": f"Mara learns on day {number} what the {NOUNS[number % 10]} meant, and must choose. "
                "Tobias will not take her across before the weather turns, so she goes through the papers in the loft, "
                "finds the page that somebody cut from the harbour book, and shows it to the wrong person; by the "
                "evening the whole quay knows, and one of them has left the town.",
            }
            for number in numbers
        ]
    }
    if brief["first"] == 1:
        reply["bible"] = {
            "premise": "A keeper looks for the one who put out her lamp. Everybody in town had a reason to.",
            "voice": "First person, past tense, dry; short sentences when it matters; no dreams, no weather reports.",
            "arc": ["She loses it.", "She searches.", "She is wrong.", "She is right too late.", "She finds it."],
            "people": [
                {"name": "Mara", "description": "thirty-four, a lamp keeper with grey eyes"},
                *({"name": name, "description": OF_A_PERSON} for name in ("Tobias", "Ines", "Oskar", "Petra")),
            ],
            "places": [{"name": name, "description": OF_A_PLACE} for name in ("Sund", "The Rock", "The Old Exchange")],
            "terms": [{"name": "the night log", "description": "the book in which every lighting is written"}],
        }
    return json.dumps(reply)


OF_A_PERSON = "has lived on the quay since the fire, owes money to two others in town, never speaks of the brother"
OF_A_PLACE = "one street, one crane, a view of the sound from every window; floods with the spring tide each year"


def digest_reply(brief: dict[str, Any], text: str) -> str:
    """A realistic length: a summary of some 70 words, and a few facts with quotes from the chapter."""
    number, quote = brief["chapter_number"], " ".join(text.split()[:5])
    facts = [
        ("person", "Mara", f"owns key number {number}"),
        ("acts", "Tobias", f"crosses the sound on the evening of day {number}"),
        ("object", "the log", f"has {number} pages missing"),
        ("thread_opened", "the letter", f"Who wrote letter {number}?"),
        *([("thread_closed", "an old thread", "1")] if brief["threads"] else []),
    ]
    return json.dumps(
        {
            "summary": f"In chapter {number} Mara counts days and hides what she found in the orchard wall. Tobias "
            "sees her from the ferry and says nothing until the evening, when he asks for the half of it. She refuses, "
            "and he tells Ines, who has known since the fire. The three agree to wait for the spring tide, though "
            "each means something else by it, and Oskar, who was at the window, writes it into the log.",
            "facts": [dict(zip(("kind", "subject", "value", "quote"), (*fact, quote), strict=True)) for fact in facts],
        }
    )


def chapter_text(request: TextRequest) -> str:
    """The chapter that a digest request is about: in its conversation, between its tags, or in the view."""
    said = [message.text for message in request.messages if message.role == "assistant"]
    if said:
        return said[0]
    shown = "\n".join(block.text for block in request.system).partition(f"Chapter {request.chapter_number}, ")[2]
    asked = request.messages[0].text
    return (asked if "<chapter>" in asked else shown).partition("<chapter>")[2].partition("</chapter>")[0]


BLURB = (
    "Mara keeps the lamp at Sund, and on the first night of winter somebody puts it out. The log has a page missing, "
    "the ferryman has seen something from the water and will not say what, and everybody on the quay had a reason. "
    "She has until the spring tide to find out who it was, with a ledger, a key that fits no door, and a friend whom "
    "she is no longer sure of. What she learns about the town is not what she went to look for, and the one who could "
    "explain it has been at the window all the time, writing it down."
)

DESIGN = {"families": ["emblem"], "motif": "bell", "palettes": ["ocean"], "mood": "solemn"}


def obedient(request: TextRequest, brief: dict[str, Any], call: int) -> str:
    """A model that does exactly what it is asked."""
    match brief["stage"]:
        case "outline":
            return outline_reply(brief)
        case "rework":
            return json.dumps(
                {
                    "chapters": [
                        {
                            "number": each["number"],
                            "title": f"Again {each['number']}",
                            "summary": f"Another way into {each['number']}.",
                        }
                        for each in brief["chapters"]
                    ]
                }
            )
        case "digest":
            return digest_reply(brief, chapter_text(request))
        case "blurb":
            return BLURB
        case "design":
            return json.dumps(DESIGN)
        case "chapter":
            return prose(brief["words"], next_number(request, brief), brief["language"])
        case "revise":
            return prose(brief["words"], random.Random(brief["passage"]).randint(10**7, 10**8), brief["language"])
    raise AssertionError(brief["stage"])


def a_book(**fields: Any) -> Book:
    return Book(
        **{
            "id": 1,
            "account_id": 1,
            "title": "The Lamp at Sund",
            "subtitle": "",
            "author_name": "A. Writer",
            "genre": "Mystery novel",
            "target_audience": "Adults",
            "description": "A lamp keeper looks for the one who put out her lamp.",
            "style_notes": "",
            "chapter_count": 10,
            "target_word_count": 20_000,
            "trim_size": "6x9",
            "content_language": "en",
            "status": BookStatus.OUTLINE,
            "bible": json.loads(outline_reply({"first": 1, "last": 1}))["bible"],
            "funding_source": None,
            "created_at": NOW,
            "updated_at": NOW,
            **fields,
        }
    )


def a_chapter(number: int, *, words: int = 3_000, content: str = "", **fields: Any) -> Chapter:
    planned = json.loads(outline_reply({"first": number, "last": number}))["chapters"][0]
    return Chapter(
        **{
            "id": number,
            "book_id": 1,
            "chapter_number": number,
            "title": planned["title"],
            "summary": planned["summary"],
            "content": content,
            "word_count": count_words(content),
            "target_word_count": words,
            "status": ChapterStatus.COMPLETED if content else ChapterStatus.PENDING,
            "content_version": 0,
            "created_at": NOW,
            "updated_at": NOW,
            **fields,
        }
    )


def some_material(chapters: int = 3, *, words: int = 3_000, **book: Any) -> Material:
    return Material(
        a_book(**{"chapter_count": chapters, "target_word_count": chapters * words, **book}),
        tuple(a_chapter(number, words=words) for number in range(1, chapters + 1)),
    )


def numbers_in(text: str) -> list[int]:
    """The numbers of the sentences in a text: consecutive if nothing is doubled or missing."""
    return [int(found) for found in re.findall(r"\d+", text)]
