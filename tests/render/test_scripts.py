"""The scripts of the world, set in fonts of the package or of the machine."""

from __future__ import annotations

import io
import shutil
import unicodedata
import zipfile
from functools import cache
from pathlib import Path

import pikepdf
import pytest

from bookgen.errors import InvalidInput
from bookgen.render.cover import faces
from bookgen.render.edition import Edition
from bookgen.render.fonts import system, typeface
from bookgen.render.fonts.families import FALLBACKS, Source
from bookgen.render.fonts.system import system_sources
from bookgen.render.layout.rows import TextMark
from bookgen.render.layout.words import WordMaker
from bookgen.render.model import Span
from bookgen.render.preview import html_pages
from bookgen.render.settings import ExportSettings
from tests.render.conftest import Make, render
from tests.render.measuring import drawn as drawn_width
from tests.render.reading import PdfText, docx_words, epub_words, manuscript_words

SAMPLES = {
    "en": "Office “fluffy” waffle — AVATAR To 1234 …",
    "pl": "Zażółć gęślą jaźń",
    "tr": "Pijamalı hasta yağız şoföre çabucak güvendi İıĞğ",
    "vi": "Tiếng Việt được viết bằng chữ Quốc ngữ ộ ữ ặ",
    "cs": "Příliš žluťoučký kůň úpěl ďábelské ódy",
    "el": "Ξεσκεπάζω τὴν ψυχοφθόρα βδελυγμία",
    "ru": "Съешь же ещё этих мягких французских булок",
    "uk": "Ґанок їхній Єва щастя",
    "hi": "क्षत्रिय हिन्दी संस्कृत विद्यार्थी",
    "emoji": "Hello 😀 ❤ 🚀 ✨",
    "maths": "∀x∈ℝ: x²≥0 → ∑≤∞",
    "signs": "☐ ☑ ✓ ✗ ✦ ❖ ➜ ① ⌘",
}
FROM_THE_RIGHT = {
    "ar": "السلام عليكم ورحمة الله وبركاته الكتب",
    "fa": "کتاب بخوانم پژگچ",
    "he": "שלום עולם ספר טוב",
}
FROM_THE_MACHINE = {
    "zh": "红楼梦第一回，甄士隐梦幻识通灵。",
    "ja": "吾輩は猫である。名前はまだ無い。",
    "ko": "모든 인간은 태어날 때부터 자유로우며",
}
HERE = FROM_THE_MACHINE if system_sources("zh") else {}


@pytest.mark.parametrize("language", [*SAMPLES, *HERE])
def test_every_script_is_set_and_extracted_as_written(language: str, make: Make) -> None:
    sample = (SAMPLES | HERE)[language]
    manuscript = make(("One", sample), language=language if len(language) == 2 else "en")
    rendered = render(manuscript)

    assert "".join(PdfText(rendered.pdf).words()) == "".join(manuscript_words(manuscript))
    assert docx_words(rendered.docx) == epub_words(rendered.epub) == manuscript_words(manuscript, signs=False)


@pytest.mark.parametrize("language", FROM_THE_RIGHT)
def test_right_to_left_text_is_set_in_visual_order(language: str, make: Make) -> None:
    sample = FROM_THE_RIGHT[language]
    rendered = render(make(("1", sample), language=language))
    *_, shown = [node.text for node in PdfText(rendered.pdf).tree.walk() if node.role == "P"]

    assert letters(shown) == letters(sample)[::-1]
    assert docx_words(rendered.docx)[-1] == epub_words(rendered.epub)[-1] == sample.split()[-1]


