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

    `automated`: start a production, which needs no outline and makes everything that a finished book has. `again`:
    allow a production of a finished book, whose chapters are then written again. `cover`: whether a production makes a
    cover.
    """

    automated: bool = False
    again: bool = False
    cover: bool = True


@dataclass(frozen=True, slots=True)
class Pause:
    """Make no further model call. A call in flight may finish, and its text is kept."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Continue a paused run, or retry a failed run at the chapter or phase that failed."""


@dataclass(frozen=True, slots=True)
class Stop:
    """End the run now. The call in flight is cancelled; finished chapters are kept."""


@dataclass(frozen=True, slots=True)
class Abandon:
    """End the run, because its book is being deleted or its account is blocked. Never refused."""


@dataclass(frozen=True, slots=True)
class DeleteBook:
    """End the book's run, cancel its call in flight, and delete the book."""


@dataclass(frozen=True, slots=True)
class RunFailure:
    """Why a run ended in error, as shown to the book's author."""

    code: str
    message: str
    stage: str | None
    chapter_number: int | None
    retryable: bool

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True)
class WorkFailed:
    """A task of the run failed. `spoilt`: the replies stored for the task are unusable, so a retry must not use them.

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
    """A task of the run ended without a result, because it was halted or cancelled, or its chapter or book is gone."""

    run_id: UUID
    epoch: int
    call_no: int


@dataclass(frozen=True, slots=True)
class PhaseDone:
    """The work of a production's phase is done. Chapters have no such message, because each is committed on its own.

    `chapters`: the number of chapters of a drafted outline. `remark`: a sentence for the owner, such as which step was
    skipped, or how many findings the editor's reading had; empty if there is nothing to say.
    """

    run_id: UUID
    epoch: int
    call_no: int
    phase: RunPhase
    chapters: int | None = None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Advance:
    """Check what is left to do in the run.

    The run continues with the phase after the chapters, completes if nothing is left, or fails if too many processes
    have died while writing it.
    """


@dataclass(frozen=True, slots=True)
class GiveUp:
    """End the run in error, because the book's actor has crashed too often in the process `owner`."""

    owner: UUID


@dataclass(frozen=True, slots=True)
class DraftOutline:
    """Draft a new outline, which replaces the book's chapters."""


@dataclass(frozen=True, slots=True)
class ReworkChapters:
    """Rework the titles and summaries of some chapters, so that they fit the other chapters."""

    chapter_ids: tuple[int, ...]
    instructions: str


@dataclass(frozen=True, slots=True)
class RewriteChapter:
    """Write one chapter again. `instructions`: what the author asks for."""

    chapter_id: int
    chapter_number: int
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class RewritePassage:
    """Reword the characters `start` to `end` of a chapter. The new text is stored as a suggestion in a new report.

    `words`: the length of the passage in words. `content_version`: the version of the chapter's text to which `start`
    and `end` refer. `report`: the unique id (`task`) that the new report gets.
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
    """Start the run's next chapter, or the work of its current phase."""

    run: Run


@dataclass(frozen=True, slots=True)
class TaskEnded:
    """A task that the actor started has ended. `task` has the result."""

    task: Any


Command: TypeAlias = Generate | Pause | Resume | Stop | Abandon
Event: TypeAlias = WorkFailed | WorkHalted | PhaseDone | Advance | GiveUp
Job: TypeAlias = DraftOutline | ReworkChapters | RewriteChapter | RewritePassage
Message: TypeAlias = Command | Job | DeleteBook | RowChanged | WriteNext | TaskEnded
