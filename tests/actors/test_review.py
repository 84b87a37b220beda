"""The editor's reading: what it changes in a production, what it leaves to the author, and readings on request."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from bookgen.actors.messages import Pause, Resume
from bookgen.actors.production import NOT_REVIEWED
from bookgen.actors.supervisor import Supervisor
from bookgen.models import ReportKind, RevisionMode, RunStatus, SourceType
from bookgen.providers.text import TextRequest
from bookgen.services.provenance import share, sources
from bookgen.store import chapters, illustrations, media, provenance, reports
from bookgen.store.stored_files import NewFile

from .conftest import READERS, Model, Shelf, Start, Studio, crash, draft_blurb
from .test_production import Idea, author  # noqa: F401 (a fixture)

READING, ANSWER, COMPARISON = ((0, READERS[stage]) for stage in ("review", "revision", "comparison"))
SUGGESTIONS = """
    SELECT c.chapter_number, s.original_text, s.suggested_text, s.explanation, s.status, s.severity
      FROM suggestion s JOIN chapter c ON c.id = s.chapter_id JOIN report r ON r.id = s.report_id
     WHERE r.kind = 'review' ORDER BY c.chapter_number
"""
REVISIONS = """
    SELECT r.origin, r.content FROM chapter_revision r JOIN chapter c ON c.id = r.chapter_id
     WHERE c.book_id = $1 ORDER BY r.id
"""
HAS_ITS_DIGEST = """
    UPDATE digest d SET content_hash = encode(sha256(convert_to(c.content, 'UTF8')), 'hex')
      FROM chapter c WHERE c.id = d.chapter_id
"""
DIGESTS_THAT_FIT = """
    SELECT count(*) FROM digest d JOIN chapter c ON c.id = d.chapter_id
     WHERE c.content LIKE 'Words of%' AND d.content_hash = encode(sha256(convert_to(c.content, 'UTF8')), 'hex')
"""
REWRITTEN = """
    UPDATE chapter SET content = 'Words of her own.', content_version = content_version + 1
     WHERE book_id = $1 AND chapter_number = 2
"""

TEXTS = "UPDATE chapter SET content = format('Text of (%s, %s).', book_id, chapter_number), word_count = 4"
PICTURED = "UPDATE book SET kind = 'childrens', age_range = '3-5' WHERE id = $1"


def finding(chapter: int, quote: str, **fields: Any) -> dict[str, Any]:
    usual = {"kind": "contradiction", "severity": "major", "others": [], "why": "It is not so.", "remedy": "Mend it."}
    return {"chapter": chapter, "quote": quote, "replacement": "", **usual, **fields}


def edit(number: int, chapter: int, passage: str, replacement: str) -> dict[str, Any]:
    return {
        "finding": number, "chapter": chapter, "passage": passage, "replacement": replacement, "drops_sentence": False
    }  # fmt: skip


def found(model: Model, book: int) -> None:
    """The editor finds something in each chapter. The author model changes the first and declines the second."""
    others = [{"chapter": 1, "quote": f"({book}, 1)"}]
    model.findings = json.dumps(
        {"findings": [finding(1, "Text of"), finding(2, "Text of", severity="minor", others=others)]}
    )
    model.answers = json.dumps(
        {"edits": [edit(1, 1, "Text of", "Words of")], "declined": [{"finding": 2, "reason": "It is meant so."}]}
    )


@pytest.fixture
def studio() -> Studio:
    return Studio()


@pytest.fixture
async def supervisor(start: Start, studio: Studio, model: Model) -> Supervisor:
    model.free = True
    return await start(draft_blurb=draft_blurb, products=studio.products, revision=RevisionMode.APPLY)


async def first_chapter_written(supervisor: Supervisor, author: Idea, model: Model) -> None:  # noqa: F811
    """Start the production and stop at its second chapter."""
    model.kept.add((author.book, 2))
    await author.ask(supervisor)
    await model.wait_until_asked(author.book, 2)


async def until_reviewed(shelf: Shelf, book: int) -> None:
    """Wait until the production's review is stored."""
    await shelf.until("SELECT phase NOT IN ('outline', 'chapters', 'review') FROM run WHERE book_id = $1", book)