@pytest.mark.parametrize(
    ("language", "written", "from_the_left"),
    [
        ("en", "He said (שלום עולם) and left in 2026.", "He said (םלוע םולש) and left in 2026."),
        ("en", "In שנת 1984, they said שלום, OK.", "In 1984 תנש, they said םולש, OK."),
        ("he", "נולד ב־1984.", ".1984־ב דלונ"),
        ("he", "עם Windows 11 כאן", "ןאכ Windows 11 םע"),
        ("he", "מן NASA, ואז (ESA) כן", "ןכ (ESA) זאו ,NASA ןמ"),
        ("he", "ראה Hello World! שוב", "בוש !Hello World האר"),
        ("he", "50% או $5 או 10-12", "10-12 וא $5 וא 50%"),
        ("he", "(a) כן", "ןכ (a)"),
        ("he", "גרסה 2.0 של ב־iOSב", "בiOS־ב לש 2.0 הסרג"),
        ("ar", "من 10-12 سنة", "ةنس 12-10 نم"),
        ("ar", "سنة ١٢٣ و ٤٥", "٤٥ و ١٢٣ ةنس"),
        ("he", "כתוב `f(x)` כאן", "ןאכ f(x) בותכ"),
    ],
)
def test_words_of_the_other_direction_and_numbers_keep_their_order(
    language: str, written: str, from_the_left: str, make: Make
) -> None:
    rendered = render(make(("1", written), language=language))
    *_, shown = [node.text for node in PdfText(rendered.pdf).tree.walk() if node.role == "P"]

    assert shown == from_the_left


@pytest.mark.parametrize(
    ("language", "text", "shown", "attribute", "property"),
    [
        ("he", "He said: “Go!”", "He said: “Go!”", 'dir="ltr"', '<w:bidi w:val="0"/>'),
        ("he", "He said: לך!", "!ךל :He said", "", ""),
        ("he", "1984!", "!1984", "", ""),
        ("en", "שיר (1) המעלות!", "!תולעמה (1) ריש", 'dir="rtl"', '<w:bidi w:val="1"/>'),
        ("en", "In שיר המעלות!", "In תולעמה ריש!", "", ""),
    ],
)
def test_a_paragraph_or_poem_in_the_other_direction_is_set_in_that_direction(
    language: str, text: str, shown: str, attribute: str, property: str, make: Make
) -> None:
    for written in (text, f"{text}\\\n{text}\\\n{text}"):
        rendered = render(make(("1", f"{written}\n\n- {text}"), language=language))
        paragraphs = [node.text for node in PdfText(rendered.pdf).tree.walk() if node.role == "P"]

        assert any(each.startswith(shown) for each in paragraphs)
        with zipfile.ZipFile(io.BytesIO(rendered.epub)) as package:
            page = package.read("EPUB/chapter001.xhtml").decode().partition("<p")[2]
        assert (page.count("dir="), attribute in page) == (bool(attribute), True)
        with zipfile.ZipFile(io.BytesIO(rendered.docx)) as package:
            body = package.read("word/document.xml").decode()
        assert body.count("<w:bidi w:val") == bool(property) * (3 if "\n" in written else 1)
        assert property in body


def test_code_is_left_to_right_in_a_right_to_left_book(make: Make) -> None:
    rendered = render(make(("1", "```\nprint(x)  # ok!\n```"), language="he"))
    *_, shown = [node.text for node in PdfText(rendered.pdf).tree.walk() if node.role == "Code"]

    assert shown.replace("\u00a0", " ").strip() == "print(x)  # ok!"


def test_the_preview_leaves_bidirectional_order_to_the_browser(make: Make) -> None:
    written = "עם Windows 11 כאן, כן"
    *_, page = html_pages(render(make(("1", written), language="he")).layout)

    assert f'direction:rtl">{written}</div>' in page["html"]
    assert "direction:ltr" in page["html"].partition(">")[0]  # wherever the page is embedded


@pytest.mark.parametrize("language", HERE)
def test_no_line_begins_with_a_closing_mark(language: str, make: Make) -> None:
    sample = HERE[language]
    rendered = render(make(sample * 40, language=language))

    for page in rendered.layout.pages:
        for placed in page.placed:
            text = placed.mark.line.text  # type: ignore[union-attr]
            assert text[0] not in "，。、！？」』）"
            assert text[-1] not in "「『（"


