"""Finds the poems of a book of verse, for its contents. A poem begins with a heading of its chapter."""

from __future__ import annotations

from dataclasses import replace

from bookgen.render.headings import says_the_same
from bookgen.render.model import Heading, Poem, Section, Spans


def with_poems(section: Section) -> Section:
    """The chapter with its poems. A chapter that is one poem of its own title has none to list.

    Lower headings than the chapter's highest are parts of a poem.
    """
    titles = [(index, block) for index, block in enumerate(section.blocks) if isinstance(block, Heading)]
    highest = min((block.level for _, block in titles), default=0)
    found = [(index, _title(block.spans)) for index, block in titles if block.level == highest]
    named = [(index, title) for index, title in found if title]
    if len(named) == 1 and says_the_same(named[0][1], section.title):
        return section
    poems = (Poem(index, title, f"poem-{section.number}-{number}") for number, (index, title) in enumerate(named, 1))
    return replace(section, poems=tuple(poems))


def _title(spans: Spans) -> str:
    """The title in one line, without references to notes."""
    return " ".join("".join(span.text for span in spans).split())
