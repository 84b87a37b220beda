"""Converts Markdown to blocks and notes. Raw HTML is treated as text, so a model's output never becomes markup."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin

from bookgen.render import bounds, model
from bookgen.render.characters import clean, is_wide
from bookgen.render.model import Block, Span, Spans, lines_by_hand
from bookgen.render.numbered import numbered_paragraphs
from bookgen.render.scene_breaks import as_break, with_markdown_breaks
from bookgen.render.verse_lines import is_in_lines, with_bounded_gaps, with_marked_indent, with_spaces, without_indents
from bookgen.render.wide_emphasis import with_wide_emphasis

MAX_BOLD_HEADING_LETTERS = 80
MAX_STANZA_LINE_LETTERS = 120  # of a stanza of one line; more is a paragraph of prose
_NO_HEADING_ENDS = tuple(".!?…,;\"'”’“»«。！？」")
MAX_NESTING = 6  # deeper quotes and lists are set at this depth

_BREAK_TAG = re.compile(r"<br[ \t]*/?>[ \t]*\n?", re.I)


def _break_tag(state: StateInline, silent: bool) -> bool:
    """Parse `<br>` as a line break. Models use it where Markdown has no line break, as in table cells."""
    found = _BREAK_TAG.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push("hardbreak", "br", 0)
    state.pos = found.end()
    return True


def _small_tag(state: StateInline, silent: bool) -> bool:
    """Parse `<sup>` and `<sub>` as superscript and subscript characters, or as plain text if any does not exist."""
    found = _SMALL_TAG.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        small = found[2].translate(_SMALL[found[1].lower()])
        state.push("text", "", 0).content = small if not set(small) & set(found[2]) else found[2]
    state.pos = found.end()
    return True


def _parser(*, without: Sequence[str] = ()) -> MarkdownIt:
    """A Markdown parser. Only fenced code is code, so that an indented paragraph stays a paragraph."""
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 60}).enable(["table", "strikethrough"])
    parser.use(footnote_plugin).disable(["code", *without])
    parser.inline.ruler.before("autolink", "break_tag", _break_tag)
    parser.inline.ruler.before("autolink", "small_tag", _small_tag)
    return parser


_PARSER = _parser()
_VERSE_PARSER = _parser(without=("list", "lheading"))  # "1953. The mark" is a line, no list item
_ENUMERATION = re.compile(
    r"^(chapter|kapitel|chapitre|cap[íi]tulo|capitolo|hoofdstuk|rozdział|kapitola|глава|розділ)\b", re.I
)

_HOST = r"[^\s/?#@:%\[\]\\<>\"]+"
_WEB = re.compile(rf"https?://{_HOST}(?::[0-9]{{1,5}})?(?:[/?#][^\s\\<>\"]*)?|mailto:[^\s@?]+@{_HOST}(?:\?\S*)?")

_FIGURE = re.compile("[+−-]?[€$£¥]?\\d[\\d.,'’\u00a0\u202f ]*%?")
_NO_FIGURE = ("", "-", "–", "—")  # cells of such a column without a number
_BOX = re.compile(r"\[([ xX])\] ")
_SMALL_TAG = re.compile(r"<(sup|sub)>([^<>\n]{1,20})</\1>", re.I)
_SMALL = {
    "sup": str.maketrans("0123456789+-=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ"),
    "sub": str.maketrans("0123456789+-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎"),
}
_STYLES = {"em": "italic", "strong": "bold", "s": "strike"}

Polish = Callable[[str], str]


def parse(
    source: str, title: str, polish: Polish, *, verse: bool = False
) -> tuple[tuple[Block, ...], tuple[tuple[Block, ...], ...]]:
    """The blocks and notes of one chapter. A first heading that only repeats the title is dropped.

    `polish` corrects the punctuation of a text. `verse`: every line break of the text is kept. Text that would take
    the parser hours is not parsed; its paragraphs become plain text.
    """
    text = clean(source)
    lines = with_markdown_breaks(text.split("\n"))
    marked = "\n".join(map(with_marked_indent, lines) if verse else lines)
    tokens = [] if bounds.has_too_many_brackets(text) else (_VERSE_PARSER if verse else _PARSER).parse(marked)
    if not tokens or bounds.has_chained_notes(tokens):
        return tuple(bounds.plain(text)), ()
    reader = _Reader(tokens, polish, verse=verse)
    blocks = [as_break(block) for block in reader.blocks("") if not _is_empty(block)]
    while blocks and (isinstance(blocks[0], model.SceneBreak) or _repeats(blocks[0], title)):
        del blocks[0]
    while blocks and isinstance(blocks[-1], model.SceneBreak):
        del blocks[-1]
    blocks = [_as_heading(block, blocks[index + 1 : index + 2]) for index, block in enumerate(blocks)]
    return tuple(blocks), tuple(reader.notes[key] for key in sorted(reader.notes))


def _as_heading(block: Block, following: Sequence[Block]) -> Block:
    """Turn a bold line above other text into a heading, unless it is a sentence or all in capitals."""
    line = _sole_line(block)
    if not line or not following:
        return block
    spans = [span for span in line if span.text.strip() or span.note is not None]
    text = "".join(span.text for span in line).strip()
    is_plain = all(span.bold and not span.href and span.note is None for span in spans)
    if not is_plain or len(text) > MAX_BOLD_HEADING_LETTERS or text.isupper() or text.endswith(_NO_HEADING_ENDS):
        return block
    if isinstance(following[0], model.Heading | model.SceneBreak):
        return block
    return model.Heading(3, tuple(replace(span, bold=False) for span in line))


def _sole_line(block: Block) -> Spans:
    """The spans of a paragraph, or of a stanza with only one line. Empty for all other blocks."""
    match block:
        case model.Paragraph(spans) | model.Verse((spans,)):
            return spans
    return ()


def _is_empty(block: Block) -> bool:
    return isinstance(block, model.Paragraph | model.Heading) and not any(
        span.text.strip() or span.note is not None for span in block.spans
    )


def _repeats(block: Block, title: str) -> bool:
    """Whether the block is a heading that only repeats the chapter's title. False for a heading with a note."""
    if not isinstance(block, model.Heading) or any(span.note is not None for span in block.spans):
        return False
    heading = _plain("".join(span.text for span in block.spans))
    wanted = _plain(title)
    return heading == wanted or bool(
        _ENUMERATION.match(heading) and (heading.endswith(wanted) or len(heading.split()) <= 3)
    )


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


