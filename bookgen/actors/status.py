"""A run as its owner sees it: the body of GenerationStatus."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson

from bookgen.models import Run, RunMode, RunPhase, RunStatus
from bookgen.providers.text import Outage
from bookgen.store.progress import RunProgress

# What a run does in the phases that write no chapter, and in which of them a text model is asked.
DOING = {
    RunPhase.OUTLINE: "drafting the outline",
    RunPhase.PROOFREADING: "proofreading the book",
    RunPhase.CORRECTIONS: "applying safe corrections",
    RunPhase.BLURB: "writing the blurb",
    RunPhase.COVER: "making the cover",
    RunPhase.FILES: "making the files",
}
BY_MODEL = (RunPhase.OUTLINE, RunPhase.CHAPTERS, RunPhase.PROOFREADING)


# The phases as the contract names them.
_RENAMED = {RunPhase.CORRECTIONS: "proofreading", RunPhase.BLURB: "cover"}
PHASES = {phase: _RENAMED.get(phase, phase.value) for phase in RunPhase}


def encode(report: RunProgress, words_in_flight: int = 0, outage: Outage | None = None) -> bytes:
    """`words_in_flight`: of the unfinished chapter, stored or not. `outage`: what the call in flight waits for."""
    body = as_json(report, words_in_flight, outage)
    return orjson.dumps(body, option=orjson.OPT_UTC_Z | orjson.OPT_OMIT_MICROSECONDS)


def as_json(report: RunProgress, words_in_flight: int = 0, outage: Outage | None = None) -> dict[str, Any]:
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
        "estimated_seconds_remaining": seconds_remaining(report),
        "failure": run.failure,
        "outline": orjson.Fragment(report.outline),
    }


def words_written(report: RunProgress, words_in_flight: int = 0) -> int:
    """Words of the chapters as they are, and of the parts of a chapter that has no text until it is finished."""
    run, counts = report.run, report.counts
    unfinished = counts.drafting and run.status not in (RunStatus.STOPPED, RunStatus.COMPLETED)
    return counts.words + (max(run.draft_words, words_in_flight) if unfinished else 0)


def shown(run: Run) -> str:
    """The state as the contract names it: a run in the queue is running."""
    return RunStatus.RUNNING if run.status is RunStatus.QUEUED else run.status


def percentage(report: RunProgress) -> float:
    """Of the chapters; in a production that is not completed each other phase counts as much as a chapter."""
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
        case RunStatus.QUEUED:
            return f"Waiting for another book of this account. Place {report.place} in the queue."
        case RunStatus.RUNNING if run.waits_for_writer:
            return (
                f"This book is being written by {run.writer}, which is not set up on this server now. "
                f"It continues by itself when the operator has set its key again. {progress} finished."
            )
        case RunStatus.RUNNING if run.call_started_at and outage and outage.by_operator:
            return (
                f"Waiting since {outage.since:%H:%M} UTC: the writing model {outage.reason}. "
                f"The operator has to look at it; the book continues by itself afterwards. {progress} finished."
            )
        case RunStatus.RUNNING if run.call_started_at and outage:
            return (
                f"Waiting for the model since {outage.since:%H:%M} UTC: it {outage.reason}. {progress} finished. "
                + ("The run goes on by itself." if outage.until is None else _asked_until(outage.until))
            )
        case RunStatus.RUNNING if doing:
            return f"{doing.capitalize()}.{_written(report)}"
        case RunStatus.RUNNING if run.call_started_at and run.current_chapter:
            return f"Writing chapter {run.current_chapter} of {total}{title}."
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
            made = f"Completed. All {total} chapters are written, the cover and the files are ready. {run.remark}"
            return f"{made.rstrip()}{_worth_a_look(report)}"
        case RunStatus.COMPLETED:
            return f"Completed. All {total} chapters are written.{_worth_a_look(report)}"
        case RunStatus.ERROR if doing:
            return f"Failed while {doing}. {(run.failure or {}).get('message', '')}".rstrip()
        case RunStatus.ERROR:
            return f"Failed after {progress}. {(run.failure or {}).get('message', '')}".rstrip()


def _asked_until(until: datetime) -> str:
    return f"It is asked again every half a minute, until {until:%d %B %H:%M} UTC."


def _worth_a_look(report: RunProgress) -> str:
    """How many findings the quality gate has."""
    count = len(report.findings)
    return f" The quality notes have {count} {'finding' if count == 1 else 'findings'}." if count else ""


def _written(report: RunProgress) -> str:
    return f" All {report.done} chapters are written." if 0 < report.counts.chapters == report.done else ""


def _rewritten(report: RunProgress) -> str:
    """What a run that was to write every chapter again has come to."""
    new, total = report.counts.new, report.counts.chapters
    if not new:
        return f"No chapter is new: all {total} have their former text."
    others = "the other one has its" if total - new == 1 else "the others have their"
    return f"{new} of {total} chapters {'is' if new == 1 else 'are'} new; {others} former text."


def _without_text(report: RunProgress) -> str:
    """What is missing since the run was completed."""
    texts, total = report.counts.texts, report.counts.chapters
    if not texts:
        return f"None of the {total} chapters has text. Generate to write {'it' if total == 1 else 'them'}."
    others = "the other one" if total - texts == 1 else f"the other {total - texts}"
    return f"{texts} of {total} chapters {'has' if texts == 1 else 'have'} text. Generate to write {others}."


def seconds_remaining(report: RunProgress) -> int | None:
    """From the pace of this run so far; None before its first chapter and when nothing is being written."""
    run = report.run
    if run.status is not RunStatus.RUNNING or not run.written or run.phase is not RunPhase.CHAPTERS:
        return None
    return round((report.counts.chapters - report.done) * run.writing_seconds / run.written)
