"""Typewriter marks become printer's marks, as each language wants them."""

from __future__ import annotations

import pytest

from bookgen.render.languages import language
from bookgen.render.typography import polisher


@pytest.mark.parametrize(
    ("tag", "typed", "printed"),
    [
        ("en", '"Don\'t," she said, "call it \'home\'."', "“Don’t,” she said, “call it ‘home’.”"),
        ("en", "rock 'n' roll in the '90s", "rock ’n’ roll in the ’90s"),
        ("en", "'Tis so, \"give 'em 'this'\"", "’Tis so, “give ’em ‘this’”"),
        ("en", "use --help -- always", "use --help—always"),
        ("en", "Wait... what", "Wait… what"),
        ("en", "He left -- at last", "He left—at last"),
        ("de", '"Komm", sagte sie', "„Komm“, sagte sie"),
        ("de", "Er ging -- endlich", "Er ging – endlich"),
        ("fr", '"Viens!" dit-elle : oui', "«\u202fViens\u202f!\u202f» dit-elle\u00a0: oui"),
        ("fr", "l'eau d'hier", "l’eau d’hier"),
        ("pl", "\"Chodź\" i 'tam'", "„Chodź” i «tam»"),
        ("sv", '"Kom hit"', "”Kom hit”"),
        ("ru", '"Да" и "нет"', "«Да» и «нет»"),
        ("ja", '"はい"', "「はい」"),
        ("ja", '彼は"はい、\'うん\'"と言った。"え"', "彼は「はい、『うん』」と言った。「え」"),
        ("zh", '他说："你好。"她说："don\'t"', "他说：“你好。”她说：“don’t”"),
        ("he", 'צה"ל ב"הארץ" ג\'ירפה', "צה״ל ב”הארץ” ג׳ירפה"),
    ],
)
def test_marks_are_the_languages_own(tag: str, typed: str, printed: str) -> None:
    assert polisher(language(tag))(typed) == printed


def test_what_is_typeset_already_is_left_alone() -> None:
    text = "“Curly” — and … ‘fine’"

    assert polisher(language("en"))(text) == text


def test_an_unknown_language_keeps_its_tag_and_speaks_english() -> None:
    assert (language("xx-YY").tag, language("xx-YY").contents) == ("xx-YY", "Contents")


def test_chinese_is_written_as_its_tag_says() -> None:
    assert [language(tag).contents for tag in ("zh", "zh-CN", "zh-Hant", "zh-TW")] == ["目录", "目录", "目錄", "目錄"]
