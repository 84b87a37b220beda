"""A process that renders one job at a time: `python -m bookgen.render.worker MEMORY`. The pool starts and feeds it.

Jobs arrive on stdin, pickled by the service, each after its length in four bytes. Answers go to stdout in the format of
`answers`. The worker exits when its stdin is closed, so it also ends when its parent does.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
import traceback
from typing import Any, BinaryIO

from bookgen.errors import InvalidInput
from bookgen.processes import begin
from bookgen.render.answers import LENGTH, JobOutcome, WorkerAnswer, done, failed, refused


def main() -> None:
    source, target = sys.stdin.buffer, begin()
    from bookgen.render.perform import perform  # slow to import, and only after the memory limit is set

    gc.disable()  # a book has a million small objects but few cycles, so collecting between jobs is enough
    try:
        _send(target, WorkerAnswer(JobOutcome.DONE))
        while (job := _receive(source)) is not None:
            _send(target, _answer(perform, job))
            gc.collect()
    except BrokenPipeError:  # the parent has ended; discard what is left in the buffer
        os.dup2(os.open(os.devnull, os.O_WRONLY), target.fileno())


def _answer(perform: Any, job: Any) -> WorkerAnswer:
    try:
        return done(perform(job))
    except InvalidInput as error:
        return refused(error)
    except MemoryError:
        return WorkerAnswer(JobOutcome.EXHAUSTED)
    except Exception:
        return failed(traceback.format_exc())


def _receive(source: BinaryIO) -> Any:
    head = source.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    return pickle.loads(source.read(LENGTH.unpack(head)[0]))


def _send(target: BinaryIO, answer: WorkerAnswer) -> None:
    for piece in answer.packed():
        target.write(piece)
    target.flush()


if __name__ == "__main__":
    main()
