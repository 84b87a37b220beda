"""The life of a run (the writing of a book) as one pure function: from its state and a message to its next state.

A finished chapter does not go through this function: `checkpoints.commit` accepts its text. After the last chapter the
message Advance asks whether the run is complete.

A run has an owner, the process that writes it, and an epoch, a number that grows with each owner. Writes with an older
epoch are refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto
from uuid import UUID

from bookgen.actors.messages import (
    Abandon,
    Advance,
    Command,
    Event,
    Generate,
    GiveUp,
    Pause,
    PhaseDone,
    Resume,
    RunFailure,
    Stop,
    WorkFailed,
    WorkHalted,
)
from bookgen.errors import Conflict, GenerationInProgress, NeverGenerated, NoOutline
from bookgen.models import Run, RunMode, RunPhase, RunStatus
from bookgen.store.book_state import BookState

# A run fails after this many deaths of its process in a row, without a new reply or a finished chapter in between.
MAX_CRASHES = 3
FINISHED = (
    'This book is finished. Export it (POST /books/{id}/export_pdf/), or send {"again": true} with this call to write '
    "it again from the beginning."
)
PAUSED = (
    "The run of this book is paused. Resume it (POST /books/{id}/resume-generation/), or stop it first "
    "(POST /books/{id}/stop-generation/) to start another one."
)
QUARANTINED = "The server process stopped three times while writing this book. Resume the run to try again."

# The `stage` that a failure in each phase reports.
STAGES = {
    RunPhase.OUTLINE: "outline",
    RunPhase.CHAPTERS: "chapter",
    RunPhase.REVIEW: "review",
    RunPhase.PROOFREADING: "proofreading",
    RunPhase.CORRECTIONS: "proofreading",
    RunPhase.BLURB: "blurb",
    RunPhase.COVER: "cover",
    RunPhase.FILES: "export",
}


class Effect(Enum):
    """What a transaction on a run does in addition to writing the run's row."""

    INSERT = auto()  # insert a new run
    REFUSE_FINISHED = auto()  # refuse the new run: the book is finished and the caller did not send `again`
    REWRITE = auto()  # have the new run rewrite all chapters, which all have content
    HOLD = auto()  # set aside the allowance or credit that pays for the run
    RELEASE = auto()  # give back what was set aside, or keep it for the book if something was written
    CONSUME = auto()  # count what was set aside as used
    TO_TAIL = auto()  # give the run a new place at the end of the account's queue
    PROMOTE = auto()  # start the account's next queued run, since one book is written at a time
    END_WRITING = auto()  # mark the chapters as not being written
    FORGET_STEPS = auto()  # delete the stored replies of the failed chapter, which are unusable
    CLOSE_STEPS = auto()  # the run is over: delete its stored replies, except those that a next run can use
    ENQUEUE_BLURB = auto()  # have a blurb drafted if the book has none
    SAVE = auto()  # save the result of the phase


@dataclass(frozen=True, slots=True)
class Decision:
    """The run's next state and the effects. If the run is unchanged and there are no effects, nothing is written.

    `words_lost`: how many words were requested in paid calls that brought no text.
    """

    run: Run | None
    effects: frozenset[Effect] = frozenset()
    words_lost: int = 0


def decide(state: BookState, message: Command | Event, fresh: Run) -> Decision:
    """Decide the next state of the book's run. `fresh`: an empty run with a new id, from which a new run is made.

    Raises NeverGenerated, NoOutline, GenerationInProgress or Conflict for a command that the state refuses.
    """
    match message:
        case Generate():
            return _generate(state, message, fresh)
        case Abandon():
            return _stop(state.run) if state.run and state.run.status.active else Decision(state.run)
        case Advance():
            return _advance(state)
        case PhaseDone():
            return _phase_done(state, message)
        case GiveUp():
            return _given_up(state.run, message.owner)
        case WorkFailed() | WorkHalted():
            return _ended_without_text(state, message)
    if state.run is None:
        raise NeverGenerated
    match message:
        case Pause():
            return _pause(state.run)
        case Resume():
            return _resume(state, state.run)
        case Stop():
            return _stop(state.run)


