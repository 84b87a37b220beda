"""The head of a chapter: sunk on its page, the number above the title."""

from __future__ import annotations

import math

from bookgen.render.layout.lines import Align, Tail
from bookgen.render.layout.rows import Element, Row, Text, blank
from bookgen.render.layout.setter import Setter
from bookgen.render.model import Section

TITLE_SCALE = 2.0
_SINK = 0.14  # of the page's lines above the number
_AFTER = 3


def opener_rows(setter: Setter, section: Section, element: Element) -> list[Row]:
    geometry = setter.geometry
    rows: list[Row] = [blank(max(1, round(geometry.lines * _SINK)), keep=True)]
    label, title = setter.language.chapter_name(section.number, section.title)
    heading = element.child("H1")
    if label:
        cased = label.upper() != label.lower()  # other scripts know no small capitals, and some join their letters
        line = setter.line(label, geometry.small, geometry.measure, tracked=cased)
        line.tail = Tail.SPACE  # the title goes on where the number ends
        rows += [Row(marks=[Text(line, 0.0, geometry.small, heading)], keep=True), blank(keep=True)]
    size = geometry.size * TITLE_SCALE
    if len(title) > 60:
        size = geometry.size * 1.6
    units = math.ceil(size * 1.18 / geometry.lead)
    for line in setter.lines(title, size, geometry.measure * 0.92, Align.CENTER, display=True):
        text = Text(line, geometry.measure * 0.04, size, heading, dy=-(units - 1) * geometry.lead)
        rows.append(Row(marks=[text], units=units, keep=True))
    rows.append(blank(_AFTER, keep=True))
    return rows
