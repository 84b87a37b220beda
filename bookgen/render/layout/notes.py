"""Footnotes: set small at the foot of the page that calls them."""

from __future__ import annotations

from bookgen.render.layout.lines import Line, Shape
from bookgen.render.layout.rows import Element
from bookgen.render.layout.setter import Setter
from bookgen.render.model import Block, Code, Figure, Heading, ItemList, Paragraph, Quote, Run, Section, Verse

_LONGEST = 0.4  # of a page; a longer note is set behind the chapter


class FootNotes:
    """One chapter's notes as lines, and how high each is."""

    def __init__(self, setter: Setter, section: Section, element: Element) -> None:
        geometry = setter.geometry
        self.lead = geometry.note_lead
        self.gap = geometry.note_lead * 1.2
        self.lines: dict[int, list[Line]] = {}
        self.elements: dict[int, Element] = {}
        self.behind: list[int] = []
        longest = geometry.lines * geometry.lead * _LONGEST
        for number, blocks in enumerate(section.notes):
            runs = (Run("", note=number), Run("\u2005"), *note_runs(blocks))
            shape = Shape(geometry.measure, geometry.note_size, align=setter.body_align)
            lines = setter.breaker.lines(setter.maker.words(runs), shape)
            if len(lines) * self.lead > longest:
                self.behind.append(number)
                continue
            self.lines[number] = lines
            self.elements[number] = element.child("Note")

    def heights(self) -> dict[int, float]:
        heights = {number: len(lines) * self.lead for number, lines in self.lines.items()}
        return heights | dict.fromkeys(self.behind, 0.0)


def note_runs(blocks: tuple[Block, ...]) -> tuple[Run, ...]:
    """A note is one paragraph on paper, whatever it was written as."""
    runs: list[Run] = []
    for block in blocks:
        if runs:
            runs.append(Run(" "))
        match block:
            case Paragraph(inner) | Heading(_, inner):
                runs += inner
            case Quote(inner_blocks):
                runs += note_runs(inner_blocks)
            case ItemList(items):
                for item in items:
                    runs += (*note_runs(item), Run(" "))
            case Verse(lines):
                for line in lines:
                    runs += (*line, Run(" "))
            case Code(texts):
                runs.append(Run(" ".join(texts), code=True))
            case Figure(caption=caption):
                runs += caption
            case _:
                pass
    return tuple(run for run in runs if run.text or run.note is not None)
