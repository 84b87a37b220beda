"""The output of `bookgen write`: a live progress bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Column

from bookgen.commands.findings import Found, note_lines, suggestion_lines
from bookgen.commands.picture import show as show_picture
from bookgen.writing.language import language

Status = Mapping[str, Any]
AGAIN = "Run the same command again to continue."
NARROW = 72  # columns; below it there is no bar
LEFT = " Left for you to decide:"
ONLY_SAFE = "Only spelling and punctuation are corrected without asking you."
MAX_FINDINGS = 8  # how many findings to print for a finished book


def make_display() -> Lines:
    return Terminal() if sys.stdout.isatty() else Lines()


class Lines:
    """Prints one line for each event."""

    def say(self, text: str) -> None:
        print(text, flush=True)

    def picture(self, path: Path) -> None:
        """Show the picture, if the output can. Plain lines cannot, so this does nothing."""

    def outline(self, book: Mapping[str, Any]) -> None:
        length = _length(book["target_word_count"], book["content_language"])
        self.say(f"{book['title']}: {_count(len(book['chapters']))}, {length}{_effort(book)}")
        for chapter in book["chapters"]:
            self.say(f"{chapter['chapter_number']:>4}. {chapter['title']}")

    @contextlib.contextmanager
    def following(self, content_language: str) -> Iterator[Callable[[Status], None]]:
        """A function that shows the status of a run that writes a book in `content_language`."""
        told = {""}

        def show(status: Status) -> None:
            line = f"{status['completed_chapters']} of {_count(status['total_chapters'])} written"
            if line not in told:
                told.add(line)
                self.say(f"{line}, {_written(status, content_language)}{_time_left(status)}")
            if (doing := _doing(status)) not in told:
                told.add(doing)
                self.say(doing)

        yield show

    def paused(self) -> None:
        self.say(f"Paused. Finished work is kept. {AGAIN}")

    def failed(self, message: str, details: Mapping[str, Any]) -> None:
        print(f"bookgen: {message}", file=sys.stderr)
        if details.get("retryable"):
            self.say(AGAIN)

    def edited(self, findings: Sequence[Found]) -> None:
        """Say how many passages were changed on the editor's advice, and list the findings left for the author."""
        left = [each for each in findings if each["status"] == "pending"]
        changed = sum(each["status"] == "applied" for each in findings)
        if not changed and not left:
            self.say("The editor read the book and found nothing to change.")
            return
        done = f"; {_passages(changed)} changed" if changed else " and changed nothing"
        self.say(f"The editor read the book{done}.{LEFT * bool(left)}")
        self._listed(left, suggestion_lines)

    def proofread(self, suggestions: Sequence[Found]) -> None:
        """Say how many passages the proofreader has corrected, and list the suggestions left for the author."""
        left = [each for each in suggestions if each["status"] == "pending"]
        corrected = sum(each["status"] == "applied" for each in suggestions)
        if not corrected and not left:
            self.say("The proofreader found no mistakes.")
            return
        done = f"The proofreader corrected {_passages(corrected)}." if corrected else "The proofreader changed nothing."
        self.say(f"{done}{f' {ONLY_SAFE}{LEFT}' if left else ''}")
        self._listed(left, suggestion_lines)

    def finished(self, book: Mapping[str, Any], files: Sequence[Path]) -> None:
        planned, cost = book["target_word_count"], book["usage"]["cost_micros"]
        spent = f" The book cost {cost / 1_000_000:.2f} {book['usage']['currency']}." if cost else ""
        self.say(
            f"{book['title']} is done: {_count(book['chapters_count'])}, "
            f"{_length(book['word_count'], book['content_language'])} of {planned:,} planned.{spent}"
        )
        if book["blurb"]:
            self.say(f"Its blurb, for the back cover and shops:\n{textwrap.indent(book['blurb'], '  ')}")
        if files:
            self.say("Files:")
        for file in files:
            self.say(str(file))
        notes = book.get("quality") or []
        found = [each for each in notes if "before" not in each]
        if changed := len(notes) - len(found):
            passages = _passages(changed)
            self.say(f"Automatic checks changed {passages} of the text. The originals are in the chapters' history.")
        if found:
            self.say("Check these before you print the book:")
        self._listed(found, note_lines)

    def _listed(self, findings: Sequence[Found], lines: Callable[[Found], Iterator[str]]) -> None:
        for each in findings[:MAX_FINDINGS]:
            for line in lines(each):
                self.say(line)
        if len(findings) > MAX_FINDINGS:
            self.say(f"  and {len(findings) - MAX_FINDINGS} more.")

    def missing(self, chapters: Sequence[int]) -> None:
        """Say which chapters are left out of the files because they have no text."""
        numbers = ", ".join(map(str, chapters))
        self.say(f"Chapters without text were left out of the files: {numbers}.")


