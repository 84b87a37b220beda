"""A chapter in the wrong language is detected by the words of all its paragraphs, also in similar languages."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

import bench.authored
from bookgen.writing.foreign import foreign, mostly_foreign
from bookgen.writing.nonsense import problem_with
from tests.writing.scripted import a_book

TEXTS = {
    file.stem: file.read_text("utf-8") for file in (Path(bench.authored.__file__).parent / "foreign").glob("*.txt")
}
TEXTS["en"] = (
    "The ferryman had a chair that nobody else might sit in. It stood at the end of the pier, with its back to the "
    "town, and when there was no one to row across he sat there and looked over at the other side. It was not far. A "
    "good swimmer could have done it in a quarter of an hour, but there were no good swimmers in the place, and the "
    "current had taken two of the bad ones. So there was a ferry, and so there was a chair."
)
KIN = (
    *permutations(("es", "pt", "it", "fr", "ca", "ro"), 2),
    *permutations(("da", "nb", "sv"), 2),
    *permutations(("zh", "ja", "ko"), 2),
    *permutations(("pl", "cs", "ru"), 2),
    *(("nl", tag) for tag in ("en", "sv", "da")),
    *((tag, "en") for tag in TEXTS if tag != "en"),
    *(("en", tag) for tag in TEXTS if tag != "en"),
)


@pytest.mark.parametrize("tag", sorted(TEXTS))
def test_a_chapter_in_the_language_of_the_book_is_recognised(tag):
    assert not mostly_foreign(TEXTS[tag], tag)


@pytest.mark.parametrize(("sent", "tag"), KIN, ids="-in-".join)
def test_a_chapter_in_a_similar_language_is_detected(sent, tag):
    book = a_book(content_language=tag)

    assert [(flaw.kind, flaw.paragraph) for flaw in foreign(TEXTS[sent], book)] == [("wrong_language", None)]
    assert "it is not in" in problem_with(TEXTS[sent], book, [])


SHORT = {
    "zh": (
        "「你去哪儿？」",
        "「去码头。」",
        "「现在？」",
        "他没有回答。",
        "门开了，风进来了，灯灭了。",
        "「等等我。」",
    ),
    "es": ("¿Y usted?", "Yo no.", "Pero si le han visto.", "No era yo.", "El perro lo sabe.", "Los perros no hablan."),
    "de": (
        "Und Sie?",
        "Ich nicht.",
        "Man hat Sie aber gesehen.",
        "Das war ich nicht.",
        "Der Hund weiß es.",
        "Ach, der.",
    ),
    "ko": ("어디 가니?", "부두에.", "지금?", "그는 대답하지 않았다.", "문이 열리고 바람이 들어왔다.", "기다려."),
}


@pytest.mark.parametrize(("sent", "tag"), [("zh", "en"), ("es", "pt"), ("de", "nl"), ("ko", "en")])
def test_short_paragraphs_are_judged_together(sent, tag):
    text = "\n\n".join(SHORT[sent] * 5)

    assert mostly_foreign(text, tag)
    assert not mostly_foreign(text, sent)


def test_a_chapter_with_half_its_speech_in_another_language_is_accepted():
    spoken = [f"—{line}" for line in SHORT["es"] * 2]
    told = [f"{line}." for line in TEXTS["en"].split(". ")] * 3

    assert not mostly_foreign("\n\n".join(line for pair in zip(told, spoken, strict=False) for line in pair), "en")


def test_for_a_language_without_a_word_list_only_english_is_detected():
    assert mostly_foreign(TEXTS["en"], "sw")
    assert not mostly_foreign(TEXTS["it"], "sw")


def test_a_bilingual_book_may_be_in_a_related_language():
    book = a_book(content_language="es", description="A bilingual reader in Spanish and Catalan.")

    assert foreign(TEXTS["ca"], book) == []
