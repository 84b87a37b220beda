"""Errors are worded for people and for agents."""

import pytest

from bookgen.client.errors import ApiError
from bookgen.commands.wording import in_words


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            "This book has no outline. Create one first (POST /books/{id}/generate-outline/ or update-outline/).",
            "This book has no outline. Create one first.",
        ),
        (
            "This book is being generated. Pause or stop the run first (pause-generation/ or stop-generation/).",
            "This book is being generated. Pause or stop the run first.",
        ),
        ("Buy it with POST /auth/addons/checkout/.", "Buy it."),
        ("No such book, or it is not yours.", "No such book, or it is not yours."),
    ],
)
def test_api_paths_are_removed_from_messages(message: str, said: str) -> None:
    assert in_words(ApiError(409, "CONFLICT", message), {}) == said


def test_a_field_is_called_by_the_name_of_its_option_and_named_once() -> None:
    told = "Must be from 1 to 100 (got 101)."
    error = ApiError(400, "VALIDATION_ERROR", f"chapter_count: {told}", {"chapter_count": [told]})

    assert in_words(error, {"chapter_count": "--chapters"}) == f"--chapters: {told}"


def test_a_message_about_no_field_stands_alone() -> None:
    error = ApiError(400, "VALIDATION_ERROR", "No outline.", {"non_field_errors": ["No outline."]})

    assert in_words(error, {"title": "--title"}) == "No outline."
