"""Work on a run that takes minutes: a task beside the mailbox, how it is halted, and what its failures are called."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from bookgen.actors.decide import STAGES, failure_at
from bookgen.actors.messages import RunFailure, WorkFailed, WorkHalted
from bookgen.actors.steps import StoredSteps, TextDropped
from bookgen.errors import (
    BookgenError,
    Conflict,
    CostCapReached,
    InvalidInput,
    NotFound,
    PlanUpgradeRequired,
    ProofreadingFailed,
    QuotaExceeded,
    UpstreamAIError,
)
from bookgen.models import Run, RunPhase
from bookgen.providers.text import CallsHalted

R = TypeVar("R")


class PhaseFailed(BookgenError):
    """What the run needs could not be made here. Resume tries again."""


CODES: Mapping[type[BookgenError], str] = {
    CostCapReached: "COST_CAP_REACHED",
    TextDropped: "SERVICE_UNAVAILABLE",
    UpstreamAIError: "UPSTREAM_AI_ERROR",
    QuotaExceeded: "QUOTA_EXCEEDED",
    PlanUpgradeRequired: "PLAN_UPGRADE_REQUIRED",
    PhaseFailed: "SERVICE_UNAVAILABLE",
    ProofreadingFailed: "SERVICE_UNAVAILABLE",
    InvalidInput: "VALIDATION_ERROR",
    Conflict: "CONFLICT",
}

SPENT = (PlanUpgradeRequired, QuotaExceeded)  # what the plan or the hold allows; any work may meet it


def code_of(error: BookgenError) -> str:
    return next(code for kind, code in CODES.items() if isinstance(error, kind))


@dataclass(slots=True, eq=False)
class WorkInFlight(Generic[R]):
    """The work on a run. `run` is the row that announced it: its epoch and call number let in what comes of it.

    `placed`: the work has its place at the model. `words` are those written so far. `stalled`: it was given up for want
    of progress.
    """

    run: Run
    steps: StoredSteps
    placed: bool = False
    stalled: bool = False
    words: int = 0
    task: asyncio.Task[R] = field(init=False)

    def halt(self) -> None:
        """Makes no further model call. The one in flight may finish, and its reply is kept."""
        self.steps.halt.set()
        if not self.placed:
            self.cancel()

    def stall(self) -> None:
        """Gives the work up: nothing has come of the last reply for too long."""
        self.stalled = True
        self.cancel()

    def go_on(self) -> None:
        self.steps.halt.clear()

    def cancel(self) -> None:
        self.task.cancel()

    def shrink(self) -> None:
        """Keeps no more than what is finished: an outage is waited out."""

    def outcome(self, task: asyncio.Task[R]) -> R | WorkFailed | WorkHalted:
        """What came of the work's task. An error that is nobody's but ours is raised, and crashes the actor."""
        try:
            return task.result()
        except (CallsHalted, NotFound, asyncio.CancelledError):
            if self.stalled:
                return WorkFailed(self.run.epoch, self.run.call_no, stalled(self.run), spoilt=True)
            return WorkHalted(self.run.epoch, self.run.call_no)
        except SPENT as error:
            return self.failed(error)
        except UpstreamAIError as error:
            return self.failed(error, spoilt=self.steps.failed is None)

    def failed(self, error: BookgenError, *, spoilt: bool = False) -> WorkFailed:
        """What is told of a foreseen error, which ends the run. Unless it says otherwise, trying again may help."""
        stage, number, retryable = STAGES[self.run.phase], self.run.current_chapter, True
        if isinstance(error, UpstreamAIError):
            stage, number, retryable = error.stage, error.chapter_number or number, error.retryable
        failure = RunFailure(code_of(error), str(error), stage, number, retryable)
        return WorkFailed(self.run.epoch, self.run.call_no, failure, spoilt)


def stalled(run: Run) -> RunFailure:
    what = f"Chapter {run.current_chapter}" if run.phase is RunPhase.CHAPTERS else f"The {run.phase}"
    return failure_at(run, "stalled", f"{what} made no progress for 15 minutes. Resume the run to try again.")
