"""Writes a picture book as a fixed-layout EPUB 3.3: two pages per spread, the picture and its text.

The text is real text, so that it can be selected, searched and read aloud.
"""

from __future__ import annotations

from html import escape
from typing import Any

from bookgen.models import AgeRange
from bookgen.render.cover.colour import Colour
from bookgen.render.epub.writer import EpubWriter
from bookgen.render.epub.xhtml import ChapterWriter, page_break
from bookgen.render.layout.front import copyright_paragraphs
from bookgen.render.layout.page import Pagination
from bookgen.render.layout.spreads import SIZES, SpreadComposer
from bookgen.render.model import Manuscript, Picture, Section
from bookgen.render.pictures import reduced
from bookgen.render.settings import ExportSettings
from bookgen.render.tints import PLAIN, tint
from bookgen.render.trim import TRIMS

_SCALE = 2  # pixels per point
_WIDEST = 1_600  # pixels of a picture
_LEFT, _RIGHT, _CENTER = "page-spread-left", "page-spread-right", "rendition:page-spread-center"

_SHEET = """@namespace epub "http://www.idpf.org/2007/ops";
html, body {{ margin: 0; padding: 0 }}
.sheet {{ position: absolute; left: 0; top: 0; width: {width}px; height: {height}px; overflow: hidden; color: #111;
  font-family: Georgia, "Source Serif 4", serif; text-align: {align} }}
.sheet img.whole {{ position: absolute; left: 0; top: 0; width: 100%; height: 100%; object-fit: cover }}
.sheet img.fitted {{ position: absolute; left: 0; top: 0; width: 100%; height: 100%; object-fit: contain }}
.sheet img.round {{ width: 44%; height: 44%; object-fit: cover; object-position: 50% 62%; border-radius: 50% }}
.words {{ position: absolute; left: {margin}px; right: {margin}px; top: {margin}px; bottom: {margin}px; display: flex;
  flex-direction: column; justify-content: center }}
.words p {{ margin: 0 0 0.62em; line-height: 1.42 }}
.centred {{ text-align: center; align-items: center }}
.centred h1 {{ font-weight: normal; font-size: {title}px; line-height: 1.2; margin: 0 0 0.5em }}
.small p {{ font-size: 20px; margin: 0 0 0.3em }}
.small {{ justify-content: flex-end }}
.foot {{ position: absolute; left: 0; right: 0; bottom: 48px; text-align: center; font-size: 22px; margin: 0 }}
.unseen {{ position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap }}
nav ol {{ list-style: none }}
"""


def write_fixed_epub(manuscript: Manuscript, pagination: Pagination, settings: ExportSettings) -> bytes:
    """The picture book as an EPUB file. `settings` must come from `layout.spreads.for_spreads`."""
    return _FixedWriter(manuscript, pagination, settings).file()


