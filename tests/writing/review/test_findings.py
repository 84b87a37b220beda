"""A finding is kept only if the text contains its quotation. Dropped findings are counted by reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bookgen.models import Severity, SuggestionType
from bookgen.writing.material import Material
from bookgen.writing.proofreading.structure import keeps_structure
from bookgen.writing.review import findings
from bookgen.writing.review.findings import BookReview, RejectionReason, TextSpan, as_correction, review_of
from bookgen.writing.review.kinds import FindingKind
from bookgen.writing.review.reading import FindingClaim, QuotedPassage, read_claims
from tests.writing.review.recorded import NAMES, answer, reviewed
from tests.writing.scripted import a_book, a_chapter

ONE = (
    "The lamp went out at ten. She had *never* liked the dark, and her heart sank.\n\n"
    "“It’s only the wick,” said Tobias — and he was wrong. Her heart sank again."
)
TWO = "The lamp went out at eleven. Nobody said a word.\n\nThe lamp was cold."
BOOK = Material(a_book(genre="Novel"), (a_chapter(1, content=ONE), a_chapter(2, content=TWO), a_chapter(3)))


def claim(quote: str, chapter: int = 1, kind: str = "unclear", **fields: object) -> FindingClaim:
    others = tuple(QuotedPassage(*each) for each in fields.pop("others", ()))
    return replace(
        FindingClaim(kind, "major", QuotedPassage(chapter, quote), others, "It is unclear.", "Say who.", ""), **fields
    )


def review(*claims: FindingClaim) -> BookReview:
    return review_of(claims, BOOK)


def text_at(place: TextSpan) -> str:
    return BOOK.chapter(place.chapter).content[place.start : place.end]


@pytest.mark.parametrize(
    ("name", "count"), [("wrong-note", 20), ("name-day", 9), ("first-loaf", 9), ("die-chronik-von-walsheim", 3)]
)
def test_all_findings_of_the_recorded_readings_are_placed(name, count):
    material, found = reviewed(name)

    assert len(found.findings) == count
    assert not found.dropped
    for finding in found.findings:
        content = material.chapter(finding.place.chapter).content
        assert content[finding.place.start : finding.place.end] == finding.quote


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_finding_with_one_word_changed_in_its_quotation_is_dropped(name):
    material, found = reviewed(name)
    claims = read_claims(answer(name, "reading"))
    spoilt = [
        replace(each, passage=replace(each.passage, quote=f"{each.passage.quote.rpartition(' ')[0]} otherwise"))
        for each in claims
    ]

    assert review_of(spoilt, material) == BookReview((), {RejectionReason.QUOTE_NOT_FOUND: len(found.findings)})


@pytest.mark.parametrize("name", NAMES)
def test_recorded_findings_with_another_chapters_number_are_dropped(name):
    material, found = reviewed(name)
    claims = read_claims(answer(name, "reading"))
    count = len(material.chapters)
    moved = [replace(each, passage=replace(each.passage, chapter=each.passage.chapter % count + 1)) for each in claims]

    assert review_of(moved, material).dropped == {RejectionReason.QUOTE_NOT_FOUND: len(found.findings)}


@pytest.mark.parametrize(
    ("claimed", "reason"),
    [
        (claim("The lamp went out at noon."), "quote_not_found"),
        (claim("The lamp was cold."), "quote_not_found"),
        (claim("ten"), "quote_not_found"),
        (claim("The lamp went out", 3), "unknown_chapter"),
        (claim("The lamp went out", 7), "unknown_chapter"),
        (claim("The lamp went out", kind="boredom"), "unknown_kind"),
        (claim("The lamp went out", kind="unsafe_advice"), "unknown_kind"),
        (claim("The lamp went out", why=""), "no_reason"),
        (
            claim(
                "The lamp went out at ten.",
                kind="contradiction",
                others=[
                    (2, "The lamp went out at noon."),
                ],
            ),
            "other_quote_not_found",
        ),
    ],
)
def test_a_finding_without_support_in_the_text_is_dropped(claimed, reason):
    assert review(claimed) == BookReview((), {RejectionReason(reason): 1})


def test_a_contradiction_has_both_passages():
    (found,) = review(
        claim("The lamp went out at ten.", kind="contradiction", others=[(2, "The lamp went out at eleven.")])
    ).findings

    assert [text_at(place) for place in found.places] == ["The lamp went out at ten.", "The lamp went out at eleven."]


def test_a_contradiction_with_the_bible_has_one_passage():
    assert len(review(claim("The lamp went out at ten.", kind="contradiction")).findings) == 1


def test_the_quotation_is_stored_as_the_chapter_has_it():
    (found,) = review(claim('"It\'s only the wick," said Tobias - and he was wrong.')).findings

    assert found.quote == "“It’s only the wick,” said Tobias — and he was wrong."


def test_a_repeated_quotation_refers_to_the_next_place_in_the_text():
    (found,) = review(claim("er heart sank", kind="repetition", others=[(1, "er heart sank")])).findings

    assert [place.start for place in found.places] == [ONE.index("er heart sank"), ONE.rindex("er heart sank")]


def test_a_quotation_repeated_more_often_than_in_the_text_is_dropped():
    found = review(claim("er heart sank", kind="repetition", others=[(1, "er heart sank")] * 3))

    assert len(found.findings[0].places) == 2
    assert found.dropped == {RejectionReason.OTHER_PASSAGE: 2}


def test_a_finding_stays_if_its_second_passage_is_not_found():
    found = review(claim("her heart sank", kind="repetition", others=[(2, "her heart sank")]))

    assert len(found.findings) == 1
    assert found.findings[0].others == ()
    assert found.dropped == {RejectionReason.OTHER_PASSAGE: 1}


def test_the_worst_findings_come_first():
    found = review(
        claim("The lamp went out", severity="minor"),
        claim("said Tobias", severity="critical"),
        claim("Nobody said a word.", 2, severity="strange"),
        claim("never", severity="major"),
    )

    assert [each.severity for each in found.findings] == ["critical", "major", "minor", "minor"]


def test_the_same_finding_from_two_parts_is_one_finding():
    twice = claim("The lamp went out at ten.", kind="contradiction", others=[(2, "The lamp went out at eleven.")])
    from_the_other_end = claim(
        "went out at eleven",
        2,
        kind="contradiction",
        others=[(1, "went out at ten")],
        severity="critical",
        why="It was ten.",
    )

    found = review(twice, twice, from_the_other_end)

    assert len(found.findings) == 1
    assert found.findings[0].severity is Severity.CRITICAL
    assert found.findings[0].why == f"{twice.why} It was ten."
    assert found.dropped == {RejectionReason.DUPLICATE: 2}


def test_two_contradictions_of_one_passage_are_two_findings():
    found = review(
        claim("The lamp went out at ten.", kind="contradiction", others=[(2, "The lamp went out at eleven.")]),
        claim("The lamp went out at ten.", kind="contradiction", others=[(2, "The lamp was cold.")]),
        claim("The lamp went out at ten.", kind="stock_phrase"),
    )

    assert len(found.findings) == 3
    assert not found.dropped


def test_of_overlapping_replacements_the_one_for_the_worse_finding_is_kept():
    found = review(
        claim("said Tobias — and he was wrong.", replacement="said Tobias.", severity="minor"),
        claim("and he was wrong.", replacement="but it was not.", severity="major", kind="explained"),
    )

    assert [each.replacement for each in found.findings] == ["but it was not.", None]
    assert found.dropped == {RejectionReason.REPLACEMENT: 1}


@pytest.mark.parametrize(
    ("quote", "replacement"),
    [
        ("had *never* liked", "had never liked"),
        ("at ten.", "at ten.\n\nIt was late."),
        ("er heart sank", "er heart rose"),  # it occurs a second time in the chapter
        ("at ten.", "at ten."),
        ("at ten.", "at ten, " + "or nearly ten, " * 60),
    ],
)
def test_an_impossible_replacement_is_removed_from_its_finding(quote, replacement):
    found = review(claim(quote, replacement=replacement))

    assert found.findings[0].replacement is None
    assert found.dropped == {RejectionReason.REPLACEMENT: 1}


def test_the_number_of_findings_for_a_book_is_limited(monkeypatch):
    monkeypatch.setattr(findings, "MIN_KEPT", 2)
    claims = [claim(quote, severity="minor") for quote in ("The lamp", "never", "the dark")]

    found = review(*claims, claim("said Tobias", severity="critical"))

    assert [each.quote for each in found.findings] == ["said Tobias", "The lamp"]
    assert found.dropped == {RejectionReason.TOO_MANY: 2}


def test_a_finding_becomes_a_suggestion():
    (with_words, without) = review(
        claim("at ten.", replacement="at eleven.", kind="contradiction"), claim("said Tobias", kind="explained")
    ).findings

    first, second = as_correction(with_words, ONE), as_correction(without, ONE)

    assert (first.original, first.replacement) == ("at ten.", "at eleven.")
    assert first.reason.type is SuggestionType.CONTINUITY
    assert first.reason.explanation == "It is unclear. Say who."
    assert second.replacement == second.original == "said Tobias"
    assert with_words.kind is FindingKind.CONTRADICTION
    assert keeps_structure(ONE, first.start, first.end, first.replacement)


def test_a_replacement_may_change_code_in_its_block_and_add_code_to_prose():
    text = f"{ONE}\n\n```python\nplyer = 1\n\nprint(plyer)\n```"
    book = Material(a_book(genre="Novel"), (a_chapter(1, content=text),))
    claims = [claim("plyer = 1", replacement="player = 1"), claim("at ten", replacement="at `22:00`")]

    found = review_of([*claims, claim("print(plyer)", replacement="```")], book).findings

    assert [each.replacement for each in found] == ["player = 1", "at `22:00`", None]
