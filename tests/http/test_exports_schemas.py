"""The settings of an export request."""

import re

import pytest

from bookgen.errors import InvalidInput
from bookgen.http.edge.schemas import load
from bookgen.http.exports_schemas import ExportRequestSchema, ExportSettingsSchema
from bookgen.render.settings import ExportSettings

ISBN_PATTERN = ExportSettingsSchema().fields["isbn"].pattern


def settings(**given: object) -> ExportSettings:
    loaded = load(ExportRequestSchema(), {"settings": given})["settings"]
    assert isinstance(loaded, ExportSettings)
    return loaded


def test_a_missing_setting_keeps_its_default() -> None:
    assert settings(unheard=1, font=None) == settings() == ExportSettings()


def test_without_settings_none_are_loaded_so_that_the_books_own_count() -> None:
    assert load(ExportRequestSchema(), {})["settings"] is None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("include_toc", "yes", "Must be true or false."),
        ("font", "comic", "Must be one of: serif, sans, dyslexic."),
        ("font_size", 7, "Must be from 8 to 18 (got 7)."),
        ("font_size", 19.5, "Must be from 8 to 18 (got 19.5)."),
        ("font_size", True, "Must be a number from 8 to 18."),
        ("line_spacing", 0.9, "Must be from 1 to 2 (got 0.9)."),
        ("line_spacing", "2", "Must be a number from 1 to 2."),
        ("chapter_starts", "left", "Must be one of: right, any."),
        ("profile", "web", "Must be one of: digital, print."),
        ("paper", "gold", "Must be one of: white, cream."),
        ("dedication", 4, "Must be a string."),
        ("isbn", "978-3-16-148410-1", "Must be a valid ISBN-10 or ISBN-13."),
        ("publisher", "x" * 201, "Must have at most 200 characters (got 201)."),
    ],
)
def test_an_invalid_value_is_refused_by_its_name(name: str, value: object, message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        settings(**{name: value})

    assert refused.value.details == {"settings": [f"{name}: {message}"]}


def test_all_invalid_values_are_reported_together() -> None:
    with pytest.raises(InvalidInput) as refused:
        settings(font="comic", font_size=99, nonsense=1)

    assert len(refused.value.details["settings"]) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("isbn", ["978-3-16-148410-0", "0 306 40615 2", "080442957x", " -0804429 57X- ", "", " \u3000"])
def test_the_documented_pattern_of_an_isbn_accepts_every_isbn(isbn: str) -> None:
    assert settings(isbn=isbn)
    assert re.search(ISBN_PATTERN, isbn)


@pytest.mark.parametrize("text", ["0" * 19, "123", "-", "97831614841000", "978-3-16-148410-X", "ISBN 0306406152"])
def test_the_documented_pattern_of_an_isbn_refuses_other_texts(text: str) -> None:
    assert not re.search(ISBN_PATTERN, text)


@pytest.mark.parametrize("isbn", ["978-3-16-148410-0", "0-306-40615-2", "080442957X", ""])
def test_a_valid_isbn_is_accepted(isbn: str) -> None:
    assert settings(isbn=isbn).isbn == isbn


def test_control_characters_are_removed_from_texts() -> None:
    taken = settings(dedication="For\x0b you\r\nand me", copyright_text="\ufeffMine\x07", publisher="A\r\nB")

    assert (taken.dedication, taken.copyright_text, taken.publisher) == ("For you\nand me", "Mine", "A B")
