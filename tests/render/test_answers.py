"""The answers of a render worker are treated as data."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path

import orjson
import pytest

from bookgen.errors import InvalidInput
from bookgen.render import answers
from bookgen.render.answers import LENGTH, JobOutcome, Result, UnreadableAnswer, WorkerAnswer
from bookgen.render.cover.job import FinishedCover, FinishedPicture
from bookgen.render.model import Picture

LARGE, SMALL = Picture(b"\xff\xd8large", 1600, 2560), Picture(b"", 400, 640)
RESULTS: list[Result] = [b"", b"%PDF\x00\xff", FinishedCover(LARGE, SMALL, "Ärger"), FinishedPicture(LARGE, "a tree")]


async def received(data: bytes) -> WorkerAnswer:
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    return await answers.receive(reader.readexactly)


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
async def test_a_result_is_transferred_unchanged(result: Result) -> None:
    assert answers.result_of(await received(b"".join(answers.done(result).packed()))) == result


async def test_a_refusal_is_transferred_with_its_fields() -> None:
    refusal = answers.refused(InvalidInput(image=["No picture."]))

    with pytest.raises(InvalidInput) as refused:
        answers.result_of(await received(b"".join(refusal.packed())))

    assert refused.value.details == {"image": ["No picture."]}


class Harmful:
    """Touches a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self._mark,)


async def test_a_compromised_worker_cannot_run_code_in_the_service(tmp_path: Path) -> None:
    code = pickle.dumps(("done", Harmful(tmp_path / "mark")))
    in_the_head = LENGTH.pack(len(code)) + code
    as_the_file = b"".join(WorkerAnswer(JobOutcome.DONE, {"kind": "file"}, (code,)).packed())

    with pytest.raises(UnreadableAnswer):
        await received(in_the_head)
    assert answers.result_of(await received(as_the_file)) == code
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    "head",
    [
        b"[]",
        b"{",
        b"\xff",
        orjson.dumps({"outcome": "won", "about": {}, "lengths": []}),
        orjson.dumps({"outcome": "done", "about": 1, "lengths": []}),
        orjson.dumps({"outcome": "done", "about": {}, "lengths": [-1]}),
        orjson.dumps({"outcome": "done", "about": {}, "lengths": [1 << 40]}),
    ],
)
async def test_an_unreadable_answer_ends_the_worker_without_allocating_memory(head: bytes) -> None:
    with pytest.raises(UnreadableAnswer):
        await received(LENGTH.pack(len(head)) + head)


async def test_a_header_of_absurd_length_is_not_read() -> None:
    with pytest.raises(UnreadableAnswer):
        await received(LENGTH.pack(0xFFFFFFFF))