class _Reader:
    """Converts the parser's flat list of tokens to blocks, in one pass."""

    def __init__(self, tokens: Sequence[Token], polish: Polish, *, verse: bool) -> None:
        self._tokens = tokens
        self._at = 0
        self._polish = polish
        self._verse = verse
        self._depth = 0
        self._lists = 0
        self._numbered = numbered_paragraphs(tokens)
        self.notes: dict[int, tuple[Block, ...]] = {}

    def blocks(self, until: str) -> Iterator[Block]:
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if token.type == until:
                return
            yield from self._block(token)

    def _block(self, token: Token) -> Iterator[Block]:
        match token.type:
            case "paragraph_open":
                yield self._paragraph(*self._lines())
            case "heading_open":
                yield model.Heading(min(4, max(2, int(token.tag[1]))), self._inline())
            case "ordered_list_open" if self._at - 1 in self._numbered:
                yield from self._numbered_paragraphs(token)
            case "blockquote_open":
                yield from self._quote()
            case "bullet_list_open" | "ordered_list_open":
                yield from self._list(token)
            case "table_open":
                yield self._table()
            case "fence":
                code = with_spaces(token.content).rstrip("\n").split("\n")
                yield model.Code(tuple(line.expandtabs(4) for line in code))
            case "hr":
                yield model.SceneBreak()
            case "footnote_open":
                self.notes[token.meta["id"]] = tuple(self.blocks("footnote_close"))

    def _inline(self) -> Spans:
        return self._lines()[0]

    def _lines(self) -> tuple[Spans, tuple[int, ...]]:
        """The spans of a text, and in a book of verse the indents of its lines if any line is indented."""
        token = self._tokens[self._at]
        self._at += 2  # the inline token and the closing one
        keeps_lines = self._verse or (not self._lists and is_in_lines(token.content))
        parsed = _spans(token.children or [], soft="\n" if keeps_lines else " ")
        spans = tuple(with_wide_emphasis(parsed))
        spans, indents = without_indents(spans) if self._verse else (spans, ())
        return polished(_with_whole_lines(spans), self._polish), indents

    def _paragraph(self, spans: Spans, indents: tuple[int, ...]) -> Block:
        """A paragraph, or verse if it has at least three lines and is not in a list.

        In a book of verse, two lines are enough, or one line that is no longer than MAX_STANZA_LINE_LETTERS.
        """
        breaks = sum(span.text == "\n" for span in spans)
        letters = len(" ".join("".join(span.text for span in spans).split()))  # a wide gap counts as one
        is_line = self._verse and letters <= MAX_STANZA_LINE_LETTERS
        if (breaks >= (1 if self._verse else 2) or is_line) and not self._lists:
            return model.Verse(lines_by_hand(with_bounded_gaps(spans) if self._verse else spans), indents)
        return model.Paragraph(spans)

    def _numbered_paragraphs(self, token: Token) -> Iterator[Block]:
        """The numbered paragraphs that Markdown parsed as a list. Each gets its number back as text."""
        start = token.attrGet("start")
        number = 1 if start is None else int(start)
        while self._tokens[self._at].type == "list_item_open":
            self._at += 1
            sign: Spans = (Span(f"{number}. "),)
            for block in self.blocks("list_item_close"):
                yield model.Paragraph((*sign, *block.spans)) if isinstance(block, model.Paragraph) else block
                sign = ()
            number += 1
        self._at += 1

    def _quote(self) -> Iterator[Block]:
        """A quotation. If it consists only of verse, the verse itself is returned."""
        self._depth += 1
        inner = tuple(map(as_break, self.blocks("blockquote_close")))
        self._depth -= 1
        if self._depth >= MAX_NESTING or (len(inner) == 1 and isinstance(inner[0], model.Verse)):
            yield from inner
        elif inner:
            yield model.Quote(inner)

    def _list(self, token: Token) -> Iterator[Block]:
        close = token.type.replace("_open", "_close")
        self._depth += 1
        self._lists += 1
        items = []
        while self._tokens[self._at].type == "list_item_open":
            self._at += 1
            items.append(tuple(self.blocks("list_item_close")))
        self._at += 1
        self._lists -= 1
        self._depth -= 1
        if self._depth >= MAX_NESTING:
            for item in items:
                yield from item
        else:
            start = int(token.attrGet("start") or 1) if close.startswith("ordered") else None
            yield _checklist(model.ItemList(tuple(item or (model.Paragraph(()),) for item in items), start))

    def _table(self) -> Block:
        rows: list[list[Spans]] = []
        aligns: list[str] = []
        while (token := self._tokens[self._at]).type != "table_close":
            self._at += 1
            if token.type == "tr_open":
                rows.append([])
            elif token.type in ("th_open", "td_open"):
                if len(rows) == 1:
                    aligns.append(str(token.attrGet("style") or "").removeprefix("text-align:"))
                rows[-1].append(self._inline())
        self._at += 1
        width = len(aligns)
        head, *body = [tuple((row + [()] * width)[:width]) for row in rows]
        columns = zip(aligns, zip(*body, strict=True) if body else [()] * width, strict=True)
        chosen = (align or ("right" if _has_figures(column) else "left") for align, column in columns)
        return model.Table(tuple(chosen), head, tuple(body))


