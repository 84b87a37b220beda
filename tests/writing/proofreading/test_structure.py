"""A change may replace words in a paragraph, a list item or the cells of a table row, but no markup."""

from __future__ import annotations

import pytest

from bookgen.writing.proofreading.structure import keeps_structure, prose

TABLE = (
    "Take the row that fits:\n\n"
    "| Loaf | Sign | Next time |\n"
    "|---|:-:|---|\n"
    "| Gummy | Cut hot, or under 94 °C | Use the *probe* |\n"
    "| Pale | A \\| B | Half a gram less |\n\n"
    "That is is all."
)


@pytest.mark.parametrize(
    ("passage", "replacement"),
    [
        ("Half a gram less", "The next weight down in the table"),
        ("under 94 °C", "below the temperature in its recipe"),
        ("Use the *probe*", "Wait, then use the *probe*"),
        ("| Gummy | Cut hot, or under 94 °C |", "| Gummy line | Cut hot, or under 92 °C |"),
        ("Next time", "The next loaf"),
    ],
)
def test_words_in_the_cells_of_a_row_may_change(passage: str, replacement: str) -> None:
    start = TABLE.index(passage)

    assert keeps_structure(TABLE, start, start + len(passage), replacement)


@pytest.mark.parametrize(
    ("passage", "replacement"),
    [
        ("Half a gram less", "Half a gram less | a cooler shelf"),
        ("Half a gram less", "Half a gram less\nor none"),
        ("| Gummy | Cut hot", "| Gummy, cut hot"),
        ("Gummy | Cut hot", "Gummy \\| cut hot"),
        ("A \\| B", "A or B"),
        ("|:-:|", "|---|"),
        ("the *probe*", "the probe"),
        ("| Pale |", "Pale |\n"),
    ],
)
def test_the_rows_and_cells_of_a_table_stay(passage: str, replacement: str) -> None:
    start = TABLE.index(passage)

    assert not keeps_structure(TABLE, start, start + len(passage), replacement)


def test_only_the_rows_of_a_table_are_no_prose() -> None:
    text = prose(TABLE)

    assert len(text) == len(TABLE)
    assert "Gummy" not in text
    assert text.endswith("That is is all.")
