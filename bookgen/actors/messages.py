"""The messages of a book's actor. Commands come from callers, events from its own tasks and from other processes.

A run is the writing of a book. Its row in the database says what has been decided about it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

from bookgen.models import Run, RunPhase


@dataclass(frozen=True, slots=True)
class Generate:
    """Start a run over the chapters without text, or over all chapters if all have text.

    `automated`: start a production, which needs no outline and makes everything a finished book has. `again`: allow a
    production of a finished book, whose chapters are then written again. `cover`: whether a production makes a cover.
    """

    automated: bool = False
    again: bool = False
    cover: bool = True


@dataclass(frozen=True, slots=True)
class Pause:
    """Make no further model call. A call in flight may finish, and its text is kept."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Continue a paused run, or retry the chapter at which a run failed."""


@dataclass(frozen=True, slots=True)
class Stop:
    """End the run now; the call in flight is cancelled, finished chapters stay."""


@dataclass(frozen=True, slots=True)
class Abandon:
    """End the run because its book is deleted or its account blocked. Never refused."""


@dataclass(frozen=True, slots=True)
class DeleteBook:
    """End the book's run and its call in flight, then delete the book."""


@dataclass(frozen=True, slots=True)
class RunFailure:
    """Why a run ended in error, as its owner reads it."""

    code: str
    message: str
    stage: str | None
    chapter_number: int | None
    retryable: bool

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True)
class WorkFailed:
    """A task of the run failed. `spoilt`: its stored replies are unusable, so a retry must not replay them.

    `words_lost`: how many words were requested in paid calls that brought no text.
    """

    run_id: UUID
    epoch: int
    call_no: int
    failure: RunFailure
    spoilt: bool = False
    words_lost: int = 0


@dataclass(frozen=True, slots=True)
class WorkHalted:
    """A task of the run ended between two model calls because no further call was wanted."""

    run_id: UUID
    epoch: int
    call_no: int


@dataclass(frozen=True, slots=True)
class PhaseDone:
    """The work of a production's phase is done. Chapters have no such message, since each is committed on its own.

    `chapters`: the number of chapters of a drafted outline. `remark`: a sentence for the owner, such as which step
    was skipped, or how many findings the editor's reading had; empty if there is nothing to say.
    """

    run_id: UUID
    epoch: int
    call_no: int
    phase: RunPhase
    chapters: int | None = None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Advance:
    """Check what is left to do.

    The run continues with the phase after the chapters, completes if nothing is left, or fails if too many processes
    have died while writing it.
    """


@dataclass(frozen=True, slots=True)
class GiveUp:
    """End the run in error, because the book's actor has crashed too often in the process `owner`."""

    owner: UUID


@dataclass(frozen=True, slots=True)
class DraftOutline:
    """Make a new outline; it replaces the chapters."""


@dataclass(frozen=True, slots=True)
class ReworkChapters:
    """Rework titles and summaries of some chapters to fit the rest."""

    chapter_ids: tuple[int, ...]
    instructions: str


@dataclass(frozen=True, slots=True)
class RewriteChapter:
    """Write one chapter again. `instructions`: what its author asks for."""

    chapter_id: int
    chapter_number: int
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class RewritePassage:
    """Reword the characters `start` to `end` of a chapter. The new text is stored as a suggestion in a new report.

    `words`: the length of the passage in words. `content_version`: the chapter's text that the offsets refer to.
    `report`: the unique id (`task`) that the new report gets.
    """

    chapter_id: int
    start: int
    end: int
    words: int
    instructions: str
    content_version: int
    report: UUID


@dataclass(frozen=True, slots=True)
class RowChanged:
    """Another process may have changed the run's row, so read it again."""


@dataclass(frozen=True, slots=True)
class WriteNext:
    """Begin the run's next chapter, or the work of its phase."""

    run: Run


@dataclass(frozen=True, slots=True)
class TaskEnded:
    """A task that the actor started has ended. `task` has the result."""

    task: Any


Command: TypeAlias = Generate | Pause | Resume | Stop | Abandon
Event: TypeAlias = WorkFailed | WorkHalted | PhaseDone | Advance | GiveUp
Job: TypeAlias = DraftOutline | ReworkChapters | RewriteChapter | RewritePassage
Message: TypeAlias = Command | Job | DeleteBook | RowChanged | WriteNext | TaskEnded