async def listed(shelf: Shelf) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await shelf.pool.fetch(SUGGESTIONS)]


async def test_a_production_applies_the_authors_answers_and_lists_the_other_findings(
    supervisor: Supervisor,
    author: Idea,  # noqa: F811
    shelf: Shelf,
    model: Model,
) -> None:
    found(model, author.book)

    await author.ask(supervisor)
    await shelf.until_status(author.book, "completed")

    book = author.book
    assert await shelf.texts(book) == [f"Words of {(book, 1)}.", f"Text of {(book, 2)}."]
    assert [tuple(row) for row in await shelf.pool.fetch(REVISIONS, book)] == [("review", f"Text of {(book, 1)}.")]
    left = f"It is not so. Mend it.\nChapter 1: “({book}, 1)”\nLeft as it is: It is meant so."
    assert await listed(shelf) == [
        (1, "Text of", "Words of", "It is not so.", "applied", "major"),
        (2, "Text of", None, left, "pending", "minor"),
    ]
    said = await author.status(supervisor)
    assert "The editor's reading listed 2 findings. The report says what was changed." in said
    assert (model.asked[READING], model.asked[ANSWER]) == (1, 1)


CONTRADICTION = """
    INSERT INTO fact (chapter_id, content_hash, kind, event, subject, value, quote)
    SELECT id, '', 'person', CASE chapter_number WHEN 1 THEN 'dies' ELSE 'acts' END, 'Tobias', 'it is told',
           format('(%s, %s)', book_id, chapter_number)
      FROM chapter WHERE book_id = $1 AND chapter_number <= 2
"""
LISTED = """
    SELECT r.kind, s.explanation FROM suggestion s JOIN report r ON r.id = s.report_id
     WHERE s.type = 'continuity' ORDER BY r.id
"""


@pytest.mark.parametrize("reason", ["He is a ghost.", ""])
async def test_a_contradiction_that_is_declined_with_a_reason_is_not_reported_by_the_proofreading(
    supervisor: Supervisor,
    author: Idea,  # noqa: F811
    shelf: Shelf,
    model: Model,
    monkeypatch: pytest.MonkeyPatch,
    reason: str,
) -> None:
    async def note(*_: object) -> None:
        await shelf.pool.execute("DELETE FROM fact")
        await shelf.pool.execute(CONTRADICTION, author.book)

    monkeypatch.setattr("bookgen.actors.review.note_rest", note)
    model.answers = json.dumps({"edits": [], "declined": [{"finding": 1, "reason": reason}]})

    await author.ask(supervisor)
    await shelf.until_status(author.book, "completed")

    reports_of_it = [row["kind"] for row in await shelf.pool.fetch(LISTED)]
    assert reports_of_it == (["review"] if reason else ["review", "proofreading"])


async def test_the_digest_of_a_revised_chapter_is_stored_for_its_new_text(
    supervisor: Supervisor,
    author: Idea,  # noqa: F811
    shelf: Shelf,
    model: Model,
) -> None:
    found(model, author.book)
    await first_chapter_written(supervisor, author, model)
    await shelf.pool.execute(HAS_ITS_DIGEST)

    model.answer(author.book, 2)
    await shelf.until_status(author.book, "completed")

    assert await shelf.value(DIGESTS_THAT_FIT) == 1


