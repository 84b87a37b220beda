"""Productions: from an idea to the files, phase by phase."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from uuid import uuid4

import pytest

from bookgen.actors.messages import Generate, Pause, Resume, Stop
from bookgen.actors.production import NOT_PROOFREAD, PROOFREAD_BY_RULES
from bookgen.actors.reports import BookReading
from bookgen.actors.resources import Resources
from bookgen.actors.steps import StoredSteps
from bookgen.actors.supervisor import Supervisor
from bookgen.billing.quota import Quota
from bookgen.errors import Conflict, PlanUpgradeRequired, QuotaExceeded, UpstreamAIError
from bookgen.models import RevisionMode, RunMode, RunPhase, RunStatus

from .conftest import BLURB, READERS, Model, Shelf, Start, Studio, crash, draft_blurb, refuse_blurb

PRODUCE = Generate(automated=True, again=True)
# A language without a checker.
IDEA = "UPDATE book SET chapter_count = 2, status = 'draft', content_language = 'nl' WHERE id = $1"
OWN_A_USE = """
    WITH owned AS (
        INSERT INTO account_addon (account_id, addon_id, billing_type)
        SELECT $1, id, 'per_use' FROM addon WHERE slug = 'automated-production')
    INSERT INTO checkout (account_id, kind, slug, billing, amount_cents, status)
    VALUES ($1, 'addon', 'automated-production', 'per_use', 499, 'paid')
"""
USES = """
    SELECT count(*) FILTER (WHERE used_at IS NULL AND kept_until IS NULL) AS held,
           count(*) FILTER (WHERE kept_until IS NOT NULL) AS kept, count(used_at) AS used
      FROM addon_use
"""
REPORT_ELSEWHERE = """
    WITH another AS (
        INSERT INTO process (boot_id, host, pid, pid_started, lease_until)
        VALUES (gen_random_uuid(), 'another', 1, '1', 'infinity') RETURNING boot_id)
    INSERT INTO report (account_id, book_id, task, chapter_ids, status, owner)
    SELECT $1, $2, $3, ARRAY[1], 'running', boot_id FROM another