class _FixedWriter(EpubWriter):
    """Writes one picture book. `_begin` and `_end`: the sides of a spread that are read first and last."""

    summary = (
        "Fixed layout with the text as text, headings, landmarks, a table of contents, page numbers of the printed "
        "book and text alternatives for every image."
    )
    features = tuple(feature for feature in EpubWriter.features if feature != "displayTransformability")

    def __init__(self, manuscript: Manuscript, pagination: Pagination, settings: ExportSettings) -> None:
        super().__init__(manuscript, pagination, settings)
        trim = TRIMS[manuscript.trim]
        self._size = round(trim.width * _SCALE), round(trim.height * _SCALE)
        self._sides: dict[str, str] = {}
        self._begin, self._end = (_RIGHT, _LEFT) if self._language.rtl else (_LEFT, _RIGHT)
        composer = SpreadComposer(manuscript, settings, measuring=True)
        self._sizes = {section.number: composer.size_of(section) for section in manuscript.chapters}  # in points

    def _sheet(self) -> bytes:
        width, height = self._size
        centred = SIZES[AgeRange(self._manuscript.ages)][1]
        align = "center" if centred else "start"
        title = max(44, min(96, 2_300 // max(len(self._manuscript.title), 1)))
        text = _SHEET.format(width=width, height=height, align=align, margin=round(width * 0.1), title=title)
        return text.encode()

    def _metadata(self) -> None:
        super()._metadata()
        for name, value in (("layout", "pre-paginated"), ("spread", "auto"), ("orientation", "auto")):
            self._book.add_metadata(None, "meta", value, {"property": f"rendition:{name}"})

    def _finished(self, package: bytes) -> bytes:
        """The package document with each page's side (left or right) in the spine, which EbookLib does not support."""
        package = super()._finished(package)
        for name, side in self._sides.items():
            mark = f'idref="{name}"'
            package = package.replace(mark.encode(), f'{mark} properties="{side}"'.encode(), 1)
        return package

    def _image(self, picture: Picture) -> Picture:
        return reduced(picture, _WIDEST)

    def _page(self, title: str, body: str, kind: str) -> bytes:
        width, height = self._size
        viewport = f'<meta name="viewport" content="width={width}, height={height}"/>\n</head>'
        return super()._page(title, body, kind).replace(b"</head>", viewport.encode(), 1)

    def _cover(self, picture: Picture) -> None:
        super()._cover(picture)
        self._sides["cover"] = _CENTER

    def _cover_body(self, alt: str) -> str:
        image = f'<img class="fitted" src="cover.jpg" alt="{alt}"/>'
        return _sheet_of(image, PLAIN, 'epub:type="cover"')

    def _front(self) -> None:
        book = self._manuscript
        if not self._settings.include_title_page:
            return
        figure = next(iter(book.figures), None)
        image = ""
        if figure:
            name = self._names[figure.picture]
            image = f'<img class="round" src="{name}" alt="{escape(figure.alt)}"/>'
        subtitle = f"<p>{escape(book.subtitle)}</p>" * bool(book.subtitle)
        names = "".join(f"<p>{escape(name)}</p>" for name in (book.author, self._settings.publisher) if name)
        notice = f"<p><i>{escape(book.notice)}</i></p>" * bool(book.notice)
        inner = f"<h1>{escape(book.title)}</h1>{subtitle}{image}{names}{notice}"
        words = f'<div class="words centred" style="font-size:34px">{inner}</div>'
        ground = tint(figure.picture) if figure else PLAIN
        body = _sheet_of(words, ground, 'epub:type="titlepage"')
        self._add_page("title", book.title, body, "frontmatter")
        self._landmarks.append(("titlepage", "title.xhtml", book.title))
        self._sides["title"] = self._end

    def _chapter(self, section: Section) -> Any:
        """Add the picture page and the text page of a spread. Returns the picture page, for the table of contents."""
        start = self._pagination.chapter_labels[section.number]
        figure = next(iter(section.figures), None)
        ground = tint(figure.picture) if figure else PLAIN
        image = f'<img class="whole" src="{self._names[figure.picture]}" alt="{escape(figure.alt)}"/>' if figure else ""
        title = section.title.strip() or start
        heading = f'<h1 class="unseen" id="h{section.number}">{escape(title)}</h1>'
        kind = f'epub:type="chapter" role="doc-chapter" aria-labelledby="h{section.number}"'
        name = f"chapter{section.number:03d}"
        body = _sheet_of(f"{self._break(name, start)}{heading}{image}", ground, kind)
        first = self._add_page(name, title, body, "bodymatter")
        self._text_page(section, title, ground, str(int(start) + 1))
        self._sides |= {name: self._begin, f"{name}text": self._end}
        return first

    def _text_page(self, section: Section, title: str, ground: Colour, label: str) -> None:
        name = f"chapter{section.number:03d}text"
        inner = ChapterWriter(section.without_figures(), (), self._names, self._language).body()
        size = round(self._sizes[section.number] * _SCALE)
        words = f'<div class="words" style="font-size:{size}px">{inner}</div>'
        mark = escape(self._manuscript.watermark)
        foot = " · ".join(each for each in (label if self._settings.page_numbers else "", mark) if each)
        below = f'<p class="foot">{foot}</p>' if foot else ""
        body = _sheet_of(f"{self._break(name, label)}{words}{below}", ground, f'aria-label="{escape(title)}"')
        self._add_page(name, title, body, "bodymatter")

    def _back(self) -> None:
        """Add the dedication and the copyright notice after the story."""
        book, settings = self._manuscript, self._settings
        lines = copyright_paragraphs(book, settings, self._language)
        if not lines and not settings.dedication:
            return
        dedication = "".join(
            f"<p><i>{escape(line)}</i></p>" for line in settings.dedication.split("\n") if line.strip()
        )
        rights = "".join(f"<p>{escape(line)}</p>" for line in lines)
        inner = f'<div class="words centred" style="font-size:32px">{dedication}</div>' * bool(dedication)
        inner += f'<div class="words centred small">{rights}</div>' * bool(rights)
        body = _sheet_of(inner, PLAIN, 'epub:type="copyright-page"')
        self._add_page("copyright", self._language.copyright, body, "backmatter")
        self._sides["copyright"] = self._begin

    def _break(self, name: str, label: str) -> str:
        self._page_list.append((f"{name}.xhtml#p{label}", label))
        return page_break(label)


def _sheet_of(inner: str, ground: Colour, kind: str) -> str:
    colour = f"rgb({','.join(map(str, ground))})"
    return f'<section class="sheet" style="background:{colour}" {kind}>{inner}</section>'
