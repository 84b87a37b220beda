"""A process that renders one job at a time: `python -m bookgen.render.worker MEMORY`, started and fed by the pool.

Jobs come in on stdin, pickled by the service, each behind its length in four bytes; answers go out on stdout as
`answers` has it. The end of stdin, which is also the end of the parent, ends the worker.
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
    from bookgen.render.perform import perform  # after the limit, and once: this is what takes long

    gc.disable()  # a book is a million small objects and hardly a cycle: collecting between jobs is enough
    try:
        _send(target, WorkerAnswer(JobOutcome.DONE))
        while (job := _receive(source)) is not None:
            _send(target, _answer(perform, job))
            gc.collect()
    except BrokenPipeError:  # the parent ended meanwhile: what is left in the buffer goes nowhere
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
