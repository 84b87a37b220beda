"""The facts that a model notes after a chapter: how they are requested, and which of them the chapter supports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bookgen.models import MAX_FACT_CHARACTERS, Book, Fact, FactEvent, FactKind, is_non_fiction
from bookgen.writing.language import language
from bookgen.writing.printable import printable
from bookgen.writing.review.quotes import find_quote
from bookgen.writing.structured import TEXT, Malformed, list_of, object_of

MAX_FACTS = 16  # of a chapter, its threads included
MAX_VALUE_WORDS, MIN_QUOTE_WORDS, MAX_QUOTE_WORDS = 12, 3, 14
MAX_NON_FICTION_VALUE_WORDS = 24  # enough for a rule with its condition
MIN_QUOTE_CHARACTERS = 4

KIND_OF: Mapping[FactEvent, FactKind] = {
    **dict.fromkeys((FactEvent.BORN, FactEvent.DIES, FactEvent.ACTS, FactEvent.RETURNS), FactKind.PERSON),
    **dict.fromkeys((FactEvent.ENTERS, FactEvent.LEAVES, FactEvent.IS_IN), FactKind.PLACE),
    **dict.fromkeys((FactEvent.AT, FactEvent.MOVED, FactEvent.GONE), FactKind.OBJECT),
    **dict.fromkeys((FactEvent.NOW, FactEvent.BACK, FactEvent.ON, FactEvent.AFTER), FactKind.TIME),
    **dict.fromkeys((FactEvent.LEARNS, FactEvent.KNOWS), FactKind.KNOWLEDGE),
}
KINDS = (*map(str, FactKind), *map(str, FactEvent))
NON_FICTION_KINDS = ("knowledge", "object", "person", "place", "on")

FORM = """\
- "facts": up to {facts} facts that the rest of the book must not contradict, in the order of the text. Each has \
"kind" (one of the words below), "subject" (the person or thing that it is about; always by the same name), "value" \
(what is true of the subject, in at most {value}) and "quote" (the passage of this chapter that says so, copied letter \
by letter with its asterisks and backticks, {quote}). Note what happens in the story's present, not what is \
remembered, told about an earlier time, dreamed, planned or only believed; but what somebody did before the story \
begins and the book turns on is a "state" of that person, with its date in the value. The present of a memoir is the \
life that it remembers; what its narrator does not know is noted as "state". The kinds:
  - "person" (age, looks, relation, work), "place", "object", "state" (an injury, a debt, a promise), "time", \
"knowledge" (a term that was defined).
  - "acts": a named person does or says something, once for each person. "dies". "born": the value is the date. \
"returns": a person or thing that was believed dead or gone is there after all.
  - "enters", "leaves" (for good), "is_in": a person; the value is only the name of the place.
  - "at", "moved", "gone" (for good): an object that matters; the value is only its place or its holder.
  - "learns", "knows" (for certain): a person; the value is what, always in the same words.
  - "now": the subject is the chapter, the value is the date of what it tells, if the text gives it. "back": from here \
it tells of an earlier time; the subject is the chapter, the value is that time. "on": an event and its date. "after": \
an event; the value is the earlier event that it follows from. Dates as YYYY, YYYY-MM or YYYY-MM-DD.
  - "thread_opened": a question, plan or danger that the chapter leaves open, one each; the value states it in full, \