def _generate(state: BookState, message: Generate, fresh: Run) -> Decision:
    if state.run and state.run.status.active:
        raise GenerationInProgress(PAUSED if state.run.status is RunStatus.PAUSED else None)
    if not state.chapters and not message.automated:
        raise NoOutline
    partly = 0 < state.written < state.chapters
    rewrite = 0 < state.chapters == state.written
    if message.automated:  # a run that ended after the chapters resumes in its phase
        rewrite = rewrite and state.run is not None and state.run.status is RunStatus.COMPLETED
    run = replace(
        fresh,
        status=RunStatus.RUNNING if state.slot_free else RunStatus.QUEUED,
        mode=RunMode.AUTOMATED if message.automated else RunMode.CONTINUE if partly else RunMode.FULL,
        total=state.chapters,
        done=0 if rewrite else state.written,
        phase=RunPhase.CHAPTERS if state.chapters else RunPhase.OUTLINE,
        makes_cover=message.cover,
        writer=None if rewrite else state.writer,  # the model that has written the chapters so far continues
    )
    effects = {Effect.INSERT, Effect.HOLD} | ({Effect.REWRITE} if rewrite else set())
    if message.automated and rewrite and not message.again:
        effects.add(Effect.REFUSE_FINISHED)
    return Decision(run, frozenset(effects))


def _pause(run: Run) -> Decision:
    match run.status:
        case RunStatus.PAUSED:
            return Decision(run)
        case RunStatus.QUEUED:
            return Decision(replace(run, status=RunStatus.PAUSED), frozenset({Effect.END_WRITING}))
        case RunStatus.RUNNING:
            return Decision(replace(run, status=RunStatus.PAUSED), frozenset({Effect.PROMOTE}))
    raise _impossible("paused", run)


def _resume(state: BookState, run: Run) -> Decision:
    going = RunStatus.RUNNING if state.slot_free else RunStatus.QUEUED
    match run.status:
        case RunStatus.QUEUED | RunStatus.RUNNING:
            return Decision(run)
        case RunStatus.PAUSED:
            return Decision(replace(run, status=going), frozenset({Effect.TO_TAIL}))
        case RunStatus.ERROR:
            crashes = MAX_CRASHES - 1 if run.failure and run.failure["code"] == "quarantined" else 0
            again = replace(run, status=going, failure=None, crash_count=crashes, call_started_at=None)
            return Decision(again, frozenset({Effect.TO_TAIL, Effect.HOLD}))
    raise _impossible("resumed", run)


def _stop(run: Run) -> Decision:
    stopped = replace(run, status=RunStatus.STOPPED, call_started_at=None)
    match run.status:
        case RunStatus.STOPPED:
            return Decision(run)
        case RunStatus.ERROR:
            return Decision(stopped, frozenset({Effect.CLOSE_STEPS}))
        case RunStatus.QUEUED | RunStatus.RUNNING | RunStatus.PAUSED:
            return Decision(
                stopped, frozenset({Effect.RELEASE, Effect.PROMOTE, Effect.END_WRITING, Effect.CLOSE_STEPS})
            )
    raise _impossible("stopped", run)


def _advance(state: BookState) -> Decision:
    run = state.run
    if run is None or run.status not in (RunStatus.RUNNING, RunStatus.PAUSED):
        return Decision(run)
    if state.todo == 0 and run.phase is RunPhase.CHAPTERS:
        return _phase_over(state, run)
    if run.status is RunStatus.RUNNING and run.crash_count >= MAX_CRASHES:
        return _failed(run, failure_at(run, "quarantined", QUARANTINED))
    return Decision(run)


def _phase_done(state: BookState, message: PhaseDone) -> Decision:
    run = state.run
    if run is None or not run.status.active or run.phase is not message.phase:
        return Decision(run)
    if not _is_of(message, run):
        return Decision(run)
    overtaken = run.phase is RunPhase.OUTLINE and state.chapters > 0  # the author has made an outline in the meantime
    total = state.chapters if overtaken else message.chapters or run.total
    remark = message.remark or run.remark
    decision = _phase_over(state, replace(run, call_started_at=None, crash_count=0, total=total, remark=remark))
    return decision if overtaken else replace(decision, effects=decision.effects | {Effect.SAVE})


