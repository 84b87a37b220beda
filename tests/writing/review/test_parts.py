"""A book that fits the context window is read whole. A longer one is read in overlapping parts without gaps."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bookgen.words import tokens
from bookgen.writing.review.parts import OVERLAP_SHARE, parts_of, text_tokens
from tests.writing.review.recorded import written_book
from tests.writing.scripted import a_chapter, prose

chapters_of = st.lists(st.integers(1, 900), min_size=1, max_size=6).map(
    lambda sizes: [
        a_chapter(number, content=prose(words, number * 1_000)) for number, words in enumerate(sizes, start=1)
    ]
)


def test_a_book_that_fits_is_one_part():
    material = written_book("wrong-note")

    (part,) = parts_of(material.chapters, 32_000)

    assert part.is_whole_book
    assert [portion.text for portion in part.portions] == [chapter.content for chapter in material.chapters]


def test_a_book_of_100_000_words_is_one_part_of_a_large_window():
    chapters = [a_chapter(number, content=prose(4_000, number * 10_000)) for number in range(1, 26)]

    assert [part.is_whole_book for part in parts_of(chapters, 300_000)] == [True]
    assert len(parts_of(chapters, 32_000)) > 5


@settings(max_examples=60, deadline=None)
@given(chapters=chapters_of, window=st.sampled_from([1_200, 3_000, 6_000, 12_000]))
def test_the_parts_cover_the_whole_book_and_fit_the_context_window(chapters, window):
    parts = parts_of(chapters, window)

    covered = {chapter.chapter_number: 0 for chapter in chapters}
    for part in parts:
        assert sum(tokens(portion.text) for portion in part.portions) <= text_tokens(window) * 1.1
        for portion in part.portions:
            number = portion.chapter.chapter_number
            assert portion.start <= covered[number] <= portion.end
            covered[number] = portion.end
    assert covered == {chapter.chapter_number: len(chapter.content) for chapter in chapters}
    assert [part.number for part in parts] == list(range(1, len(parts) + 1))
    assert {part.count for part in parts} == {len(parts)}


def test_a_part_begins_with_the_end_of_the_part_before_it():
    chapters = [a_chapter(1, content=prose(6_000, 1))]

    first, second, *_ = parts_of(chapters, 6_000)

    shared = chapters[0].content[second.portions[0].start : first.portions[-1].end]
    assert 0 < tokens(shared) <= text_tokens(6_000) * OVERLAP_SHARE
    assert re.match(r"\s*[A-Z]", shared)  # at the beginning of a paragraph


def test_an_endless_paragraph_is_divided():
    chapters = [a_chapter(1, content="word " * 20_000)]

    parts = parts_of(chapters, 6_000)

    assert parts[-1].portions[-1].end == len(chapters[0].content)
    assert all(tokens(portion.text) <= text_tokens(6_000) for part in parts for portion in part.portions)


@pytest.mark.parametrize(("start", "end", "held"), [(0, 40, True), (0, 10**9, False)])
def test_a_part_knows_which_passages_it_contains(start, end, held):
    (part,) = parts_of([a_chapter(1, content=prose(200, 1))], 32_000)

    assert part.holds(1, start, end) is held
    assert not part.holds(2, start, end)
