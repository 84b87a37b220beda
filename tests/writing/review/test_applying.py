"""An edit is applied within its limits or not at all, and all text around it stays the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from bookgen.models import Severity
from bookgen.words import count_words
from bookgen.writing import quality
from bookgen.writing.material import Material
from bookgen.writing.review.applying import DropReason, RevisedBook, apply, drops_sentence, reads_whole
from bookgen.writing.review.edit_limits import MAX_ADDED_WORDS, MAX_CHANGED_SHARE, MAX_PASSAGE_WORDS, room_for
from bookgen.writing.review.entries import AuthorsAnswer, entries
from bookgen.writing.review.findings import BookReview, EditorFinding, TextSpan
from bookgen.writing.review.kinds import FindingKind
from bookgen.writing.review.revision import BookRevision, PassageEdit, read_revision
from tests.writing.review.recorded import NAMES, answer, reviewed, words_of, written_book
from tests.writing.scripted import a_book, a_chapter, prose

TEXT = (
    "The lamp went out at ten. She had *never* liked the dark. The lamp was cold.\n\n"
    "“It’s only the wick,” said Tobias, and he was wrong. Nobody answered him.\n\n"
    "## Later\n\n"
    "- one lamp\n- two lamps\n\n"
    "They waited for the ferry. The lamp was cold. It came without a light, as it did on every Sunday in winter, and "
    "the man at the rope said that he had seen nobody on the quay, nobody in the street and nobody at the window."
)
LONG = prose(200, 1)
NOWHERE = TextSpan(1, 0, 0)


def material(text: str = TEXT, *, words: int = 140, **book: str) -> Material:
    return Material(a_book(genre="Novel", **book), (a_chapter(1, words=words, content=text), a_chapter(2)))


def finding(kind: str = "unclear", place: TextSpan = NOWHERE) -> EditorFinding:
    return EditorFinding(FindingKind(kind), Severity.MAJOR, place, "", (), "Why.", "", None)


def edit(passage: str, replacement: str, number: int = 1, chapter: int = 1, **more: bool) -> PassageEdit:
    return PassageEdit(number, chapter, passage, replacement, **more)


async def applied(*edits: PassageEdit, kind: str = "unclear", book: Material | None = None) -> RevisedBook:
    return await apply(book or material(), [finding(kind), finding(kind)], BookRevision(edits, {}))


@pytest.mark.parametrize(
    ("name", "edits", "kept", "dropped", "added"),
    [
        ("wrong-note", 27, 26, {DropReason.DROPS_SENTENCE: 1}, 183),
        ("name-day", 10, 10, {}, 63),
        ("first-loaf", 9, 9, {}, 58),
        ("die-chronik-von-walsheim", 3, 3, {}, -8),
    ],
)
async def test_the_recorded_revisions_can_be_applied(name, edits, kept, dropped, added):
    book, review = reviewed(name)
    revision = read_revision(answer(name, "revision"))

    revised = await apply(book, review.findings, revision)

    assert len(revised.outcomes) == edits
    assert sum(outcome.is_kept for outcome in revised.outcomes) == kept
    assert Counter(outcome.dropped for outcome in revised.outcomes if not outcome.is_kept) == dropped
    before = {number: count_words(book.chapter(number).content) for number in revised.texts}
    after = {number: count_words(text) for number, text in revised.texts.items()}
    assert sum(after.values()) - sum(before.values()) == added
    assert added < words_of(book) * 0.05
    assert all(after[number] - before[number] <= MAX_ADDED_WORDS for number in after)
    for outcome in revised.outcomes:
        assert (outcome.edit.replacement in revised.texts[outcome.edit.chapter]) is outcome.is_kept


async def test_a_wrong_figure_in_a_table_is_replaced():
    text = f"{TEXT}\n\n| Loaf | Done at |\n|---|---|\n| Tin loaf | 95 °C |\n| Gummy loaf | under 94 °C |\n\n{LONG}"
    change = edit("under 94 °C", "below the temperature in its recipe")

    revised = await applied(change, kind="contradiction", book=material(text))

    assert revised.texts[1] == text.replace(change.passage, change.replacement)


async def test_a_recorded_edit_that_removes_sentences_is_kept_if_the_author_marks_it():
    book, review = reviewed("wrong-note")
    marked = answer("wrong-note", "revision")
    for each in marked["edits"]:
        each["drops_sentence"] = each["finding"] == 19

    revised = await apply(book, review.findings, read_revision(marked))

    assert [outcome.edit.finding for outcome in revised.outcomes if outcome.drops_sentence] == [19]
    assert all(outcome.is_kept for outcome in revised.outcomes)


async def test_text_outside_the_edited_passages_is_unchanged():
    revised = await applied(edit("at ten", "at eleven"), edit("They waited", "They stood and waited", 2))

    assert revised.texts == {1: TEXT.replace("at ten", "at eleven").replace("They waited", "They stood and waited")}
    assert [(each.edit, each.dropped) for each in revised.outcomes] == [
        (edit("at ten", "at eleven"), None),
        (edit("They waited", "They stood and waited", 2), None),
    ]
    assert [TEXT[each.place.start : each.place.end] for each in revised.outcomes] == ["at ten", "They waited"]


async def test_edits_may_be_adjacent():
    revised = await applied(edit("at ten", "at a quarter to ten"), edit(". She had", ", so she had", 2))

    assert all(outcome.is_kept for outcome in revised.outcomes)
    assert "The lamp went out at a quarter to ten, so she had *never*" in revised.texts[1]


async def test_a_chapter_without_a_kept_edit_is_not_in_the_result():
    revised = await applied(edit("at noon", "at one"))

    assert revised.texts == {}


@pytest.mark.parametrize(
    ("proposed", "reason"),
    [
        (edit("at ten", "at eleven", 0), "unknown_finding"),
        (edit("at ten", "at eleven", 3), "unknown_finding"),
        (edit("at ten", "at eleven", 1, 2), "unknown_chapter"),
        (edit("at ten", "at eleven", 1, 9), "unknown_chapter"),
        (edit("at ten", "at ten"), "no_change"),
        (edit(" ", ""), "no_change"),
        (edit("at noon", "at one"), "not_found"),
        (edit("'It's only the wick,'", "'It's the wick,'"), "not_found"),
        (edit("The lamp was cold.", "The lamp was still cold."), "ambiguous"),
        (edit("had *never* liked", "had never liked"), "breaks_markup"),
        (edit("She had", "She *had*"), "breaks_markup"),
        (edit("## Later", "## Much later"), "breaks_markup"),
        (edit("- one lamp", "one lamp"), "breaks_markup"),
        (edit("Nobody answered him.", "Nobody answered him.\n\nNobody ever had."), "breaks_markup"),
        (edit("was wrong. Nobody answered him.\n\n## Later", "was wrong."), "breaks_markup"),
        (edit("Nobody answered him.", "Nobody answered"), "breaks_sentence"),
        (edit("said Tobias, and", "said Tobias,, and"), "breaks_sentence"),
        (edit("liked the dark", "liked  the dark"), "breaks_sentence"),
        (edit("“It’s only the wick,” said", "“It’s only the wick, said"), "breaks_sentence"),
        (edit("Nobody answered him.", ""), "drops_sentence"),
        (edit(" Nobody answered him.", ""), "drops_sentence"),
        (edit("They waited for the ferry. ", ""), "drops_sentence"),
        (
            edit(
                "Nobody answered him.",
                "Niemand gab ihm eine Antwort, und auch später hat ihn niemand mehr danach gefragt, solange er lebte.",
            ),
            "other_language",
        ),
        (edit("Nobody answered him.", "As an AI language model, I cannot answer him."), "worse_by_checks"),
        (edit("Nobody answered him.", "Nobody answered [NAME] or TODO."), "worse_by_checks"),
    ],
)
async def test_an_edit_beyond_the_limits_is_dropped_with_its_reason(proposed, reason):
    kept = edit("They waited", "They stood and waited", 2)

    revised = await applied(proposed, kept)

    assert revised.texts == {1: TEXT.replace("They waited", "They stood and waited")}
    assert [(each.edit, each.dropped) for each in revised.outcomes] == [(proposed, DropReason(reason)), (kept, None)]


async def test_a_passage_that_occurs_twice_is_changed_where_the_finding_is():
    second = TEXT.rindex("The lamp was cold.")
    findings = [finding(place=TextSpan(1, second + 4, second + 8))]

    revised = await apply(
        material(), findings, BookRevision((edit("The lamp was cold.", "The lamp was still cold."),), {})
    )

    assert revised.texts == {1: TEXT[:second] + "The lamp was still cold." + TEXT[second + 18 :]}


async def test_a_passage_that_occurs_twice_in_its_finding_is_ambiguous():
    findings = [finding(place=TextSpan(1, 0, len(TEXT)))]

    revised = await apply(material(), findings, BookRevision((edit("The lamp was cold.", "The lamp was hot."),), {}))

    assert [outcome.dropped for outcome in revised.outcomes] == [DropReason.AMBIGUOUS]


async def test_of_two_edits_that_share_a_word_the_one_for_the_worse_finding_is_kept():
    revised = await applied(edit("ten. She", "ten. He", 2), edit("at ten", "at eleven", 1))

    assert [outcome.dropped for outcome in revised.outcomes] == [DropReason.OVERLAPS, None]
    assert revised.texts == {1: TEXT.replace("at ten", "at eleven")}


PAIR = (edit("at ten", "at eleven"), edit("at noon", "at eleven"))


@pytest.mark.parametrize("kind", ["contradiction", "unclear", "missing"])
async def test_the_edits_of_a_finding_are_applied_together_or_not_at_all(kind):
    other = edit("They waited", "They stood and waited", 2)

    revised = await applied(*PAIR, other, kind=kind)

    assert [outcome.dropped for outcome in revised.outcomes] == [DropReason.INCOMPLETE, DropReason.NOT_FOUND, None]
    assert revised.texts == {1: TEXT.replace("They waited", "They stood and waited")}


async def test_each_repetition_is_changed_on_its_own():
    revised = await applied(*PAIR, kind="repetition")

    assert revised.texts == {1: TEXT.replace("at ten", "at eleven")}


async def test_an_edit_that_changes_nothing_does_not_drop_the_others_of_its_finding():
    revised = await applied(edit("at ten", "at eleven"), edit("Nobody", "Nobody"))

    assert revised.texts == {1: TEXT.replace("at ten", "at eleven")}


async def test_the_word_budget_of_a_dropped_answer_is_free_for_others():
    book = material(LONG, words=200)
    first, second = (f" {sentence.split('. ')[1]}." for sentence in LONG.split("\n\n")[:2])
    many = " more" * (room_for(book.chapters[0]) - 10)

    revised = await applied(
        edit(first, f"{first[:-1]}{many}."),
        edit("Nowhere to be found", ""),
        edit(second, f"{second[:-1]}{many}.", 2),
        book=book,
    )

    assert [outcome.dropped for outcome in revised.outcomes] == [DropReason.INCOMPLETE, DropReason.NOT_FOUND, None]


@pytest.mark.parametrize("kind", ["repetition", "contradiction"])
async def test_a_sentence_is_removed_if_the_finding_allows_it_and_the_author_marks_it(kind):
    proposed = edit(" Nobody answered him.", "", drops_sentence=True)

    revised = await applied(proposed, kind=kind)

    assert revised.texts == {1: TEXT.replace(" Nobody answered him.", "")}
    assert [(each.edit, each.dropped, each.drops_sentence) for each in revised.outcomes] == [(proposed, None, True)]


@pytest.mark.parametrize("passage", ["One.", "Two comes.", "Three.", " Two comes.", "One. ", "Two comes. Three."])
async def test_a_removed_sentence_takes_one_space_with_it(passage):
    book = material("One. Two comes. Three.\n\nNobody came to see it. Nobody asked.", words=10)
    left = " ".join("One. Two comes. Three.".replace(passage.strip(), "").split())

    revised = await applied(edit(passage, "", drops_sentence=True), kind="repetition", book=book)

    assert revised.texts == {1: f"{left}\n\nNobody came to see it. Nobody asked."}


@pytest.mark.parametrize(("kind", "mark"), [("repetition", False), ("explained", True), ("stock_phrase", True)])
async def test_no_other_sentence_is_removed(kind, mark):
    revised = await applied(edit(" Nobody answered him.", "", drops_sentence=mark), kind=kind)

    assert [outcome.dropped for outcome in revised.outcomes] == [DropReason.DROPS_SENTENCE]


@pytest.mark.parametrize(
    ("passage", "replacement", "drops"),
    [
        ("The chain was down.", "", True),
        ("It hung there. The chain was down.", "It hung there.", True),
        ("It hung there. The chain was down.", "Down it hung, the chain.", False),
        ("It hung there. The chain was down.", "Down it hung.", True),
        ("It hung there. The chain was down.", "It hung there, and it was down.", False),
        ("It hung there.", "It hung there. It swung.", False),
        ("down. Then", "down, and then", False),
        ("was down", "was", False),
        ("He came. It hung there. The chain was down. Then", "Then", True),
    ],
)
def test_an_edit_removes_a_sentence_if_nothing_replaces_it(passage, replacement, drops):
    content = "He came. It hung there. The chain was down. Then he went.\n\nNobody. Nothing. No."
    start = content.index(passage)

    assert drops_sentence(content, start, start + len(passage), replacement) is drops


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("She left.", "She left"),
        ("“Yes,” she said.", "“Yes, she said."),
        ("She left.", "She left. ."),
        ("Yes, no.", "Yes , no."),
        ("Yes, no.", "Yes,, no."),
        ("Yes. No.", "Yes.. No."),
        ("Yes, no.", ", no."),
        ("Yes, no.", "Yes,  no."),
    ],
)
def test_a_broken_paragraph_is_detected(before, after):
    assert not reads_whole(before, after)
    assert reads_whole(after, after)
    assert reads_whole(after, before)


async def test_a_chapter_grows_by_no_more_than_its_word_budget():
    book = material(LONG, words=200)
    first, second, third = (f" {sentence.split('. ')[1]}." for sentence in LONG.split("\n\n")[:3])
    many = " more" * (room_for(book.chapters[0]) - 10)

    revised = await applied(
        edit(first, f"{first[:-1]}{many}."),
        edit(second, f"{second[:-1]}{many}."),
        edit(third, f"{third[:-1]} more.", 2),
        kind="repetition",
        book=book,
    )

    assert [outcome.dropped for outcome in revised.outcomes] == [None, DropReason.TOO_MUCH_ADDED, None]


@pytest.mark.parametrize(
    ("words", "budget", "room"), [(30, 30, 40), (300, 300, 60), (1_000, 1_000, 120), (1_249, 1_000, 120)]
)
def test_a_fault_can_be_mended_in_a_chapter_of_any_length(words, budget, room):
    assert room_for(a_chapter(1, words=budget, content="word " * words)) == room


async def test_an_edit_may_make_a_chapter_longer_than_was_asked_for():
    book = material(TEXT, words=int(count_words(TEXT) / 1.24))
    longer = f"The lamp went out at ten.{' It had burned since the storm of that long winter.' * 2}"

    revised = await applied(edit("The lamp went out at ten.", longer), book=book)

    assert [outcome.dropped for outcome in revised.outcomes] == [None]


async def test_an_edit_may_not_replace_a_page():
    text = " ".join(f"The {number} lamps that she counted on the quay were cold" for number in range(20)) + "."

    revised = await applied(edit(text[: len(text) // 2], "The lamps were cold"), book=material(text, words=200))

    assert count_words(text[: len(text) // 2]) > MAX_PASSAGE_WORDS
    assert [outcome.dropped for outcome in revised.outcomes] == [DropReason.TOO_LONG]


async def test_a_passage_may_say_as_much_in_japanese_as_in_english():
    said = "最初の" + "ランプは夜の十時に消え、岸壁には誰もいなかった" * 9
    book = material(f"{said}。" + "渡し舟は来なかった。" * 60, words=740, content_language="ja")
    passages = [said[:150], said]

    made = [await applied(edit(each, each[1:]), book=book) for each in passages]

    assert [count_words(each) // MAX_PASSAGE_WORDS for each in passages] == [1, 2]
    assert [each.outcomes[0].dropped for each in made] == [None, DropReason.TOO_LONG]


async def test_all_edits_together_may_not_rewrite_a_chapter():
    book = material(LONG, words=200)
    whole = [paragraph for paragraph in LONG.split("\n\n") if count_words(paragraph) <= MAX_PASSAGE_WORDS]
    parts = [". ".join(paragraph.split(". ")[:2]) for paragraph in whole]

    revised = await applied(*(edit(part, f"{part[:-2]}lu") for part in parts), kind="repetition", book=book)

    kept = sum(count_words(outcome.edit.passage) for outcome in revised.outcomes if outcome.is_kept)
    assert 0 < kept <= MAX_CHANGED_SHARE * count_words(LONG)
    assert DropReason.TOO_MUCH_CHANGED in [outcome.dropped for outcome in revised.outcomes]


async def test_an_edit_that_repeats_an_earlier_chapter_is_dropped():
    said = "The man at the rope had not seen anybody on the quay since the evening of the fire."
    before = f"{prose(60, 1)}\n\n{said} {prose(20, 100)}\n\n{prose(40, 200)}"
    book = Material(
        a_book(genre="Novel"),
        (a_chapter(1, words=140, content=before), a_chapter(2, words=80, content=prose(60, 1_000))),
    )
    target = book.chapters[1].content.split(". ")[1]

    revised = await applied(edit(f"{target}.", f"{target}. {said}", 1, 2), book=book)

    assert [outcome.dropped for outcome in revised.outcomes] == [DropReason.WORSE_BY_CHECKS]


async def test_an_edit_is_not_dropped_for_what_another_one_makes_worse():
    good, bad = edit("at ten", "at eleven", 2), edit("Nobody answered him.", "Nobody answered [NAME] or TODO.", 1)

    revised = await applied(bad, good)

    assert [outcome.dropped for outcome in revised.outcomes] == [DropReason.WORSE_BY_CHECKS, None]


async def test_the_edits_of_earlier_chapters_count_in_the_check_of_later_ones():
    book = written_book("first-loaf")
    shared = "Nobody has ever been hurt by a loaf that was left alone for one more hour on the rack."
    ends = [chapter.content.rsplit("\n\n", 1)[-1] for chapter in book.chapters]

    revised = await applied(
        edit(ends[1], f"{ends[1]} {shared}", 1, 2), edit(ends[2], f"{ends[2]} {shared}", 2, 3), book=book
    )

    assert [outcome.dropped for outcome in revised.outcomes] == [None, DropReason.WORSE_BY_CHECKS]


PIECES = ("", " ", "lamp", "at ten", ".", " Nobody came.", "*", "**very**", "\n\n", "“", ",", "Niemand kam.")


@st.composite
def an_edit(draw: st.DrawFn, number: int, content: str) -> PassageEdit:
    """An edit of a random passage, which may end inside a word or in another paragraph."""
    start = draw(st.integers(0, len(content) - 2))
    passage = content[start : start + draw(st.integers(1, 120))]
    cut = draw(st.integers(0, len(passage)))
    replacement = passage[:cut] + draw(st.sampled_from(PIECES)) + passage[cut + draw(st.integers(0, 20)) :]
    return PassageEdit(draw(st.integers(0, 4)), number, passage, replacement, draw(st.booleans()))


NAME_DAY = written_book("name-day")
edits_of_a_chapter = st.sampled_from(NAME_DAY.chapters).flatmap(
    lambda chapter: st.lists(an_edit(chapter.chapter_number, chapter.content), min_size=1, max_size=6)
)


def replaced(content: str, kept: list[PassageEdit]) -> str:
    """The text with these edits. Where one removes its passage, an adjacent space is removed too."""
    for edit in sorted(kept, key=lambda each: -content.index(each.passage)):
        left, _, right = content.partition(edit.passage)
        if not edit.replacement and left.endswith(" ") and right[:1] in ("", " ", "\n"):
            left = left[:-1]
        elif not edit.replacement and left[-1:] in ("", "\n") and right[:1] == " ":
            right = right[1:]
        content = left + edit.replacement + right
    return content


@settings(max_examples=100, deadline=None)
@given(edits=edits_of_a_chapter)
async def test_for_any_answers_only_kept_edits_change_the_text(edits):
    book, findings = NAME_DAY, [finding("repetition"), finding("explained"), finding("contradiction")]

    revised = await apply(book, findings, BookRevision(tuple(edits), {}))

    assert [outcome.edit for outcome in revised.outcomes] == edits
    kept = [outcome.edit for outcome in revised.outcomes if outcome.is_kept]
    chapter = book.chapter(edits[0].chapter)
    assert set(revised.texts) == ({chapter.chapter_number} if kept else set())
    assert all(chapter.content.count(each.passage) == 1 for each in kept)
    event("kept" if kept else "none kept")
    expected = replaced(chapter.content, kept)
    assert revised.texts.get(chapter.chapter_number, chapter.content) == expected
    assert count_words(expected) - count_words(chapter.content) <= room_for(chapter)
    before = Counter(flaw.kind for flaw in await quality.inspect(chapter.content, book, chapter))
    after = Counter(flaw.kind for flaw in await quality.inspect(expected, book, chapter))
    del after["length"]  # a mended fault is worth more than the length that was asked for
    assert after <= before


def test_the_recorded_books_exist():
    assert [len(written_book(name).chapters) for name in NAMES] == [5, 4, 3, 3]


LISTING = (
    "Three things in the listing are new. It is fifty lines long, blank ones included.\n\n"
    '```python\nimport sys\n\nclass Player:\n    bag = ["oil"]\n\ndef main():\n    Player()\n```\n\n'
    "1. Web pages are written with marks in angle brackets.\n\n"
    '   ```python\n   {"text": "The balcony. The *Marigold*\'s lights."}\n   ```'
)
ADDED_CODE = (
    'Four things in the listing are new. In `["oil"] if "--bright" in sys.argv else []` a whole choice fits into one '
    "line: the value before `if` when the answer is `True`, the one after `else` when it isn't."
)


@pytest.mark.parametrize(
    "change",
    [
        edit("def main():", "\ndef main():"),
        edit("The *Marigold*'s lights.", "The Marigold's lights."),
        edit("Three things in the listing are new.", ADDED_CODE),
        edit("angle brackets.", "angle brackets. Copy `ROOMS` into a new file, `page.py`."),
        edit('class Player:\n    bag = ["oil"]', "class Player:\n    bag = []"),
    ],
)
async def test_the_author_changes_code_in_its_block_and_adds_code_to_prose(change):
    revised = await applied(change, book=material(LISTING))

    assert revised.texts == {1: LISTING.replace(change.passage, change.replacement)}


async def test_a_line_of_code_that_is_deleted_leaves_no_empty_line():
    revised = await applied(edit('bag = ["oil"]', ""), book=material(LISTING))

    assert revised.texts == {1: LISTING.replace('    bag = ["oil"]\n', "")}


@pytest.mark.parametrize(
    "change",
    [
        edit("def main():", "```\n\ndef main():"),
        edit("    Player()\n```\n\n1. Web", "    Player()\n```\n\n1. The web"),
        edit("angle brackets.", "angle brackets:\n\n   ```text\n   <p>\n   ```"),
    ],
)
async def test_a_change_may_not_end_or_begin_a_block_of_code(change):
    revised = await applied(change, book=material(LISTING))

    assert [outcome.dropped for outcome in revised.outcomes] == [DropReason.BREAKS_MARKUP]


async def test_an_open_finding_says_why_a_change_for_it_was_not_made():
    book = material(LISTING)
    place = TextSpan(1, 0, 36)
    findings = [replace(finding(place=place), quote=LISTING[:36])]
    revision = BookRevision((edit("def main():", "```\n\ndef main():"), edit("fifty lines", "ten lines")), {})
    answer = AuthorsAnswer(revision, await apply(book, findings, revision))

    [entry] = entries(book, BookReview(tuple(findings), {}), answer)

    assert entry.correction.reason.explanation == (
        "Why.\nA change was tried, and not made: it would break the Markdown around it, such as a table, a link or a "
        "block of code."
    )
