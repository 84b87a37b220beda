"""Planted faults: good chapters with a remark to the user, a refusal or a doubled paragraph, or in the wrong language.

Is the fault found, and is good text lost with it? A fault counts as found if it is not in the chapter, if a finding
names it, or if the whole chapter is rejected.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from bench.authored import held_out, later, overheard, plant_texts
from bench.authored.author import RecordedAuthor, without_ours
from bench.authored.compare import compare, told
from bench.authored.corpus import AuthoredBook, one_chapter
from bench.authored.rows import Bar
from bookgen.errors import UpstreamAIError
from bookgen.providers.text import TextRequest
from bookgen.words import count_words
from bookgen.writing import sentences
from bookgen.writing.blocks import paragraphs
from bookgen.writing.chapter import write_chapter
from bookgen.writing.material import ChapterDraft
from tests.writing.scripted import Scripted

FOREIGN = Path(__file__).parent / "foreign"
HONEST_LINE = "honest line"
KINDS = ("preamble", "refusal", "refusal with some text", "meta text", "doubled paragraph", "wrong language")
HELD_OUT = (
    "held-out ",
    "overheard ",
    "later ",
)  # prefix of a fault's kind on a list that no rule was tuned on
TEXTS = dict(zip(("", *HELD_OUT), (plant_texts, held_out, overheard, later), strict=True))
MIN_HELD_OUT_SHARE = 0.9  # of each kind, found
MIN_DOUBLED_WORDS = 30
MAX_DOUBLED_PLANTS = 24
MIN_CHAPTER_WORDS = 300
REFUSAL_SHARE = 0.18  # of the chapter: some refusals have this much text, such as an excuse or a beginning
NAMED_CHARACTERS = 50  # of an excerpt, enough to identify a passage
SHOWN_CHARACTERS = 90


@dataclass(frozen=True)
class Plant:
    """A chapter with a fault. `first` is the model's first reply, `fault` the faulty text in it.

    If asked again, the model sends `first` again or, if it `repents`, the good chapter. `language` is the book's.
    """

    kind: str
    book: AuthoredBook
    number: int
    fault: str
    first: str
    repents: bool = False
    language: str = ""

    @property
    def is_honest(self) -> bool:
        return self.kind.endswith(HONEST_LINE)


@dataclass(frozen=True)
class PlantResult:
    plant: Plant
    found: str  # how it was found; empty if it was not
    lost: tuple[str, ...] = ()  # good sentences


class Planted(RecordedAuthor):
    """The author of the book, whose first reply has the fault."""

    def __init__(self, plant: Plant) -> None:
        super().__init__(plant.book)
        self._plant = plant
        if not plant.repents:
            self.book = replace(plant.book, replies={**plant.book.replies, plant.number: plant.first})

    def answer(self, request: TextRequest, brief: dict[str, Any], _number: int = 0) -> str:
        first = request.stage == "chapter" and not self.calls["chapter"] and self._plant.repents
        reply = super().answer(request, brief)
        return self._plant.first if first else (reply or "{}").rstrip("\n")


async def plant(made: Plant) -> PlantResult:
    """Write the chapter, and find out what became of the fault. Good text counts as lost only if the model sent it."""
    author = Planted(made)
    material = one_chapter(made.book, made.number, language=made.language)
    try:
        draft = await write_chapter(material, made.number, Scripted(author.answer))
    except UpstreamAIError:
        return PlantResult(made, "refused")
    sent = author.calls["chapter"] > made.repents
    lost = compare(made.book.text(made.number), without_ours(draft.content)).lost if sent else ()
    return PlantResult(made, _found(made, draft), lost)


def _found(made: Plant, draft: ChapterDraft) -> str:
    kept, fault = _plain(draft.content), _plain(made.fault)
    copies = 1 if made.kind == "doubled paragraph" else 0
    if all(kept.count(_plain(each)) <= copies for each in told(made.fault) if count_words(each)):
        return "gone"
    for finding in draft.findings:
        excerpt = _plain(finding.excerpt)
        if excerpt and (excerpt[:NAMED_CHARACTERS] in fault or fault[:NAMED_CHARACTERS] in excerpt):
            return "finding"
        if made.kind.endswith("wrong language") and finding.kind == "wrong_language":
            return "finding"
    return ""


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


# What is planted


def plants(books: list[AuthoredBook]) -> Iterator[Plant]:
    for prefix, texts in TEXTS.items():
        hosts = Hosts(books)
        yield from (replace(each, kind=prefix + each.kind) for each in _of_texts(texts, hosts))


def _of_texts(texts: ModuleType, hosts: Hosts) -> Iterator[Plant]:
    for language, text in texts.PREAMBLES:
        book, number = hosts.next(language)
        said = text.format(n=number)
        yield Plant("preamble", book, number, said, f"{said}\n\n{book.text(number)}")
    for language, text in texts.REFUSALS:
        book, number = hosts.next(language)
        yield Plant("refusal", book, number, text, text, repents=True)
        longer = f"{text}\n\n{_beginning(book.text(number), REFUSAL_SHARE)}"
        yield Plant("refusal with some text", book, number, text, longer, repents=True)
    for language, where, text in texts.META:
        book, number = hosts.next(language)
        said, blocks = text.format(n=number), paragraphs(book.text(number))
        place = len(blocks) if where == "end" else len(blocks) // 2
        fault = said.removeprefix("---").strip()
        yield Plant("meta text", book, number, fault, "\n\n".join([*blocks[:place], said, *blocks[place:]]))
    if texts is plant_texts:
        yield from itertools.islice(_doubled(hosts), MAX_DOUBLED_PLANTS)
    for sent, language in texts.WRONG_LANGUAGES:
        book, number = hosts.next(language)
        other = _of_length(hosts.next(sent), count_words(book.text(number)))
        yield Plant("wrong language", book, number, other, other, repents=True, language=language)


def honest(books: list[AuthoredBook]) -> Iterator[Plant]:
    """Chapters that begin or end with a line of their author that looks like a fault. All of their text is good."""
    for prefix, texts in TEXTS.items():
        hosts = Hosts(books)
        for language, where, line in texts.HONEST:
            book, number = hosts.next(language)
            blocks = paragraphs(book.text(number))
            text = "\n\n".join([line, *blocks] if where == "first" else [*blocks, line])
            written = replace(book, replies={**book.replies, number: text})
            yield Plant(prefix + HONEST_LINE, written, number, line, text)


def _doubled(hosts: Hosts) -> Iterator[Plant]:
    """Repeat a paragraph of prose: immediately, one paragraph later, or at the end of the chapter."""
    languages = itertools.cycle(("en", "en", "de", "en", "fr", "es"))
    for turn, language in enumerate(languages):
        book, number = hosts.next(language)
        blocks = paragraphs(book.text(number))
        long = [n for n, block in enumerate(blocks) if count_words(block) >= MIN_DOUBLED_WORDS and "\n" not in block]
        if not long:
            continue
        index = long[turn % len(long)]
        place = (index + 1, min(index + 2, len(blocks)), len(blocks))[turn % 3]
        text = "\n\n".join([*blocks[:place], blocks[index], *blocks[place:]])
        yield Plant("doubled paragraph", book, number, blocks[index], text)


def _beginning(text: str, share: float) -> str:
    """The first sentences of the text, up to a share of its words."""
    words, kept = count_words(text) * share, ""
    for end in sentences.ends(text):
        if count_words(text[:end]) > words:
            break
        kept = text[:end]
    return kept


def _of_length(host: tuple[AuthoredBook, int], words: int) -> str:
    """The chapter, repeated until it is about as long as requested."""
    book, number = host
    text = book.text(number).strip()
    return "\n\n".join(itertools.islice(itertools.repeat(text), max(round(words / max(count_words(text), 1)), 1)))


class Hosts:
    """Chapters of prose that faults are planted in, by language, in turn."""

    def __init__(self, books: list[AuthoredBook]) -> None:
        every = [book for book in books if book.is_prose] + [_foreign(file) for file in sorted(FOREIGN.glob("*.txt"))]
        chapters: dict[str, list[tuple[AuthoredBook, int]]] = {}
        for book in every:
            long = [n for n in book.replies if count_words(book.text(n)) >= MIN_CHAPTER_WORDS or len(book.replies) == 1]
            chapters.setdefault(book.language, []).extend((book, number) for number in long)
        self._turns = {language: itertools.cycle(found) for language, found in chapters.items()}

    def next(self, language: str) -> tuple[AuthoredBook, int]:
        return next(self._turns[language])


def _foreign(file: Path) -> AuthoredBook:
    """A book with the one chapter in the file. The file's name is the language."""
    text, title = file.read_text(encoding="utf-8"), f"({file.stem})"
    bible = {"premise": title, "voice": "-", "arc": [], "people": [], "places": [], "terms": []}
    outline = {"bible": bible, "chapters": {"chapter_1": {"title": title, "summary": title}}}
    texts = dict.fromkeys(("genre", "target_audience", "description", "style_notes"), "")
    body = {**texts, "title": title, "target_word_count": count_words(text), "content_language": file.stem}
    return AuthoredBook(file.stem, body, json.dumps(outline, ensure_ascii=False), {1: text}, {})