with its names. "thread_closed": the value is the number of a thread above that it settles."""

NON_FICTION_FORM = """\
- "facts": up to {facts} facts that the rest of the book must not contradict, in the order of the text. Each has \
"kind" (one of the words below), "subject" (the person or thing that it is about; always by the same name), "value" \
(what the chapter says of the subject, in at most {value}) and "quote" (the passage of this chapter that says so, \
copied letter by letter with its asterisks and backticks, {quote}). Note what the book itself says, not what somebody \
in it believes. The kinds:
  - "knowledge": a term that was defined, a rule, a recommendation, a figure or a measure.
  - "object": what the reader is to have or to use, with its size or form.
  - "person": who they are, or what happened to them. "place".
  - "on": an event and its date, as YYYY, YYYY-MM or YYYY-MM-DD."""


def form(book: Book) -> str:
    """The part of a prompt that asks for facts."""
    lang = language(book.content_language)
    text, value = (NON_FICTION_FORM, MAX_NON_FICTION_VALUE_WORDS) if is_non_fiction(book) else (FORM, MAX_VALUE_WORDS)
    return text.format(
        facts=MAX_FACTS,
        value=lang.note_length(value),
        quote=lang.note_between(MIN_QUOTE_WORDS, MAX_QUOTE_WORDS),
    )


def schema(book: Book) -> Mapping[str, Any]:
    """The JSON schema of the facts."""
    kinds = NON_FICTION_KINDS if is_non_fiction(book) else KINDS
    return list_of(
        object_of({"kind": {**TEXT, "enum": [*kinds]}, **dict.fromkeys(("subject", "value", "quote"), TEXT)})
    )


def read_facts(reply: Mapping[str, Any], number: int, content: str, threads: Sequence[str]) -> tuple[Fact, ...]:
    """The facts of a reply, in the order of their quotes. A fact whose quote the chapter does not have is dropped.

    `threads`: the open questions of the story, in the order in which the prompt numbered them. Raises Malformed if
    there is no list of facts.
    """
    listed = reply.get("facts")
    if not isinstance(listed, list):
        raise Malformed('"facts" is not a list')
    found: list[tuple[int, Fact]] = []
    for entry in listed:
        placed = _placed(entry, number, content, threads) if isinstance(entry, Mapping) else None
        if placed and not any(_says_the_same(placed[1], fact) for _, fact in found):
            found.append(placed)
    return tuple(fact for _, fact in sorted(found[:MAX_FACTS], key=lambda each: each[0]))


def _placed(entry: Mapping[str, Any], number: int, content: str, threads: Sequence[str]) -> tuple[int, Fact] | None:
    """The position of the entry's quote, and the fact.

    None if a field is missing or too long, or if the chapter does not have the quote.
    """
    name, subject, value, quote = (_line(entry.get(field)) for field in ("kind", "subject", "value", "quote"))
    kind, event = kind_of(name)
    if kind is FactKind.THREAD_CLOSED:
        value = closed_thread(value, threads) or ""
    place = find_quote(content, str(entry.get("quote"))) if len(quote) >= MIN_QUOTE_CHARACTERS else None
    if kind is None or not subject or not value or place is None:
        return None
    quoted = content[slice(*place)]  # from the chapter, because a model may use other quotation marks
    if max(map(len, (subject, value, quoted))) > MAX_FACT_CHARACTERS:
        return None
    return place[0], Fact(number, kind, subject, value, quoted, event)


def kind_of(name: str) -> tuple[FactKind | None, FactEvent | None]:
    """The kind and the event of a fact that a reply calls `name`. The event may be None; (None, None) if unknown."""
    word = name.lower().replace(" ", "_").replace("-", "_")
    if word in list(FactEvent):
        event = FactEvent(word)
        return KIND_OF[event], event
    return (FactKind(word), None) if word in list(FactKind) else (None, None)


def closed_thread(name: str, threads: Sequence[str]) -> str | None:
    """The open thread that a reply names by its number or in its exact words; None if there is no such thread."""
    number = name.strip("#. ")
    if number.isdecimal() and 1 <= int(number[:6]) <= len(threads):
        return threads[int(number[:6]) - 1]
    return name if name in threads else None


def _says_the_same(one: Fact, other: Fact) -> bool:
    return (one.kind, one.event, one.subject, one.value) == (other.kind, other.event, other.subject, other.value)


def _line(value: object) -> str:
    """The value as one line; empty unless it is a string or an integer. Models send integers for threads and years."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return " ".join(printable(str(value)).split())
