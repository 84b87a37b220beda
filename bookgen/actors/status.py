"""The API's GenerationStatus: a run as its owner sees it, with its progress, a message and the time left."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson

from bookgen.models import Run, RunMode, RunPhase, RunStatus
from bookgen.providers.text import Outage, TextModel
from bookgen.store.progress import RunProgress
from bookgen.writing.estimate import seconds_of_words

# What a run does in the phases other than CHAPTERS, and the phases whose status shows an outage of the text model.
DOING = {
    RunPhase.OUTLINE: "drafting the outline",
    RunPhase.REVIEW: "reviewing the book",
    RunPhase.PROOFREADING: "proofreading the book",
    RunPhase.CORRECTIONS: "applying safe corrections",
    RunPhase.BLURB: "writing the blurb",
    RunPhase.COVER: "making the cover",
    RunPhase.FILES: "making the files",
}
BY_MODEL = (RunPhase.OUTLINE, RunPhase.CHAPTERS, RunPhase.REVIEW, RunPhase.PROOFREADING)


# The names of the phases in the API.
_RENAMED = {RunPhase.REVIEW: "proofreading", RunPhase.CORRECTIONS: "proofreading", RunPhase.BLURB: "cover"}
PHASES = {phase: _RENAMED.get(phase, phase.value) for phase in RunPhase}
# The phases of a production that read the whole book again, with one call per chapter. The others take one call each.
READING = (RunPhase.REVIEW, RunPhase.PROOFREADING)
READER_WORDS = 200  # expected in a reply about one chapter


def encode(
    report: RunProgress, words_in_flight: int = 0, outage: Outage | None = None, model: TextModel | None = None
) -> bytes:
    """Return the status as JSON. `words_in_flight`: the number of words of the unfinished chapter so far.

    `outage`: the provider's outage that the run waits for, if any. `model`: the writing model. Until a first chapter is
    finished, the time left is estimated from the speed of this model.
    """
    body = as_json(report, words_in_flight, outage, model)
    return orjson.dumps(body, option=orjson.OPT_UTC_Z | orjson.OPT_OMIT_MICROSECONDS)


def as_json(
    report: RunProgress, words_in_flight: int = 0, outage: Outage | None = None, model: TextModel | None = None
) -> dict[str, Any]:
    run = report.run
    return {
        "generation_status": shown(run),
        "completed_chapters": report.done,
        "total_chapters": report.counts.chapters,
        "percentage": percentage(report),
        "status_message": message(report, outage),
        "task_id": str(run.id),
        "mode": run.mode,
        "phase": PHASES[run.phase],
        "queue_position": report.place if run.status is RunStatus.QUEUED else None,
        "current_chapter": run.current_chapter if run.status.active else None,
        "words_written": words_written(report, words_in_flight),
        "started_at": run.started_at,
        "updated_at": run.updated_at,
        "finished_at": run.finished_at,
        "estimated_seconds_remaining": seconds_remaining(report, model),
        "failure": run.failure,
        "outline": orjson.Fragment(report.outline),
    }


def words_written(report: RunProgress, words_in_flight: int = 0) -> int:
    """Return the number of words in all finished chapters and in the unfinished one."""
    run, counts = report.run, report.counts
    unfinished = counts.drafting and run.status not in (RunStatus.STOPPED, RunStatus.COMPLETED)
    return counts.words + (max(run.draft_words, words_in_flight) if unfinished else 0)


def shown(run: Run) -> str:
    """Return the run's status as the API names it: a queued run is shown as running."""
    return RunStatus.RUNNING if run.status is RunStatus.QUEUED else run.status


def percentage(report: RunProgress) -> float:
    """Return the progress in percent of the chapters.

    In a production (a run that makes a whole book), each phase other than the chapters counts like one chapter.
    """
    run, done, total = report.run, report.done, report.counts.chapters
    if run.mode is RunMode.AUTOMATED and run.status is not RunStatus.COMPLETED:
        phases = list(RunPhase)
        over = phases.index(run.phase)
        done += over - (over > phases.index(RunPhase.CHAPTERS))
        total += len(phases) - 1
    return round(100 * done / total, 1) if total else 0.0


