"""Who wrote the words of a chapter, computed from its text and its earlier texts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bench.render import corpus
from bookgen.models import SAMPLE_WRITER, Chapter, SourceType
from bookgen.services.declaration import origin_of, source_of
from bookgen.services.provenance import Share, share, sources
from bookgen.store.provenance import FormerText
from bookgen.words import count_words

_, (ANY, *_) = corpus.book(corpus.Corpus("provenance", chapters=1, words=50))
NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)
MODEL = "anthropic:writer"
FIRST = "The ferry came in late that night, and nobody was waiting for it on the quay but a dog."
SECOND = "She carried her own bag up the steps, as she had done for all of her forty years at sea."
OWN = "My grandfather sold herring from a blue cart until the winter when the harbour froze."
TEXT = f"{FIRST}\n\n{SECOND}"


def later(minutes: int) -> datetime:
    return NOON + timedelta(minutes=minutes)


def chapter(content: str, *, writer: str = MODEL, written: int | None = 0) -> Chapter:
    """A chapter written by the model this many minutes after noon."""
    at = None if written is None else later(written)
    return replace(ANY, content=content, word_count=count_words(content), writer=writer, written_at=at)


def former(
    minutes: int, origin: str, *, writer: str = MODEL, written: int | None = 0, id: int | None = None
) -> FormerText:
    """A revision replaced this many minutes after noon."""
    at = None if written is None else later(written)
    return FormerText(minutes if id is None else id, ANY.id, origin, writer, at, later(minutes))


def counted(text: Chapter, revisions: list[FormerText], texts: dict[int, str]) -> Share:
    compared = sources(text, revisions)
    return share(text, compared, {each.id: texts[each.id] for each in compared.revisions})


def test_an_unchanged_text_is_the_models() -> None:
    assert counted(chapter(TEXT), [], {}) == Share(model=count_words(TEXT))


def test_a_text_that_no_model_wrote_is_human() -> None:
    assert counted(chapter(OWN, writer="", written=None), [], {}) == Share(human=count_words(OWN))


def test_changed_words_and_new_paragraphs_are_told_apart() -> None:
    edited = f"{FIRST}\n\n{SECOND.replace('forty', 'sixteen long')}\n\n{OWN}"

    found = counted(chapter(edited), [former(5, "editor")], {5: TEXT})

    # Between the edit and the paragraph's end stand "years at sea", fewer than a run: they count as changed.
    assert found == Share(model=count_words(TEXT) - 4, edited=5, human=count_words(OWN))


def test_an_emptied_chapter_is_human_if_a_person_writes_it() -> None:
    assert counted(chapter(OWN, writer="", written=None), [former(5, "editor")], {5: TEXT}).model == 0


def test_a_models_text_cut_out_and_pasted_back_is_still_the_models() -> None:
    pasted = chapter(TEXT, writer="", written=None)

    assert counted(pasted, [former(5, "editor")], {5: TEXT}) == Share(model=count_words(TEXT))


def test_a_text_regenerated_by_the_model_is_the_models_whatever_was_there_before() -> None:
    anew = chapter(SECOND, written=9)

    assert counted(anew, [former(5, "editor"), former(9, "regenerate")], {}) == Share(model=count_words(SECOND))


def test_text_generated_after_the_chapter_was_emptied_is_compared_too() -> None:
    revisions = [former(5, "editor"), former(9, "editor", written=7)]

    found = counted(chapter(f"{SECOND}\n\n{OWN}", written=7), revisions, {5: FIRST, 9: SECOND})

    assert found == Share(model=count_words(SECOND), human=count_words(OWN))


def test_a_discarded_text_of_the_model_makes_no_human_words_the_models() -> None:
    revisions = [former(5, "editor"), former(6, "model", written=6)]

    found = counted(chapter(f"{FIRST}\n\n{OWN}"), revisions, {5: TEXT, 6: SECOND})

    assert found == Share(model=count_words(FIRST), human=count_words(OWN))


def test_corrections_of_an_unedited_text_are_not_human() -> None:
    corrected = chapter(TEXT.replace("late", "lately"))

    assert counted(corrected, [former(5, "proofreading")], {}) == Share(model=count_words(TEXT))
    assert counted(corrected, [former(5, "review")], {}) == Share(model=count_words(TEXT))


def test_an_oldest_text_of_unknown_origin_counts_as_the_models() -> None:
    revisions = [former(minutes, "editor") for minutes in range(30, 50)]
    forgotten = [replace(each, written_at=None) for each in revisions]

    found = counted(chapter(f"{FIRST}\n\n{OWN}"), forgotten, {30: TEXT})

    assert found == Share(model=count_words(FIRST), human=count_words(OWN))


def test_sample_text_is_neither_the_models_nor_human() -> None:
    assert counted(chapter(TEXT, writer=SAMPLE_WRITER), [], {}) == Share(sample=count_words(TEXT))
    edited = chapter(f"{TEXT}\n\n{OWN}", writer=SAMPLE_WRITER)
    found = counted(edited, [former(5, "editor", writer=SAMPLE_WRITER)], {5: TEXT})
    assert found == Share(sample=count_words(TEXT), human=count_words(OWN))


@pytest.mark.parametrize("text", ["夜里渡船来得很晚，码头上没有人等它。", "เรือข้ามฟากมาถึงช้าในคืนนั้น"])
def test_scripts_without_spaces_are_compared_by_character(text: str) -> None:
    found = counted(chapter(f"{text}\n\n{OWN}"), [former(5, "editor")], {5: text})

    assert found == Share(model=count_words(f"{text}\n\n{OWN}") - count_words(OWN), human=count_words(OWN))


def test_a_long_text_of_few_words_is_compared_in_time() -> None:
    long = " ".join(f"word{at % 101}" for at in range(100_000))

    assert counted(chapter(long + " end"), [former(5, "editor")], {5: long}).model == 100_000


def test_a_chapter_has_one_origin() -> None:
    shares = [Share(model=5), Share(human=5), Share(model=5, edited=1), Share(sample=5), Share(sample=5, human=1)]

    assert [origin_of(each) for each in shares] == ["model", "human", "edited", "sample", "edited"]


def test_the_mark_of_a_file_follows_its_words_and_pictures() -> None:
    painted, drawn = [SourceType.MODEL], [SourceType.DRAWN]

    assert source_of(Share(model=5), drawn) is SourceType.MODEL
    assert source_of(Share(model=5, edited=1), []) is SourceType.PARTLY_MODEL
    assert source_of(Share(human=5), painted) is SourceType.PARTLY_MODEL
    assert source_of(Share(human=5), [SourceType.PARTLY_MODEL]) is SourceType.PARTLY_MODEL
    assert source_of(Share(sample=5), drawn) is SourceType.DRAWN
    assert source_of(Share(human=5), drawn) is None
