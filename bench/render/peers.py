"""The same book made by other programs, with the same page, line width, typeface and line spacing.

Each one converts our manuscript, so all set exactly the same text.
"""

from __future__ import annotations

import html
import json
import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path

from bookgen.render.layout.geometry import Geometry, geometry
from bookgen.render.model import (
    Block,
    Code,
    Figure,
    Heading,
    ItemList,
    Manuscript,
    Paragraph,
    Picture,
    Quote,
    SceneBreak,
    Section,
    Spans,
    Table,
)
from bookgen.render.settings import ExportSettings

FIGURE = "figure.jpg"


def main(tool: str, folder: str) -> None:
    """Only the peer's own work is measured: its input was written before."""
    place = Path(folder)
    match tool:
        case "typst":
            import typst

            typst.compile(str(place / "book.typ"), output=str(place / "typst.pdf"), font_paths=[str(place / "fonts")])
        case "weasyprint":
            import weasyprint

            page = weasyprint.HTML(filename=str(place / "book.html"), base_url=f"{folder}/fonts/")
            page.write_pdf(str(place / "weasyprint.pdf"))
        case "reportlab":
            from bench.render import platypus

            text = pickle.loads((place / "manuscript.pickle").read_bytes())
            platypus.build(text, page_geometry(), place / "fonts", place / FIGURE, place / "platypus.pdf")


def page_geometry() -> Geometry:
    return geometry(ExportSettings(), "6x9")


def _width(picture: Picture) -> float:
    """The width of a picture, as in ours: at most the line width, and at least 300 pixels per inch."""
    page = page_geometry()
    return picture.printed(page.measure, page.lines * page.lead)[0]


# Typst


def typst_source(text: Manuscript) -> str:
    page = page_geometry()
    inside = page.inside(300)
    source = [
        f'#set document(title: "{text.title}", author: "{text.author}")',
        f'#set page(width: {page.trim.width}pt, height: {page.trim.height}pt, numbering: "1",',
        f"  margin: (inside: {inside}pt, outside: {page.margins - inside}pt, top: {page.top - page.size}pt,"
        f" bottom: {page.foot - page.size * 0.3}pt),",
        "  header: context { let before = query(heading.where(level: 1)).filter(",
        "    it => it.location().page() <= here().page())",
        "    if before.len() > 0 { if calc.odd(here().page()) [#align(right, before.last().body)]",
        f"      else [{text.title}] }} }})",
        f'#set text(font: "Source Serif 4", size: {page.size}pt, lang: "en", hyphenate: true)',
        f"#set par(justify: true, leading: {page.lead - page.size * 0.67}pt,"
        f" spacing: {page.lead - page.size * 0.67}pt, first-line-indent: {page.indent}pt)",
        '#show heading.where(level: 1): it => { pagebreak(to: "odd", weak: true); v(1.2in);'
        " align(center, text(20pt, weight: 400, it.body)); v(.5in) }",
        f"#align(center + horizon)[#text(24pt)[{text.title}]]",
        "#pagebreak()",
        "#outline()",
    ]
    for section in text.chapters:
        source.append(f"= {_escape(section.title)}")
        source += [_typst_block(block, section) for block in section.blocks]
    return "\n\n".join(source)


def _typst_block(block: Block, section: Section) -> str:
    def inline(spans: Spans) -> str:
        return "".join(_typst_span(span, section) for span in spans)

    match block:
        case Paragraph(spans):
            return inline(spans)
        case Heading(level, spans):
            return f"{'=' * level} {inline(spans)}"
        case Quote(blocks):
            return f"#quote(block: true)[{' '.join(_typst_block(each, section) for each in blocks)}]"
        case ItemList(items, start):
            mark = "-" if start is None else "+"
            return "\n".join(f"{mark} {' '.join(_typst_block(each, section) for each in item)}" for item in items)
        case Table(aligns, head, rows):
            cells = ",".join(f"[{inline(cell)}]" for row in (head, *rows) for cell in row)
            return f"#table(columns: {len(aligns)}, stroke: none, {cells})"
        case Code(lines):
            return f"#raw(block: true, {json.dumps(chr(10).join(lines))})"
        case Figure(picture, _, caption):
            return f'#figure(image("{FIGURE}", width: {_width(picture)}pt), caption: [{inline(caption)}])'
        case SceneBreak():
            return "#align(center)[\\* \\* \\*]"
    return ""


