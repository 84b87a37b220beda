"""Renders pages as HTML, with every line where the PDF has it, in units that scale with the page."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from html import escape, unescape
from typing import Any

from bookgen.render.layout.bidi import spaces
from bookgen.render.layout.lines import Line, Tail
from bookgen.render.layout.page import Layout, Page, Placed
from bookgen.render.layout.rows import Fill, Image, Rule, TextMark
from bookgen.render.pictures import reduced

_STYLES = {
    "b": "font-weight:700",
    "i": "font-style:italic",
    "m": "font-family:'Source Code Pro',monospace;font-size:86%",
    "sc": "font-variant:small-caps",
}
_WIDEST = 1_200  # pixels of a picture on a screen
_TAG = re.compile("<[^>]*>")
_DOTS = {
    "sesame": "text-emphasis:filled sesame",
    "dot": "text-emphasis:filled dot;text-emphasis-position:under right",
}
_LEAD, _DOTTED_LEAD = 1.2, 3.0  # line heights; without room for the dots, a browser moves the letters
_RAISED = "vertical-align:super;font-size:60%"


def html_pages(layout: Layout) -> list[dict[str, Any]]:
    """The HTML of each page, with its number (from 1), kind and chapter id."""
    writer = _PageWriter(layout)
    return [
        {"number": number, "kind": page_kind(page), "chapter_id": page.chapter, "html": writer.html(page)}
        for number, page in enumerate(layout.pages, 1)
    ]


def page_text(page: Page) -> str:
    """The lines of the page as plain text."""
    lines = (_spans(placed.mark.line) for placed in page.placed if isinstance(placed.mark, TextMark))
    return unescape(_TAG.sub("", " ".join(lines)))


def page_kind(page: Page) -> str:
    return "title" if page.kind in ("cover", "half title") else page.kind


class _PageWriter:
    """Writes pages. Lengths are in percent of the page's width (`cqw`), so a page can be shown at any size."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._families = ",".join(f"'{source.name}'" for source in layout.typeface.families)

    def html(self, page: Page) -> str:
        style = {
            "position": "relative",
            "direction": "ltr",  # even in a right-to-left context; right-to-left lines set their own direction
            "container-type": "inline-size",
            "aspect-ratio": f"{self._layout.width:g}/{self._layout.height:g}",
            "overflow": "hidden",
            "background": "#fff",
            "color": "#111",
            "font-family": f"{self._families},serif",
        }
        return f'<div class="page" style="{_css(style)}">{"".join(map(self._mark, page.placed))}</div>'

    def _mark(self, placed: Placed) -> str:
        mark = placed.mark
        match mark:
            case TextMark():
                return self._text(mark, placed)
            case Rule():
                style = self._box(placed.x + mark.x, placed.y + mark.dy, mark.width) | {"border-top": "1px solid"}
                return f'<div style="{_css(style)}"></div>'
            case Fill():
                style = self._box(placed.x + mark.x, placed.y + mark.dy + mark.height, mark.width)
                style |= {"height": self._share(mark.height), "background": f"rgb({','.join(map(str, mark.colour))})"}
                return f'<div style="{_css(style)}"></div>'
            case Image():
                style = self._box(placed.x + mark.x, placed.y + mark.dy + mark.height, mark.width)
                source = "data:image/jpeg;base64," + b64encode(reduced(mark.picture, _WIDEST).data).decode("ascii")
                return f'<img src="{source}" alt="{escape(mark.element.alt)}" style="{_css(style)}"/>'

    def _text(self, mark: TextMark, placed: Placed) -> str:
        line = mark.line
        lead = _DOTTED_LEAD if any(each.dots for each, _ in line.segments) else _LEAD
        top = placed.y + mark.dy + mark.size * (1 + (lead - _LEAD) / 2)
        style = self._box(placed.x + mark.x + line.x, top, line.width)
        style |= {"font-size": self._share(mark.size), "line-height": f"{lead}", "white-space": "nowrap"}
        if line.opening:
            style["text-align-last"] = "justify"
        if line.rtl:
            style["direction"] = "rtl"
        return f'<div style="{_css(style)}">{_spans(line)}</div>'

    def _box(self, x: float, top: float, width: float) -> dict[str, str]:
        return {
            "position": "absolute",
            "left": self._share(x),
            "top": self._share(self._layout.height - top),
            "width": self._share(width),
        }

    def _share(self, points: float) -> str:
        return f"{points / self._layout.width * 100:.3f}cqw"


def _spans(line: Line) -> str:
    out = []
    for style, items in line.read or line.segments:
        text = escape("".join(item if isinstance(item, str) else spaces(item) for item in items), quote=False)
        names = [_STYLES[name] for name in style.css.split() if name in _STYLES] + [_RAISED] * bool(style.rise)
        names += [_DOTS[style.dots]] if style.dots else []
        out.append(f'<span style="{";".join(names)}">{text}</span>' if names else text)
    return "".join(out) + "-" * (line.tail is Tail.HYPHEN)


def _css(style: Mapping[str, str]) -> str:
    return ";".join(f"{name}:{value}" for name, value in style.items())
