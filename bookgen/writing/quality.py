"""The quality gate: rules that check a chapter without a model and report what they find.

A finished sentence of the model belongs to the book, so the gate reports findings and leaves the text alone. It removes
only exact repetitions and text that certainly does not belong to the book (`certain`), and it records every change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bookgen import threads
from bookgen.models import Book, Chapter, is_collection, is_play
from bookgen.words import count_words
from bookgen.writing.craft import has_refrains, repeats_passages
from bookgen.writing.facts import settled
from bookgen.writing.flaw import Flaw
from bookgen.writing.foreign import foreign
from bookgen.writing.language import language
from bookgen.writing.material import Material
from bookgen.writing.printed_marks import printed_marks
from bookgen.writing.repetition import repeated, repeated_paragraphs, same_edges, to_avoid, without_doubles
from bookgen.writing.reply_cleanup import Cleaned
from bookgen.writing.residue import residue, without_residue
from bookgen.writing.stock_phrases import moral, stock_paragraphs

MAX_DRIFT = 0.25  # of a chapter's budget: a chapter gets a finding if its length differs by more
MAX_DRIFT_OF_VERSE = 0.6  # more, because the lines of the poems decide the length

RECENT = 15  # earlier chapters that `avoid` reads
MAX_OF_A_KIND = 8  # findings of one kind per chapter: more would say nothing new

# The findings that harm a reader most come first.
ORDER = (
    "meta_text",
    "placeholder",
    "wrong_language",
    settled.KIND,
    "repeated_paragraph",
    "repeated_sentence",
    "repeated_phrases",
    "stock_phrases",
    "moral",
    "same_opening",
    "same_ending",
    "duplicate_heading",
    "printed_mark",
    "length",
)


async def certain(content: str, book: Book) -> Cleaned:
    """`content` without remarks about the model's task and exactly repeated paragraphs, and what was removed."""
    return await threads.compute(_certain, content, book)


def _certain(content: str, book: Book) -> Cleaned:
    cleaned = without_residue(content)
    if has_refrains(book):
        return cleaned
    single = without_doubles(cleaned.text)
    return Cleaned(single.text, cleaned.changes + single.changes)


async def inspect(content: str, material: Material, chapter: Chapter) -> list[Flaw]:
    """Every finding in a chapter, the worst first. Runs in a thread, since a long book would block the event loop."""
    return await threads.compute(_inspect, content, material.book, chapter, texts_before(material, chapter))


def _inspect(content: str, book: Book, chapter: Chapter, earlier: Sequence[str]) -> list[Flaw]:
    flaws = [
        *residue(content, chapter, book.content_language),
        *printed_marks(content),
        *foreign(content, book),
        *settled.deviations(content, book),
        *(() if has_refrains(book) else (*repeated(content, earlier), *moral(content, book.content_language))),
        *(() if repeats_passages(book) else repeated_paragraphs(content)),
        *stock_paragraphs(content, book.content_language),
        *same_edges(content, earlier),
        *_length(content, chapter, book),
    ]
    return sorted(_few_of_a_kind(flaws), key=lambda flaw: (ORDER.index(flaw.kind), flaw.paragraph or 0))


def _few_of_a_kind(flaws: Sequence[Flaw]) -> list[Flaw]:
    kinds: Counter[str] = Counter()
    kept = []
    for flaw in flaws:
        kinds[flaw.kind] += 1
        if kinds[flaw.kind] <= MAX_OF_A_KIND:
            kept.append(flaw)
    return kept


def _length(content: str, chapter: Chapter, book: Book) -> list[Flaw]:
    words, budget = count_words(content), chapter.target_word_count
    most = MAX_DRIFT_OF_VERSE if is_collection(book) else MAX_DRIFT
    if abs(words - budget) <= most * budget:
        return []
    counted = language(book.content_language).counted
    return [Flaw("length", None, "", f"The chapter has {words:,} {counted}; {budget:,} were asked for.")]


def texts_before(material: Material, chapter: Chapter) -> list[str]:
    return [each.content for each in material.written_before(chapter.chapter_number)]


async def avoid(material: Material, chapter: Chapter) -> list[str]:
    """Sentences that earlier chapters have used too often, for the next chapter to avoid.

    Only the last RECENT chapters are read. Reading all chapters takes long when nothing is cached, for example after a
    restart. `inspect` reads all of them. A play has none: each act begins with a heading and ends with a direction.
    """
    texts = texts_before(material, chapter)[-RECENT:]
    if not texts or has_refrains(material.book) or is_play(material.book):
        return []
    return await threads.compute(to_avoid, texts)
