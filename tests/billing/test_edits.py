"""AI edits and the words that they cover."""

from __future__ import annotations

import pytest

from bookgen.billing.edits import covers
from bookgen.models import Rewrite


@pytest.mark.parametrize(
    ("takes", "most"),
    [(Rewrite(1, 0), 5_000), (Rewrite(3, 0), 15_000), (Rewrite(1, 400), 400), (Rewrite(2, 9_999), 9_999)],
)
def test_a_reserved_edit_covers_no_more_words_than_were_reserved(takes: Rewrite, most: int) -> None:
    assert covers(takes, 1)
    assert covers(takes, most)
    assert not covers(takes, most + 1)
