"""What a chapter says otherwise than its author's bible, found in its text alone."""

from __future__ import annotations

import pytest

from bookgen.models import Book
from bookgen.writing.facts.corrections import with_changes
from bookgen.writing.facts.settled import deviations
from tests.writing.scripted import a_book


def book(language: str, before: dict, after: dict) -> Book:
    """A book whose author has changed the bible from `before` to `after`."""
    changes = with_changes([], before, after)
    return a_book(content_language=language, bible=after, authored_bible=after, bible_changes=changes)


def people(name: str, description: str = "") -> dict:
    return {"people": [{"name": name, "description": description}]}


def found(content: str, book: Book) -> list[str]:
    return [flaw.excerpt for flaw in deviations(content, book)]


@pytest.mark.parametrize(
    ("language", "former", "new", "text"),
    [
        ("en", "Ada Brook", "Ada Marsh", "‘Mrs Brook’s lorry,’ said the clerk."),
        ("de", "Karla Winter", "Karla Sommer", "Da stand Winters Rad am Zaun."),
        ("fr", "Luc Berger", "Luc Fournier", "Le chien de Berger dormait."),
        ("es", "Inés Roca", "Inés Peña", "La casa de Roca ardía."),
        ("it", "Piero Conti", "Piero Sala", "L’ombra di Conti cadde sul muro."),
        ("pt", "Rui Lopes", "Rui Serra", "O barco de Lopes voltou."),
        ("nl", "Jan de Boer", "Jan de Smid", "De hond van Boer blafte."),
        ("pl", "Hanna Nowak", "Marta Nowak", "Zobaczyli Hannę na moście."),
        ("cs", "Hana Malá", "Jitka Malá", "Psal Haně každý den."),
        ("sv", "Nils Berg", "Nils Holm", "Det var Bergs båt."),
        ("tr", "Ayşe Kaya", "Zeynep Kaya", "Ayşe’nin defteri masadaydı."),
        ("ru", "Анна Белова", "Вера Белова", "Он писал Анне каждый день."),
        ("uk", "Оксана Гай", "Леся Гай", "Він бачив Оксану на мосту."),
        ("el", "Μαρία Ράλλη", "Ελένη Ράλλη", "Το σπίτι της Μαρίας κάηκε."),
        ("vi", "Nguyễn Lan", "Nguyễn Hoa", "Ngôi nhà của Lan bị cháy."),
        ("zh", "李秀英", "李玉兰", "那天李秀英没有来。"),
        ("ja", "佐藤健", "佐藤拓", "その日、佐藤健は来なかった。"),
        ("ko", "김민준", "김서준", "그날 김민준은 오지 않았다."),
        ("ar", "سالم حداد", "فارس حداد", "قال وسالم يبتسم: نعم."),
        ("he", "דנה לוי", "נועה לוי", "הוא כתב לדנה כל יום."),
        ("hi", "मीरा जोशी", "आशा जोशी", "उस दिन मीरा नहीं आई।"),
    ],
)
def test_a_former_name_is_found_in_every_language_of_the_contract(
    language: str, former: str, new: str, text: str
) -> None:
    renamed = book(language, people(former), people(new))

    assert found(f"Vorher.\n\n{text}\n\nNachher.", renamed) == [text]
    assert found(new, renamed) == []


def test_a_former_name_that_the_bible_still_has_elsewhere_is_no_finding() -> None:
    before = {**people("Ada Brook"), "terms": [{"name": "Brook Lane", "description": "the way to the bridge"}]}
    after = {**people("Ada Marsh"), "terms": before["terms"]}

    assert found("She turned into Brook Lane.", book("en", before, after)) == []


@pytest.mark.parametrize(
    ("language", "former", "new", "text"),
    [
        ("en", "58, left-handed.", "58, right-handed.", "Ada was left-handed, and it showed."),
        ("de", "stottert, blond", "lispelt, blond", "Ada stotterte, sobald sie sprach."),
        ("ja", "左利き、無口", "右利き、無口", "Adaは左利きだった。"),
        ("ru", "Высокая, хромает", "Высокая, курит", "Ada снова хромала."),
    ],
)
def test_a_sentence_that_names_a_person_and_has_what_was_settled_before_is_found(
    language: str, former: str, new: str, text: str
) -> None:
    changed = book(language, people("Ada", former), people("Ada", new))

    assert found(f"{text}\n\nAda.", changed) == [text]
    assert found(text.replace("Ada", "Bo"), changed) == []


def test_a_bare_number_is_left_to_the_facts_since_it_may_count_anything() -> None:
    changed = book("en", people("Ada", "58, tall"), people("Ada", "61, tall"))

    assert found("Ada paid 58 pounds.", changed) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Hans-Otto", "Then Hans Otto came."),
        ("Zoë Grünwald", "She saw Zoe Grünwald there."),
        ("Public Weigher", "He asked the public-weigher."),
        ("Weighbridge", "At the weigh bridge it was quiet."),
    ],
)
def test_another_spelling_of_an_authors_name_or_term_is_found(name: str, text: str) -> None:
    bible = {"terms": [{"name": name}]}

    assert found(text, book("en", {}, bible)) == [text]
    assert found(f"So it was {name}, and {name.lower()}, and {name.upper()}.", book("en", {}, bible)) == []


def test_a_common_word_at_the_start_of_a_sentence_is_no_misspelt_name() -> None:
    assert found("Schon kam er. „Schon gut.“", book("de", {}, people("Schön"))) == []


@pytest.mark.parametrize(
    ("language", "entry", "text"),
    [
        ("en", "suddenly", "And suddenly it rained."),
        ("en", "The words “at the end of the day” and “literally”", "It was literally over."),
        ("de", "Das Wort „plötzlich“", "Es war plötzlich still."),
        ("zh", "忽然", "他忽然笑了。"),
        ("ko", "갑자기", "갑자기 비가 왔다."),
    ],
)
def test_a_word_that_the_author_wants_avoided_is_found(language: str, entry: str, text: str) -> None:
    bible = {"avoid": [entry]}

    assert found(text, book(language, {}, bible)) == [text]
    assert found("Nothing.", book(language, {}, bible)) == []


def test_an_entry_that_describes_what_to_avoid_is_left_to_the_editor() -> None:
    bible = {"avoid": ["Rain on the last page, and anything about the war."]}

    assert found("Rain on the last page, and anything about the war.", book("en", {}, bible)) == []


def test_a_finding_says_what_the_bible_has_and_quotes_one_paragraph() -> None:
    renamed = book("en", people("Ada Brook"), people("Ada Marsh"))
    long = "word " * 40

    (flaw,) = deviations(f"First.\n\n{long}Brook {long}\n\nLast.", renamed)

    assert flaw.detail == "The bible now says “Ada Marsh” instead of “Ada Brook”."
    assert len(flaw.excerpt) < 120
    assert "Brook" in flaw.excerpt


def test_a_bible_that_no_author_has_touched_has_no_findings() -> None:
    untouched = a_book(bible={"terms": [{"name": "Weighbridge"}], "avoid": ["quiet"]})

    assert found("At the weigh bridge it was quiet.", untouched) == []
