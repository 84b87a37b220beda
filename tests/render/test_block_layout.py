"""Quotations, lists, tables and headings are set as good books set them."""

from __future__ import annotations

from tests.render.conftest import Make, render
from tests.render.test_sent_markdown import SENTENCE, chapter, left_edges

LONG = SENTENCE * 2


def test_short_paragraphs_of_a_letter_and_the_one_after_them_have_no_indent(make: Make) -> None:
    parts = ["Dear Tom,", LONG, f"And {LONG}", "4.2.0", "3.1.0", "Yours,"]
    book = render(make("It said:\n\n" + "\n>\n".join(f"> {part}" for part in parts)))
    edges = left_edges(book.layout)

    assert len({edges[line] for line in ("Dear Tom,", "4.2.0", "3.1.0", "Yours,")}) == 1
    (after,) = [edge for line, edge in edges.items() if line.startswith("The harbour") and line != "The harbour"][:1]
    assert after == edges["Dear Tom,"]
    (indented,) = [edge for line, edge in edges.items() if line.startswith("And The")]
    assert indented > edges["Dear Tom,"]
    assert [f'<p class="flush">{part.strip()}' in chapter(book) for part in parts] == [
        True,
        True,
        False,
        True,
        True,
        True,
    ]
