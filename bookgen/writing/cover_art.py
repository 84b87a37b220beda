"""What a cover is made from: a portrait of the finished book in a few lines, and the prompt for an image model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bookgen.models import Chapter, has_separate_stories, is_non_fiction
from bookgen.words import count_words, split, tokens
from bookgen.writing import not_prose, sentences, stories
from bookgen.writing.blocks import paragraphs, without_fences
from bookgen.writing.material import Material
from bookgen.writing.window import clip

MAX_LINE_TOKENS = 110  # of each line of the portrait
MAX_ENTRIES = 4  # places or things
MIN_PASSAGE_WORDS, MAX_PASSAGE_SENTENCES = 25, 3
SPOILED_FROM = 3  # images and passages come from the first third of the book, to avoid spoilers
MIN_KEY_CHARACTERS = 4
MAX_SUMMARIES, MAX_SUMMARY_TOKENS = 40, 1_200  # of all summaries together

PAINTING = """\
{wish}Cover artwork for a finished book, portrait. There is no writing on it: no text, letters, numbers, signatures, \
logos or borders.
Show one thing that a reader of this book would recognise: a place or an object from it, large and simple enough to be \
seen in a small thumbnail. No collage. Do not show how the book ends.
Keep the upper or the lower third calm: the title is printed there later.

Title, which the picture need not illustrate word for word: {title}
Genre: {genre}
For: {audience}
{portrait}"""

_EMPHASIS = re.compile(r"\*+")
_ARTICLE = re.compile(r"(?:the|an?|der|die|das|eine?|le|la|les|une?|el|los|las|il|o|os|as) ")

_QUOTED = re.compile('["“”„«»「」『』]')
_ABOUT_FORM = re.compile(r"\b(?:the form of|headings?|numbered list|in bold|backticks?)\b", re.IGNORECASE)

WISH = "The author wishes for: {wish}\n"


def is_written(chapters: Sequence[Chapter]) -> bool:
    """Whether any of the chapters has a text."""
    return any(chapter.content.strip() for chapter in chapters)


def painting(material: Material, style: str, prompt: str) -> str:
    """The prompt for the image model that paints the cover of a written book. The author's own wishes come first."""
    book = material.book
    return PAINTING.format(
        wish=wish(style, prompt),
        title=book.title,
        genre=book.genre,
        audience=book.target_audience,
        portrait=portrait(material),
    )


def wish(style: str, prompt: str) -> str:
    """The line with what the author wants of this cover; empty if the author wants nothing in particular."""
    wanted = "; ".join(each.strip() for each in (style, prompt) if each.strip())
    return WISH.format(wish=wanted) if wanted else ""


