from typing import Any

import pytest
from marshmallow import fields

from bookgen.errors import InvalidInput
from bookgen.http.books_schemas import BookChangesSchema, BookCreationSchema
from bookgen.http.edge.schemas import Body, Flag, Integer, List, String, load


class Sample(Body):
    number = Integer(minimum=1, maximum=10)
    serial = Integer(minimum=1)
    limit = Integer(from_text=True)
    flag = Flag()
    name = String(5, minimum=1)
    inner = List(fields.Nested(lambda: Inner()), 3)


class Long(Body):
    text = String(300_000)


class Inner(Body):
    name = String(5, minimum=1, required=True)


@pytest.mark.parametrize(("given", "taken"), [(5, 5), (5.0, 5), (1, 1), (10, 10)])
def test_whole_numbers_are_accepted_as_integers(given: Any, taken: int) -> None:
    assert load(Sample(), {"number": given}) == {"number": taken}


@pytest.mark.parametrize("given", [5.7, "5", True, [], {}, 0, 11, 2**70, 1e300, "abc"])
def test_other_values_and_integers_out_of_range_are_refused(given: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        load(Sample(), {"number": given})

    assert list(refused.value.details) == ["number"]


def test_the_message_for_a_number_names_the_bound_that_it_passes() -> None:
    with pytest.raises(InvalidInput) as refused:
        load(Sample(), {"serial": 2**63, "number": 11})
    with pytest.raises(InvalidInput) as too_small:
        load(Sample(), {"serial": 0})

    assert refused.value.details == {
        "serial": [f"Must be a smaller number (got {2**63})."],
        "number": ["Must be from 1 to 10 (got 11)."],
    }
    assert too_small.value.details == {"serial": ["Must be at least 1 (got 0)."]}


def test_the_message_for_a_number_names_no_bound_of_a_database_column() -> None:
    messages = []
    for value in (0, "many"):
        with pytest.raises(InvalidInput) as refused:
            load(BookCreationSchema(), {"title": "A", "target_word_count": value})
        messages += refused.value.details["target_word_count"]

    assert messages == ["Must be at least 1 (got 0).", "Must be a whole number of at least 1."]


@pytest.mark.parametrize("given", [2.0**53, -(2.0**53)])
def test_a_float_that_may_have_lost_digits_is_refused(given: float) -> None:
    assert load(Sample(), {"limit": given - given / 2**53}) == {"limit": int(given - given / 2**53)}
    with pytest.raises(InvalidInput):
        load(Sample(), {"limit": given})


def test_integers_in_a_query_are_digits() -> None:
    assert load(Sample(), {"limit": "100"}) == {"limit": 100}


@pytest.mark.parametrize("given", ["yes", 1, 0, "true"])
def test_a_flag_is_true_or_false_only(given: Any) -> None:
    with pytest.raises(InvalidInput):
        load(Sample(), {"flag": given})


def test_a_text_and_a_list_may_have_their_maximum_length() -> None:
    longest = {"name": "x" * 5, "inner": [{"name": "x"}] * 3}

    assert load(Sample(), longest) == longest


def test_a_list_that_is_too_long_is_refused_without_reading_its_items() -> None:
    with pytest.raises(InvalidInput) as refused:
        load(Sample(), {"inner": [0] * 4})

    assert refused.value.details == {"inner": ["Must have at most 3 items (got 4)."]}


def test_every_list_in_a_request_has_a_maximum_length() -> None:
    unbounded = {
        f"{shape.__name__}.{name}"
        for shape in Body.__subclasses__()
        for name, field in shape._declared_fields.items()
        if isinstance(field, fields.List) and not isinstance(field, List)
    }

    assert not unbounded


def test_trimming_a_text_takes_linear_time() -> None:
    """A pattern that searches for trailing spaces would start again at each: 40 billion steps."""
    text = f"a{' ' * 200_000}b"

    assert load(Long(), {"text": f"\ufeff {text}\u00ad\n"}) == {"text": text}


@pytest.mark.parametrize("given", ["", "  ", "\u00ad", "\u0001", "toolong", "nul\0", 5])
def test_a_text_is_trimmed_and_limited_and_has_no_null_character(given: Any) -> None:
    with pytest.raises(InvalidInput):
        load(Sample(), {"name": given})

    assert load(Sample(), {"name": " ab "}) == {"name": "ab"}


def test_null_is_ignored_in_optional_fields_and_refused_in_required_ones() -> None:
    assert load(Sample(), {"number": None, "flag": None, "name": None, "inner": None}) == {}
    with pytest.raises(InvalidInput) as refused:
        load(Sample(), {"inner": [{"name": None}]})
    assert refused.value.details == {"inner": ["[0].name: Must not be null."]}


def test_null_is_ignored_in_any_field_of_a_change() -> None:
    assert load(BookChangesSchema(), {"title": None, "genre": None}) == {}


def test_unknown_keys_are_ignored() -> None:
    assert load(Sample(), {"nubmer": 5, "id": 1, "is_staff": True}) == {}


def test_messages_for_nested_fields_contain_the_path() -> None:
    with pytest.raises(InvalidInput) as refused:
        load(Sample(), {"inner": [{"name": "ok"}, {"nmae": "x"}]})

    assert refused.value.details == {"inner": ["[1].name: This field is required."]}


def test_a_book_needs_only_its_title() -> None:
    book = load(BookCreationSchema(), {"title": "A"})

    assert book["trim_size"] == "6x9"
    assert not {"target_word_count", "chapter_count"} & book.keys()  # they depend on the plan and on each other
    assert (book["content_language"], book["genre"]) == ("en", "")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", "x" * 201),
        ("chapter_count", 0),
        ("chapter_count", 101),
        ("target_word_count", 0),
        ("target_word_count", "many"),
        ("trim_size", "9x9"),
        ("content_language", "tlh"),
        ("content_language", "english"),
        ("description", "x" * 5001),
        ("content_language", "en-a"),
        ("content_language", "en-x"),
    ],
)
def test_the_fields_of_a_book_have_their_limits(field: str, value: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        load(BookCreationSchema(), {"title": "A", field: value})

    assert list(refused.value.details) == [field]


TAGS = ["en", "en-GB", "zh-Hant", "pt-BR", "es-419", "de-1996", "zh-yue", "en-x-ours", "de-u-co-phonebk"]


@pytest.mark.parametrize("tag", TAGS)
def test_a_language_may_have_a_region_or_script(tag: str) -> None:
    assert load(BookCreationSchema(), {"title": "A", "content_language": tag})["content_language"] == tag


@pytest.mark.parametrize(("tag", "kept"), [("EN", "en"), ("De-AT", "de-AT"), ("ZH-Hant", "zh-Hant")])
def test_a_language_tag_is_case_insensitive(tag: str, kept: str) -> None:
    assert load(BookCreationSchema(), {"title": "A", "content_language": tag})["content_language"] == kept


def test_a_change_does_not_set_defaults() -> None:
    assert load(BookChangesSchema(), {"genre": "Essay"}) == {"genre": "Essay"}
