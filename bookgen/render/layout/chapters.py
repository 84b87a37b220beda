"""Lays a chapter out as pages: its rows, its notes, and the page breaks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from bookgen.render.layout.flow import Flow
from bookgen.render.layout.looseness import Looseness
from bookgen.render.layout.notes import FootNotes
from bookgen.render.layout.opener import opener_rows
from bookgen.render.layout.page_breaking import Cut, PageSearch
from bookgen.render.layout.rows import Element, Row
from bookgen.render.layout.setter import Setter
from bookgen.render.model import Heading, Paragraph, Section, Span


@dataclass(slots=True)
class ChapterPages:
    """A chapter's pages. `before`: how many printed pages of text precede them. `first`: the first page's number."""

    section: Section
    before: int
    pages: list[list[Row]]
    notes: FootNotes
    first: int = 1

    @property
    def poems(self) -> dict[str, int]:
        """The page of this chapter, counted from 0, on which each poem begins, by the poem's anchor."""
        return {row.anchor: page for page, rows in enumerate(self.pages) for row in rows if row.anchor}


def chapter_pages(setter: Setter, section: Section, structure: Element, before: int) -> ChapterPages:
    element = structure.child("Sect")
    rows = opener_rows(setter, section, element)
    flow = Flow(setter, element)
    flow.chapter(section)
    notes = FootNotes(setter, section, element, flow.rows)
    poems = flow.headings if section.verse else []
    if notes.behind:
        _set_behind(setter, section, notes, flow)
    notes.adopt(flow.rows)
    geometry, looseness = setter.geometry, flow.looseness
    _keep_whole(flow.rows, poems, geometry.lines, sum(row.units for row in rows))
    rows += flow.rows

    def can_change(paragraph: int, change: int) -> bool:
        return looseness.variant(paragraph, change) is not None

    search = PageSearch(rows, geometry.lines, geometry.lead, notes.heights(), notes.gap, can_change)
    pages = [_page_rows(rows, cut, looseness) for cut in search.cuts(first_is_recto=before % 2 == 0)]
    return ChapterPages(section, before, pages, notes)


def _keep_whole(rows: list[Row], poems: list[int], lines: int, above: float) -> None:
    """Mark the rows, in place, so that a poem that fits on a page is not divided between pages.

    A poem that is too long for a page begins a new page, unless it is the chapter's first; its pages may end short
    between stanzas. A page may also end short after any poem. `poems`: the indexes of the rows where poems begin.
    `lines`: lines per page. `above`: lines above the first row.
    """
    for first, end in zip(poems, [*poems[1:], len(rows)], strict=False):
        while end > first and rows[end - 1].blank:
            end -= 1
        if sum(row.units for row in rows[first:end]) <= lines - (above if first == 0 else 0):
            for row in rows[first : end - 1]:
                row.keep = True
        else:
            rows[first].begins_page |= first != poems[0]
            for row, following in pairwise(rows[first:end]):
                row.loose = following.blank and not row.keep
        rows[end - 1].loose = True


def _page_rows(rows: list[Row], cut: Cut, looseness: Looseness) -> list[Row]:
    """The rows of page `cut`. Paragraphs named in `cut.changes` are set a line longer or shorter.

    If the page begins within a table, the table's head is repeated at the top.
    """
    changes = dict(cut.changes)
    out: list[Row] = list(rows[cut.start].head)
    for row in rows[cut.start : cut.end]:
        change = changes.get(row.paragraph)
        if change is None:
            out.append(row)
        elif row.first:
            out += looseness.variant(row.paragraph, change) or []
    return out


def _set_behind(setter: Setter, section: Section, notes: FootNotes, flow: Flow) -> None:
    flow.block(Heading(3, (Span(setter.language.notes),)), flow.outermost)
    for number in notes.behind:
        for index, block in enumerate(section.notes[number]):
            if index == 0 and isinstance(block, Paragraph):
                block = Paragraph((Span("", note=number), Span(" "), *block.spans))
            flow.block(block, flow.outermost)