def portrait(material: Material, *, spoils: bool = False) -> str:
    """The book in a few lines: its topic, people, places, recurring things and tone, and an early image and passage.

    With `spoils`, the last lines are not the image and the passage, but summaries of the chapters and the book's last
    paragraph.

    For non-fiction, people are left out. So are the descriptions of recurring things, which are about spelling there.
    A collection of separate stories has several people. It is described by its premise, since the first sentences of
    its blurb are about one story, and without last images and paragraphs, which are the ends of stories.
    """
    book, bible = material.book, material.book.bible
    is_separate = has_separate_stories(book)
    text = "\n".join(chapter.content for chapter in material.chapters).casefold()
    places = _most_mentioned(_entries(bible, "places"), text)
    things = _most_mentioned([each for each in _entries(bible, "motifs", "terms") if not _is_rule(each)], text)
    if is_non_fiction(book):
        people, recurring = "", ", ".join(_text(each, "name") for each in things)
    else:
        people, recurring = _lines(_main_people(bible, is_separate=is_separate)), _lines(things)
    early = material.chapters[: max(1, len(material.chapters) // SPOILED_FROM)]
    images = () if is_separate else (_text(each.plan, "last_image") for each in early)
    image = next(filter(None, images), "")
    told_in = (_text(bible, "premise"), book.blurb) if is_separate else (book.blurb, _text(bible, "premise"))
    lines = (
        ("About", next(filter(None, told_in), book.description)),
        ("Who it is about", people),
        ("Where it is set", _lines(places)),
        ("What comes back in it", recurring),
        ("How it sounds", _text(bible, "voice")),
    )
    told = [(name, sentences_within(text, MAX_LINE_TOKENS)) for name, text in lines]
    if spoils:
        told.append(("What its chapters tell", _summaries(material.chapters)))
        told.append(("How it ends", "" if is_separate else _last_paragraph(material.chapters)))
    else:
        told.append(("An image from it", image))
        told.append(("A passage of it", passage(early, [_text(each, "name") for each in (*things, *places)])))
    return "\n".join(f"{name}: {text}" for name, text in told if text)


def _summaries(chapters: Sequence[Chapter]) -> str:
    """The beginning of each chapter's summary, in whole sentences. Only the last chapters if there are very many."""
    last = chapters[-MAX_SUMMARIES:]
    most = min(MAX_LINE_TOKENS, MAX_SUMMARY_TOKENS // max(len(last), 1))
    return " ".join(sentences_within(chapter.summary, most) for chapter in last)


def _last_paragraph(chapters: Sequence[Chapter]) -> str:
    written = [chapter.content for chapter in chapters if chapter.content.strip()]
    blocks = paragraphs(without_fences(sentences.without_notes(written[-1]))) if written else []
    return _EMPHASIS.sub("", sentences_within(blocks[-1] if blocks else "", MAX_LINE_TOKENS))


def sentences_within(text: str, most: int) -> str:
    """The first sentences of the text that fit into `most` tokens. If the first one alone does not fit, it is cut."""
    found = ""
    for sentence in sentences.split(" ".join(text.split())):
        longer = f"{found} {sentence}".strip()
        if tokens(longer) > most:
            return found or clip(sentence, most)
        found = longer
    return found


def _entries(bible: Mapping[str, Any], *lists: str) -> list[Mapping[str, Any]]:
    """The records in those lists of a story bible that are called `lists`, such as "people".

    An item that is a plain text becomes a record with this text as its "name".
    """
    found = [entry for name in lists if isinstance(entries := bible.get(name), list) for entry in entries]
    records = ({"name": entry} if isinstance(entry, str) else entry for entry in found)
    return [each for each in records if isinstance(each, Mapping)]


def _is_rule(entry: Mapping[str, Any]) -> bool:
    """Whether a term is not a thing in the book, but a rule for its form or its spelling."""
    name = _text(entry, "name")
    return name.endswith((":", "：")) or bool(_QUOTED.search(name) or _ABOUT_FORM.search(_text(entry, "description")))


def _most_mentioned(entries: Sequence[Mapping[str, Any]], text: str) -> list[Mapping[str, Any]]:
    """The MAX_ENTRIES entries of a bible that the text names most often. Entries with equal counts keep their order."""
    found = [(_mentions(_text(each, "name"), text), each) for each in entries]
    named = [(count, each) for count, each in found if count] or found
    return [each for _, each in sorted(named, key=lambda pair: -pair[0])[:MAX_ENTRIES]]


def _mentions(name: str, text: str) -> int:
    """How often the text has the name without its article. In a name with a comma, only the part before it counts."""
    first = _ARTICLE.sub("", name.split(",")[0].strip().casefold())
    return text.count(first) if first else 0


def _main_people(bible: Mapping[str, Any], *, is_separate: bool) -> list[Mapping[str, Any]]:
    """The first person of the bible; of separate stories the first person of each, up to MAX_ENTRIES."""
    people = _entries(bible, "people")
    if not is_separate:
        return people[:1]
    first: dict[object, Mapping[str, Any]] = {}
    for at, person in enumerate(people):
        first.setdefault(frozenset(stories.numbers_of(person)) or at, person)
    return list(first.values())[:MAX_ENTRIES]


def _lines(entries: Sequence[Mapping[str, Any]]) -> str:
    """The entries in one line. The numbers of their stories are left out."""
    told = [
        ": ".join(filter(None, (_text(each, "name"), stories.without_mark(_text(each, "description")))))
        for each in entries
    ]
    return "; ".join(sentences_within(each, MAX_LINE_TOKENS // max(len(told), 1)) for each in told if each)


def passage(chapters: Sequence[Chapter], named: Sequence[str]) -> str:
    """The first sentences of the paragraph that has the most words of the names in `named`; empty if none qualifies.

    A paragraph qualifies if it is narrative, without speech and not too short.
    """
    keys = {word.casefold() for name in named for word in split(name) if len(word) >= MIN_KEY_CHARACTERS}
    best, most = "", -1
    for chapter in chapters:
        blocks = paragraphs(without_fences(chapter.content))
        plain = not_prose.not_prose(blocks)
        for at, block in enumerate(blocks):
            if (
                at in plain
                or block.startswith(("#", "**", "[^"))
                or not_prose.has_speech(block)
                or count_words(block) < MIN_PASSAGE_WORDS
            ):
                continue
            told = block.casefold()
            found = sum(key in told for key in keys)
            if found > most:
                best, most = block, found
    return _EMPHASIS.sub("", " ".join(each.strip() for each in sentences.split(best)[:MAX_PASSAGE_SENTENCES]))


def _text(record: Mapping[str, Any], key: str) -> str:
    value = record.get(key)
    return value.strip() if isinstance(value, str) else ""