async def test_a_book_edited_during_the_review_gets_its_findings_as_a_list(
    supervisor: Supervisor,
    author: Idea,  # noqa: F811
    shelf: Shelf,
    model: Model,
) -> None:
    found(model, author.book)
    model.answers = json.dumps({"edits": [edit(1, 1, "Text of", "Words of"), edit(2, 2, "Text of", "Tale of")]})
    model.kept.add(ANSWER)
    await author.ask(supervisor)
    await model.wait_until_asked(*ANSWER)

    await shelf.pool.execute(REWRITTEN, author.book)
    model.answer(*ANSWER, text=model.answers)
    await shelf.until_status(author.book, "completed")

    assert await shelf.texts(author.book) == [f"Text of {(author.book, 1)}.", "Words of her own."]
    assert [(row[0], row[4]) for row in await listed(shelf)] == [(1, "pending"), (2, "pending")]


async def test_a_chapter_that_no_model_wrote_is_not_changed(
    supervisor: Supervisor,
    author: Idea,  # noqa: F811
    shelf: Shelf,
    model: Model,
) -> None:
    found(model, author.book)
    await first_chapter_written(supervisor, author, model)
    await shelf.pool.execute("UPDATE chapter SET writer = ''")

    model.answer(author.book, 2)
    await shelf.until_status(author.book, "completed")

    assert (await shelf.texts(author.book))[0] == f"Text of {(author.book, 1)}."
    assert [row[4] for row in await listed(shelf)] == ["pending", "pending"]


@pytest.mark.parametrize(
    ("mode", "listed_rows", "calls"), [(RevisionMode.REPORT, 2, (1, 0)), (RevisionMode.OFF, 0, (0, 0))]
)
async def test_a_setting_decides_what_happens_to_the_findings(
    start: Start,
    studio: Studio,
    author: Idea,  # noqa: F811
    shelf: Shelf,
    model: Model,
    mode: RevisionMode,
    listed_rows: int,
    calls: tuple[int, int],
) -> None:
    model.free = True
    found(model, author.book)
    supervisor = await start(draft_blurb=draft_blurb, products=studio.products, revision=mode)

    await author.ask(supervisor)
    await shelf.until_status(author.book, "completed")

    assert (await shelf.texts(author.book))[0] == f"Text of {(author.book, 1)}."
    assert [row[4] for row in await listed(shelf)] == ["pending"] * listed_rows
    assert (model.asked[READING], model.asked[ANSWER]) == calls


async def test_a_book_whose_review_fails_is_finished_and_the_status_says_so(
    supervisor: Supervisor,
    author: Idea,  # noqa: F811
    shelf: Shelf,
    model: Model,
) -> None:
    model.findings = "I would rather talk about the weather."

    await author.ask(supervisor)
    await shelf.until_status(author.book, "completed")

    assert NOT_REVIEWED in await author.status(supervisor)
    assert await listed(shelf) == []


async def test_a_book_longer_than_the_plan_allows_is_not_reviewed(
    supervisor: Supervisor,
    author: Idea,  # noqa: F811
    shelf: Shelf,
    model: Model,
) -> None:
    await first_chapter_written(supervisor, author, model)
    await shelf.pool.execute("UPDATE chapter SET content = repeat('Far too long. ', 400000) WHERE content <> ''")

    model.answer(author.book, 2)
    await shelf.until("SELECT phase NOT IN ('chapters', 'review') FROM run WHERE book_id = $1", author.book)

    assert model.asked[READING] == 0
    assert "too long for an editor's reading" in await shelf.value(
        "SELECT remark FROM run WHERE book_id = $1", author.book
    )


async def test_findings_without_a_usable_answer_are_listed(
    supervisor: Supervisor,
    author: Idea,  # noqa: F811
    shelf: Shelf,
    model: Model,
) -> None:
    found(model, author.book)
    model.answers = "No."

    await author.ask(supervisor)
    await shelf.until_status(author.book, "completed")

    assert [row[4] for row in await listed(shelf)] == ["pending", "pending"]


