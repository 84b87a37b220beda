"""What depends on a book's language: fixed words, quotation marks, direction, dashes and indents."""

from __future__ import annotations

from dataclasses import dataclass, replace

_TRADITIONAL_SUBTAGS = {"hant", "tw", "hk", "mo"}


@dataclass(frozen=True, slots=True)
class Locale:
    """A language's words and conventions.

    `chapter` is a format string; `quotes` has the outer and then the inner quotation marks.
    """

    tag: str
    contents: str
    chapter: str
    copyright: str
    rights: str
    notes: str
    quotes: str = "“”‘’"
    french_spacing: bool = False
    rtl: bool = False
    unspaced: bool = False  # no spaces between words, so a quote's neighbours do not tell opening from closing
    dash: str = "—"
    comma: str = ", "  # between a book's title and its author
    names_copyright: bool = True  # the copyright notice has the word in front of the sign ©
    indent: float = 1.5  # of a paragraph's first line, in ems
    indents_first: bool = False  # the first paragraph after a heading is indented too
    flush_marks: str = ""  # a paragraph that begins with one has no indent, as the mark leaves half an em before it
    bullets: str = "•–"  # of outer and of inner lists
    emphasis: str = ""  # the CSS shape of dots that replace italics; empty: italics
    leading: float = 1.0  # multiplies the line height; ideographs fill the em and need more room between lines

    @property
    def speaks_with_dashes(self) -> bool:
        """Whether lines of dialogue may begin with a dash."""
        return self.code not in ("en", "de", "nl")

    @property
    def code(self) -> str:
        return self.tag.split("-")[0].lower()

    @property
    def ideographic(self) -> bool:
        """Whether the text is mostly ideographs and other marks that fill the em: Chinese and Japanese."""
        return self.code in ("zh", "ja")

    @property
    def is_traditional(self) -> bool:
        """Whether this is Chinese in traditional characters."""
        return self.code == "zh" and bool(_TRADITIONAL_SUBTAGS.intersection(self.tag.lower().split("-")))

    def chapter_name(self, number: int, title: str) -> tuple[str, str]:
        """The line with the chapter number, and the title.

        If the title is only the number, the line with the number is empty.
        """
        label = self.chapter.format(number)
        title = title.strip() or label
        return ("", title) if title.casefold() == label.casefold() else (label, title)