def _has_figures(column: Sequence[Spans]) -> bool:
    """Whether a table column has only numbers, at least two, and is therefore aligned right.

    Cells may also be empty or have a dash.
    """
    texts = [("".join(span.text for span in cell).strip(), any(span.code for span in cell)) for cell in column]
    filled = [(text, is_code) for text, is_code in texts if text not in _NO_FIGURE]
    return len(filled) > 1 and all(_FIGURE.fullmatch(text) and not is_code for text, is_code in filled)


def _checklist(block: model.ItemList) -> model.ItemList:
    """The list as a checklist if every item begins with "[ ]" or "[x]"."""
    boxes = [_BOX.match(_first_text(item)) for item in block.items]
    if block.start is not None or not all(boxes):
        return block
    items = []
    for found, (first, *others) in zip(boxes, block.items, strict=True):
        if found and isinstance(first, model.Paragraph):
            span, *spans = first.spans
            rest = span.text[found.end() :]
            texts = (replace(span, text=rest), *spans) if rest else tuple(spans)
            items.append((model.Paragraph(texts), *others))
    return model.ItemList(tuple(items), ticked=tuple(found[1] != " " for found in boxes if found))


def _first_text(item: Sequence[Block]) -> str:
    return item[0].spans[0].text if isinstance(item[0], model.Paragraph) and item[0].spans else ""


