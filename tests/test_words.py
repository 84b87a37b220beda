"""Words are counted by Unicode, in every script."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bookgen import words
from bookgen.words import count_words, measure
from bookgen.writing.text_units import units


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("The quick brown fox", 4),
        ("don’t stop, mother-in-law's well-known 3.5 apples", 6),
        ("# Heading\n\n*Two* words, and **more** — here", 6),
        ("Größe, naïve, façade", 3),
        ("Слово за слово", 3),
        ("من فضلك انتظر", 3),
        ("물을 마셨다", 2),
        ("वह घर गई", 3),
        ("मैं हिन्दी में लिखता हूँ।", 5),
        ("আমি বাংলায় গান গাই", 4),
        ("السَّلَامُ عَلَيْكُمْ يا صديقي", 4),
        ('שָׁלוֹם עוֹלָם, צה״ל ו-בג"ץ', 4),
        ("می\u200cخواهم بروم", 2),
        (unicodedata.normalize("NFD", "Tôi đã đến trường học."), 5),
        ("snake_case and_more", 4),
        ("4 Elm Street<br>Halle<BR />Saale", 5),
        ("One.\n\n<hr>\n\n*\n\n~\n\n#\n\n•••\n\n⁂\n\nTwo.", 2),
        ("她把灯留在窗台上等他回来了呢吧吗。", 16),
        ("彼女はランプを置いた", 10),
        ("人々は佐々木さん、と呼んだ〇", 13),
        ("馬鹿々々しい", 6),
        ("เขาเดินไปที่ท่าเรือ", 4),  # 18 characters at 4.5
        ("她有 3 盏 lamps", 5),
    ],
)
def test_words_are_counted_as_a_reader_would(text, count):
    assert count_words(text) == count


@settings(deadline=None)
@given(st.text(), st.text())
def test_the_length_of_a_text_is_the_sum_of_its_paragraphs(one, other):
    assert measure(f"{one}\n\n{other}") == pytest.approx(measure(one) + measure(other))


@settings(deadline=None)
@given(st.text(st.sampled_from("ab9 '’\"-._é\u0301אב雪ไ[\n"), max_size=60))
def test_a_long_text_read_in_pieces_has_the_same_length_as_read_at_once(text):
    at_once = measure(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "PIECE", 3)
        assert measure(text) == pytest.approx(at_once)


@settings(deadline=None)
@given(st.text(st.sampled_from("aB1'.-_ ,\"\n’‘“”–—…"), max_size=40))
def test_english_has_the_same_word_count_next_to_another_script(text):
    assert measure(text) + 1 == measure(f"{text}\né")


def test_an_endless_word_is_cut_so_that_searches_stay_fast():
    assert count_words("a" * 10 * words.MAX_WORD_CHARACTERS) == 10 * words.MAX_WORD_CHARACTERS / (
        words.PIECE + words.MAX_WORD_CHARACTERS
    )


@settings(deadline=None)
@given(st.text())
def test_every_text_has_a_length(text):
    assert count_words(text) >= 0


@settings(deadline=None)
@given(st.text(st.sampled_from("ab9 '’\"-._é\u0301אב\n"), max_size=40))
def test_a_text_has_the_same_count_with_a_character_of_another_script_after_it(text):
    assert measure(f"{text} 雪") == measure(text) + 1
    assert units(f"{text} 雪") == (*units(text), "雪")
