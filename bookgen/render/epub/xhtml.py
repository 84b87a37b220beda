"""Converts blocks to XHTML, with markers where the printed book's pages begin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape

from bookgen.render import model
from bookgen.render.characters import is_wide
from bookgen.render.layout.bidi import reads_rtl
from bookgen.render.layout.page import PageStart
from bookgen.render.layout.words import LONG, SPACES, units
from bookgen.render.locales import Locale
from bookgen.render.model import (
    EMS_A_SPACE,
    POEM_TURNED_EMS,
    TURNED_EMS,
    Block,
    Picture,
    Section,
    Span,
    Spans,
    announces,
    begins_with,
    is_label,
    is_speech_after,
    stands_apart,
    stands_in_lines,
)
from bookgen.render.plays import Role, roles
from bookgen.render.verse_lines import lines_in_quote

_MAX_DEEPEST = 16 * EMS_A_SPACE  # further in, continuations would have no room on a phone

_PAGE = (
    '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>\n'
    '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" '
    'lang="{language}" xml:lang="{language}"{direction}>\n<head>\n<title>{title}</title>\n'
    '<link rel="stylesheet" type="text/css" href="style.css"/>\n</head>\n'
    '<body epub:type="{kind}">\n{body}\n</body>\n</html>\n'
)


def page(title: str, body: str, kind: str, language: str, *, rtl: bool) -> bytes:
    direction = ' dir="rtl"' if rtl else ""
    return _PAGE.format(
        title=escape(title), body=body, kind=kind, language=escape(language), direction=direction
    ).encode("utf-8")


def page_break(label: str) -> str:
    """A marker for the beginning of a page of the printed book."""
    return f'<span epub:type="pagebreak" role="doc-pagebreak" id="p{label}" aria-label="{label}"></span>'


def _poem_attributes(poem: model.Poem | None) -> str:
    """The attributes of a heading that is the title of `poem`."""
    if poem is None:
        return ""
    return f' id="{poem.anchor}"' + ' class="begins-page"' * poem.begins_page


class ChapterWriter:
    """Writes one chapter's text. `starts`: where printed pages begin. `pictures` maps pictures to their file names."""

    def __init__(
        self, section: Section, starts: Sequence[PageStart], pictures: dict[Picture, str], language: Locale
    ) -> None:
        self._language = language
        self._rtl = language.rtl
        self._in_item = False
        self._section = section
        self._starts = [start for start in starts if start.chapter == section.number]
        self._pictures = pictures
        self._block_number = -1
        self._prefix = f"c{section.number}"
        self._called: set[int] = set()
        self._poem: model.Poem | None = None  # whose title the current block is, if any
        self.pages: list[str] = []

    def body(self) -> str:
        poems = {poem.block: poem for poem in self._section.poems}
        blocks = []
        roles_of = roles(self._section.blocks)
        for index, block in enumerate(self._section.blocks):
            if (role := roles_of.get(index)) is not None and isinstance(block, model.Paragraph):
                blocks.append(self._speech(block.spans, role))
                continue
            self._poem = poems.get(index)
            speaks = is_speech_after(block, self._section.blocks[:index][-1:])
            apart = not roles_of and stands_apart(self._section.blocks, index)
            kind = "apart" if apart else "speech" if speaks else ""
            kept = " kept" * announces(self._section.blocks, index)
            blocks.append(self._block(block, kind="label" if is_label(block) else f"{kind}{kept}".strip()))
        return "\n".join(blocks) + self._notes()

    def _speech(self, spans: Spans, role: Role) -> str:
        kind = {Role.SPEECH: "part", Role.CUE: "part cue", Role.DIRECTION: "direction"}[role]
        return f'<p class="{kind}"{self._direction((spans,))}>{self._leaf(spans)}</p>'

    def _notes(self) -> str:
        """The footnotes that the text refers to, as `aside` elements, which reading systems can show in place."""
        self._starts = []
        asides: dict[int, str] = {}
        while waiting := sorted(self._called - asides.keys()):  # a note may call another
            for number in waiting:
                asides[number] = self._note(number)
        if not asides:
            return ""
        return f'\n<section class="notes">\n{"".join(asides[number] for number in sorted(asides))}\n</section>'

    def _note(self, number: int) -> str:
        back = f' <a href="#{self._prefix}r{number}" role="doc-backlink">↩\ufe0e</a>'
        inner = "".join(self._block(block) for block in self._section.notes[number])
        end = inner.rfind("</p>")
        inner = inner[:end] + back + inner[end:] if end >= 0 else f"{inner}<p>{back}</p>"
        return f'<aside id="{self._prefix}n{number}" epub:type="footnote" role="doc-footnote">{inner}</aside>'

    def _block(self, block: Block, *, kind: str = "") -> str:
        """The block as XHTML. `kind`: the class of a paragraph, if any."""
        match block:
            case model.Paragraph(spans):
                bracket = " bracket" * begins_with(spans, self._language.flush_marks)
                kind = "lines" if stands_in_lines(spans) else f"{kind}{bracket}".strip()
                attribute = f' class="{kind}"' * bool(kind)
                return f"<p{attribute}{self._direction((spans,))}>{self._leaf(spans)}</p>"
            case model.Heading(level, spans):
                return f"<h{level}{_poem_attributes(self._poem)}>{self._leaf(spans)}</h{level}>"
            case model.Quote(blocks):
                lines = lines_in_quote(blocks)
                inner = ""
                for index, each in enumerate(blocks):
                    kind = "flush" * (index in lines) + " kept" * announces(blocks, index)
                    inner += self._block(each, kind=kind.strip())
                return f"<blockquote>{inner}</blockquote>"
            case model.ItemList():
                return self._list(block)
            case model.Verse():
                return self._verse(block)
            case model.Code(lines):
                marks = self._marks()
                code = "\n".join(escape(line, quote=False) for line in lines)
                return f'{_aside(marks)}<pre dir="ltr"><code>{code}</code></pre>'
            case model.Table():
                return _aside(self._marks()) + self._table(block)
            case model.Figure():
                return _aside(self._marks()) + self._figure(block)
            case model.SceneBreak():
                return "<hr/>"

    def _verse(self, verse: model.Verse) -> str:
        """Verse with a `span` for each line, to indent its continuation. `br` elements are for readers without CSS."""
        texts = []
        for index, line in enumerate(verse.lines):
            spans = _with_wide_gaps(line) if self._section.verse else line
            texts.append(f"<span{_indents(verse, index)}>{self._spans(spans)}</span>")
        kind = "verse poem" if self._section.verse else "verse"
        return f'<p class="{kind}"{self._direction(verse.lines)}>{self._marks()}{"<br/>".join(texts)}</p>'

    def _direction(self, lines: Sequence[Spans]) -> str:
        """The `dir` attribute of a text. Empty if the text reads in the book's direction, as list items always do."""
        rtl = self._rtl if self._in_item else reads_rtl(lines, self._rtl)
        return "" if rtl == self._rtl else f' dir="{"rtl" if rtl else "ltr"}"'

    def _list(self, block: model.ItemList) -> str:
        tag = "ul" if block.start is None else "ol"
        start = f' start="{block.start}"' if block.start not in (None, 1) else ""
        start += ' class="boxes"' * bool(block.ticked)
        items = []
        outer, self._in_item = self._in_item, True
        for number, item in enumerate(block.items):
            box = f"{block.sign(number, outer=True, bullets=self._language.bullets)} " * bool(block.ticked)
            if len(item) == 1 and isinstance(item[0], model.Paragraph):
                items.append(f"<li>{box}{self._leaf(item[0].spans)}</li>")
            else:
                items.append(f"<li>{box}{''.join(self._block(each) for each in item)}</li>")
        self._in_item = outer
        return f"<{tag}{start}>{''.join(items)}</{tag}>"

    def _table(self, block: model.Table) -> str:
        head = self._row("th", block.head, block.aligns)
        rows = "".join(self._row("td", row, block.aligns) for row in block.rows)
        body = f"<tbody>{rows}</tbody>" if rows else ""
        whole = ' class="whole"' * block.is_short
        return f"<table{whole}><thead>{head}</thead>{body}</table>"

    def _row(self, tag: str, cells: Sequence[Spans], aligns: Sequence[str]) -> str:
        out = []
        for spans, align in zip(cells, aligns, strict=True):
            style = f' class="{align}"' if align in ("right", "center") else ""
            out.append(f"<{tag}{style}>{self._spans(spans)}</{tag}>")
        return f"<tr>{''.join(out)}</tr>"

    def _figure(self, block: model.Figure) -> str:
        image = f'<img src="{self._pictures[block.picture]}" alt="{escape(block.alt)}"/>'
        caption = f"<figcaption>{self._spans(block.caption)}</figcaption>" if block.caption else ""
        return f"<figure>{image}{caption}</figure>"

    # page breaks

    def _marks(self) -> str:
        """The markers of all printed pages that begin within the next verse, code, table or figure.

        Callers write these markers in front of the whole block. In paragraphs and headings, `_leaf` puts each marker
        before the word that begins the page.
        """
        self._block_number += 1
        return "".join(self._mark(start) for start in self._due())

    def _due(self) -> list[PageStart]:
        due = [start for start in self._starts if start.block == self._block_number]
        self._starts = [start for start in self._starts if start.block != self._block_number]
        return due

    def _mark(self, start: PageStart) -> str:
        self.pages.append(start.label)
        return page_break(start.label)

    def _leaf(self, spans: Spans) -> str:
        """A paragraph's text, with a page marker before each word that begins a page."""
        self._block_number += 1
        due = self._due()
        if not due:
            return self._spans(spans)
        out: list[str] = []
        words = _Words()
        for span in spans:
            if span.note is not None or span.text == "\n":
                out.append(self._span(span))
                words.end() if span.note is None else words.go_on()
                continue
            held = ""
            for text in words.pieces(span.text):
                while due and due[0].word <= words.count and text.strip():
                    out.append(self._span(span, held) + self._mark(due.pop(0)))
                    held = ""
                held += text
            out.append(self._span(span, held))
        out += [self._mark(start) for start in due]
        return "".join(out)

    # spans

    def _spans(self, spans: Spans) -> str:
        return "".join(self._span(span) for span in spans)

    def _span(self, span: Span, text: str | None = None) -> str:
        if span.note is not None:
            number = span.note
            place = "" if number in self._called else f' id="{self._prefix}r{number}"'  # target of the note's backlink
            self._called.add(number)
            return (
                f'<a epub:type="noteref" role="doc-noteref" class="noteref"{place} '
                f'href="#{self._prefix}n{number}">{number + 1}</a>'
            )
        if span.text == "\n":
            return "<br/>"
        out = escape(span.text if text is None else text, quote=False)
        if not out:
            return ""
        if span.code:
            out = f'<code dir="ltr">{out}</code>'
        latin = ' class="latin"' * (self._language.emphasis != "" and not any(map(is_wide, span.text)))
        for tag, attribute, on in (("del", "", span.strike), ("em", latin, span.italic), ("strong", "", span.bold)):
            if on:
                out = f"<{tag}{attribute}>{out}</{tag}>"
        return f'<a href="{escape(span.href)}">{out}</a>' if span.href else out


