"""The JSON form of a reply with an outline, and its parser.

Every chapter is required exactly once. Chapter plans may be missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from bookgen.models import Book
from bookgen.providers.text import TextRequest
from bookgen.writing import chapter_plan, sentences, structured
from bookgen.writing.craft import CRAFTS
from bookgen.writing.echo import echoed, instructions
from bookgen.writing.foreign import mostly_foreign
from bookgen.writing.language import language
from bookgen.writing.structured import TEXT, Copied, Malformed, list_of, object_of

T = TypeVar("T")

BIBLE_LISTS = ("people", "places", "terms")
MAX_ENTRIES = 24  # of each list
MAX_ENTRY_CHARACTERS = 1_200  # of a description, or a sentence of the arc: three times what is asked for
MAX_OUTCOME_CHARACTERS = 2_000
_ALSO_CALLED = {"name": "title", "chapter_title": "title", "description": "summary", "synopsis": "summary"}

_CHAPTER = object_of({"title": TEXT, "summary": TEXT})
_ENTRIES = list_of(object_of({"name": TEXT, "description": TEXT}))
_BIBLE_FIELDS = {"premise": TEXT, "voice": TEXT, "arc": list_of(TEXT), **dict.fromkeys(BIBLE_LISTS, _ENTRIES)}
# The model lists premises only to plan one of them. No code reads the list.
_PREMISES = list_of(object_of({"premise": TEXT, "probability": {"type": "number"}}))


SHOWN = """\
Answer with one JSON object of this form, with your words in place of each "…":
{form}"""
IN_WORDS = "Answer with one JSON object, all of it in your own words: {parts}."
BIBLE_IN_WORDS = (
    'under "bible" an object with "premise" and "voice"{added} (texts), "arc" (a list of sentences), "people", '
    '"places" and "terms" (lists of objects with a "name" and a "description")'
)
CHAPTERS_IN_WORDS = 'under "chapters" an object with {keys}, each an object with a "title" and a "summary"'


@dataclass(frozen=True, slots=True)
class ReplyForm:
    """What a reply with an outline must contain.

    `numbers`: the numbers of the chapters to plan. `bible`: the reply has a bible. `kind`: the bible names the kind of
    book. `outcome`: the bible says what really happened, as needed for a mystery. `premises`: the reply has several
    premises, of which one is used.

    `planned`: None, or the book if the reply has a plan of each chapter. The form of the plans depends on the book's
    kind.
    """

    numbers: Sequence[int]
    bible: bool = False
    kind: bool = False
    outcome: bool = False
    premises: bool = False
    planned: Book | None = None

    def schema(self) -> Mapping[str, Any]:
        """The JSON schema. It has a key for each chapter, since no provider's schema mode can fix a list's length."""
        parts: dict[str, Any] = {"premises": _PREMISES} if self.premises else {}
        if self.bible:
            parts["bible"] = object_of(dict.fromkeys(self._optional_bible_fields(), TEXT) | _BIBLE_FIELDS)
        if self.numbers:
            parts["chapters"] = object_of({f"chapter_{number}": _CHAPTER for number in self.numbers})
        if self.planned:
            parts["plans"] = chapter_plan.schema(self.planned)
        return object_of(parts)

    def example(self) -> str:
        """A JSON object with "…" in place of every text, for the model to copy and fill in."""
        entry = [{"name": "…", "description": "…"}]
        parts: dict[str, Any] = {"premises": [{"premise": "…", "probability": 0.5}]} if self.premises else {}
        if self.bible:
            usual = {"premise": "…", "voice": "…", "arc": ["…"], **dict.fromkeys(BIBLE_LISTS, entry)}
            parts["bible"] = dict.fromkeys(self._optional_bible_fields(), "…") | usual
        if self.numbers:
            parts["chapters"] = {f"chapter_{number}": {"title": "…", "summary": "…"} for number in self.numbers}
        if self.planned:
            parts["plans"] = chapter_plan.example(self.planned, self.numbers[0])
        return json.dumps(parts, ensure_ascii=False)

    def _optional_bible_fields(self) -> list[str]:
        """The names of the optional bible fields, `kind` and `outcome`, that this form requests."""
        return ["kind"] * self.kind + ["outcome"] * self.outcome

    def asked(self) -> str:
        """The sentences that ask for a reply of this form, with an example."""
        return SHOWN.format(form=self.example())

    def asked_in_words(self) -> str:
        """The sentences that ask for a reply of this form, without an example and without plans.

        They are used after the model has copied the example or repeated one passage endlessly.
        """
        keys = ", ".join(f'"chapter_{number}"' for number in self.numbers)
        bible = BIBLE_IN_WORDS.format(added=' and "outcome"' * self.outcome)
        parts = [bible] * self.bible + [CHAPTERS_IN_WORDS.format(keys=keys)] * bool(keys)
        return IN_WORDS.format(parts="; ".join(parts))


def refuse_nonsense(request: TextRequest, chapters: Iterable[tuple[str, str]]) -> None:
    """Raise Malformed if a summary repeats the instructions of `request` or most summaries are in another language.

    `chapters`: the title and the summary of each.
    """
    chapters, instructed, tag = list(chapters), instructions(request), request.brief["language"]
    for title, summary in chapters:
        if echoed(summary, instructed):
            raise Malformed(f"the summary of “{title}” repeats the instructions")
    if mostly_foreign("\n\n".join(summary for _, summary in chapters), tag):
        raise Malformed(f"it is not in {language(tag).name}")


def with_plans(
    read: Callable[[Mapping[str, Any]], T], numbers: Sequence[int]
) -> Callable[[Mapping[str, Any]], tuple[T, dict[int, dict[str, Any]]]]:
    """A function that reads a reply with `read`, and also reads the chapter plans in the reply.

    The function returns the result of `read`, and the plans of the chapters `numbers` by chapter number.
    """
    return lambda reply: (read(reply), chapter_plan.read_all(reply, numbers))


def read_first(reply: Mapping[str, Any], last: int) -> tuple[Mapping[str, Any], list[tuple[str, str]]]:
    """The bible, and the title and summary of each chapter up to `last`. If `last` is 0, the reply has no chapters.

    Raises Malformed if the bible or a chapter is missing or unusable.
    """
    return _read_bible(reply.get("bible", reply)), read_chapters(reply, 1, last) if last else []


def rescue_first(reply: Mapping[str, Any], last: int) -> tuple[Mapping[str, Any], list[tuple[str, str]]]:
    """The bible, and the titles and summaries of the first chapters, from a reply that was cut off.

    The list of chapters ends before the first chapter that is missing or incomplete, so it may be empty. `last`: the
    number of the last chapter that the reply should have. Raises Malformed if the bible is missing or unusable.
    """
    bible = _read_bible(reply.get("bible", reply))
    try:
        return bible, rescue_chapters(reply, 1, last)
    except Malformed:
        return bible, []


def rescue_chapters(reply: Mapping[str, Any], first: int, last: int) -> list[tuple[str, str]]:
    """The titles and summaries of the complete chapters from number `first` on, from a reply that was cut off.

    The list ends before the first chapter that is missing or incomplete. `last`: the number of the last chapter that
    the reply should have. Raises Malformed if chapter `first` is missing or incomplete.
    """
    for end in range(last, first, -1):
        try:
            return read_chapters(reply, first, end)
        except Malformed:
            continue
    return read_chapters(reply, first, first)


def _read_bible(bible: object) -> Mapping[str, Any]:
    if not isinstance(bible, Mapping):
        raise Malformed('there is no object under "bible"')
    read: dict[str, Any] = {key: structured.text_of(bible, key, where="the bible") for key in ("premise", "voice")}
    if any(_EMPTY_WORDS.match(text) for text in read.values()):
        raise Copied("the bible has a placeholder instead of a premise and a voice")
    if (kind := structured.name_of(bible.get("kind"))) in CRAFTS:
        read["kind"] = kind
    if outcome := _outcome(bible):
        read["outcome"] = outcome
    arc = structured.texts_of({"arc": [], **bible}, "arc", most=10, longest=structured.MAX_REPLY_CHARACTERS)
    read["arc"] = [_shortened(each, MAX_ENTRY_CHARACTERS) for each in arc]
    for key in BIBLE_LISTS:
        read[key] = [entry for item in _items(bible.get(key) or []) if (entry := _entry(item))][:MAX_ENTRIES]
    return read


def _outcome(bible: Mapping[str, Any]) -> str:
    """The outcome in a bible; empty if there is none, since only mysteries need an outcome."""
    try:
        outcome = structured.text_of(bible, "outcome", longest=structured.MAX_REPLY_CHARACTERS)
    except Malformed:
        return ""
    return "" if _EMPTY_WORDS.match(outcome) else _shortened(outcome, MAX_OUTCOME_CHARACTERS)


def _shortened(text: str, most: int) -> str:
    """The text up to its last sentence that ends within `most` characters."""
    return text if len(text) <= most else sentences.complete(text[:most]) or text[:most]


def _items(value: object) -> list[object]:
    """The items of a list, or the values of an object, each with its key as the name."""
    if isinstance(value, Mapping):
        return [{"name": key, "description": each} if isinstance(each, str) else {"name": key, **each}
                for key, each in value.items() if isinstance(each, str | Mapping)]  # fmt: skip
    return list(value) if isinstance(value, list) else [value]


def _entry(item: object) -> dict[str, str] | None:
    """The name and the possibly empty description of an entry; None if the entry has no name."""
    record = item if isinstance(item, Mapping) else {"name": item}
    try:
        name = structured.text_of(record, "name", longest=120)
    except Malformed:
        return None
    description = record.get("description")
    told = " ".join(description.split()) if isinstance(description, str) else ""
    told = _shortened(told, MAX_ENTRY_CHARACTERS)
    return None if _EMPTY_WORDS.match(name) else {"name": name, "description": "" if told == "…" else told}


def read_chapters(reply: Mapping[str, Any], first: int, last: int) -> list[tuple[str, str]]:
    """Title and summary of each chapter from `first` to `last`. Raises Malformed if one is missing."""
    wanted = list(range(first, last + 1))
    return list(read_numbered(reply, wanted).values())


def read_numbered(reply: Mapping[str, Any], wanted: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Title and summary of each chapter in `wanted`, by its number. Raises Malformed if one is missing."""
    records = _records(reply.get("chapters"))
    numbers = [_number(record.get("number", record.get("chapter_number"))) for record in records]
    if isinstance(keyed := reply.get("chapters"), Mapping):
        numbers = [_number(key) for key in keyed]
    counted_anew = numbers == list(range(1, len(wanted) + 1))
    if len(records) == len(wanted) and (counted_anew or None in numbers):
        numbers = list(wanted)
    found: dict[int, tuple[str, str]] = {}
    for number, record in zip(numbers, records, strict=True):
        if number is not None and number in wanted and number not in found:
            found[number] = _chapter(record, number)
    missing = [number for number in wanted if number not in found]
    if missing:
        raise Malformed(
            f"{len(wanted)} chapters were asked for ({wanted[0]} to {wanted[-1]}), "
            f"but these are missing: {', '.join(map(str, missing))}"
        )
    _refuse_sameness(found)
    return {number: found[number] for number in wanted}


