"""The status of a run whose model is unreachable says since when, why, and for how long it will wait."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import orjson
import pytest

from bookgen.actors import status
from bookgen.actors.messages import Generate
from bookgen.actors.supervisor import Supervisor
from bookgen.models import Run, RunMode, RunStatus
from bookgen.providers.halt import TOLD_SECONDS
from bookgen.providers.offline import OfflineModel
from bookgen.providers.text import Outage
from bookgen.store.progress import ChapterCounts, RunProgress

from .conftest import Model, Shelf

NOW = datetime(2026, 1, 1, 14, 2, tzinfo=UTC)
AWAY = Outage(NOW, NOW.replace(day=2), "could not be reached")


def progress(state: RunStatus, call_started_at: datetime | None) -> RunProgress:
    run = Run(
        id=uuid4(), book_id=1, account_id=1, status=state, mode=RunMode.FULL, total=10, done=3, call_no=4, epoch=1,
        owner=None, crash_count=0, queue_seq=1, current_chapter=4, words_written=900, failure=None, last_op=None,
        started_at=NOW, updated_at=NOW, finished_at=None, call_started_at=call_started_at,
    )  # fmt: skip
    return RunProgress(run, 0, None, ChapterCounts(chapters=10, texts=3, kept=3))


def test_only_a_running_run_has_an_estimate_of_the_time_left() -> None:
    def left(state: RunStatus) -> object:
        report = progress(state, None)
        report = replace(report, run=replace(report.run, written=3, writing_seconds=30.0))
        return status.as_json(report, model=OfflineModel())["estimated_seconds_remaining"]

    assert left(RunStatus.RUNNING) == 70, "seven chapters, ten seconds each"
    for state in (RunStatus.PAUSED, RunStatus.STOPPED, RunStatus.ERROR, RunStatus.COMPLETED):
        assert left(state) is None, state


def test_a_run_that_waits_for_its_model_says_so() -> None:
    assert status.message(progress(RunStatus.RUNNING, NOW), AWAY) == (
        "Waiting for the model since 14:02 UTC: it could not be reached. 3 of 10 chapters finished. The "
        "service calls the model again every 30 seconds until 02 January 14:02 UTC."
    )


def test_a_run_whose_model_is_busy_says_so() -> None:
    assert status.message(progress(RunStatus.RUNNING, NOW), Outage(NOW, None, "is busy")) == (
        "Waiting for the model since 14:02 UTC: it is busy. 3 of 10 chapters finished. The run continues by itself."
    )


def test_the_status_of_a_finished_book_counts_its_findings() -> None:
    counts = ChapterCounts(chapters=10, texts=10, kept=10, findings=4)
    done = replace(progress(RunStatus.COMPLETED, None), counts=counts)

    assert status.message(done) == "Completed. All 10 chapters are written. Check the 4 findings in the quality notes."
    assert (
        status.message(replace(done, counts=replace(counts, findings=0))) == "Completed. All 10 chapters are written."
    )


@pytest.mark.parametrize(("chapters", "said"), [(1, "The chapter is written."), (2, "Both chapters are written.")])
def test_the_status_of_a_short_book_names_its_chapters_as_people_do(chapters: int, said: str) -> None:
    counts = ChapterCounts(chapters=chapters, texts=chapters, kept=chapters)

    assert status.message(replace(progress(RunStatus.COMPLETED, None), counts=counts)) == f"Completed. {said}"


def test_an_outage_of_the_model_is_not_shown_for_runs_that_are_not_waiting_for_it() -> None:
    assert status.message(progress(RunStatus.PAUSED, None), AWAY) == "Paused. 3 of 10 chapters finished."
    assert status.message(progress(RunStatus.RUNNING, NOW), None) == "Writing chapter 4 of 10."


@pytest.mark.parametrize(
    ("title", "end"), [("Five Miles", "Five Miles."), ("Who Knocks?", "Who Knocks?"), ("誰だ！", "誰だ！")]
)
def test_the_status_does_not_add_a_full_stop_to_a_title_that_ends_a_sentence(title: str, end: str) -> None:
    report = replace(progress(RunStatus.RUNNING, NOW), title=title)

    assert status.message(report) == f"Writing chapter 4 of 10: {end}"


async def test_a_call_that_waits_for_more_than_a_few_seconds_is_shown_in_the_status(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined(chapters=1)
    run = await supervisor.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    halt = supervisor.runs_in_flight.by_run[run.id].steps.halt

    async def told() -> str:
        return str(orjson.loads(await supervisor.statuses.read(account, book))["status_message"])

    halt.wait_reason = Outage(datetime.now(UTC), None, "is busy")
    assert (await told()).startswith("Writing chapter 1 of 1")
    halt.wait_reason = Outage(datetime.now(UTC) - timedelta(seconds=TOLD_SECONDS), None, "is busy")
    assert "it is busy" in await told()
    halt.wait_reason = None
    assert (await told()).startswith("Writing chapter 1 of 1")
