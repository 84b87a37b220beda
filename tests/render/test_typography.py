"""Typewriter punctuation becomes typographic punctuation by the rules of each language."""

from __future__ import annotations

import pytest

from bookgen.render.locales import language
from bookgen.render.typography import polisher


@pytest.mark.parametrize(
    ("tag", "typed", "printed"),
    [
        ("en", '"Don\'t," she said, "call it \'home\'."', "“Don’t,” she said, “call it ‘home’.”"),
        ("en", "rock 'n' roll in the '90s", "rock ’n’ roll in the ’90s"),
        ("en", "The winter of 'eighty-six, or the 'nineties.", "The winter of ’eighty-six, or the ’nineties."),
        ("en", "'Eighty-six,' she said.", "‘Eighty-six,’ she said."),
        ("en", "'Tis so, \"give 'em 'this'\"", "’Tis so, “give ’em ‘this’”"),
        ("en", "use --help -- always", "use --help—always"),
        ("en", "Wait... what", "Wait… what"),
        ("en", "4.5 × 60 mm", "4.5\u00a0×\u00a060\u00a0mm"),
        ("en", "4 ft 2 in. at 80 km/h, 30 s", "4\u00a0ft 2\u00a0in. at 80\u00a0km/h, 30\u00a0s"),
        ("en", "60 - 15 = 45; x = y", "60 - 15 =\u00a045; x = y"),
        ("en", "6 or 8 mm, ½ l, 230 V, 40 °C", "6 or 8\u00a0mm, ½\u00a0l, 230\u00a0V, 40\u00a0°C"),
        ("en", "4 men, in 1990 he, 5 Vs", "4 men, in 1990 he, 5 Vs"),
        ("en", "He left -- at last", "He left—at last"),
        ("en", '5\'11" tall, 6" nails, 5\' 11"', "5′11″ tall, 6″ nails, 5′ 11″"),
        ("en", "45°30'15\" N, 51°30' W", "45°30′15″ N, 51°30′ W"),
        ("en", "an 8'x10' rug, 8½\" × 11\" paper, a 6' plank", "an 8′x10′ rug, 8½″ × 11″ paper, a 6′ plank"),
        ("en", '"He is 6\'2"," she said.', "“He is 6′2″,” she said."),
        ("en", '"I need 6" nails," he said, "or 5"."', "“I need 6″ nails,” he said, “or 5″.”"),
        ("en", '"It was 1990" and "size 6", no more.', "“It was 1990” and “size 6”, no more."),
        ("en", "the 1990's, 'in 1990', 10 o'clock", "the 1990’s, ‘in 1990’, 10 o’clock"),
        ("en", "'100 people,' he said, ''68 or '69.'", "‘100 people,’ he said, ‘’68 or ’69.’"),
        (
            "en",
            "\"'Ave a look at 'er,\" said Bill, \"'fore it's gone.\"",
            "“’Ave a look at ’er,” said Bill, “’fore it’s gone.”",
        ),
        ("en", "\"Mornin', 'andsome,\" she said.", "“Mornin’, ’andsome,” she said."),
        ("en", "'I went home.", "‘I went home."),
        (
            "en",
            "She wrote 'cause' and 'em' twice, 'cause I asked.",
            "She wrote ‘cause’ and ‘em’ twice, ’cause I asked.",
        ),
        ("en", '"Wait—", he said—"no"—and left ("at last").', "“Wait—”, he said—“no”—and left (“at last”)."),
        ("en", '"I was going to--" "Don\'t--"', "“I was going to—” “Don’t—”"),
        ("en", '"He said, \'She told me "no."\'"', "“He said, ‘She told me “no.”’”"),
        ("en", '[" she said "]', "[“ she said ”]"),
        ("it", "l'\"Inferno\" di un po' d'anni", "l’«Inferno» di un po’ d’anni"),
        ("de", '"Komm", sagte sie', "„Komm“, sagte sie"),
        ("de", "Gib mir 'ne 2\" Rolle, 's ist 'n Witz.", "Gib mir ’ne 2″ Rolle, ’s ist ’n Witz."),
        ("de", '"Ich wollte--"', "„Ich wollte –“"),
        ("nl", "'s Avonds in 't huis", "’s Avonds in ’t huis"),
        ("tr", "1984'te, 5'11\"", "1984’te, 5′11″"),
        ("de", "1'000'000 Franken", "1’000’000 Franken"),
        ("de", "Er ging -- endlich", "Er ging – endlich"),
        ("fr", '"Viens!" dit-elle : oui', "«\u202fViens\u202f!\u202f» dit-elle\u00a0: oui"),
        ("fr", "l'eau d'hier", "l’eau d’hier"),
        ("fr", "«\u00a0Partir\u00a0» ; « oui »", "«\u202fPartir\u202f»\u202f; «\u202foui\u202f»"),
        ("fr", "«\u202fPartir\u202f» ; «oui»", "«\u202fPartir\u202f»\u202f; «\u202foui\u202f»"),
        ("pl", "\"Chodź\" i 'tam'", "„Chodź” i «tam»"),
        ("sv", '"Kom hit"', "”Kom hit”"),
        ("ru", '"Да" и "нет"', "«Да» и «нет»"),
        ("ja", '"はい"', "「はい」"),
        ("ja", '彼は"はい、\'うん\'"と言った。"え"', "彼は「はい、『うん』」と言った。「え」"),
        ("zh", '他说："你好。"她说："don\'t"', "他说：“你好。”她说：“don’t”"),
        ("he", 'צה"ל ב"הארץ" ג\'ירפה', "צה״ל ב”הארץ” ג׳ירפה"),
    ],
)
def test_quotes_and_dashes_follow_the_language(tag: str, typed: str, printed: str) -> None:
    assert polisher(language(tag))(typed) == printed


@pytest.mark.parametrize(
    ("typed", "printed"),
    [
        ("by D. Lappin", "by D.\u00a0Lappin"),
        ("J. R. R. Tolkien and G.K. Chesterton", "J.\u00a0R.\u00a0R.\u00a0Tolkien and G.K.\u00a0Chesterton"),
        ("„É. Zola“, Ж. Верн", "„É.\u00a0Zola“, Ж.\u00a0Верн"),
        ("z. B. heute, M. de Charlus, plan b. Then", "z. B. heute, M. de Charlus, plan b. Then"),
        ("A. B. C. Doe", "A.\u00a0B.\u00a0C.\u00a0Doe"),
        ("the scales A. B. C. D. E. F. Then", "the scales A. B. C. D. E. F. Then"),
        ("He said NO. Then 5. May, page 3. Then", "He said NO. Then 5. May, page 3. Then"),
    ],
)
def test_initials_stay_on_the_line_of_their_name(typed: str, printed: str) -> None:
    assert polisher(language("de"))(typed) == printed


def test_typographic_punctuation_is_left_unchanged() -> None:
    text = "“Curly” — and … ‘fine’"

    assert polisher(language("en"))(text) == text


def test_an_unknown_language_keeps_its_tag_and_uses_english_labels() -> None:
    assert (language("xx-YY").tag, language("xx-YY").contents) == ("xx-YY", "Contents")


def test_chinese_labels_are_simplified_or_traditional_as_the_tag_says() -> None:
    assert [language(tag).contents for tag in ("zh", "zh-CN", "zh-Hant", "zh-TW")] == ["目录", "目录", "目錄", "目錄"]
