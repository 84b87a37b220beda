"""The opening of a chapter: number and title, below some empty lines. Without a title, only the empty lines."""

from __future__ import annotations

import math

from bookgen.render.headings import chapter_heading
from bookgen.render.layout.lines import Tail
from bookgen.render.layout.rows import Element, Mark, Row, TextMark, blank
from bookgen.render.layout.setter import DISPLAY_LEAD, Setter
from bookgen.render.model import Section

_SCALES = (2.0, 1.6, 1.3, 1.0, 0.8)  # of the title; the first that fits is used
_SINK = 0.14  # the share of the page's lines above the number
_TALLEST = 0.45  # of the page's height for the title
_AFTER = 3
_LONG = 60  # letters; for longer titles the first scale is skipped


def opener_rows(setter: Setter, section: Section, element: Element) -> list[Row]:
    geometry = setter.geometry
    rows: list[Row] = [blank(max(1, round(geometry.lines * _SINK)), keep=True)]
    label, title = chapter_heading(section, setter.settings, setter.language)
    if not title:
        return [*rows, blank(_AFTER, keep=True)]
    heading = element.child("H1")
    if label:
        cased = label.upper() != label.lower()  # scripts without case have no small capitals, and some join letters
        line = setter.line(label, geometry.small, geometry.measure, tracked=cased)
        line.tail = Tail.SPACE  # separates the number from the title when the text is copied
        rows += [Row(marks=[TextMark(line, 0.0, geometry.small, heading)], keep=True), blank(keep=True)]
    sizes = [geometry.size * scale for scale in _SCALES[len(title) > _LONG :]]
    tallest = geometry.lines * geometry.lead * _TALLEST
    size, lines = setter.fitted(title, sizes, geometry.measure * 0.92, tallest, display=True)
    lead = size * DISPLAY_LEAD
    units = math.ceil((len(lines) * lead - size * 0.02) / geometry.lead)
    lowest = -(units - 1) * geometry.lead
    marks: list[Mark] = [
        TextMark(line, geometry.measure * 0.04, size, heading, dy=lowest + below * lead)
        for below, line in zip(reversed(range(len(lines))), lines, strict=True)
    ]
    rows.append(Row(marks=marks, units=units, keep=True))
    rows.append(blank(min(_AFTER, geometry.lines // 5), keep=True))
    return rows
