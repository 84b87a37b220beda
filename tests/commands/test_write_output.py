from pathlib import Path
from typing import Any

import pytest

from bookgen.commands.write_output import Lines, Terminal


def status(**fields: Any) -> dict[str, Any]:
    base = {
        "generation_status": "running",
        "phase": "chapters",
        "status_message": "Writing.",
        "completed_chapters": 3,
        "total_chapters": 10,
        "percentage": 30.0,
        "words_written": 6012,
        "current_chapter": 4,
        "estimated_seconds_remaining": 150,
        "outline": [{"chapter_number": 4, "title": "The [Salt] Road"}],
    }
    return {**base, **fields}


def test_a_line_shows_chapters_words_and_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    with Lines().following("en") as show:
        show(status())

    assert capsys.readouterr().out == "3 of 10 chapters written, 6,012 words, 2 min left\n"


def test_a_japanese_book_is_measured_in_characters(capsys: pytest.CaptureFixture[str]) -> None:
    book = {"chapters": [], "target_word_count": 3_000, "content_language": "ja"}

    Lines().outline({"title": "T", **book})
    with Lines().following("ja") as show:
        show(status())
    Lines().finished(finished(**book), [])

    assert capsys.readouterr().out.splitlines() == [
        "T: 0 chapters, 3,000 characters",
        "3 of 10 chapters written, 6,012 characters, 2 min left",
        "T is done: 3 chapters, 900 characters of 3,000 planned.",
    ]


def test_no_line_is_printed_twice(capsys: pytest.CaptureFixture[str]) -> None:
    with Lines().following("en") as show:
        show(status())
        show(status(estimated_seconds_remaining=149, words_written=6_400))

    assert len(capsys.readouterr().out.splitlines()) == 1


def test_the_reason_for_waiting_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    away = "Waiting for the model since 08:00 UTC: it answered 500."
    with Lines().following("en") as show:
        for message in ("Writing chapter 4", away, away, "Writing chapter 4"):
            show(status(status_message=message))

    assert capsys.readouterr().out.splitlines()[1:] == [away]


def test_the_steps_after_the_chapters_are_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    message = "Reviewing the book. All 10 chapters are written."
    review = {"phase": "proofreading", "status_message": message, "current_chapter": None}
    with Lines().following("en") as show:
        for fields in ({}, review, review):
            show(status(**fields))

    assert capsys.readouterr().out.splitlines()[1:] == ["Reviewing the book ..."]


def suggestion(status: str, **fields: Any) -> dict[str, Any]:
    found = {"original_text": "at dawn", "suggested_text": None, "explanation": "It was noon."}
    return {"chapter_number": 2, "status": status, **found, **fields}


def test_the_editors_edits_are_counted_and_the_findings_left_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    told = "It is said three times.\nChapter 3: “as one does”\nLeft as it is: it is her way of speaking."
    passage = "> **Warning.** | The tray holds hot oil, and it has to be carried level by two people |"
    Lines().edited([])
    Lines().edited([suggestion("applied")])
    Lines().edited([suggestion("pending", explanation="")])
    Lines().edited([suggestion("applied"), suggestion("pending", explanation=told, original_text=passage)])

    assert capsys.readouterr().out.splitlines() == [
        "The editor read the book and found nothing to change.",
        "The editor read the book; 1 passage changed.",
        "The editor read the book and changed nothing. Left for you to decide:",
        "  Chapter 2: “at dawn”",
        "The editor read the book; 1 passage changed. Left for you to decide:",
        "  Chapter 2: “**Warning.** The tray holds hot oil, and it has to be carried level …”",
        "    It is said three times.",
        "    Chapter 3: “as one does”",
        "    Left as it is: it is her way of speaking.",
    ]