# Results


def is_accused(result: PlantResult) -> bool:
    """Whether an honest line was removed, in part or whole, or is named by a finding."""
    return bool(result.found or set(told(result.plant.fault)) & set(result.lost))


def plant_lines(results: list[PlantResult]) -> Iterator[str]:
    yield "| planted | found | gone | as a finding | chapter refused | good sentences lost with it |"
    yield "|---" * 6 + "|"
    for kind in dict.fromkeys(each.plant.kind for each in results):
        of_kind = [each for each in results if each.plant.kind == kind]
        ways = [sum(each.found == way for each in of_kind) for way in ("gone", "finding", "refused")]
        cells = (f"{len(of_kind)} x {kind}", f"{sum(ways)}/{len(of_kind)}", *ways)
        yield f"| {' | '.join(map(str, cells))} | {sum(len(each.lost) for each in of_kind)} |"
    yield ""
    for each in results:
        said = f"in {each.plant.book.name} {each.plant.number}: {_line(each.plant.fault)}"
        if each.plant.is_honest and is_accused(each):
            yield f"{each.plant.kind} {each.found or 'gone in part'} {said}"
        elif not each.plant.is_honest and not each.found:
            yield f"{each.plant.kind} not found {said}"
        if each.lost:
            yield f"{each.plant.kind}, {len(each.lost)} good sentences lost {said}: {_line(each.lost[0])}"


def _line(text: str) -> str:
    return " ".join(text.split())[:SHOWN_CHARACTERS]


def plant_bars(results: list[PlantResult]) -> Iterator[Bar]:
    for kind in KINDS:
        of_kind = [each for each in results if each.plant.kind == kind]
        found = sum(bool(each.found) for each in of_kind)
        yield Bar(f"every {kind} is found", f"{found} of {len(of_kind)}", found == len(of_kind))
        unseen = [each for each in results if each.plant.kind in [prefix + kind for prefix in HELD_OUT]]
        found = sum(bool(each.found) for each in unseen)
        if unseen:
            bar = f"{MIN_HELD_OUT_SHARE:.0%} of each {kind} on the other lists is found"
            yield Bar(bar, f"{found} of {len(unseen)}", found >= len(unseen) * MIN_HELD_OUT_SHARE)
    trusted = [each for each in results if each.plant.is_honest]
    accused = sum(map(is_accused, trusted))
    yield Bar("no honest line is taken for a fault", f"{accused} of {len(trusted)}", not accused)
    lost = sum(len(each.lost) for each in results)
    yield Bar("no good sentence is lost beside a planted line", str(lost), not lost)