def message(report: RunProgress, outage: Outage | None = None) -> str:
    run, total = report.run, report.counts.chapters
    progress = f"{report.done} of {total} chapters"
    doing = DOING.get(run.phase)
    title = f": {report.title}" if report.title else ""
    match run.status:
        case RunStatus.QUEUED | RunStatus.RUNNING if report.awaits_operator:
            return (
                "This server was restored from a backup. The book continues when the operator resumes all books. "
                f"{progress} finished."
            )
        case RunStatus.QUEUED | RunStatus.RUNNING if report.unattended:
            return (
                "Waiting: no process of this server writes books now. The book continues by itself when such a "
                f"process runs again. {progress} finished."
            )
        case RunStatus.QUEUED:
            return f"Waiting for another book of this account. Place {report.place} in the queue."
        case RunStatus.RUNNING if run.waits_for_writer and not report.has_writer:
            return (
                f"This book is being written by {run.writer}, which is not set up on this server now. "
                f"The book continues by itself when the operator has set the model's key again. {progress} finished."
            )
        case RunStatus.RUNNING if run.call_started_at and outage and outage.by_operator:
            return (
                f"Waiting since {outage.since:%H:%M} UTC: the writing model {outage.reason}. "
                f"The operator has to fix this; the book continues by itself afterwards. {progress} finished."
            )
        case RunStatus.RUNNING if run.call_started_at and outage:
            return (
                f"Waiting for the model since {outage.since:%H:%M} UTC: it {outage.reason}. {progress} finished. "
                + ("The run continues by itself." if outage.until is None else _asked_until(outage.until))
            )
        case RunStatus.RUNNING if doing:
            return f"{doing.capitalize()}.{_written(report)}"
        case RunStatus.RUNNING if run.call_started_at and run.current_chapter:
            return _sentence(f"Writing chapter {run.current_chapter} of {total}{title}")
        case RunStatus.RUNNING:
            return f"Writing. {progress} finished."
        case RunStatus.PAUSED if doing:
            return f"Paused; still {doing}." if run.call_started_at else f"Paused before {doing}.{_written(report)}"
        case RunStatus.PAUSED if run.call_started_at and run.current_chapter:
            return f"Paused; finishing chapter {run.current_chapter}."
        case RunStatus.PAUSED:
            return f"Paused. {progress} finished."
        case RunStatus.STOPPED if report.counts.rewrites and report.done == total:
            return f"Stopped. {_rewritten(report)}"
        case RunStatus.STOPPED:
            return f"Stopped. {progress} finished."
        case RunStatus.COMPLETED if report.done < total:
            return _without_text(report)
        case RunStatus.COMPLETED if run.mode is RunMode.AUTOMATED:
            ready = "the cover and the files" if run.makes_cover else "the files"
            made = f"Completed. {_all_written(total)}, {ready} are ready. {run.remark}"
            return f"{made.rstrip()}{_worth_a_look(report)}"
        case RunStatus.COMPLETED:
            return f"Completed. {_all_written(total)}.{_worth_a_look(report)}"
        case RunStatus.ERROR if doing:
            return f"Failed while {doing}. {(run.failure or {}).get('message', '')}".rstrip()
        case RunStatus.ERROR:
            return f"Failed after {progress}. {(run.failure or {}).get('message', '')}".rstrip()


def _sentence(text: str) -> str:
    """Return `text`, which may end with a chapter's title, with a full stop unless it ends a sentence already."""
    return text if text.endswith((".", "!", "?", "…", "。", "！", "？", "؟", "।", "۔")) else f"{text}."


def _asked_until(until: datetime) -> str:
    return f"The service calls the model again every 30 seconds until {until:%d %B %H:%M} UTC."


def _worth_a_look(report: RunProgress) -> str:
    count = report.counts.findings
    return f" Check the {'finding' if count == 1 else f'{count} findings'} in the quality notes." if count else ""


def _all_written(chapters: int) -> str:
    """Say that all chapters of a book with this many are written."""
    if chapters == 1:
        return "The chapter is written"
    return "Both chapters are written" if chapters == 2 else f"All {chapters} chapters are written"


def _written(report: RunProgress) -> str:
    return f" {_all_written(report.done)}." if 0 < report.counts.chapters == report.done else ""


def _rewritten(report: RunProgress) -> str:
    """Return a sentence about how many chapters are new, for a stopped run that rewrites the whole book."""
    new, total = report.counts.new, report.counts.chapters
    if not new:
        return f"No chapter was rewritten: all {total} keep their previous text."
    others = "the other one keeps its" if total - new == 1 else "the others keep their"
    return f"{new} of {total} chapters {'was' if new == 1 else 'were'} rewritten; {others} previous text."


def _without_text(report: RunProgress) -> str:
    """Return a sentence about the chapters that have lost their text since the run was completed."""
    texts, total = report.counts.texts, report.counts.chapters
    if not texts:
        these = "it" if total == 1 else "them"
        return f"None of the {total} chapters has text. To write {these}, start the generation."
    others = "the other one" if total - texts == 1 else f"the other {total - texts}"
    have = "has" if texts == 1 else "have"
    return f"{texts} of {total} chapters {have} text. To write {others}, start the generation."


def seconds_remaining(report: RunProgress, model: TextModel | None = None) -> int | None:
    """Return the seconds until the run is completed.

    None if the run is paused or over, or waits for something of unknown length. For a queued run, the time of the runs
    before it is included. Without a `model`, only a run that has written a chapter has an estimate.
    """
    run, waits = report.run, report.awaits_operator or report.unattended or report.run.waits_for_writer
    if run.status not in (RunStatus.RUNNING, RunStatus.QUEUED) or waits:
        return None
    at_own_pace = run.status is RunStatus.RUNNING and run.written and run.phase is RunPhase.CHAPTERS
    if not at_own_pace and model is None:
        return None
    rest = _rest_of_production(report, model)
    if at_own_pace:
        return round((report.counts.chapters - report.done) * run.writing_seconds / run.written) + rest
    words, calls = report.counts.words_ahead, report.counts.chapters_ahead
    if run.phase is RunPhase.OUTLINE and not report.counts.chapters:
        words, calls = words + report.counts.book_words, calls + run.total
    elif run.phase in (RunPhase.OUTLINE, RunPhase.CHAPTERS):
        words, calls = words + report.counts.words_left, calls + report.counts.chapters - report.done
    return _seconds(report, model, words, calls) + rest


def _rest_of_production(report: RunProgress, model: TextModel | None) -> int:
    """Estimate the seconds of a production's phases after the chapters. 0 for other runs, or without a `model`."""
    run = report.run
    if run.mode is not RunMode.AUTOMATED or model is None:
        return 0
    phases = list(RunPhase)
    first = max(phases.index(run.phase), phases.index(RunPhase.CHAPTERS) + 1)
    left = phases[first:] + [RunPhase.OUTLINE] * (run.phase is RunPhase.OUTLINE)
    calls = sum(max(report.counts.chapters, run.total, 1) if phase in READING else 1 for phase in left)
    return _seconds(report, model, calls * READER_WORDS, calls)


def _seconds(report: RunProgress, model: TextModel | None, words: int, calls: int) -> int:
    if model is None or not calls:
        return 0
    return seconds_of_words(model.name, model.shown_speed, report.content_language, words, calls)
