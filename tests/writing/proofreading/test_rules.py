"""The rules report nothing in good prose and find planted mistakes."""

from pathlib import Path
from typing import Any

import pytest

from bookgen.providers.sample.brief import Brief
from bookgen.providers.sample.phrases import phrases
from bookgen.providers.sample.prose import write_prose
from bookgen.words import count_words
from bookgen.writing.proofreading import english, quotation, rules
from bookgen.writing.proofreading import names as name_rules
from bookgen.writing.proofreading.book import BookText, ChapterText
from bookgen.writing.proofreading.correction import Correction
from bookgen.writing.proofreading.structure import MAX_PARAGRAPH_CHARACTERS, MAX_READ_CHARACTERS
from tests.writing.scripted import a_book, a_chapter

DEMO = Path(__file__).parents[3] / "bookgen/http/demo"


def text_of(*contents: str, tag: str = "en", names: tuple[str, ...] = ()) -> BookText:
    return BookText({number: ChapterText(text, tag) for number, text in enumerate(contents)}, tag, frozenset(names))


def found(content: str, tag: str = "en", names: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    corrections = rules.check(text_of(content, tag=tag, names=names), refrains=False)[0]
    return [(each.original, each.replacement) for each in corrections]


def test_the_demo_book_has_no_findings() -> None:
    book = text_of(*(file.read_text() for file in sorted(DEMO.glob("*.md"))))

    assert not any(rules.check(book, refrains=False).values())


def test_text_next_to_a_paragraph_that_is_too_long_is_still_checked() -> None:
    line = "She saw the the light.\n"
    assert found(f"{line}{'x' * MAX_PARAGRAPH_CHARACTERS}\n\n{line}") == [("the the", "the")]
    assert (
        len(found(f"{line * 30}{'x' * (MAX_PARAGRAPH_CHARACTERS - 1000)}\n\n{line}"))
        == MAX_READ_CHARACTERS // MAX_PARAGRAPH_CHARACTERS + 1
    )


@pytest.mark.parametrize("tag", ["en", "de", "fr", "es"])
def test_seven_thousand_words_of_sound_prose_raise_no_alarm(tag: str) -> None:
    asked = {"language": tag, "title": "The Salt Road", "part": 1, "parts": 1, "genre": "Novel"}
    briefs = [
        Brief({**asked, "chapter_number": number, "chapter_title": f"T{number}"}, "salt") for number in range(1, 6)
    ]
    book = text_of(*(write_prose(brief, phrases(tag), 1500) for brief in briefs), tag=tag)

    assert sum(count_words(text.content) for text in book.texts.values()) > 7000
    assert not any(rules.check(book, refrains=True).values())


@pytest.mark.parametrize(
    ("tag", "content", "expected"),
    [
        ("en", "He went to the the shop.", ("the the", "the")),
        ("de", "Er ging mit mit ihr fort.", ("mit mit", "mit")),
        ("fr", "Il va à la la gare.", ("la la", "la")),
        ("ru", "Он пришёл в в город.", ("в в", "в")),
        ("en", "He bought bread , and left.", ("bread ,", "bread,")),
        ("en", "He bought  bread.", ("bought  bread.", "bought bread.")),
        ("en", "He bought bread,milk and eggs.", ("bread,milk", "bread, milk")),
        ("en", "It grew late.He went home.", ("late.He", "late. He")),
        ("en", "It grew late..", ("late..", "late.")),
        ("es", "Llegó tarde , como siempre.", ("tarde ,", "tarde,")),
        ("pl", "I i tak nie przyszedł.", ("I i", "I")),
        ("cs", f"Byl a byl. {'Kdo a kde? ' * 20}Malý a , myslím, starý.", ("a ,", "a,")),
        ("tr", "Eve geldi ,sonra uyudu ve ve kalktı.", ("ve ve", "ve")),
        ("en", "“I shall come tomorrow.\n\nHe left.", ("“I shall come tomorrow.", "“I shall come tomorrow.”")),
        ("de", "„Ich komme morgen.\n\nEr ging.", ("„Ich komme morgen.", "„Ich komme morgen.“")),
        ("en", "He left (in a hurry. Then it rained.", ("(in a hurry.", "(in a hurry).")),
    ],
)
def test_a_planted_mistake_is_found_with_its_correction(tag: str, content: str, expected: tuple[str, str]) -> None:
    assert expected in found(content, tag)


@pytest.mark.parametrize(
    ("tag", "content"),
    [
        ("en", "He had had enough of that that day."),
        ("de", "Die, die die Tür öffnet, gewinnt."),
        ("fr", "« Vraiment ? » dit-il ; elle se tut : rien ne bougeait !"),
        ("en", "“One paragraph of speech.\n\n“And the next,” she said."),
        ("en", "See www.example.org,there or mail a,b@example.org."),
        ("en", "```\nthe the  code ,\n```\n\n`the the` and [a b](x,y  z)."),
        ("en", "- one\n- two\n\n1. first\n2. second\n\n* * *\n\nThe end."),
        ("zh", "他来了,然后走了。“好的。”"),
        ("th", "เขามาแล้ว เขาไปแล้ว"),
        ("sv", "I dag ser jag att I i längden vunnit."),
        ("en", "He saw it ( in the end. She was sad :( but he was not."),
        ("vi", "Xanh xanh, đỏ đỏ, vàng vàng."),
    ],
)
def test_correct_text_is_left_alone(tag: str, content: str) -> None:
    assert found(content, tag) == []


def test_a_name_with_one_wrong_letter_is_corrected_and_an_inflected_one_is_not() -> None:
    content = "Katarina came. Katarina sat. Katarina said to Katerina that Katarinas door was Katarina's own."

    assert found(content, names=("Katarina",)) == [("Katerina", "Katarina")]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("Nikodem", "Nikodem. Nikodem. Nikodem. Nikodema. Nikodema. Nikodema. Przyszedł Nikdoem.", "Nikodem"),
        (
            "Kateřina",
            "Kateřina. Kateřina. Kateřina. Viděl Kateřinu. Viděl Kateřinu. Kateřinu. Viděl Katřeinu.",
            "Kateřinu",
        ),
    ],
)
def test_a_misspelt_name_is_corrected_to_the_nearest_form_in_the_book(name: str, content: str, expected: str) -> None:
    assert [after for _, after in found(content, "pl", names=(name,))] == [expected]


