"""A run as its owner sees it: the body of GenerationStatus."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson

from bookgen.models import Run, RunMode, RunPhase, RunStatus
from bookgen.providers.text import Outage
from bookgen.store.progress import RunProgress

FINDINGS_TOLD = 3  # in the message of a completed run
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


def encode(report: RunProgress, words_beyond: int = 0, outage: Outage | None = None) -> bytes:
    """`words_beyond`: words of the chapter that is being written, which no row counts yet. `outage`: what the call in
    flight waits for."""
    return orjson.dumps(as_json(report, words_beyond, outage), option=orjson.OPT_UTC_Z | orjson.OPT_OMIT_MICROSECONDS)


def as_json(report: RunProgress, words_beyond: int = 0, outage: Outage | None = None) -> dict[str, Any]:
    run = report.run
    return {
        "generation_status": shown(run),
        "completed_chapters": run.done,
        "total_chapters": run.total,
        "percentage": percentage(run),
        "status_message": message(report, outage),
        "task_id": str(run.id),
        "mode": run.mode,
        "current_chapter": run.current_chapter if run.status.active else None,
        "words_written": run.words_written + words_beyond,
        "started_at": run.started_at,
        "updated_at": run.updated_at,
        "finished_at": run.finished_at,
        "estimated_seconds_remaining": seconds_remaining(run),
        "failure": run.failure,
        "outline": orjson.Fragment(report.outline),
    }


def shown(run: Run) -> str:
    """The state as the contract names it: a run in the queue is running."""
    return RunStatus.RUNNING if run.status is RunStatus.QUEUED else run.status


def percentage(run: Run) -> float:
    """Of the chapters; in a production each other phase counts as much as a chapter."""
    done, total = run.done, run.total
    if run.mode is RunMode.AUTOMATED:
        phases = list(RunPhase)
        over = len(phases) if run.status is RunStatus.COMPLETED else phases.index(run.phase)
        done += over - (over > phases.index(RunPhase.CHAPTERS))
        total += len(phases) - 1
    return round(100 * done / total, 1) if total else 0.0


def message(report: RunProgress, outage: Outage | None = None) -> str:
    run = report.run
    progress = f"{run.done} of {run.total} chapters"
    doing = DOING.get(run.phase)
    title = f": {report.title}" if report.title else ""
    match run.status:
        case RunStatus.QUEUED:
            return f"Waiting for another book of this account. Place {report.place} in the queue."
        case RunStatus.RUNNING if run.call_started_at and outage:
            return (
                f"Waiting for the model since {outage.since:%H:%M} UTC: it {outage.reason}. {progress} finished. "
                + ("The run goes on by itself." if outage.until is None else _asked_until(outage.until))
            )
        case RunStatus.RUNNING if doing:
            return f"{doing.capitalize()}.{_written(run)}"
        case RunStatus.RUNNING if run.call_started_at and run.current_chapter:
            return f"Writing chapter {run.current_chapter} of {run.total}{title}."
        case RunStatus.RUNNING:
            return f"Writing. {progress} finished."
        case RunStatus.PAUSED if doing:
            return f"Paused; still {doing}." if run.call_started_at else f"Paused before {doing}.{_written(run)}"
        case RunStatus.PAUSED if run.call_started_at and run.current_chapter:
            return f"Paused; finishing chapter {run.current_chapter}."
        case RunStatus.PAUSED:
            return f"Paused. {progress} finished."
        case RunStatus.STOPPED:
            return f"Stopped. {progress} finished."
        case RunStatus.COMPLETED if run.mode is RunMode.AUTOMATED:
            made = f"Completed. All {run.total} chapters are written, the cover and the files are ready. {run.remark}"
            return f"{made.rstrip()}{_worth_a_look(report)}"
        case RunStatus.COMPLETED:
            return f"Completed. All {run.total} chapters are written.{_worth_a_look(report)}"
        case RunStatus.ERROR if doing:
            return f"Failed while {doing}. {(run.failure or {}).get('message', '')}".rstrip()
        case RunStatus.ERROR:
            return f"Failed after {progress}. {(run.failure or {}).get('message', '')}".rstrip()


def _asked_until(until: datetime) -> str:
    return f"It is asked again every half a minute, until {until:%d %B %H:%M} UTC."


def _worth_a_look(report: RunProgress) -> str:
    """What the quality gate saw and could not mend, the first few in words."""
    if not report.findings:
        return ""
    told = [f"chapter {each['chapter_number']}: {each['detail']}" for each in report.findings[:FINDINGS_TOLD]]
    more = len(report.findings) - len(told)
    return f" Worth a look: {' '.join(told)}" + (f" And {more} more, which the book's `quality` lists." if more else "")


def _written(run: Run) -> str:
    return f" All {run.total} chapters are written." if 0 < run.total == run.done else ""


def seconds_remaining(run: Run) -> int | None:
    """From the pace of this run so far; None before its first chapter and when nothing is being written."""
    if run.status is not RunStatus.RUNNING or not run.written or run.phase is not RunPhase.CHAPTERS:
        return None
    return round((run.total - run.done) * run.writing_seconds / run.written)
