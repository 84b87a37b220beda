"""A quotation is found where the text has it word for word, whatever the typography."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bookgen.writing.review.quotes import find_quote

TEXT = "“It’s here,” she said — at last…\nThe lamp was out. It’s here."


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("The lamp was out.", "The lamp was out."),
        ('"It\'s here," she said', "“It’s here,” she said"),
        ("she said - at last", "she said — at last"),
        ("she said—at last", "she said — at last"),
        ("she said -- at last...", "she said — at last…"),
        ("at last… The lamp", "at last…\nThe lamp"),
        ("  The lamp  was\n out. ", "The lamp was out."),
    ],
)
def test_a_quotation_matches_with_different_typography(quote, found):
    start, end = find_quote(TEXT, quote)

    assert TEXT[start:end] == found


@pytest.mark.parametrize(
    "quote", ["The lamps were out.", "the lamp was out.", "The lamp … out.", "The lamp out.", "", "  ", "…?", "(.*)"]
)
def test_a_quotation_with_a_different_letter_does_not_match(quote):
    assert find_quote(TEXT, quote) is None


def test_the_next_occurrence_of_a_quotation_is_found():
    first = find_quote(TEXT, "It's here")
    second = find_quote(TEXT, "It's here", first[1])

    assert (first, second) == ((1, 10), (TEXT.rindex("It’s"), TEXT.rindex("It’s") + 9))


@settings(deadline=None)
@given(content=st.text(alphabet="ab \n.,-—–'’\"“”…", max_size=80), start=st.integers(0, 79), length=st.integers(1, 30))
def test_every_piece_of_a_text_is_found_in_it(content, start, length):
    quote = content[start : start + length].strip()

    assert not quote or find_quote(content, quote) == (content.find(quote), content.find(quote) + len(quote))


@pytest.mark.parametrize("content", [" " * 200_000, "-" * 200_000, "a " * 100_000, "…" * 200_000])
@pytest.mark.parametrize("quote", ["- a -- b", "a b - - c", "—" * 200 + "x", "a … b"])
def test_the_search_is_fast_for_any_text(content, quote):
    assert find_quote(content, quote) is None