def _refuse_sameness(chapters: Mapping[int, tuple[str, str]]) -> None:
    """Raise Malformed if two summaries are equal or fewer than two thirds of the titles are different."""
    titles = {title.casefold() for title, _ in chapters.values()}
    if len(titles) * 3 < len(chapters) * 2:
        raise Malformed(f"{len(chapters)} chapters have only {len(titles)} different titles")
    first_with: dict[str, int] = {}
    for number, (_, summary) in chapters.items():
        if (other := first_with.setdefault(summary.casefold(), number)) != number:
            raise Malformed(f"the chapters {other} and {number} have the same summary")


def _records(chapters: object) -> list[Mapping[str, Any]]:
    """The chapters of a reply as records. Strings such as "Title: summary" are converted.

    `chapters`: a list, or an object whose values are the chapters. Raises Malformed for anything else.
    """
    listed = list(chapters.values()) if isinstance(chapters, Mapping) else chapters
    records = [_as_record(chapter) for chapter in listed] if isinstance(listed, list) else None
    if records is None or not all(isinstance(record, Mapping) for record in records):
        raise Malformed('"chapters" is not a list of objects')
    return records


def _as_record(chapter: Any) -> Any:
    if not isinstance(chapter, str):
        return chapter
    title, _, summary = _NUMBERED_TITLE.sub("", chapter).partition(":")
    return {"title": title, "summary": summary}


def _number(value: object) -> int | None:
    digits = re.search(r"\d+", str(value)) if not isinstance(value, bool) else None
    return int(digits[0]) if digits else None


_NUMBERED_TITLE = re.compile(
    r"^(?:chapter|kapitel|chapitre|cap[ií]tulo|capitolo|глава|rozdział|hoofdstuk)\s+\w+\s*[:.–—-]\s*", re.I
)
_EMPTY_WORDS = re.compile(
    r"^(?:title|summary|(?-i:TBD|TODO)|n/?a|string|[.…]+|chapter \d+|lorem ipsum.*)$", re.IGNORECASE
)


def _chapter(record: Mapping[str, Any], number: int) -> tuple[str, str]:
    where = f"chapter {number}"
    record = {**{ours: record[theirs] for theirs, ours in _ALSO_CALLED.items() if theirs in record}, **record}
    title = structured.text_of(record, "title", where=where, longest=300)
    title = _NUMBERED_TITLE.sub("", title).strip(' "“”*#') or title
    summary = structured.text_of(record, "summary", where=where)
    if _EMPTY_WORDS.match(title) or _EMPTY_WORDS.match(summary):
        raise Copied(f"{where} has a placeholder instead of a title and a summary")
    return title[:200], summary