def _spans(tokens: Sequence[Token], *, soft: str) -> Iterator[Span]:
    """Convert inline tokens to spans. `soft` replaces a plain line break of the source."""
    style: dict[str, Any] = {}
    for index, token in enumerate(tokens):
        match token.type:
            case "text":
                if token.content:
                    yield Span(token.content, **style)
            case "code_inline":
                yield Span(token.content, code=True, **style)
            case "softbreak":
                if soft == "\n":
                    yield Span("\n")
                elif not _is_within_ideographs(tokens, index):
                    yield Span(soft, **style)
            case "hardbreak":
                yield Span("\n")
            case "em_open" | "strong_open" | "s_open":
                style[_STYLES[token.tag]] = True
            case "em_close" | "strong_close" | "s_close":
                style.pop(_STYLES[token.tag], None)
            case "link_open":
                style["href"] = _web(str(token.attrGet("href") or ""))
            case "link_close":
                style.pop("href", None)
            case "image":
                yield Span(token.content, **style)
            case "footnote_ref":
                yield Span("", note=token.meta["id"])


def _with_whole_lines(spans: Spans) -> Spans:
    """The spans without spaces next to forced line breaks, and without breaks at the beginning or end."""
    if not any(span.text == "\n" for span in spans):
        return spans
    found: list[Span] = []
    for line in lines_by_hand(spans):
        if bare := _stripped(line):
            found += [Span("\n"), *bare] if found else bare
    return tuple(found)


def _stripped(line: Spans) -> Spans:
    parts = list(line)
    while parts and parts[0].note is None and not parts[0].text.strip(" "):
        del parts[0]
    while parts and parts[-1].note is None and not parts[-1].text.strip(" "):
        del parts[-1]
    if parts and parts[0].note is None:
        parts[0] = replace(parts[0], text=parts[0].text.lstrip(" "))
    if parts and parts[-1].note is None:
        parts[-1] = replace(parts[-1], text=parts[-1].text.rstrip(" "))
    return tuple(parts)


def _is_within_ideographs(tokens: Sequence[Token], index: int) -> bool:
    """Whether a line break of the source is between two ideographs, where it must not become a space."""
    before, after = tokens[index - 1].content[-1:], tokens[index + 1].content[:1]
    return all(is_wide(each) and not "\uac00" <= each <= "\ud7af" for each in (before, after))  # Korean has spaces


def _web(href: str) -> str:
    """The URL if it is a web or mail address that reading systems accept, else an empty string."""
    return href if _WEB.fullmatch(href) else ""


def polished(spans: Spans, polish: Polish) -> Spans:
    """Apply `polish` (quotes, dashes) to all spans of a paragraph at once.

    A quotation may begin in one span and end in another.
    """
    if all(span.code for span in spans if span.text):
        return spans
    whole = "\x00".join("\x01" * len(span.text) if span.code else span.text for span in spans)
    set_text = polish(whole)
    if set_text == whole:
        return spans
    texts = set_text.split("\x00")
    return tuple(span if span.code else replace(span, text=text) for span, text in zip(spans, texts, strict=True))