async def test_a_crash_between_reading_and_answer_does_not_pay_for_the_reading_again(
    start: Start,
    supervisor: Supervisor,
    studio: Studio,
    author: Idea,  # noqa: F811
    shelf: Shelf,
    model: Model,
) -> None:
    found(model, author.book)
    model.kept.add(ANSWER)
    await author.ask(supervisor)
    await model.wait_until_asked(*ANSWER)

    await crash(supervisor, shelf)
    await start(draft_blurb=draft_blurb, products=studio.products, revision=RevisionMode.APPLY)
    await model.wait_until_asked(*ANSWER, 2)
    model.kept.clear()
    model.answer(*ANSWER, text=model.answers)
    await shelf.until_status(author.book, "completed")

    assert model.asked[READING] == 1
    assert (await shelf.texts(author.book))[0] == f"Words of {(author.book, 1)}."
    assert len(await listed(shelf)) == 2


async def test_a_run_paused_after_the_reading_continues_with_the_answer(
    supervisor: Supervisor,
    author: Idea,  # noqa: F811
    shelf: Shelf,
    model: Model,
) -> None:
    found(model, author.book)
    model.kept.add(READING)
    await author.ask(supervisor)
    await model.wait_until_asked(*READING)

    assert await author.ask(supervisor, Pause()) is RunStatus.PAUSED
    model.answer(*READING, text=model.findings)
    await shelf.until("SELECT call_started_at IS NULL FROM run WHERE book_id = $1", author.book)
    assert model.asked[ANSWER] == 0
    await author.ask(supervisor, Resume())
    await shelf.until_status(author.book, "completed")

    assert (model.asked[READING], model.asked[ANSWER]) == (1, 1)


async def test_a_requested_review_changes_nothing_in_the_book(
    supervisor: Supervisor, shelf: Shelf, model: Model
) -> None:
    account, book = await shelf.outlined(2, "pro")
    await shelf.pool.execute(TEXTS)
    found(model, book)
    ids = [row["id"] for row in await shelf.pool.fetch("SELECT id FROM chapter ORDER BY chapter_number")]

    await reports.add(shelf.pool, account, book, uuid4(), ids, ReportKind.REVIEW)
    supervisor.reports.wake()
    await shelf.until("SELECT status = 'completed' FROM report WHERE book_id = $1", book)

    assert [(row[0], row[2], row[4]) for row in await listed(shelf)] == [(1, None, "pending"), (2, None, "pending")]
    assert (model.asked[READING], model.asked[ANSWER]) == (1, 0)
    assert await shelf.value("SELECT sum(proofreading_checks_used) FROM usage_period") == 1
    assert await shelf.texts(book) == [f"Text of {(book, 1)}.", f"Text of {(book, 2)}."]


async def test_the_editor_of_a_picture_book_is_told_what_its_pictures_show(
    supervisor: Supervisor, shelf: Shelf, model: Model
) -> None:
    account, book = await shelf.outlined(2, "pro")
    await shelf.pool.execute(PICTURED, book)
    await shelf.pool.execute(TEXTS)
    first = await shelf.chapter_id(book, 1)
    for place, told in enumerate(("A badger on a ladder.", "The ladder is gone.")):
        key = await media.add(shelf.pool, book, NewFile(b"picture"), 16, 25, SourceType.DRAWN)
        shown = {"alt_text": told, "caption": "", "prompt": "", "image_key": key, "position": place}
        await illustrations.add(shelf.pool, first, **shown, width=16, height=25)
    ids = [first, await shelf.chapter_id(book, 2)]

    await reports.add(shelf.pool, account, book, uuid4(), ids, ReportKind.REVIEW)
    supervisor.reports.wake()
    await shelf.until("SELECT status = 'completed' FROM report WHERE book_id = $1", book)

    asked = model.latest["review"].messages[-1].text
    assert f"[Picture: A badger on a ladder. The ladder is gone.]\n\nText of ({book}, 1)." in asked
    assert asked.count("\n\n[Picture: ") == 1
    assert asked.startswith("This is a picture book.")