def _is_of(message: WorkFailed | WorkHalted | PhaseDone, run: Run) -> bool:
    """Whether the message is about the call in flight of `run`.

    The numbers of epochs and calls start anew in each run, so the id of the run must match, too.
    """
    return (message.run_id, message.epoch, message.call_no) == (run.id, run.epoch, run.call_no)


def _phase_over(state: BookState, run: Run) -> Decision:
    following = _following(state, run)
    quiet = frozenset({Effect.PROMOTE} if run.status is not RunStatus.RUNNING else ())
    if following:
        return Decision(replace(run, phase=following), quiet)
    return Decision(run, quiet) if run.status is RunStatus.QUEUED else _completed(run)


def _following(state: BookState, run: Run) -> RunPhase | None:
    """Return the phase after the run's current phase; None if that was the last one.

    Return CHAPTERS again if the book now has chapters without text.
    """
    if state.todo and run.phase is not RunPhase.CHAPTERS:
        return RunPhase.CHAPTERS
    phases = list(RunPhase) if run.mode is RunMode.AUTOMATED else [RunPhase.CHAPTERS]
    left = phases[phases.index(run.phase) + 1 :]
    return next((phase for phase in left if phase is not RunPhase.COVER or run.makes_cover), None)


def _ended_without_text(state: BookState, message: WorkFailed | WorkHalted) -> Decision:
    run = state.run
    if run is None or not run.status.active:
        return Decision(run)
    if not _is_of(message, run):
        return Decision(run)
    quiet = replace(run, call_started_at=None)
    running = run.status is RunStatus.RUNNING
    match message:
        case WorkFailed(failure=failure, spoilt=spoilt) if running or not failure.retryable:
            decision = _failed(quiet, failure, spoilt)
        case _:
            decision = Decision(
                quiet, frozenset({Effect.END_WRITING} if running else {Effect.END_WRITING, Effect.PROMOTE})
            )
    # Without a call in flight, an earlier attempt was committed, and only its answer was lost.
    lost = message.words_lost if isinstance(message, WorkFailed) and run.call_started_at else 0
    return replace(decision, words_lost=lost)


def _completed(run: Run) -> Decision:
    done = replace(run, status=RunStatus.COMPLETED, done=run.total, call_started_at=None, crash_count=0)
    effects = {Effect.CONSUME, Effect.PROMOTE, Effect.END_WRITING, Effect.CLOSE_STEPS, Effect.ENQUEUE_BLURB}
    return Decision(done, frozenset(effects))


def _given_up(run: Run | None, owner: UUID) -> Decision:
    if run is None or run.status is not RunStatus.RUNNING or run.owner != owner:
        return Decision(run)
    message = "An unexpected error stopped this book. Resume the run to try again."
    return _failed(run, RunFailure("internal", message, STAGES[run.phase], None, retryable=True))


def _failed(run: Run, failure: RunFailure, spoilt: bool = False) -> Decision:
    effects = {Effect.RELEASE, Effect.PROMOTE, Effect.END_WRITING} | ({Effect.FORGET_STEPS} if spoilt else set())
    ended = replace(run, status=RunStatus.ERROR, failure=failure.as_json(), call_started_at=None)
    return Decision(ended, frozenset(effects))


def failure_at(run: Run, code: str, message: str) -> RunFailure:
    """Return a retryable failure at the run's current phase and chapter."""
    return RunFailure(code, message, STAGES[run.phase], run.current_chapter, retryable=True)


def taken_by(run: Run, owner: UUID) -> Run:
    """Return the run with a new owner and the next epoch, so that writes of the previous owner are refused."""
    return replace(run, owner=owner, epoch=run.epoch + 1, call_started_at=None)


_ENDED = {
    RunStatus.COMPLETED: "has completed",
    RunStatus.STOPPED: "was stopped",
    RunStatus.ERROR: "has failed",
}


def _impossible(what: str, run: Run) -> Conflict:
    """Return the error for a command that is impossible after the run has ended. It names a call that works instead.

    `what`: what the command would have done to the run, such as "paused".
    """
    other = "Resume it or start" if run.status is RunStatus.ERROR else "Start"
    return Conflict(
        f"This run {_ENDED[run.status]}, so it cannot be {what}. {other} a new one (POST /books/{{id}}/generate/).",
        generation_status=str(run.status),
    )