LOCALES = (
    Locale("en", "Contents", "Chapter {}", "Copyright", "All rights reserved.", "Notes"),
    Locale("de", "Inhalt", "Kapitel {}", "Copyright", "Alle Rechte vorbehalten.", "Anmerkungen", "„“‚‘"),
    Locale("fr", "Table des matières", "Chapitre {}", "Copyright", "Tous droits réservés.", "Notes", "«»“”", True),
    Locale("es", "Índice", "Capítulo {}", "Copyright", "Todos los derechos reservados.", "Notas", "«»“”"),
    Locale("it", "Indice", "Capitolo {}", "Copyright", "Tutti i diritti riservati.", "Note", "«»“”"),
    Locale("pt", "Índice", "Capítulo {}", "Copyright", "Todos os direitos reservados.", "Notas"),
    Locale("nl", "Inhoud", "Hoofdstuk {}", "Copyright", "Alle rechten voorbehouden.", "Noten"),
    Locale("pl", "Spis treści", "Rozdział {}", "Copyright", "Wszelkie prawa zastrzeżone.", "Przypisy", "„”«»"),
    Locale("cs", "Obsah", "Kapitola {}", "Copyright", "Všechna práva vyhrazena.", "Poznámky", "„“‚‘"),
    Locale("sv", "Innehåll", "Kapitel {}", "Copyright", "Alla rättigheter förbehållna.", "Noter", "””’’"),
    Locale("tr", "İçindekiler", "Bölüm {}", "Telif hakkı", "Tüm hakları saklıdır.", "Notlar"),
    Locale("ru", "Содержание", "Глава {}", "Авторское право", "Все права защищены.", "Примечания", "«»„“"),
    Locale("uk", "Зміст", "Розділ {}", "Авторське право", "Усі права захищено.", "Примітки", "«»„“"),
    Locale("el", "Περιεχόμενα", "Κεφάλαιο {}", "Πνευματικά δικαιώματα", "Με επιφύλαξη παντός δικαιώματος.",
           "Σημειώσεις", "«»“”"),
    Locale("vi", "Mục lục", "Chương {}", "Bản quyền", "Mọi quyền được bảo lưu.", "Ghi chú"),
    Locale("zh", "目录", "第{}章", "版权所有", "保留一切权利。", "注释",
           unspaced=True, indent=2.0, indents_first=True, emphasis="dot", comma="，", leading=1.27),
    Locale("ja", "目次", "第{}章", "著作権", "無断複写・転載を禁じます。", "注", "「」『』",
           unspaced=True, indent=1.0, indents_first=True, flush_marks="「『（〈《【〔“(", emphasis="sesame",
           bullets="・・", comma="、", names_copyright=False, leading=1.27),
    Locale("ko", "차례", "제{}장", "저작권", "모든 권리 보유.", "주석", indents_first=True, leading=1.2),
    Locale("ar", "المحتويات", "الفصل {}", "حقوق النشر", "جميع الحقوق محفوظة.", "الحواشي", "«»“”", rtl=True),
    Locale("he", "תוכן העניינים", "פרק {}", "זכויות יוצרים", "כל הזכויות שמורות.", "הערות", "””’’", rtl=True),
    Locale("hi", "विषय सूची", "अध्याय {}", "कॉपीराइट", "सर्वाधिकार सुरक्षित।", "टिप्पणियाँ"),
    Locale("fa", "فهرست", "فصل {}", "حق نشر", "تمامی حقوق محفوظ است.", "پانوشت‌ها", "«»“”", rtl=True),
    Locale("ur", "فہرست", "باب {}", "کاپی رائٹ", "جملہ حقوق محفوظ ہیں۔", "حواشی", rtl=True),
    Locale("da", "Indhold", "Kapitel {}", "Copyright", "Alle rettigheder forbeholdes.", "Noter", "”“’‘"),
    Locale("nb", "Innhold", "Kapittel {}", "Copyright", "Alle rettigheter forbeholdt.", "Noter", "«»‘’"),
    Locale("fi", "Sisällys", "Luku {}", "Copyright", "Kaikki oikeudet pidätetään.", "Viitteet", "””’’"),
    Locale("hu", "Tartalom", "{}. fejezet", "Copyright", "Minden jog fenntartva.", "Jegyzetek", "„”»«"),
    Locale("bg", "Съдържание", "Глава {}", "Авторско право", "Всички права запазени.", "Бележки", "„“‚‘"),
    Locale("hr", "Sadržaj", "Poglavlje {}", "Autorska prava", "Sva prava pridržana.", "Bilješke", "„”‚’"),
    Locale("sk", "Obsah", "Kapitola {}", "Copyright", "Všetky práva vyhradené.", "Poznámky", "„“‚‘"),
    Locale("ca", "Índex", "Capítol {}", "Copyright", "Tots els drets reservats.", "Notes", "«»“”"),
    Locale("id", "Daftar Isi", "Bab {}", "Hak cipta", "Hak cipta dilindungi undang-undang.", "Catatan"),
    Locale("th", "สารบัญ", "บทที่ {}", "ลิขสิทธิ์", "สงวนลิขสิทธิ์", "หมายเหตุ", unspaced=True),
    Locale("bn", "সূচিপত্র", "অধ্যায় {}", "কপিরাইট", "সর্বস্বত্ব সংরক্ষিত।", "টীকা"),
    Locale("ta", "பொருளடக்கம்", "அத்தியாயம் {}", "பதிப்புரிமை", "அனைத்து உரிமைகளும் பாதுகாக்கப்பட்டவை.", "குறிப்புகள்"),
    Locale("ro", "Cuprins", "Capitolul {}", "Copyright", "Toate drepturile rezervate.", "Note", "„”«»"),
)  # fmt: skip
_BY_CODE = {row.code: row for row in LOCALES}
_TRADITIONAL = replace(
    _BY_CODE["zh"], contents="目錄", copyright="版權所有", rights="保留一切權利。", notes="註釋", quotes="「」『』"
)
# Dashes other than the English one, with spaces around them.
_DASHES = dict.fromkeys(("de", "nl", "pl", "cs", "sk", "hr", "sv", "da", "nb", "fi", "hu", "fr", "tr"), " – ")
_DASHES |= dict.fromkeys(("ru", "uk", "bg"), " — ")


def language(tag: str) -> Locale:
    """The locale of a BCP 47 tag. An unsupported language gets English words but keeps its tag."""
    code = tag.lower().split("-")[0]
    row = replace(_BY_CODE.get(code, _BY_CODE["en"]), tag=tag)
    return replace(_TRADITIONAL if row.is_traditional else row, tag=tag, dash=_DASHES.get(code, "—"))