async def test_the_pictures_of_other_books_are_not_told(supervisor: Supervisor, shelf: Shelf, model: Model) -> None:
    account, book = await shelf.outlined(1, "pro")
    await shelf.pool.execute(TEXTS)
    first = await shelf.chapter_id(book, 1)
    key = await media.add(shelf.pool, book, NewFile(b"picture"), 16, 25, SourceType.DRAWN)
    shown = {"alt_text": "A lamp.", "caption": "", "prompt": "", "image_key": key, "position": 0}
    await illustrations.add(shelf.pool, first, **shown, width=16, height=25)

    await reports.add(shelf.pool, account, book, uuid4(), [first], ReportKind.REVIEW)
    supervisor.reports.wake()
    await shelf.until("SELECT status = 'completed' FROM report WHERE book_id = $1", book)

    assert "Picture:" not in model.latest["review"].messages[-1].text


# Comparisons


def prefers(*revised: int) -> Callable[[TextRequest], str]:
    """The verdicts of a reader who prefers the revision of these findings, and else the draft."""

    def verdicts(request: TextRequest) -> str:
        listed = re.findall(r"Number (\d+)\nA:\n⟦[\d.]+⟧ (.*)", request.texts[-1])
        told = [
            {
                "number": int(number),
                "why": "The other one limps.",
                "better": "A" if (first == "Text of") is not (int(number) in revised) else "B",
            }
            for number, first in listed
        ]
        return json.dumps({"verdicts": told})

    return verdicts


def answered_twice(model: Model, book: int) -> None:
    """The editor finds something in each chapter, and the author model answers both."""
    found(model, book)
    model.answers = json.dumps({"edits": [edit(1, 1, "Text of", "Words of"), edit(2, 2, "Text of", "Tale of")]})


Compare = Callable[..., Any]


@pytest.fixture
def comparing(start: Start, studio: Studio, model: Model) -> Callable[[], Any]:
    """Starts a supervisor that compares revisions with their drafts."""

    async def begin() -> Supervisor:
        model.free = True
        return await start(draft_blurb=draft_blurb, products=studio.products, revision=RevisionMode.COMPARE)

    return begin


async def test_changes_that_both_comparisons_prefer_are_made(
    comparing: Compare,
    author: Idea,  # noqa: F811
    shelf: Shelf,
    model: Model,
) -> None:
    answered_twice(model, author.book)
    model.compares = prefers(1, 2)

    await author.ask(await comparing())
    await until_reviewed(shelf, author.book)

    book = author.book
    assert await shelf.texts(book) == [f"Words of {(book, 1)}.", f"Tale of {(book, 2)}."]
    assert [row[4] for row in await listed(shelf)] == ["applied", "applied"]
    assert {row["origin"] for row in await shelf.pool.fetch(REVISIONS, book)} == {"review"}
    paid = "SELECT count(*), sum(input_tokens), sum(output_tokens) FROM model_call WHERE stage = 'comparison'"
    assert tuple(await shelf.pool.fetchrow(paid)) == (2, 20, 40)


async def test_a_change_that_a_comparison_rejects_is_listed_and_its_text_is_in_the_history(
    comparing: Compare,
    author: Idea,  # noqa: F811
    shelf: Shelf,
    model: Model,
) -> None:
    answered_twice(model, author.book)
    model.compares = prefers(1)

    await author.ask(await comparing())
    await until_reviewed(shelf, author.book)

    book = author.book
    assert await shelf.texts(book) == [f"Words of {(book, 1)}.", f"Text of {(book, 2)}."]
    assert [tuple(row) for row in await shelf.pool.fetch(REVISIONS, book)] == [
        ("not_preferred", f"Tale of {(book, 2)}."),
        ("review", f"Text of {(book, 1)}."),
    ]
    [first, second] = await listed(shelf)
    assert (first[4], second[4]) == ("applied", "pending")
    assert second[3].splitlines()[-1] == (
        "A blind comparison preferred the draft to the revision, so the draft stays. The other one limps. "
        "The revision is in the chapter's history."
    )


