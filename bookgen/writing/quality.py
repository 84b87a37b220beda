"""The quality gate: rules that cost no tokens, one targeted repair for what they see, then it is recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bookgen import threads
from bookgen.models import Book, Chapter, Digest
from bookgen.words import count_words
from bookgen.writing.contradictions import contradictions
from bookgen.writing.flaw import Flaw
from bookgen.writing.foreign import foreign
from bookgen.writing.material import Material
from bookgen.writing.repetition import repeated, same_edges, to_avoid
from bookgen.writing.residue import residue
from bookgen.writing.voice import has_refrains

SHORT, LONG = 0.75, 1.25  # of its budget: a chapter outside has a finding

RECENT = 15  # chapters
MOST_OF_A_KIND = 8  # findings of one kind in a chapter: more say nothing new

# What harms a reader most is repaired first.
ORDER = (
    "meta_text",
    "placeholder",
    "wrong_language",
    "contradiction",
    "repeated_sentence",
    "repeated_phrases",
    "same_opening",
    "same_ending",
    "duplicate_heading",
    "length",
)


async def inspect(content: str, material: Material, chapter: Chapter, digests: Sequence[Digest]) -> list[Flaw]:
    """Every flaw of a chapter, the worst first. Off the event loop: a long book takes longer than it may wait."""
    earlier = texts_before(material, chapter)
    return await threads.compute(_inspect, content, material.book, chapter, earlier, digests)


def _inspect(
    content: str, book: Book, chapter: Chapter, earlier: Sequence[str], digests: Sequence[Digest]
) -> list[Flaw]:
    flaws = [
        *residue(content, chapter),
        *foreign(content, book.content_language),
        *(contradictions(content, book.bible, digests) if book.content_language.startswith("en") else ()),
        *(() if has_refrains(book.genre) else repeated(content, earlier)),
        *same_edges(content, earlier),
        *_length(content, chapter),
    ]
    return sorted(_few_of_a_kind(flaws), key=lambda flaw: (ORDER.index(flaw.kind), flaw.paragraph or 0))


def _few_of_a_kind(flaws: Sequence[Flaw]) -> list[Flaw]:
    kinds: Counter[str] = Counter()
    kept = []
    for flaw in flaws:
        kinds[flaw.kind] += 1
        if kinds[flaw.kind] <= MOST_OF_A_KIND:
            kept.append(flaw)
    return kept


def _length(content: str, chapter: Chapter) -> list[Flaw]:
    words, budget = count_words(content), chapter.target_word_count
    if SHORT * budget - 20 <= words <= LONG * budget + 20:
        return []
    return [Flaw("length", None, "", f"It has {words} words; {budget} were asked for.")]


def texts_before(material: Material, chapter: Chapter) -> list[str]:
    return [each.content for each in material.written_before(chapter.chapter_number)]


async def avoid(material: Material, chapter: Chapter) -> list[str]:
    """What the chapters before have worn out, for the next one to leave alone.

    Only the newest are read, for this is the first thing that every run does after a restart; what an older one
    said is still seen by `inspect`.
    """
    texts = texts_before(material, chapter)[-RECENT:]
    if not texts or has_refrains(material.book.genre):
        return []
    return await threads.compute(to_avoid, texts)