def test_the_proofreaders_other_suggestions_are_listed_with_their_replacement(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Lines().proofread([])
    Lines().proofread([suggestion("applied"), suggestion("applied"), suggestion("dismissed")])
    Lines().proofread([suggestion("pending", suggested_text="at noon")])

    assert capsys.readouterr().out.splitlines() == [
        "The proofreader found no mistakes.",
        "The proofreader corrected 2 passages.",
        "The proofreader changed nothing. Only spelling and punctuation are corrected without asking you. Left for you "
        "to decide:",
        "  Chapter 2: “at dawn” → “at noon”",
        "    It was noon.",
    ]


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"original_text": '"text": "The *Marigold*\'s lights"'}, '“"text": "The *Marigold*\'s lights"”'),
        ({"original_text": "ls | wc"}, "“ls | wc”"),
        ({"original_text": "“It is late.”"}, "“It is late.”"),
        (
            {"original_text": "A", "suggested_text": "AN", "prefix": "it. Then he ate ", "suffix": " apple at noon."},
            "“he ate A apple at” → “he ate AN apple at”",
        ),
        (
            {
                "original_text": "Web pages are written with marks in angle brackets.",
                "suggested_text": "Web pages are written with marks in angle brackets. Copy `ROOMS` into `page.py`.",
            },
            "“… angle brackets.” → “… angle brackets. Copy `ROOMS` into `page.py`.”",
        ),
    ],
)
def test_a_passage_is_shown_as_it_is_written_and_with_enough_words(
    fields: dict[str, Any], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Lines().edited([suggestion("pending", **fields)])

    assert capsys.readouterr().out.splitlines()[1] == f"  Chapter 2: {line}"


def test_a_book_without_known_prices_shows_no_cost(capsys: pytest.CaptureFixture[str]) -> None:
    chapters = [{"chapter_number": 1, "title": "One"}]
    sizes = {"target_word_count": 5000, "estimated_seconds": 5400, "content_language": "en"}
    book = {"title": "T", "chapters": chapters, **sizes}
    Lines().outline({**book, "estimated_cost_micros": None})
    Lines().outline({**book, "estimated_cost_micros": 1_250_000, "usage": {"currency": "USD"}})

    first, _, second, _ = capsys.readouterr().out.splitlines()
    assert first == "T: 1 chapter, 5,000 words, about 1 h 30 min"
    assert second == "T: 1 chapter, 5,000 words, about 1 h 30 min, about 1.25 USD"


def finished(**fields: Any) -> dict[str, Any]:
    """A finished book as the API returns it."""
    sums = {"target_word_count": 1_000, "usage": {"cost_micros": 0, "currency": "USD"}, "blurb": ""}
    return {"title": "T", "chapters_count": 3, "word_count": 900, "content_language": "en", **sums, **fields}


def test_a_finished_book_is_shown_with_its_length_cost_and_blurb(capsys: pytest.CaptureFixture[str]) -> None:
    usage = {"cost_micros": 312_000, "currency": "USD"}
    Lines().finished(finished(usage=usage, blurb="One.\n\nTwo."), [Path("T.pdf")])

    assert capsys.readouterr().out.splitlines() == [
        "T is done: 3 chapters, 900 words of 1,000 planned. The book cost 0.31 USD.",
        "Its blurb, for the back cover and shops:",
        "  One.",
        "",
        "  Two.",
        "Files:",
        "T.pdf",
    ]


def test_the_findings_are_listed_up_to_a_limit(capsys: pytest.CaptureFixture[str]) -> None:
    finding = {"chapter_number": 2, "kind": "length", "excerpt": "", "detail": "It has 80 words; 120 were asked for."}
    quoted = {"chapter_number": 3, "kind": "meta", "excerpt": "Here it is", "detail": "The model speaks to its user."}
    Lines().finished(finished(quality=[finding, quoted, *[finding] * 8]), [])
    Lines().finished(finished(), [])

    said = capsys.readouterr().out.splitlines()
    assert said[1:5] == [
        "Check these before you print the book:",
        "  Chapter 2: It has 80 words; 120 were asked for.",
        "  Chapter 3: The model speaks to its user.",
        "    “Here it is”",
    ]
    assert said[-2:] == ["  and 2 more.", "T is done: 3 chapters, 900 words of 1,000 planned."]


def test_the_bar_shows_that_the_model_is_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    with Terminal().following("en") as show:
        show(status(status_message="Waiting for the model since 14:02 UTC."))

    assert "Waiting for the" in capsys.readouterr().out


def test_a_failure_says_whether_to_try_again(capsys: pytest.CaptureFixture[str]) -> None:
    Lines().failed("The model failed.", {"retryable": True})

    said = capsys.readouterr()
    assert said.err.splitlines() == [
        "bookgen: The model failed.",
    ]
    assert said.out == "Run the same command again to continue.\n"


def test_the_last_line_names_the_files(capsys: pytest.CaptureFixture[str]) -> None:
    Lines().finished(finished(), [Path("out/T.pdf")])

    assert capsys.readouterr().out.splitlines()[-1] == "out/T.pdf"


def test_chapters_missing_from_the_files_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    Lines().missing((2,))
    Lines().missing((2, 5))

    assert capsys.readouterr().out.splitlines() == [
        "Chapters without text were left out of the files: 2.",
        "Chapters without text were left out of the files: 2, 5.",
    ]


def test_a_terminal_shows_the_chapter_by_its_title(capsys: pytest.CaptureFixture[str]) -> None:
    with Terminal().following("en") as show:
        show(status())

    assert "Chapter 4 of 10: The [Salt] Road" in capsys.readouterr().out


@pytest.mark.parametrize("width", [40, 80])
def test_a_narrow_terminal_shows_the_numbers_in_full(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    with Terminal().following("en") as show:
        show(status(outline=[{"chapter_number": 4, "title": "The Road over the Mountains, and Back"}]))

    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("Chapter 4 of 10")
    assert " 30% 6,012 words" in last
    assert width == 40 or last.rstrip().endswith("0:00:00 2 min left")
