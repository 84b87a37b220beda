"""How long a run will still take: at its own pace or, before it has one, at the speed of its model."""

from __future__ import annotations

from bookgen.models import RunMode, RunPhase, RunStatus
from bookgen.providers.text import TextModel
from bookgen.store.progress import RunProgress
from bookgen.writing.estimate import seconds_of_words

# The phases of a production that read the whole book once more, a call for each chapter. The others take a call each.
READING = (RunPhase.REVIEW, RunPhase.PROOFREADING)
READER_WORDS = 200  # of a reader's reply about one chapter


def seconds_remaining(report: RunProgress, model: TextModel | None = None) -> int | None:
    """Seconds until the run is completed. None if it is paused or over, or waits for something that has no time.

    A queued run also waits for the runs before it. Without a `model`, only a run that has written a chapter has an
    estimate.
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
    """Seconds of the phases of a production that come after the chapters."""
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