@pytest.mark.parametrize(
    ("speech", "mark"),
    [("‘It’s cold,’ she said.", "‘"), ("“It’s cold,” she said.", "“"), ("« Il fait froid », dit-elle.", "«"), ("", "")],
)
def test_the_usual_mark_of_quotations_is_counted_in_the_whole_book(speech: str, mark: str) -> None:
    assert quotation.usual_opening(text_of(*[f"{speech} The dogs’ lamp went out."] * 20)) == mark


def test_text_after_a_table_is_checked() -> None:
    assert found("| a | b |\n|---|---|\n| the the | 2 |\n\nShe saw the the lamp.") == [("the the", "the")]


def test_the_number_of_corrections_in_a_chapter_is_limited() -> None:
    content = "".join(f"Er kam mit mit Nummer {number}.\n\n" for number in range(rules.MAX_CORRECTIONS + 50))

    assert len(found(content, "de")) == rules.MAX_CORRECTIONS


def test_a_frequent_pattern_counts_as_intended() -> None:
    assert found("A b,cd x. " + "Foo,bar sat. Foo,bar ran. Foo,bar ate.") == []


def test_straight_quotes_become_curly_if_most_are_curly() -> None:
    spoken = "“Yes,” she said. " * 25

    assert found(f'{spoken}\n\n"No," he said.') == [('"No,"', "“No,”")]


def test_curly_quotes_become_straight_if_most_are_straight() -> None:
    spoken = '"Yes," she said. "It\'s late." ' * 25

    assert found(f"{spoken}\n\n“No,” he said. “It’s not.”") == [
        ("“No,”", '"No,"'), ("“It’s", "\"It's"), ("not.”", 'not."'),
    ]  # fmt: skip
    assert found(f'{spoken}\n\n"No," he said.') == []


@pytest.mark.parametrize(
    ("tag", "spoken", "odd", "fixed"),
    [
        ("de", "„Ja“, sagte sie. ", 'Er sprach: "Nein."', "„Nein.“"),
        ("de", "»Ja«, sagte sie. ", 'Er sprach: "Nein."', "»Nein.«"),
        ("fr", "« Oui », dit-elle. ", 'Il dit : "Non."', "« Non. »"),
        ("sv", "”Ja”, sade hon. ", 'Han sade: "Nej."', "”Nej.”"),
    ],
)
def test_straight_quotes_follow_the_style_of_the_book(tag: str, spoken: str, odd: str, fixed: str) -> None:
    assert [after for _, after in found(f"{spoken * 30}\n\n{odd}", tag)] == [fixed]


