"""The format of a render worker's answer on its pipe: a JSON head, then binary parts.

    length of the head, 4 bytes | head: {"outcome": …, "about": {…}, "lengths": [bytes of each part]} | the parts

A worker reads untrusted input, so its answer is untrusted too. The format is plain data: reading it runs no code, and
the result is only ever a file or a picture.
"""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import orjson

from bookgen.errors import InvalidInput, RenderTimeout
from bookgen.render.cover.job import FinishedCover, FinishedPicture
from bookgen.render.model import Picture

LENGTH = struct.Struct(">I")
MAX_HEAD_BYTES = 1 << 20
MAX_BYTES = 1 << 30

Result = bytes | FinishedCover | FinishedPicture


class JobOutcome(StrEnum):
    DONE = "done"
    REFUSED = "refused"  # the input cannot be rendered; `about` describes an InvalidInput
    FAILED = "failed"  # a bug; `about` has the traceback
    EXHAUSTED = "exhausted"  # the job needs more memory than a worker may use


class UnreadableAnswer(EOFError):
    """The worker's answer does not follow the format."""


@dataclass(frozen=True, slots=True)
class WorkerAnswer:
    outcome: JobOutcome
    about: Mapping[str, Any] = field(default_factory=dict)
    parts: Sequence[bytes] = ()

    def packed(self) -> Iterator[bytes]:
        """The answer as the bytes to write to the pipe."""
        lengths = [len(part) for part in self.parts]
        head = orjson.dumps({"outcome": self.outcome, "about": dict(self.about), "lengths": lengths})
        yield LENGTH.pack(len(head))
        yield head
        yield from self.parts


async def receive(read: Callable[[int], Awaitable[bytes]]) -> WorkerAnswer:
    """Read the next answer. `read(n)` returns the next n bytes. Raises UnreadableAnswer if the format is wrong."""
    length = LENGTH.unpack(await read(LENGTH.size))[0]
    if length > MAX_HEAD_BYTES:
        raise UnreadableAnswer
    try:
        head = orjson.loads(await read(length))
        outcome, about, lengths = (
            JobOutcome(head["outcome"]),
            dict(head["about"]),
            [int(each) for each in head["lengths"]],
        )
    except (ValueError, TypeError, KeyError) as error:
        raise UnreadableAnswer from error
    if min(lengths, default=0) < 0 or sum(lengths) > MAX_BYTES:
        raise UnreadableAnswer
    return WorkerAnswer(outcome, about, [await read(each) for each in lengths])


def done(result: Result) -> WorkerAnswer:
    match result:
        case FinishedCover(picture, thumbnail, style):
            return _drawn({"kind": "cover", "style": style}, picture, thumbnail)
        case FinishedPicture(picture, shows):
            return _drawn({"kind": "picture", "shows": shows}, picture)
        case bytes():
            return WorkerAnswer(JobOutcome.DONE, {"kind": "file"}, (result,))


def _drawn(about: Mapping[str, Any], *pictures: Picture) -> WorkerAnswer:
    sizes = [(picture.width, picture.height) for picture in pictures]
    return WorkerAnswer(JobOutcome.DONE, {**about, "sizes": sizes}, [picture.data for picture in pictures])


def refused(error: InvalidInput) -> WorkerAnswer:
    return WorkerAnswer(JobOutcome.REFUSED, {"message": str(error), "details": error.details})


def failed(traceback: str) -> WorkerAnswer:
    return WorkerAnswer(JobOutcome.FAILED, {"traceback": traceback})


def result_of(answer: WorkerAnswer) -> Result:
    """The file, cover or picture in the answer.

    Raises InvalidInput if the job's input cannot be rendered, RenderTimeout if the worker ran out of memory, and
    RuntimeError with the worker's traceback if the renderer has a bug.
    """
    about = answer.about
    if answer.outcome is JobOutcome.EXHAUSTED:
        raise RenderTimeout(
            "The export needed more memory than is available. Shorten the book's longest chapter.", retry_after=30
        )
    if answer.outcome is JobOutcome.FAILED:
        raise RuntimeError(f"the renderer failed:\n{about['traceback']}")
    if answer.outcome is JobOutcome.REFUSED:
        raise InvalidInput(str(about["message"]), **about["details"])
    match about["kind"], _pictures(answer):
        case "cover", [picture, thumbnail]:
            return FinishedCover(picture, thumbnail, str(about["style"]))
        case "picture", [picture]:
            return FinishedPicture(picture, str(about["shows"]))
    (file,) = answer.parts
    return file


def _pictures(answer: WorkerAnswer) -> list[Picture]:
    sizes = answer.about.get("sizes", ())
    return [Picture(data, int(size[0]), int(size[1])) for data, size in zip(answer.parts, sizes, strict=False)]
