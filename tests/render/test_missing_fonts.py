"""The start reports which languages have no font and what to install."""

import pytest
import structlog

from bookgen.app.serve import warn_of_missing_fonts
from bookgen.models import LANGUAGES
from bookgen.render.fonts.missing import to_install
from bookgen.render.fonts.typeface import without_font
from bookgen.render.locales import LOCALES
from bookgen.writing.foreign import mostly_foreign
from bookgen.writing.language import NAMES


async def test_the_start_warns_about_languages_without_a_font() -> None:
    missing = without_font()

    with structlog.testing.capture_logs() as logs:
        await warn_of_missing_fonts()

    assert [log["what"] for log in logs] == [
        f"No font for {', '.join(missing)}: PDFs and covers in these languages are refused."
    ] * bool(missing)


def test_the_advice_names_the_packages_of_the_missing_scripts() -> None:
    assert to_install(["th", "bn"]) == "apt install fonts-noto-core"
    assert to_install(["ja", "ta"]) == "apt install fonts-noto-cjk fonts-noto-core"


def test_every_offered_language_has_its_labels_and_a_name_for_the_prompt() -> None:
    assert LANGUAGES.keys() == {locale.code for locale in LOCALES} & NAMES.keys()
    assert {"th", "nb", "fa", "bn", "ta"} <= LANGUAGES.keys()


@pytest.mark.parametrize(
    ("tag", "text"),
    [
        ("ta", "கலங்கரை விளக்கத்தின் காவலர் ஒவ்வொரு இரவும் கடந்து செல்லும் கப்பல்களை எழுதி வைத்தார்."),
        ("bn", "বাতিঘরের রক্ষক প্রতি রাতে চলে যাওয়া প্রতিটি জাহাজের নাম লিখে রাখতেন।"),
        ("ur", "روشنی کے مینار کا محافظ ہر رات گزرنے والے ہر جہاز کا نام لکھتا تھا۔"),
        ("th", "ผู้ดูแลประภาคารจดชื่อเรือทุกลำที่แล่นผ่านไปในแต่ละคืนลงในสมุดของเขา"),
    ],
)
def test_a_book_in_a_newly_offered_language_is_not_mistaken_for_another(tag: str, text: str) -> None:
    assert not mostly_foreign("\n\n".join([text] * 4), tag)
    assert mostly_foreign("\n\n".join(["The keeper of the lighthouse wrote down every ship that passed."] * 4), tag)
