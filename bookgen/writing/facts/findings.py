"""Reports contradictions between facts as quality notes of chapters and as an editor's findings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from bookgen.models import Book, Chapter, Fact, Severity
from bookgen.writing.context import entries
from bookgen.writing.facts import settled
from bookgen.writing.facts.contradictions import Contradiction, contradictions
from bookgen.writing.facts.corrections import outdated, outdated_by_bible
from bookgen.writing.fingerprint import content_hash
from bookgen.writing.flaw import Flaw
from bookgen.writing.language import primary
from bookgen.writing.review.findings import EditorFinding, TextSpan
from bookgen.writing.review.kinds import FindingKind

MAX_BIBLE_NOTES = 20  # of a chapter
NOUNS_ARE_CAPITALISED = ("de", "lb")
OTHER_PASSAGE = "{why} Chapter {chapter}: “{quote}”"


def found_in(book: Book, facts: Sequence[Fact], dismissed: Collection[str] = ()) -> list[Contradiction]:
    """The contradictions between a book's facts, and the passages that still have a value the author has corrected.

    `dismissed`: the fingerprints of contradictions to leave out. Passages with corrected values are always included.
    """
    people = [str(entry["name"]) for entry in entries(book.bible, "people") if entry.get("name")]
    decided = [*outdated(facts), *outdated_by_bible(book.bible, book.bible_changes, facts)]
    has_capitals = primary(book.content_language) in NOUNS_ARE_CAPITALISED
    found = contradictions(facts, people, nouns_are_capitalised=has_capitals)
    return [*decided, *(each for each in found if fingerprint(each) not in dismissed)]


def fingerprint(each: Contradiction) -> str:
    """An identifier of a contradiction. It changes if either of the quoted passages changes."""
    return content_hash("\0".join((each.rule, each.earlier.quote, each.later.quote)))


def notes_of(book: Book, facts: Sequence[Fact], dismissed: Collection[str] = ()) -> list[dict[str, object]]:
    """The contradictions as quality notes of chapters, in the quality gate's form. A note quotes both passages."""
    return [
        {
            "chapter_number": each.later.chapter_number,
            "kind": "contradiction",
            "excerpt": each.later.quote,
            "detail": _explained(each),
        }
        for each in found_in(book, facts, dismissed)
    ]


def bible_notes(book: Book, facts: Sequence[Fact], chapters: Sequence[Chapter]) -> list[list[dict[str, object]]]:
    """For each of the `chapters`, a list of quality notes about passages and facts that contradict the bible.

    A passage that is found both in the text and by a fact gets one note.
    """
    outdated_facts = [*outdated(facts), *outdated_by_bible(book.bible, book.bible_changes, facts)]
    return [_bible_notes(book, chapter, outdated_facts) for chapter in chapters]


def _bible_notes(book: Book, chapter: Chapter, by_facts: Sequence[Contradiction]) -> list[dict[str, object]]:
    flaws = settled.deviations(chapter.content, book)
    for each in by_facts:
        quote, here = each.later.quote, each.later.chapter_number == chapter.chapter_number
        is_known = any(quote in flaw.excerpt or flaw.excerpt in quote for flaw in flaws)
        if here and not is_known and quote in chapter.content:
            flaws.append(Flaw(settled.KIND, None, quote, each.why))
    return [flaw.finding().note() for flaw in flaws[:MAX_BIBLE_NOTES]]


def _explained(each: Contradiction) -> str:
    if each.earlier == each.later:
        return each.why
    return OTHER_PASSAGE.format(why=each.why, chapter=each.earlier.chapter_number, quote=each.earlier.quote)


def editor_findings(
    book: Book, facts: Sequence[Fact], chapters: Sequence[Chapter], dismissed: Collection[str] = ()
) -> list[EditorFinding]:
    """The contradictions as an editor's findings, without those whose passages are no longer in the book."""
    contents = {chapter.chapter_number: chapter.content for chapter in chapters}
    found = ((each, _places(each, contents)) for each in found_in(book, facts, dismissed))
    kind, severity = FindingKind.CONTRADICTION, Severity.MAJOR
    return [
        EditorFinding(kind, severity, places[0], each.later.quote, places[1:], each.why, "", None)
        for each, places in found
        if places
    ]


def fingerprints_of(
    findings: Sequence[EditorFinding], book: Book, facts: Sequence[Fact], chapters: Sequence[Chapter]
) -> list[str]:
    """The fingerprints of the contradictions between facts that `findings` report.

    A finding reports a contradiction if it is about the same passages, in whatever words. So findings that the editor
    made independently are recognised too.
    """
    contents = {chapter.chapter_number: chapter.content for chapter in chapters}
    reported = [finding for finding in findings if finding.kind is FindingKind.CONTRADICTION]
    return [
        fingerprint(each)
        for each in found_in(book, facts)
        if (places := _places(each, contents)) and any(finding.covers(places) for finding in reported)
    ]


def _places(each: Contradiction, contents: Mapping[int, str]) -> tuple[TextSpan, ...]:
    """The places of the later and the earlier passage, or a single place if both are the same passage.

    Empty if a passage is no longer in its chapter.
    """
    place, other = _span(each.later, contents), _span(each.earlier, contents)
    if place is None or other is None:
        return ()
    return (place,) if other == place else (place, other)


def _span(fact: Fact, contents: Mapping[int, str]) -> TextSpan | None:
    start = contents.get(fact.chapter_number, "").find(fact.quote)
    return TextSpan(fact.chapter_number, start, start + len(fact.quote)) if start >= 0 else None