def _typst_span(span: object, section: Section) -> str:
    if span.note is not None:  # type: ignore[attr-defined]
        inner = " ".join(_typst_block(each, section) for each in section.notes[span.note])  # type: ignore[attr-defined]
        return f"#footnote[{inner}]"
    text = _escape(span.text)  # type: ignore[attr-defined]
    text = f"#emph[{text}]" if span.italic else text  # type: ignore[attr-defined]
    return f"#strong[{text}]" if span.bold else text  # type: ignore[attr-defined]


def _escape(text: str) -> str:
    return re.sub(r"([\\#$*_`<>@~\[\]\"'=+/-])", r"\\\1", text)


# WeasyPrint


def _inline(spans: Spans, note: Callable[[int], str], bold: str, italic: str) -> str:
    out = []
    for span in spans:
        if span.note is not None:
            out.append(note(span.note))
            continue
        text = html.escape(span.text)
        text = f"<{italic}>{text}</{italic}>" if span.italic else text
        out.append(f"<{bold}>{text}</{bold}>" if span.bold else text)
    return "".join(out)


def html_source(text: Manuscript) -> str:
    page = page_geometry()
    inside = page.inside(300)
    style = f"""@font-face{{font-family:B;src:url(R.ttf)}} @font-face{{font-family:B;font-style:italic;src:url(I.ttf)}}
@font-face{{font-family:B;font-weight:bold;src:url(B.ttf)}}
@page{{size:{page.trim.width}pt {page.trim.height}pt;@bottom-center{{content:counter(page)}}
margin:{page.top - page.size}pt {page.margins - inside}pt {page.foot - page.size * 0.3}pt {inside}pt}}
@page :left{{margin-left:{page.margins - inside}pt;margin-right:{inside}pt;@top-left{{content:string(book)}}}}
@page :right{{@top-right{{content:string(chapter)}}}}
body{{font:{page.size}pt/{page.lead}pt B;text-align:justify;hyphens:auto}}
p{{margin:0;text-indent:{page.indent}pt;widows:2;orphans:2}} .note{{float:footnote;font-size:{page.note_size}pt}}
h1{{break-before:right;string-set:chapter content();margin:1.2in 0 .5in;text-align:center;font-weight:400}}
li a::after{{content:target-counter(attr(href),page)}}"""
    entries = "".join(f'<li><a href="#c{each.number}">{html.escape(each.title)} </a>' for each in text.chapters)
    body = "".join(_html_chapter(section) for section in text.chapters)
    return f"<html lang=en><title>{text.title}</title><style>{style}</style><body><ul>{entries}</ul>{body}"


def _html_chapter(section: Section) -> str:
    def note(number: int) -> str:
        return f"<span class=note>{''.join(_html(each) for each in section.notes[number])}</span>"

    def inline(spans: Spans) -> str:
        return _inline(spans, note, "b", "i")

    def _html(block: Block) -> str:
        match block:
            case Paragraph(spans):
                return f"<p>{inline(spans)}"
            case Heading(level, spans):
                return f"<h{level}>{inline(spans)}</h{level}>"
            case Quote(blocks):
                return f"<blockquote>{''.join(map(_html, blocks))}</blockquote>"
            case ItemList(items, start):
                tag = "ul" if start is None else "ol"
                return f"<{tag}>{''.join(f'<li>{chr(32).join(map(_html, item))}' for item in items)}</{tag}>"
            case Table(_, head, rows):
                cells = ("".join(f"<td>{inline(cell)}" for cell in row) for row in (head, *rows))
                return f"<table>{''.join(f'<tr>{row}' for row in cells)}</table>"
            case Code(lines):
                return f"<pre>{html.escape(chr(10).join(lines))}</pre>"
            case Figure(picture, _, caption):
                image = f"<img src=../{FIGURE} style=width:{_width(picture)}pt>"
                return f"<figure>{image}<figcaption>{inline(caption)}</figcaption></figure>"
            case SceneBreak():
                return "<p style=text-align:center>* * *"
        return ""

    return f"<h1 id=c{section.number}>{html.escape(section.title)}</h1>{''.join(map(_html, section.blocks))}"


if __name__ == "__main__":
    main(*sys.argv[1:])
