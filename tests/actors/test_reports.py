"""A report survives the process that makes it and pays for no call twice."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from bookgen import processes
from bookgen.actors import reports as reading
from bookgen.actors.reports import MAX_CLAIMS
from bookgen.actors.resources import LeaseState
from bookgen.actors.steps import TextDropped
from bookgen.errors import CostCapReached, UpstreamAIError
from bookgen.store import reports as store
from bookgen.store.database import Database
from bookgen.writing.proofreading.reading import read_chapter
from bookgen.writing.proofreading.survey import survey
from tests.http.conftest import Api, serving
from tests.http.test_proofreading import FIRST, REFUSED, SECOND, Proofreader, ended
from tests.programs import EXECUTE

STEPS = "SELECT count(*) FROM step"


async def author_of_a_book(visitor: Api) -> tuple[Api, int]:
    author = await visitor.as_new_account("ada")
    book = await author.outlined()
    for chapter, content in zip(book["chapters"], (FIRST, SECOND), strict=True):
        await author.patch(f"/chapters/{chapter['id']}/", {"content": content})
    return author, book["id"]


async def one_chapter_read(author: Api, model: Proofreader, book_id: int) -> dict[str, Any]:
    """A new report whose first chapter has been read and whose second is in flight."""
    model.asked.clear()
    model.may_answer.set()
    model.one_by_one = True
    report = dict((await author.post("/proofreading-reports/", {"book": book_id})).body)
    for _ in range(2):
        await asyncio.wait_for(model.asked.wait(), 30)
        model.asked.clear()
    return report


async def test_a_report_continues_in_the_next_process_and_repeats_at_most_one_call(
    database: Database, tmp_path: Path
) -> None:
    before, after = Proofreader(), Proofreader()
    async with serving(database, tmp_path, model=before) as visitor:
        author, book_id = await author_of_a_book(visitor)
        before.one_by_one = True
        report = (await author.post("/proofreading-reports/", {"book": book_id})).body
        await asyncio.wait_for(before.asked.wait(), 30)
        before.asked.clear()
        await asyncio.wait_for(before.asked.wait(), 30)  # the call for the second chapter, which is never answered

    async with serving(database, tmp_path, model=after) as visitor:
        again = replace(visitor, access=author.access, account_id=author.account_id)
        over = await ended(again, report["id"])

        assert (over["status"], over["counts"]["by_type"]) == ("completed", {"grammar": 1, "punctuation": 1})
        assert before.calls + after.calls <= 3
        used = (await again.get("/auth/subscriptions/current/")).body["usage"]
        assert used["proofreading_checks_used"] == 1


async def test_the_next_process_still_knows_which_passages_the_model_did_not_read(
    database: Database, tmp_path: Path
) -> None:
    before, after = Proofreader(), Proofreader()
    before.in_vain = {"The lamp went out": REFUSED}
    async with serving(database, tmp_path, model=before) as visitor:
        author, book_id = await author_of_a_book(visitor)
        report = await one_chapter_read(author, before, book_id)

    async with serving(database, tmp_path, model=after) as visitor:
        again = replace(visitor, access=author.access, account_id=author.account_id)
        over = await ended(again, report["id"])

        assert (over["status"], after.calls) == ("completed", 1)
        assert "Only the built-in rules checked chapter 1, because the model refused." in over["summary"]


async def test_a_process_that_stops_releases_its_report(database: Database, tmp_path: Path) -> None:
    before, after = Proofreader(), Proofreader()
    async with serving(database, tmp_path, model=before) as visitor:
        author, book_id = await author_of_a_book(visitor)
        before.may_answer.clear()
        report = (await author.post("/proofreading-reports/", {"book": book_id})).body
        await asyncio.wait_for(before.asked.wait(), 30)
        supervisor = visitor.services.supervisor
        reports, supervisor.resources.draining = supervisor.reports, True
        reports.halt()
        before.may_answer.set()  # the call in flight is answered and no other is made
        await asyncio.gather(*reports.tasks)

        assert (await author.get(f"/proofreading-reports/{report['id']}/")).body["status"] == "running"

    async with serving(database, tmp_path, model=after) as visitor:
        again = replace(visitor, access=author.access, account_id=author.account_id)
        over = await ended(again, report["id"])

        assert (over["status"], before.calls, after.calls) == ("completed", 1, 1)


async def test_a_report_whose_rules_fail_ends_with_the_reason_and_costs_no_check(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(database, tmp_path, model=Proofreader()) as visitor:
        author, book_id = await author_of_a_book(visitor)
        monkeypatch.setattr(processes, "start", EXECUTE)  # a forked process already has its memory
        monkeypatch.setattr(reading, "survey", partial(survey, memory=64 * 2**20))
        report = (await author.post("/proofreading-reports/", {"book": book_id})).body

        over = await ended(author, report["id"])

        assert (over["status"], over["failure"]["code"]) == ("error", "SERVICE_UNAVAILABLE")
        assert over["failure"]["retryable"] is True
        used = (await author.get("/auth/subscriptions/current/")).body["usage"]
        assert used["proofreading_checks_used"] == 0


async def test_a_chapter_edited_before_its_turn_is_read_with_its_new_text(database: Database, tmp_path: Path) -> None:
    model = Proofreader()
    async with serving(database, tmp_path, model=model) as visitor:
        author, book_id = await author_of_a_book(visitor)
        _, second = (await author.get(f"/books/{book_id}/")).body["chapters"]
        path, text = f"/chapters/{second['id']}/", f"{FIRST}\n\nNobody ever said a word of it to them."
        await author.patch(path, {"content": f"{text}\n\nIt was of of no use to anybody."})
        model.may_answer.clear()
        report = (await author.post("/proofreading-reports/", {"book": book_id})).body
        await asyncio.wait_for(model.asked.wait(), 60)  # for the first chapter; the rules have read both

        await author.patch(path, {"content": f"Nobody knew.\n\n{text}"})
        model.may_answer.set()
        await ended(author, report["id"])

        listed = await author.get(f"/proofreading-reports/{report['id']}/suggestions/?chapter={second['id']}")
        found, content = listed.body["results"], (await author.get(path)).body["content"]
        assert sorted(each["original_text"] for each in found) == ["said ,", "the the"]
        assert all(content[each["start"] : each["end"]] == each["original_text"] for each in found)


async def test_deleting_a_report_during_its_first_call_costs_a_check(database: Database, tmp_path: Path) -> None:
    """The call is not in the ledger yet. Otherwise the first call of any number of reports would be free."""
    model = Proofreader()
    async with serving(database, tmp_path, model=model) as visitor:
        author, book_id = await author_of_a_book(visitor)
        model.may_answer.clear()
        report = (await author.post("/proofreading-reports/", {"book": book_id})).body
        await asyncio.wait_for(model.asked.wait(), 30)

        assert (await author.delete(f"/proofreading-reports/{report['id']}/")).status == 204
        model.may_answer.set()
        await asyncio.gather(*visitor.services.supervisor.reports.tasks)

        assert model.calls == 1
        used = (await author.get("/auth/subscriptions/current/")).body["usage"]
        assert used["proofreading_checks_used"] == 1


@pytest.mark.parametrize("what", ["report", "book"])
async def test_deleting_a_report_with_suggestions_costs_a_check(database: Database, tmp_path: Path, what: str) -> None:
    model = Proofreader()
    async with serving(database, tmp_path, model=model) as visitor:
        author, book_id = await author_of_a_book(visitor)
        report = await one_chapter_read(author, model, book_id)
        found = (await author.get(f"/proofreading-reports/{report['id']}/suggestions/")).body["count"]

        path = f"/proofreading-reports/{report['id']}/" if what == "report" else f"/books/{book_id}/"
        assert (await author.delete(path)).status == 204
        model.may_answer.set()
        await asyncio.gather(*visitor.services.supervisor.reports.tasks)

        used = (await author.get("/auth/subscriptions/current/")).body["usage"]
        assert found > 0
        assert used["proofreading_checks_used"] == 1


async def test_a_deleted_report_makes_no_further_calls(database: Database, tmp_path: Path) -> None:
    model = Proofreader()
    async with serving(database, tmp_path, model=model) as visitor:
        author, book_id = await author_of_a_book(visitor)
        first, _ = (await author.get(f"/books/{book_id}/")).body["chapters"]
        await author.patch(f"/chapters/{first['id']}/", {"content": "It was of no use to anybody.\n\n" * 3000})
        model.may_answer.clear()
        report = (await author.post("/proofreading-reports/", {"book": book_id})).body
        await asyncio.wait_for(model.asked.wait(), 60)

        await author.delete(f"/proofreading-reports/{report['id']}/")
        model.may_answer.set()
        await asyncio.gather(*visitor.services.supervisor.reports.tasks)

        assert model.calls == 1


async def test_the_replies_of_failed_and_deleted_reports_are_deleted(database: Database, tmp_path: Path) -> None:
    model = Proofreader()
    async with serving(database, tmp_path, model=model) as visitor:
        author, book_id = await author_of_a_book(visitor)
        tasks = visitor.services.supervisor.reports.tasks
        failing = await one_chapter_read(author, model, book_id)
        assert await database.http.fetchval(STEPS) == 1
        model.failure = UpstreamAIError("It is away.", stage="proofreading", retryable=True)
        model.may_answer.set()
        await ended(author, failing["id"])
        assert await database.http.fetchval(STEPS) == 0

        model.failure = None
        deleted = await one_chapter_read(author, model, book_id)
        assert (await author.delete(f"/proofreading-reports/{deleted['id']}/")).status == 204
        assert await database.http.fetchval(STEPS) == 0
        model.may_answer.set()  # the reply to the call in flight arrives after the report is gone
        await asyncio.gather(*tasks)

        assert await database.http.fetchval(STEPS) == 0


async def test_deleting_a_productions_report_keeps_the_replies_of_the_run(database: Database, tmp_path: Path) -> None:
    async with serving(database, tmp_path, model=Proofreader()) as visitor:
        author, book_id = await author_of_a_book(visitor)
        run_id = (await author.post(f"/books/{book_id}/produce/")).body["task_id"]
        await author.until(book_id, "completed")
        await database.http.execute(
            "INSERT INTO step (book_id, key, run_id, stage, reply) VALUES ($1, 'k', $2, 'outline', '{}')",
            book_id,
            UUID(run_id),
        )
        (report,) = (await author.get("/proofreading-reports/")).body

        assert (await author.delete(f"/proofreading-reports/{report['id']}/")).status == 204

        assert await database.http.fetchval(STEPS) == 1


async def test_a_crashed_report_ends_as_an_error_and_leaves_its_book_free(database: Database, tmp_path: Path) -> None:
    model = Proofreader()
    async with serving(database, tmp_path, model=model) as visitor:
        author, book_id = await author_of_a_book(visitor)
        model.failure = LookupError("a secret of the implementation")
        report = (await author.post("/proofreading-reports/", {"book": book_id})).body

        over = await ended(author, report["id"])

        assert (over["status"], over["failure"]["code"]) == ("error", "SERVER_ERROR")
        assert over["failure"]["retryable"] is True
        assert "secret" not in over["failure"]["message"]
        model.failure = None
        again = (await author.post("/proofreading-reports/", {"book": book_id})).body
        assert (await ended(author, again["id"]))["status"] == "completed"


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (CostCapReached(stage="proofreading", retryable=True), "COST_CAP_REACHED"),
        (TextDropped("proofreading", 1), "SERVICE_UNAVAILABLE"),
    ],
)
async def test_a_failed_report_states_its_cause_like_a_failed_run(
    database: Database, tmp_path: Path, failure: Exception, code: str
) -> None:
    model = Proofreader()
    async with serving(database, tmp_path, model=model) as visitor:
        author, book_id = await author_of_a_book(visitor)
        model.failure = failure
        report = (await author.post("/proofreading-reports/", {"book": book_id})).body

        assert (await ended(author, report["id"]))["failure"]["code"] == code


async def test_a_paid_reply_is_recorded_even_if_a_drain_interrupts_the_reading(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, replied = Proofreader(), asyncio.Event()

    async def slowly(*given: Any) -> Any:
        found = await read_chapter(*given)
        replied.set()
        await asyncio.Event().wait()
        return found

    monkeypatch.setattr(reading, "read_chapter", slowly)
    async with serving(database, tmp_path, model=model) as visitor:
        author, book_id = await author_of_a_book(visitor)
        await author.post("/proofreading-reports/", {"book": book_id})
        await asyncio.wait_for(replied.wait(), 30)

        await visitor.services.supervisor.drain(0)

        assert await database.http.fetchval(STEPS) == model.calls == 1
        assert await database.http.fetchval("SELECT count(*) FROM model_call WHERE model = 'proofreader'") == 1


async def test_a_report_claimed_during_a_halt_makes_no_model_call(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, claimed, go_on = Proofreader(), asyncio.Event(), asyncio.Event()
    claim = store.claim

    async def slowly(*given: Any) -> Any:
        found = await claim(*given)
        if found:
            claimed.set()
            await go_on.wait()
        return found

    monkeypatch.setattr(store, "claim", slowly)
    async with serving(database, tmp_path, model=model) as visitor:
        author, book_id = await author_of_a_book(visitor)
        await author.post("/proofreading-reports/", {"book": book_id})
        await asyncio.wait_for(claimed.wait(), 30)
        supervisor = visitor.services.supervisor
        reports = supervisor.reports

        supervisor.resources.draining = True
        reports.halt()
        go_on.set()
        async with asyncio.timeout(30):
            while not (made := list(reports.tasks)):  # noqa: ASYNC110 (a set that others read)
                await asyncio.sleep(0.01)
        await asyncio.gather(*made)

        assert model.calls == 0


async def test_a_report_whose_claim_response_was_lost_is_claimed_again(database: Database, tmp_path: Path) -> None:
    async with serving(database, tmp_path, model=Proofreader()) as visitor:
        author, book_id = await author_of_a_book(visitor)
        await database.http.execute(
            """
            INSERT INTO report (account_id, book_id, task, chapter_ids, status, owner, epoch)
            SELECT account_id, id, gen_random_uuid(), ARRAY(SELECT c.id FROM chapter c WHERE book_id = book.id),
                   'running', (SELECT boot_id FROM process), 1
              FROM book WHERE id = $1
            """,
            book_id,
        )
        report_id = await database.http.fetchval("SELECT id FROM report")

        assert (await ended(author, report_id))["status"] == "completed"


async def test_a_report_claimed_under_a_lease_that_was_lost_is_left_to_the_next_claim(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, claim = Proofreader(), store.claim
    async with serving(database, tmp_path, model=model) as visitor:
        author, book_id = await author_of_a_book(visitor)
        lease, owners = visitor.services.supervisor.lease, []

        async def heard_late(pool: Any, owner: UUID, in_flight: Any) -> Any:
            claimed = await claim(pool, owner, in_flight)
            if claimed and not owners:
                lease._lost()
            if claimed:
                owners.append(owner)
            return claimed

        monkeypatch.setattr(store, "claim", heard_late)
        report = (await author.post("/proofreading-reports/", {"book": book_id})).body
        over = await ended(author, report["id"])

        assert over["status"] == "completed"
        assert len(set(owners)) == 2
        assert model.calls == 2


async def test_no_report_is_claimed_between_a_lost_lease_and_the_next(database: Database, tmp_path: Path) -> None:
    async with serving(database, tmp_path, model=Proofreader()) as visitor:
        author, book_id = await author_of_a_book(visitor)
        supervisor = visitor.services.supervisor
        supervisor.resources.lease_state = LeaseState.NONE
        report = (await author.post("/proofreading-reports/", {"book": book_id})).body

        await supervisor.reports._claim()

        assert (await author.get(f"/proofreading-reports/{report['id']}/")).body["status"] == "pending"
        supervisor.resources.lease_state = LeaseState.HELD
        supervisor.reports.wake()
        assert (await ended(author, report["id"]))["status"] == "completed"


async def test_a_report_that_kills_every_process_that_claims_it_is_given_up(database: Database, tmp_path: Path) -> None:
    model = Proofreader()
    async with serving(database, tmp_path, model=model) as visitor:
        author, book_id = await author_of_a_book(visitor)
        supervisor = visitor.services.supervisor
        supervisor.resources.lease_state = LeaseState.NONE
        report = (await author.post("/proofreading-reports/", {"book": book_id})).body
        await database.http.execute("UPDATE report SET epoch = $1", MAX_CLAIMS)

        supervisor.resources.lease_state = LeaseState.HELD
        supervisor.reports.wake()
        over = await ended(author, report["id"])

        assert (over["status"], over["failure"]["code"], model.calls) == ("error", "SERVER_ERROR", 0)