def test_a_system_font_is_used_for_characters_that_the_built_in_fonts_lack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the error message advises."""
    rare = FALLBACKS[-1]
    monkeypatch.setattr(typeface, "FALLBACKS", FALLBACKS[:-1])
    monkeypatch.setattr(system, "_FOLDERS", (str(tmp_path),))
    monkeypatch.setattr(system, "_found", cache(system._found.__wrapped__))
    monkeypatch.setattr(system, "_broad", cache(system._broad.__wrapped__))
    with pytest.raises(InvalidInput, match="install a font for it on the server"):
        typeface.Typeface("serif").pieces("✗")
    shutil.copy(rare.path(bold=False, italic=False), tmp_path / "NotoSansThai-Regular.ttf")

    ((_, style),) = typeface.Typeface("serif").pieces("✗")

    assert style.face.path.parent == tmp_path


@pytest.mark.parametrize("language", sorted({"zh", "ja"} & HERE.keys()))
def test_punctuation_next_to_ideographs_is_full_width(language: str) -> None:
    face = typeface.Typeface("serif", language)
    ((_, wide),) = face.pieces("见")

    assert face.pieces("“见……”") == (("“见……”", wide),)
    assert face.pieces("——") == (("——", wide),)
    assert wide.word("……")[0] == wide.word("——")[0] == 2000.0
    assert face.pieces("NHK――") == (("NHK", face.style()), ("――", wide))
    assert [style.face.key for _, style in typeface.Typeface("serif", "th").pieces("…")] == ["SourceSerif4"]
    assert [style.face.key for _, style in face.pieces("it’s “so”…")] == ["SourceSerif4"]


@pytest.mark.parametrize(("language", "word"), [("he", "ספר"), *((each, HERE[each][:2]) for each in HERE)])
def test_a_face_without_italics_is_embedded_once(language: str, word: str) -> None:
    face = typeface.Typeface("serif", language)
    ((_, upright),), ((_, italic),) = face.pieces(word), face.pieces(word, italic=True)

    assert upright.face is italic.face


@pytest.mark.parametrize("language", HERE)
def test_spaces_and_brackets_that_fill_the_em_come_from_the_ideographs_face(language: str) -> None:
    face = typeface.Typeface("serif", language)
    ((_, wide),) = face.pieces("一")

    for mark in "\u3000《〈【！":
        assert face.pieces(mark) == ((mark, wide),)
        assert wide.word(mark)[0] == 1000.0


@pytest.mark.parametrize("language", HERE)
def test_no_line_begins_with_an_ideographic_space(language: str, make: Make) -> None:
    rendered = render(make("何？\u3000" * 200, language=language))
    lines = [
        each.mark.line for page in rendered.layout.pages for each in page.placed if isinstance(each.mark, TextMark)
    ]
    ends = [line.text[-1] for line in lines if "何" in line.text]

    assert not any(line.text.startswith("\u3000") for line in lines)
    assert "\u3000" in ends[:-1]


@pytest.mark.parametrize("language", sorted({"zh", "ja"} & HERE.keys()))
def test_two_dashes_join_and_are_extracted_as_written(language: str, make: Make) -> None:
    text = "一——二――三—四―五————六"
    rendered = render(make(("一", text), language=language))
    ((_, wide),) = typeface.Typeface("serif", language).pieces("见")

    assert len(wide.glyphs("——")) == len(wide.glyphs("――")) == 1
    assert "".join(PdfText(rendered.pdf).words()) == "".join(manuscript_words(rendered.manuscript))


@pytest.mark.parametrize(
    ("language", "marks", "ems"),
    [
        ("ja", "。「", 1.5),
        ("ja", "）、", 1.5),
        ("ja", "。」", 1.5),
        ("ja", "「『", 1.5),
        ("ja", "」）。「（", 3.0),
        ("ja", "？」", 2.0),
        ("ja", "「。", 2.0),
        ("ja", "\u3000「", 1.5),
        ("ja", "？\u3000『", 2.5),
        ("ja", "」\u3000文", 3.0),
        ("zh", "：“", 1.5),
        ("zh", "？”", 1.5),
        ("zh", "》（", 1.5),
        ("zh-Hant", "。「", 2.0),
        ("zh-Hant", "」「", 1.5),
    ],
)
def test_marks_that_meet_share_the_empty_half_between_them(language: str, marks: str, ems: float, make: Make) -> None:
    if not HERE:
        pytest.skip("This machine has no font with ideographs.")
    text = f"文{marks}文"
    rendered = render(make(("一", text * 60), language=language), ExportSettings(justify=False))
    words = WordMaker(typeface.Typeface("serif", language)).words((Span(text),))

    assert sum(token.advance for token in words.tokens[:-1]) + words.tokens[-1].width == (ems + 2) * 1000
    assert "".join(PdfText(rendered.pdf).words()) == "".join(manuscript_words(rendered.manuscript))
    for page in rendered.layout.pages:
        for placed in page.placed:
            if isinstance(placed.mark, TextMark):
                hung = placed.mark.size * placed.mark.line.text.endswith("\u3000")
                assert drawn_width(placed.mark) - hung == pytest.approx(placed.mark.line.width, abs=0.1)


@pytest.mark.parametrize(("language", "indented"), [("en", False), *((each, True) for each in HERE)])
def test_the_first_paragraph_is_indented_in_languages_that_indent_all_of_them(
    language: str, indented: bool, make: Make
) -> None:
    text = HERE.get(language, "A short line.")
    rendered = render(make(("1", f"{text}\n\n- {text}"), language=language))
    lines = [
        placed.mark for page in rendered.layout.pages for placed in page.placed if isinstance(placed.mark, TextMark)
    ]
    first, item = [mark.line for mark in lines if mark.line.text.startswith(text[:4])]

    assert (first.x > 0, item.x > 0) == (indented, False)
    with zipfile.ZipFile(io.BytesIO(rendered.epub)) as package:
        assert (b"h1 + p" in package.read("EPUB/style.css")) != indented
    with zipfile.ZipFile(io.BytesIO(rendered.docx)) as package:
        style = package.read("word/styles.xml").decode().partition('w:styleId="BookFirst"')[2].partition("</w:style>")
        assert ("w:firstLine" in style[0]) != indented


@pytest.mark.parametrize(
    ("font", "body", "word"),
    [
        ("serif", None, "ψυχὴν"),  # the body font has no grave accent
        ("serif", faces.PLAYFAIR.source, "χειμώνα"),  # and these have a few Greek letters, for formulas
        ("serif", faces.OSWALD.source, "ΧΕΙΜΩΝΑ"),
        ("dyslexic", None, "İçindekiler"),
    ],
)
def test_a_word_is_set_in_one_font(font: str, body: Source | None, word: str) -> None:
    pieces = typeface.Typeface(font, "en", body=body).pieces(f"“{word}”")

    assert word in [text.strip("“”") for text, _ in pieces]


@pytest.mark.parametrize(
    ("tag", "font"), [("el", "sans"), ("ru", "sans"), ("vi", "sans"), ("tr", "dyslexic"), ("de", "dyslexic")]
)
def test_a_font_without_a_languages_letters_is_not_used_for_its_books(tag: str, font: str, make: Make) -> None:
    edition = Edition(make("Words.", language=tag), ExportSettings(font="dyslexic"), tag)

    assert edition.settings.font == font


def test_an_emoji_is_set_in_one_font_with_its_drawn_width() -> None:
    style = typeface.Typeface("serif")
    for emoji in ("👍🏽", "☕", "🇩🇪", "❤\ufe0f", "1\ufe0f\u20e3"):
        ((text, wanted),) = style.pieces(emoji)
        width, fragment = wanted.word(text)
        shown = sum(
            wanted.face.advance(int.from_bytes(bytes(each), "big"))
            if isinstance(each, pikepdf.String)
            else -float(each)
            for each in drawn(fragment)
        )

        assert wanted.face.key == "NotoEmoji"
        assert shown == pytest.approx(width, abs=1.0)


def drawn(fragment: str) -> list[object]:
    """The characters and moves of a show-text array, each character by itself."""
    with pikepdf.new() as pdf:
        (((operand,), _),) = pikepdf.parse_content_stream(pdf.make_stream(f"[{fragment}] TJ".encode("latin-1")))
    out: list[object] = []
    for each in operand:
        if isinstance(each, pikepdf.String):
            data = bytes(each)
            out += [pikepdf.String(data[at : at + 2]) for at in range(0, len(data), 2)]
        else:
            out.append(each)
    return out


def letters(text: str) -> str:
    return "".join(each for each in unicodedata.normalize("NFC", text) if each.isalnum())