"""
STEPS = [phase for phase in RunPhase if phase is not RunPhase.CHAPTERS]


@pytest.fixture
def studio() -> Studio:
    return Studio()


@pytest.fixture
async def supervisor(start: Start, studio: Studio, model: Model) -> Supervisor:
    model.free = True
    return await start(draft_blurb=draft_blurb, products=studio.products, revision=RevisionMode.APPLY)


class Idea:
    """An account that owns one use of the add-on, and its idea for a book of two chapters."""

    def __init__(self, shelf: Shelf, account: int, book: int) -> None:
        self.shelf, self.account, self.book = shelf, account, book

    async def ask(self, supervisor: Supervisor, command: Generate | Pause | Resume | Stop = PRODUCE) -> RunStatus:
        return (await supervisor.ask(self.account, self.book, command)).status

    async def status(self, supervisor: Supervisor) -> str:
        return (await supervisor.statuses.read(self.account, self.book)).decode()

    async def uses(self) -> tuple[int, int, int]:
        """How many uses of the add-on are held, kept for the book, and counted."""
        row = await self.shelf.pool.fetchrow(USES)
        return row["held"], row["kept"], row["used"]

    async def phase(self) -> str:
        return str((await self.shelf.run(self.book))["phase"])


@pytest.fixture
async def author(shelf: Shelf) -> Idea:
    account = await shelf.account("pro")
    book = await shelf.book(account, 0)
    await shelf.pool.execute(IDEA, book)
    await shelf.pool.execute(OWN_A_USE, account)
    return Idea(shelf, account, book)


class HeldPhase:
    """Keeps a phase from ending until it is released."""

    def __init__(self, phase: RunPhase, author: Idea, model: Model, studio: Studio) -> None:
        call = {
            RunPhase.OUTLINE: (author.book, 0),
            RunPhase.REVIEW: (0, READERS["review"]),
            RunPhase.PROOFREADING: (0, 1),
            RunPhase.BLURB: (author.book, BLURB),
        }.get(phase)
        self._phase, self._call, self._model, self._studio = phase, call, model, studio
        if call:
            model.kept.add(call)
        else:
            studio.hold(phase)

    async def reached(self, times: int = 1) -> None:
        if self._call:
            await self._model.wait_until_asked(*self._call, times)
        else:
            await self._studio.until_asked(self._phase, times)

    def let_go(self) -> None:
        if not self._call:
            self._studio.held.pop(self._phase).set()
            return
        self._model.kept.discard(self._call)
        findings = self._phase is RunPhase.REVIEW
        self._model.answer(*self._call, text=self._model.findings if findings else self._model.edits)


@pytest.fixture
def hold(author: Idea, model: Model, studio: Studio) -> Callable[[RunPhase], HeldPhase]:
    return lambda phase: HeldPhase(phase, author, model, studio)


async def test_an_idea_becomes_a_book_with_a_cover_and_files(
    supervisor: Supervisor, studio: Studio, shelf: Shelf, author: Idea
) -> None:
    run = await supervisor.ask(author.account, author.book, PRODUCE)
    await shelf.until_status(author.book, "completed")

    assert (run.mode, run.phase) == (RunMode.AUTOMATED, RunPhase.OUTLINE)
    assert await shelf.texts(author.book) == [f"Text of {(author.book, 1)}.", f"Text of {(author.book, 2)}."]
    assert studio.made == ["corrections", "cover", "files"]
    assert await shelf.value("SELECT status FROM book WHERE id = $1", author.book) == "completed"
    kinds = "SELECT array_agg(kind ORDER BY id) FROM report WHERE run_id = $1"
    assert await shelf.value(kinds, run.id) == ["review", "proofreading"]
    assert await shelf.value("SELECT count(*) FROM step WHERE run_id = $1", run.id) == 0
    assert await shelf.value("SELECT sum(books_created) FROM usage_period") == 1
    assert await author.uses() == (0, 0, 1)
    assert '"percentage":100.0' in await author.status(supervisor)


SAYINGS = {
    RunPhase.OUTLINE: ("Drafting the outline.", 0.0),
    RunPhase.REVIEW: ("Reviewing the book. Both chapters are written.", 33.3),
    RunPhase.PROOFREADING: ("Proofreading the book. Both chapters are written.", 44.4),
    RunPhase.CORRECTIONS: ("Applying safe corrections. Both chapters are written.", 55.6),
    RunPhase.BLURB: ("Writing the blurb. Both chapters are written.", 66.7),
    RunPhase.COVER: ("Making the cover. Both chapters are written.", 77.8),
    RunPhase.FILES: ("Making the files. Both chapters are written.", 88.9),
}


@pytest.mark.parametrize("phase", STEPS)
async def test_the_status_names_the_current_phase(
    supervisor: Supervisor, author: Idea, hold: Callable[[RunPhase], HeldPhase], phase: RunPhase
) -> None:
    held = hold(phase)
    await author.ask(supervisor)
    await held.reached()

    said, percentage = SAYINGS[phase]
    status = await author.status(supervisor)
    held.let_go()

    assert f'"status_message":"{said}"' in status
    assert f'"percentage":{percentage}' in status
    assert '"mode":"automated"' in status


@pytest.mark.parametrize("phase", STEPS)
async def test_a_pause_finishes_the_current_phase_and_begins_no_other(
    supervisor: Supervisor, author: Idea, shelf: Shelf, hold: Callable[[RunPhase], HeldPhase], phase: RunPhase
) -> None:
    held = hold(phase)
    await author.ask(supervisor)
    await held.reached()

    assert await author.ask(supervisor, Pause()) is RunStatus.PAUSED
    assert '"status_message":"Paused; still ' in await author.status(supervisor)
    held.let_go()

    if phase is RunPhase.FILES:  # no work is left
        await shelf.until_status(author.book, "completed")
        return
    await shelf.until("SELECT call_started_at IS NULL FROM run WHERE book_id = $1", author.book)
    assert (await shelf.run(author.book))["status"] == "paused"
    await author.ask(supervisor, Resume())
    await shelf.until_status(author.book, "completed")
    assert await shelf.value("SELECT count(*) FROM cover WHERE is_selected") == 1


@pytest.mark.parametrize("phase", STEPS)
async def test_a_stop_cancels_the_current_phase_and_a_new_production_continues_there(
    supervisor: Supervisor,
    author: Idea,
    shelf: Shelf,
    model: Model,
    hold: Callable[[RunPhase], HeldPhase],
    phase: RunPhase,
) -> None:
    held = hold(phase)
    await author.ask(supervisor)
    await held.reached()

    assert await author.ask(supervisor, Stop()) is RunStatus.STOPPED
    assert await shelf.value("SELECT status FROM book WHERE id = $1", author.book) == (
        "draft" if phase is RunPhase.OUTLINE else "outline"
    )
    paid_for = phase is not RunPhase.OUTLINE
    assert await author.uses() == (0, int(paid_for), 0)
    assert await shelf.value("SELECT count(*) FROM hold") == paid_for

    held.let_go()
    await author.ask(supervisor)
    await shelf.until_status(author.book, "completed")
    assert await author.uses() == (0, 0, 1)
    assert model.asked[author.book, 1] == model.asked[author.book, 2] == 1, "what was written is kept"


async def test_a_call_of_a_phase_that_a_stop_cut_off_counts_towards_the_words_of_the_hold(
    supervisor: Supervisor, author: Idea, shelf: Shelf, model: Model
) -> None:
    """Otherwise any number of outlines of one book could be begun on one hold."""
    model.free = False
    await author.ask(supervisor)
    await model.wait_until_asked(author.book, 0)

    await author.ask(supervisor, Stop())

    await shelf.until("SELECT words_lost > 0 FROM run WHERE book_id = $1", author.book)


@pytest.mark.parametrize("phase", STEPS)
async def test_another_process_continues_the_phase_of_a_dead_process(
    start: Start,
    supervisor: Supervisor,
    studio: Studio,
    author: Idea,
    shelf: Shelf,
    model: Model,
    hold: Callable[[RunPhase], HeldPhase],
    phase: RunPhase,
) -> None:
    held = hold(phase)
    await author.ask(supervisor)
    await held.reached()

    await crash(supervisor, shelf)
    await start(draft_blurb=draft_blurb, products=studio.products, revision=RevisionMode.APPLY)
    await held.reached(2)
    held.let_go()
    await shelf.until_status(author.book, "completed")

    assert (await shelf.run(author.book))["crash_count"] == 0
    assert model.asked[author.book, 1] == model.asked[author.book, 2] == 1
    assert await shelf.value("SELECT count(*) FROM cover") == 1
    assert await shelf.value("SELECT count(*) FROM report") == 2
    assert await shelf.value("SELECT sum(proofreading_checks_used) FROM usage_period") == 1
    assert await author.uses() == (0, 0, 1)


FAILED = {
    RunPhase.OUTLINE: ("UPSTREAM_AI_ERROR", "outline"),
    RunPhase.REVIEW: ("UPSTREAM_AI_ERROR", "review"),
    RunPhase.PROOFREADING: ("UPSTREAM_AI_ERROR", "proofreading"),
    RunPhase.CORRECTIONS: ("PLAN_UPGRADE_REQUIRED", "proofreading"),
    RunPhase.COVER: ("UPSTREAM_AI_ERROR", "cover"),
    RunPhase.FILES: ("CONFLICT", "export"),
}


@pytest.mark.parametrize("phase", FAILED)
async def test_a_failed_phase_ends_the_run_with_an_error_and_can_be_resumed(
    supervisor: Supervisor,
    studio: Studio,
    author: Idea,
    shelf: Shelf,
    model: Model,
    phase: RunPhase,
) -> None:
    code, stage = FAILED[phase]
    upstream = UpstreamAIError("It failed.", stage=stage, retryable=True)
    asked = {RunPhase.OUTLINE: (author.book, 0), RunPhase.REVIEW: (0, READERS["review"]), RunPhase.PROOFREADING: (0, 1)}
    if call := asked.get(phase):
        model.kept.add(call)
        model.fail(*call, retryable=True, error=upstream)
    studio.failures = {
        "corrections": PlanUpgradeRequired("It is full."),
        "cover": upstream,
        "files": Conflict("It is empty."),
    }
    studio.failures = {what: error for what, error in studio.failures.items() if what == phase}

    await author.ask(supervisor)
    await shelf.until_status(author.book, "error")

    failure = (await shelf.run(author.book))["failure"]
    assert (failure["code"], failure["stage"], failure["retryable"]) == (code, stage, True)
    assert await author.uses() == (0, int(phase is not RunPhase.OUTLINE), 0), "given back where nothing was paid for"
    model.kept.clear()
    await author.ask(supervisor, Resume())
    await shelf.until_status(author.book, "completed")
    assert await author.uses() == (0, 0, 1)
    assert await shelf.value("SELECT sum(books_created) FROM usage_period") == 1
    assert model.asked[author.book, 1] == 1


async def test_failing_and_resuming_the_files_phase_does_not_change_the_book(
    supervisor: Supervisor, studio: Studio, shelf: Shelf, author: Idea
) -> None:
    studio.failures["files"] = Conflict("It failed.")
    files = studio.hold("files")
    await author.ask(supervisor)
    await studio.until_asked("files")
    changed = await shelf.value("SELECT updated_at FROM book WHERE id = $1", author.book)

    files.set()
    await shelf.until_status(author.book, "error")
    await author.ask(supervisor, Resume())
    await shelf.until_status(author.book, "completed")

    assert await shelf.value("SELECT updated_at FROM book WHERE id = $1", author.book) == changed


async def test_a_cover_that_exceeds_the_storage_limit_is_not_painted_again(
    supervisor: Supervisor, studio: Studio, author: Idea, shelf: Shelf
) -> None:
    studio.failures = {"keeping": PlanUpgradeRequired("It is full.")}

    await author.ask(supervisor)
    await shelf.until_status(author.book, "error")

    run = await shelf.run(author.book)
    assert (run["failure"]["code"], run["failure"]["stage"], run["crash_count"]) == (
        "PLAN_UPGRADE_REQUIRED",
        "cover",
        0,
    )
    assert studio.made.count("cover") == 1


async def test_a_production_needs_the_addon(supervisor: Supervisor, shelf: Shelf) -> None:
    account, book = await shelf.outlined()

    with pytest.raises(PlanUpgradeRequired) as refused:
        await supervisor.ask(account, book, PRODUCE)

    assert refused.value.details["addon"] == "automated-production"
    assert await shelf.run(book) is None
    assert await shelf.value("SELECT count(*) FROM hold") == 0


async def test_a_plan_that_includes_the_addon_needs_no_purchase(
    start: Start, studio: Studio, shelf: Shelf, model: Model
) -> None:
    model.free = True
    supervisor = await start(draft_blurb=draft_blurb, products=studio.products, quota=Quota(billing=False))
    account, book = await shelf.outlined()
    await shelf.pool.execute("UPDATE book SET content_language = 'nl'")

    await supervisor.ask(account, book, PRODUCE)
    await shelf.until_status(book, "completed")

    assert model.asked[book, 0] == 0, "the outline that is there is kept"
    assert await shelf.value("SELECT count(*) FROM addon_use") == 0


async def test_one_use_pays_for_one_production(supervisor: Supervisor, shelf: Shelf, author: Idea) -> None:
    await author.ask(supervisor)
    await shelf.until_status(author.book, "completed")

    with pytest.raises(PlanUpgradeRequired):
        await author.ask(supervisor)


async def test_a_production_needs_an_image_for_its_cover(supervisor: Supervisor, shelf: Shelf, author: Idea) -> None:
    await shelf.pool.execute("UPDATE plan SET features = features || '{\"ai_images_per_month\": 0}'")

    with pytest.raises(QuotaExceeded) as refused:
        await author.ask(supervisor)

    assert refused.value.details["quota_type"] == "ai_images"
    assert await author.uses() == (0, 0, 0)


async def test_a_production_without_a_cover_needs_no_image(supervisor: Supervisor, shelf: Shelf, author: Idea) -> None:
    await shelf.pool.execute("UPDATE plan SET features = features || '{\"ai_images_per_month\": 0}'")

    await supervisor.ask(author.account, author.book, Generate(automated=True, cover=False))
    await shelf.until_status(author.book, "completed")

    assert await shelf.value("SELECT count(*) FROM cover") == 0


async def test_without_a_proofreading_check_the_phase_is_skipped_and_the_status_says_so(
    supervisor: Supervisor, studio: Studio, shelf: Shelf, author: Idea, model: Model
) -> None:
    await shelf.pool.execute("UPDATE plan SET features = features || '{\"proofreading_checks_per_month\": 0}'")

    await author.ask(supervisor)
    await shelf.until_status(author.book, "completed")

    assert model.asked[0, 1] == 0
    assert await shelf.value("SELECT count(*) FROM report WHERE kind = 'proofreading'") == 0
    assert NOT_PROOFREAD in await author.status(supervisor)


async def test_a_check_reserved_by_a_report_of_another_book_is_not_used_by_a_production(
    supervisor: Supervisor, shelf: Shelf, author: Idea, model: Model
) -> None:
    await shelf.pool.execute("UPDATE plan SET features = features || '{\"proofreading_checks_per_month\": 1}'")
    await shelf.pool.execute(REPORT_ELSEWHERE, author.account, await shelf.book(author.account), uuid4())

    await author.ask(supervisor)
    await shelf.until_status(author.book, "completed")

    assert model.asked[0, 1] == 0
    assert not await shelf.value(
        "SELECT EXISTS (SELECT FROM report WHERE book_id = $1 AND kind = 'proofreading')", author.book
    )
    assert NOT_PROOFREAD in await author.status(supervisor)


async def test_a_book_that_the_model_cannot_proofread_is_reported_as_such_and_costs_no_check(
    supervisor: Supervisor, shelf: Shelf, author: Idea, model: Model
) -> None:
    model.edits = "I would rather not."

    await author.ask(supervisor)
    await shelf.until_status(author.book, "completed")

    assert PROOFREAD_BY_RULES in await author.status(supervisor)
    assert await shelf.value("SELECT jsonb_array_length(unread) FROM report WHERE kind = 'proofreading'") == 2
    assert await shelf.value("SELECT sum(proofreading_checks_used) FROM usage_period") == 0


async def test_an_emptied_book_is_not_reported_as_proofread_by_rules_alone(
    supervisor: Supervisor, shelf: Shelf, author: Idea, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = BookReading.begin

    async def emptied(resources: Resources, account_id: int, book_id: int, steps: StoredSteps) -> BookReading:
        await shelf.pool.execute(
            "UPDATE chapter SET content = '', word_count = 0, content_version = content_version + 1"
        )
        return await begin(resources, account_id, book_id, steps)

    monkeypatch.setattr(BookReading, "begin", emptied)
    await author.ask(supervisor)
    await shelf.until("SELECT EXISTS (SELECT FROM report WHERE kind = 'proofreading')")

    assert PROOFREAD_BY_RULES not in await author.status(supervisor)
    assert await shelf.value("SELECT sum(proofreading_checks_used) FROM usage_period") == 1


async def test_a_check_used_up_during_the_reading_discards_its_corrections(
    supervisor: Supervisor, shelf: Shelf, author: Idea, hold: Callable[[RunPhase], HeldPhase]
) -> None:
    held = hold(RunPhase.PROOFREADING)
    await author.ask(supervisor)
    await held.reached()

    await shelf.pool.execute("UPDATE plan SET features = features || '{\"proofreading_checks_per_month\": 0}'")
    held.let_go()
    await shelf.until_status(author.book, "completed")

    assert await shelf.value("SELECT count(*) FROM report WHERE kind = 'proofreading'") == 0
    assert NOT_PROOFREAD in await author.status(supervisor)


async def test_an_outline_that_its_author_made_during_the_call_is_not_replaced(
    supervisor: Supervisor, shelf: Shelf, author: Idea, hold: Callable[[RunPhase], HeldPhase]
) -> None:
    held = hold(RunPhase.OUTLINE)
    await author.ask(supervisor)
    await held.reached()
    await author.ask(supervisor, Pause())

    await shelf.pool.execute(
        "INSERT INTO chapter (book_id, chapter_number, title, target_word_count) VALUES ($1, 1, 'Mine', 500)",
        author.book,
    )
    held.let_go()
    await shelf.until("SELECT phase = 'chapters' FROM run WHERE book_id = $1", author.book)
    await author.ask(supervisor, Resume())
    await shelf.until_status(author.book, "completed")

    titles = await shelf.pool.fetch("SELECT title FROM chapter WHERE book_id = $1", author.book)
    assert [row["title"] for row in titles] == ["Mine"]


async def test_the_total_counts_the_chapters_of_the_authors_outline(
    supervisor: Supervisor, shelf: Shelf, author: Idea, hold: Callable[[RunPhase], HeldPhase]
) -> None:
    held = hold(RunPhase.OUTLINE)
    await author.ask(supervisor)
    await held.reached()
    await author.ask(supervisor, Pause())

    await shelf.pool.execute(
        "INSERT INTO chapter (book_id, chapter_number, title, target_word_count) VALUES ($1, 1, 'Mine', 500)",
        author.book,
    )
    held.let_go()
    await shelf.until("SELECT phase = 'chapters' FROM run WHERE book_id = $1", author.book)

    assert await shelf.value("SELECT total FROM run") == 1


async def test_a_chapter_added_while_the_cover_is_made_is_written_too(
    supervisor: Supervisor, studio: Studio, shelf: Shelf, author: Idea, hold: Callable[[RunPhase], HeldPhase]
) -> None:
    held = hold(RunPhase.COVER)
    await author.ask(supervisor)
    await held.reached()

    await shelf.pool.execute(
        "INSERT INTO chapter (book_id, chapter_number, title, target_word_count) VALUES ($1, 3, 'Late', 500)",
        author.book,
    )
    held.let_go()
    await shelf.until_status(author.book, "completed")

    assert (await shelf.texts(author.book))[2] == f"Text of {(author.book, 3)}."
    assert studio.made[-1] == "files"


async def test_a_drain_hands_a_production_over_in_its_phase(
    start: Start,
    supervisor: Supervisor,
    studio: Studio,
    shelf: Shelf,
    author: Idea,
    hold: Callable[[RunPhase], HeldPhase],
) -> None:
    held = hold(RunPhase.COVER)
    await author.ask(supervisor)
    await held.reached()

    draining = asyncio.create_task(supervisor.drain(10))
    held.let_go()
    await draining
    assert await author.phase() == "files"
    assert (await shelf.run(author.book))["status"] == "running"
    await start(draft_blurb=draft_blurb, products=studio.products)
    await shelf.until_status(author.book, "completed")

    assert studio.made == ["corrections", "cover", "files"]


async def test_deleting_a_book_ends_its_production(
    supervisor: Supervisor, shelf: Shelf, author: Idea, hold: Callable[[RunPhase], HeldPhase]
) -> None:
    held = hold(RunPhase.COVER)
    await author.ask(supervisor)
    await held.reached()

    await supervisor.delete_book(author.account, author.book)

    assert await shelf.value("SELECT count(*) FROM run") == 0
    assert not supervisor.runs_in_flight.by_run


async def test_the_files_contain_the_blurb(
    supervisor: Supervisor, studio: Studio, shelf: Shelf, author: Idea, hold: Callable[[RunPhase], HeldPhase]
) -> None:
    held = hold(RunPhase.COVER)
    await author.ask(supervisor)
    await held.reached()
    blurb = await shelf.value("SELECT blurb FROM book WHERE id = $1", author.book)
    held.let_go()
    await shelf.until_status(author.book, "completed")

    assert blurb == f"Text of {(author.book, BLURB)}."
    assert await shelf.value("SELECT count(*) FROM model_call WHERE book_id = $1 AND stage = 'blurb'", author.book) == 1
    assert await shelf.value("SELECT count(*) FROM blurb_draft") == 0


async def test_a_production_keeps_the_authors_blurb(
    supervisor: Supervisor, shelf: Shelf, author: Idea, model: Model
) -> None:
    await shelf.pool.execute("UPDATE book SET blurb = 'Mine.' WHERE id = $1", author.book)

    await author.ask(supervisor)
    await shelf.until_status(author.book, "completed")

    assert await shelf.value("SELECT blurb FROM book WHERE id = $1", author.book) == "Mine."
    assert model.asked[author.book, BLURB] == 0


async def test_a_blurb_that_the_author_writes_during_the_phase_is_kept(
    supervisor: Supervisor, shelf: Shelf, author: Idea, hold: Callable[[RunPhase], HeldPhase]
) -> None:
    held = hold(RunPhase.BLURB)
    await author.ask(supervisor)
    await held.reached()

    await shelf.pool.execute("UPDATE book SET blurb = 'Mine.' WHERE id = $1", author.book)
    held.let_go()
    await shelf.until_status(author.book, "completed")

    assert await shelf.value("SELECT blurb FROM book WHERE id = $1", author.book) == "Mine."


async def test_a_production_without_a_blurb_completes_and_gets_one_afterwards(
    start: Start, studio: Studio, shelf: Shelf, author: Idea, model: Model
) -> None:
    model.free = True
    model.kept.add((author.book, BLURB))
    supervisor = await start(draft_blurb=draft_blurb, products=studio.products)
    await author.ask(supervisor)
    await model.wait_until_asked(author.book, BLURB)
    model.fail(author.book, BLURB, retryable=True)
    await shelf.until_status(author.book, "completed")

    assert studio.made == ["corrections", "cover", "files"]
    await model.wait_until_asked(author.book, BLURB, 2)
    model.answer(author.book, BLURB, "A blurb.")
    await shelf.until("SELECT blurb = 'A blurb.' FROM book WHERE id = $1", author.book)


async def test_a_production_completes_even_if_its_blurb_is_refused(
    start: Start, studio: Studio, shelf: Shelf, author: Idea, model: Model
) -> None:
    model.free = True
    supervisor = await start(draft_blurb=refuse_blurb, products=studio.products)

    await author.ask(supervisor)
    await shelf.until_status(author.book, "completed")
    await shelf.until("SELECT NOT EXISTS (SELECT FROM blurb_draft)")

    assert await shelf.value("SELECT blurb FROM book WHERE id = $1", author.book) == ""