@pytest.mark.parametrize("typed", [" - ", " -- ", "--"])
def test_a_typed_dash_follows_the_style_of_the_book(typed: str) -> None:
    usual = "He came — at last — in spring. " * 30

    assert found(f"{usual}\n\nShe left{typed}too soon.") == [(f"left{typed}", "left — ")]
    assert found(f"A well-known sea-dog. {usual}") == []


def test_the_space_between_a_number_and_its_unit_follows_the_style_of_the_book() -> None:
    usual = "He ran 5 km and won by 12 %. " * 6 + "He lived 1901–1980 and 1911–1990, 3–4, 5–6, 7–8."

    assert found(f"{usual}\n\nShe ran 9km and won by 14%, in 1914-18.") == [
        ("9km", "9 km"),
        ("14%", "14 %"),
        ("1914-18", "1914–18"),
    ]


def test_speech_closed_in_a_later_paragraph_is_closed() -> None:
    assert found("«Он вышел.\n\nПотом вернулся» — так рассказывали.", "ru") == []
    assert found("« Va-t'en ! dit-il.\n\n— Jamais », dit-elle.", "fr") == []


def test_old_typography_counts_as_the_style_of_the_whole_book() -> None:
    assert found("Well ; he came ! " + " ".join(f"Day {n} ; no{chr(97 + n % 26)} ! yes." for n in range(30))) == []


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("It was a apple.", True),
        ("She lit an lamp.", True),
        ("He could of gone.", True),
        ("“It was a apple,” he said.", False),
        ("It was an honour, an urn and a one.", False),
        ("He could not beleive it.", False),
    ],
)
def test_the_checker_alone_is_trusted_for_plain_grammar_outside_speech_only(content: str, shown: bool) -> None:
    assert any(proven for _, _, proven in english.corrections(text_of(content), "en")) is shown


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("The answer is no, so A and B are skipped.", []),
        ("Here A is the lamp.", []),
        ("It is dark. A apple fell.", ["A"]),
        ("```python\nIt was a apple.\n\nIt was a apple.\n```", []),
        ("~~~text\nIt was a apple.\n\nIt was a apple.\n~~~", []),
    ],
)
def test_the_letter_a_in_a_sentence_is_no_article_and_code_is_no_prose(content: str, found: list[str]) -> None:
    assert [correction.original for _, correction, _ in english.corrections(text_of(content), "en")] == found


def test_the_checker_reads_only_the_beginning_of_an_extremely_long_book(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(english, "MAX_CHARACTERS", 30)

    found = english.corrections(text_of("It was a apple.", "It was a orange.", "It was a egg."), "en")

    assert {chapter for chapter, _, _ in found} == {0}


def test_a_repeated_sentence_is_proposed_for_removal() -> None:
    again = "The old lamp went out above the water one more time."
    corrections = rules.check(text_of(f"It rained. {again}", f"It snowed. {again} He slept."), refrains=False)

    assert [(each.original, each.replacement) for each in corrections[1]] == [(f" {again}", "")]
    assert not corrections[0]


def test_offsets_point_to_the_quoted_characters() -> None:
    content = "Émile 😀 went to the the shop , at last."
    corrections: list[Correction] = rules.check(text_of(content), refrains=False)[0]

    assert [content[each.start : each.end] for each in corrections] == [each.original for each in corrections]
    assert len(corrections) == 2


@pytest.mark.parametrize(
    ("tag", "entries", "found"),
    [
        ("de", {"terms": [{"name": "Aufgaben"}]}, []),
        ("de", {"people": [{"name": "Aufgaben"}]}, ["Ausgabe"]),
        ("en", {"terms": [{"name": "Aufgaben"}]}, ["Ausgabe"]),
    ],
)
def test_a_german_noun_is_not_a_misspelt_term_that_it_resembles(
    tag: str, entries: dict[str, Any], found: list[str]
) -> None:
    content = "Die Aufgaben folgen. Die Aufgaben sind kurz. Die Aufgaben enden hier. Die Ausgabe ist wahr."
    book = BookText.of(a_book(content_language=tag, bible=entries), [a_chapter(1, content=content)])

    assert [each.original for _, each in name_rules.corrections(book)] == found
