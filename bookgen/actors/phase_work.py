"""The work of a production's phase that writes no chapter, and what comes of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from bookgen.actors.messages import PhaseDone, WorkFailed, WorkHalted
from bookgen.actors.resources import Save
from bookgen.actors.work_in_flight import SPENT, PhaseFailed, WorkInFlight
from bookgen.errors import Conflict, InvalidInput

FORESEEN = (*SPENT, PhaseFailed, InvalidInput, Conflict)


@dataclass(frozen=True, slots=True)
class PhaseResult:
    """What a phase has brought. `save` writes it in the transaction that ends the phase; None where nothing is written.

    `chapters`: as many has the outline that was drafted. `remark`: what was left out, as a sentence; `remark_without`:
    the same where `save` finds the allowance spent and is left out itself.
    """

    save: Save | None = None
    chapters: int | None = None
    remark: str = ""
    remark_without: str = ""


@dataclass(slots=True, eq=False)
class PhaseWork(WorkInFlight[PhaseResult]):
    """The work of a phase."""

    def outcome(self, task: asyncio.Task[PhaseResult]) -> PhaseResult | WorkFailed | WorkHalted:
        try:
            return WorkInFlight.outcome(self, task)
        except FORESEEN as error:
            return self.failed(error)

    def done(self, result: PhaseResult) -> PhaseDone:
        """What is told of the phase's end."""
        run = self.run
        return PhaseDone(run.epoch, run.call_no, run.phase, result.chapters, result.remark)