async def test_a_rejected_revision_leaves_a_chapter_the_models(
    comparing: Compare,
    author: Idea,  # noqa: F811
    shelf: Shelf,
    model: Model,
) -> None:
    answered_twice(model, author.book)
    model.compares = prefers()

    await author.ask(await comparing())
    await until_reviewed(shelf, author.book)

    assert model.asked[COMPARISON] == 1
    former = await provenance.revisions(shelf.pool, author.account, author.book)
    assert {each.origin for each in former} == {"not_preferred"}
    for chapter in await chapters.of_book(shelf.pool, author.book):
        own = [each for each in former if each.chapter_id == chapter.id]
        assert own
        assert share(chapter, sources(chapter, own), {}).model == chapter.word_count


async def test_without_usable_comparisons_the_draft_stays(
    comparing: Compare,
    author: Idea,  # noqa: F811
    shelf: Shelf,
    model: Model,
) -> None:
    answered_twice(model, author.book)

    await author.ask(await comparing())
    await until_reviewed(shelf, author.book)

    assert await shelf.texts(author.book) == [f"Text of {(author.book, 1)}.", f"Text of {(author.book, 2)}."]
    for row in await listed(shelf):
        assert row[4] == "pending"
        assert "The revision could not be compared with the draft" in row[3]


async def test_nothing_is_compared_unless_the_operator_wants_it(
    supervisor: Supervisor,
    author: Idea,  # noqa: F811
    shelf: Shelf,
    model: Model,
) -> None:
    answered_twice(model, author.book)

    await author.ask(supervisor)
    await until_reviewed(shelf, author.book)

    assert (model.asked[ANSWER], model.asked[COMPARISON]) == (1, 0)
    assert [row[4] for row in await listed(shelf)] == ["applied", "applied"]


async def test_a_crash_between_two_comparisons_does_not_pay_for_the_first_again(
    comparing: Compare,
    author: Idea,  # noqa: F811
    shelf: Shelf,
    model: Model,
) -> None:
    answered_twice(model, author.book)
    judged, requests = prefers(1, 2), list[TextRequest]()

    def judge(request: TextRequest) -> str:
        requests.append(request)
        if len(requests) == 2:
            model.kept.add(COMPARISON)
        return judged(request)

    model.compares = judge
    supervisor = await comparing()
    await author.ask(supervisor)
    await model.wait_until_asked(*COMPARISON, 2)

    await crash(supervisor, shelf)
    await comparing()
    await model.wait_until_asked(*COMPARISON, 3)
    model.kept.clear()
    model.answer(*COMPARISON, text=judged(requests[-1]))
    await until_reviewed(shelf, author.book)

    assert requests[1].messages == requests[2].messages != requests[0].messages
    assert (model.asked[READING], model.asked[ANSWER], model.asked[COMPARISON]) == (1, 1, 3)
    assert await shelf.texts(author.book) == [f"Words of {(author.book, 1)}.", f"Tale of {(author.book, 2)}."]


async def test_a_book_edited_during_the_comparison_gets_its_findings_as_a_list(
    comparing: Compare,
    author: Idea,  # noqa: F811
    shelf: Shelf,
    model: Model,
) -> None:
    answered_twice(model, author.book)
    model.compares = prefers(1)
    model.kept.add(COMPARISON)
    await author.ask(await comparing())
    await model.wait_until_asked(*COMPARISON)

    await shelf.pool.execute(REWRITTEN, author.book)
    model.kept.clear()
    model.answer(*COMPARISON, text='{"verdicts": [{"number": 1, "better": "equal", "why": ""}]}')
    await until_reviewed(shelf, author.book)

    assert await shelf.texts(author.book) == [f"Text of {(author.book, 1)}.", "Words of her own."]
    assert [row[4] for row in await listed(shelf)] == ["pending", "pending"]
    assert await shelf.pool.fetch(REVISIONS, author.book) == []