class _Words:
    """Counts a paragraph's words as the layout does. A word may continue across spans."""

    def __init__(self) -> None:
        self.count = 0
        self._open = False

    def pieces(self, text: str) -> Iterator[str]:
        """Split the text into words and spaces.

        At each `yield`, `count` is the index of the current word in its paragraph, from 0. At a space, `count` is the
        index of the next word.
        """
        for part in re.split(f"({SPACES.pattern})", text):
            if not part:
                continue
            if SPACES.fullmatch(part):
                self.end()
                yield part
                continue
            for unit, gap in [(part, None)] if part.isascii() and len(part) < LONG else units(part):
                yield unit
                self._open = True
                if gap is not None:
                    self.end()

    def go_on(self) -> None:
        self._open = True

    def end(self) -> None:
        self.count += self._open
        self._open = False


def _with_wide_gaps(spans: Spans) -> Spans:
    """Keep the width of several spaces in a row, which HTML shows as one: all but the last become no-break spaces."""
    return tuple(span if span.code else replace(span, text=re.sub(" (?= )", "\u00a0", span.text)) for span in spans)


def _indents(verse: model.Verse, line: int) -> str:
    """The `style` attribute with the indents of a verse line. Empty if the style sheet already sets these indents."""
    indent = verse.indent(line)
    styles = [f"margin-inline-start: {indent:g}em"] * bool(indent)
    if verse.poem_indent:
        hang = max(TURNED_EMS, min(verse.deepest, _MAX_DEEPEST) + TURNED_EMS - indent)
        if hang != POEM_TURNED_EMS:
            styles += [f"padding-inline-start: {hang:g}em", f"text-indent: -{hang:g}em"]
    return f' style="{"; ".join(styles)}"' if styles else ""


def _aside(marks: str) -> str:
    return f"<div>{marks}</div>" if marks else ""
