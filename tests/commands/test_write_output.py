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
    with Lines().following() as show:
        show(status())

    assert capsys.readouterr().out == "3 of 10 chapters, 6,012 words, 2 min left\n"


def test_no_line_is_printed_twice(capsys: pytest.CaptureFixture[str]) -> None:
    with Lines().following() as show:
        show(status())
        show(status(estimated_seconds_remaining=149))

    assert len(capsys.readouterr().out.splitlines()) == 1


def test_the_reason_for_waiting_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    away = "Waiting for the model since 08:00 UTC: it answered 500."
    with Lines().following() as show:
        for message in ("Writing chapter 4", away, away, "Writing chapter 4"):
            show(status(status_message=message))

    assert capsys.readouterr().out.splitlines()[1:] == [away]


def test_the_steps_after_the_chapters_are_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    review = {"phase": "proofreading", "status_message": "Reviewing the book.", "current_chapter": None}
    with Lines().following() as show:
        for fields in ({}, review, review):
            show(status(**fields))

    assert capsys.readouterr().out.splitlines()[1:] == ["Reviewing the book."]


def test_the_editors_findings_are_counted_and_those_left_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    applied = {"chapter_number": 1, "status": "applied", "explanation": "It was noon.", "original_text": "at dawn"}
    pending = {**applied, "chapter_number": 2, "status": "pending", "explanation": "The key is never mentioned again."}
    Lines().edited([])
    Lines().edited([applied, applied])
    Lines().edited([applied, pending])

    assert capsys.readouterr().out.splitlines() == [
        "The editor read the book and found nothing to change.",
        "The editor marked 2 passages; 2 changed.",
        "The editor marked 2 passages; 1 changed.",
        "Left for you to decide:",
        "  Chapter 2: The key is never mentioned again. “at dawn”",
    ]


def test_a_book_without_known_prices_shows_no_cost(capsys: pytest.CaptureFixture[str]) -> None:
    chapters = [{"chapter_number": 1, "title": "One"}]
    book = {"title": "T", "chapters": chapters, "target_word_count": 5000, "estimated_seconds": 5400}
    Lines().outline({**book, "estimated_cost_micros": None})
    Lines().outline({**book, "estimated_cost_micros": 1_250_000, "usage": {"currency": "USD"}})

    first, _, second, _ = capsys.readouterr().out.splitlines()
    assert first == "T: 1 chapter, 5,000 words, about 1 h 30 min"
    assert second == "T: 1 chapter, 5,000 words, about 1 h 30 min, about 1.25 USD"


def test_the_findings_are_counted_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    finding = {"chapter_number": 2, "kind": "length", "excerpt": "", "detail": "It has 80 words; 120 were asked for."}
    quoted = {"chapter_number": 3, "kind": "meta", "excerpt": "Here it is", "detail": "The model speaks to its user."}
    book = {"title": "T", "chapters_count": 3, "word_count": 900}
    Lines().finished({**book, "quality": [finding, quoted, *[finding] * 8]}, [])
    Lines().finished(book, [])

    said = capsys.readouterr().out.splitlines()
    assert said[1:4] == [
        "Check these before you print the book:",
        "  Chapter 2: It has 80 words; 120 were asked for.",
        "  Chapter 3: The model speaks to its user. “Here it is”",
    ]
    assert said[-2:] == [
        "  and 2 more in the book's quality notes.",
        "T is done: 3 chapters, 900 words.",
    ]


def test_the_bar_shows_that_the_model_is_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    with Terminal().following() as show:
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
    Lines().finished({"title": "T", "chapters_count": 2, "word_count": 1500}, [Path("out/T.pdf")])

    assert capsys.readouterr().out.splitlines()[-1] == "out/T.pdf"


def test_chapters_missing_from_the_files_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    Lines().missing((2,))
    Lines().missing((2, 5))

    assert capsys.readouterr().out.splitlines() == [
        "Left out of the files because they have no text: chapter 2.",
        "Left out of the files because they have no text: chapters 2, 5.",
    ]


def test_a_terminal_shows_the_chapter_by_its_title(capsys: pytest.CaptureFixture[str]) -> None:
    with Terminal().following() as show:
        show(status())

    assert "Chapter 4 of 10: The [Salt] Road" in capsys.readouterr().out


@pytest.mark.parametrize("width", [40, 80])
def test_a_narrow_terminal_shows_the_numbers_in_full(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    with Terminal().following() as show:
        show(status(outline=[{"chapter_number": 4, "title": "The Road over the Mountains, and Back"}]))

    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("Chapter 4 of 10")
    assert " 30% 6,012 words" in last
    assert width == 40 or last.rstrip().endswith("0:00:00 2 min left")