class Terminal(Lines):
    """Prints the same lines as `Lines`, but a progress bar while the book is written."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, emoji=False)

    def say(self, text: str) -> None:
        self._console.print(escape(text), soft_wrap=True)  # no line breaks in paths, so that they can be copied

    def picture(self, path: Path) -> None:
        show_picture(self._console, path)

    @contextlib.contextmanager
    def following(self, content_language: str) -> Iterator[Callable[[Status], None]]:
        with Progress(*_columns(self._console.width), console=self._console, expand=True) as progress:
            bar = progress.add_task("Waiting", total=100, words="", left="")

            def show(status: Status) -> None:
                progress.update(
                    bar,
                    completed=status["percentage"],
                    description=_now(status),
                    words=_written(status, content_language),
                    left=_time_left(status).lstrip(", "),
                )

            yield show


def _columns(width: int) -> Iterator[ProgressColumn]:
    """The columns of the progress display for a terminal of this width.

    Numbers are never cut. In a narrow terminal, the message is shortened, and there is no bar and no time.
    """
    yield TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=3))
    if width >= NARROW:
        yield BarColumn(bar_width=None, table_column=Column(ratio=1))
    yield TextColumn("{task.percentage:>3.0f}%")
    yield TextColumn("{task.fields[words]}")
    if width >= NARROW:
        yield TimeElapsedColumn()
        yield TextColumn("{task.fields[left]}")


def _now(status: Status) -> str:
    current = status.get("current_chapter")
    if status["generation_status"] == "running" and current and not _doing(status):
        titles = {chapter["chapter_number"]: chapter["title"] for chapter in status["outline"]}
        return escape(f"Chapter {current} of {status['total_chapters']}: {titles.get(current, '')[:40]}")
    return escape(str(status["status_message"]))


def _doing(status: Status) -> str:
    """What the run waits for (its turn or an unavailable model) or does besides writing; empty while it only writes."""
    message = str(status["status_message"])
    besides = status["generation_status"] == "running" and status["phase"] != "chapters"
    if message.startswith("Waiting"):
        return message
    return message.partition(". ")[0].rstrip(".") + " ..." if besides else ""


def _passages(count: int) -> str:
    return f"{count} passage{'' if count == 1 else 's'}"


def _count(chapters: int) -> str:
    return f"{chapters} chapter{'' if chapters == 1 else 's'}"


def _written(status: Status, content_language: str) -> str:
    return _length(status.get("words_written") or 0, content_language)


def _length(words: int, content_language: str) -> str:
    return f"{words:,} {language(content_language).counted}"


def _time_left(status: Status) -> str:
    seconds = status.get("estimated_seconds_remaining")
    return f", {_span(seconds)} left" if seconds and status["generation_status"] == "running" else ""


def _effort(book: Mapping[str, Any]) -> str:
    seconds, micros = book.get("estimated_seconds"), book.get("estimated_cost_micros")
    cost = f", about {micros / 1_000_000:.2f} {book.get('usage', {}).get('currency', '')}".rstrip() if micros else ""
    return (f", about {_span(seconds)}" if seconds else "") + cost


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
