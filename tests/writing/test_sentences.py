"""The ends of sentences are distinguished from abbreviations in every script, and text is cut only there."""

import pytest

from bookgen.writing.seam import join, without_overlap
from bookgen.writing.sentences import complete, is_finished, split


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Dr. Grey met Mrs. Lamb at 5 p.m. on the pier. It rained.", 2),
        ("“Stop!” he cried. She did not.", 2),
        ("Er kam z. B. am 3. Mai. Dann ging er.", 2),
        ("«Où vas-tu ?» demanda-t-elle. Il se tut…", 2),
        ("灯はまだ点いていた。彼女は「待って」と言った。そして走った。", 3),
        ("هل أنت هنا؟ نعم۔", 2),
        ("वह घर गई। रात थी।", 2),
        ("One paragraph\n\nAnother one", 2),
        ("« Où vas-tu ? » demanda-t-elle. « Là-bas. » Il se tut.", 3),
        ("Han gik. »Hej,« sagde hun. Og så.", 3),
        ("„Komm.“ Er ging. „Gut.“", 3),
        ("Ποιος είναι; ρώτησε. Πού πας; Εδώ.", 3),
        ("「行こう」と彼は言った。\n「うん」\n道は暗かった。", 3),
        ("Она видела А. С. Пушкина. И ушла.", 2),
        ("The entry reads: ‘9 Feb. White tin. Brick.’ I kept it.", 3),
        ("Miró el mar. Era azul.", 2),
        ("It cost 3.50 at www.example.org and no more. Done.", 2),
    ],
)
def test_a_text_is_split_into_sentences(text, count):
    assert len(split(text)) == count


@pytest.mark.parametrize(
    "text",
    [
        "She went home.",
        "“She went home.”",
        "He asked: *why?*",
        "She went—”",
        "彼は言った。「行こう」。",
        "彼は立った。\n\n「行こう」",
        "Il se leva. « Je pars. »",
        "Il se leva. « Tu viens\u202f?\u00a0»",
        "Er stand auf. „Ich gehe.“",
        "Vstal. ‚Jdu.‘",
        "Han rejste sig. »Jeg går.«",
        "Σηκώθηκε. «Ποιος είναι;»",
        "הוא קם. הוא הלך.\u200f",
        "It is so.[^12]",
        "- one\n- two",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "Roses are red\nviolets are blue",
        "เขาเดินไปที่ท่าเรือเก่าและพบโคมไฟดวงเล็กแขวนอยู่หน้าประตูบ้านริมน้ำ" * 3,
    ],
)
def test_a_complete_text_is_finished(text):
    assert is_finished(text)


@pytest.mark.parametrize(
    "text",
    ["", "She went", "She went,", "## A heading", "彼は言った、「行", "「行こう」と", "x;", "Il dit : «", "Er: „Ich"],
)
def test_a_cut_text_is_not_finished(text):
    assert not is_finished(text)


def test_a_cut_text_is_kept_up_to_its_last_complete_sentence():
    assert complete("It rained. She went home. The do") == "It rained. She went home."
    assert complete("雨だった。彼女は帰") == "雨だった。"
    assert complete("Roses are red\nviolets are bl") == "Roses are red"
    assert complete("The do") == ""


@pytest.mark.parametrize(
    ("before", "piece", "rest"),
    [
        ("It rained. She went home early.", "She went home early. The door was open.", "The door was open."),
        ("It rained. She went home early.", "The door was open.", "The door was open."),
        ("A b c d e. F g h i j. K l m n o.", "F g h i j.", ""),
        ("灯はまだ点いていた。彼女は走った。", "彼女は走った。道は暗かった。", "道は暗かった。"),
        ("She said: “Go home now, please.”", "“Go home now, please.” He went.", "He went."),
        ("Die Straße war leer und still.", "Die Straße war leer und still. Er ging.", "Er ging."),
    ],
)
def test_text_that_repeats_the_previous_end_is_removed(before, piece, rest):
    assert without_overlap(before, piece) == rest


def test_a_reply_that_broke_off_inside_a_paragraph_is_joined_there():
    assert join("It rained.", "She went.", same_paragraph=True) == "It rained. She went."
    assert join("雨だった。", "彼は帰った。", same_paragraph=True) == "雨だった。彼は帰った。"
    assert join("It rained.", "## Later", same_paragraph=True) == "It rained.\n\n## Later"
    assert join("It rained.", "She went.", same_paragraph=False) == "It rained.\n\nShe went."
