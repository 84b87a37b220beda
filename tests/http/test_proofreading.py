"""Proofreading reports over the API: requested, polled and worked through. Only what was shown is changed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from difflib import unified_diff
from typing import Any
from uuid import uuid4

import pytest

from bookgen.actors.health import Health
from bookgen.actors.material import load_material
from bookgen.billing import failed_jobs
from bookgen.errors import UpstreamAIError
from bookgen.models import Digest, Usage
from bookgen.providers.offline import OfflineModel
from bookgen.providers.text import StopReason, TextReply, TextRequest
from bookgen.services import corrections
from bookgen.store import chapters, material
from bookgen.store import suggestions as store
from bookgen.store.suggestions import NEW, NewSuggestion
from bookgen.threads import compute
from bookgen.writing.continuity import stored_digest
from bookgen.writing.fingerprint import content_hash
from bookgen.writing.proofreading.edits import STAGE
from tests.http.conftest import Api, OpenApi, pause
from tests.writing.proofreading import judge

FIRST = "The lamp went out over the the water.\n\nShe said , at last, that it was cold."
SECOND = "Nobody answered her. The boat was gone, and with it the last light of the year."


REFUSED = TextReply("", StopReason.REFUSAL, Usage(calls=1, input_tokens=9), "proofreader")
OF_NO_USE = TextReply('{"edits": [{"quote": 5}, "x"]}', StopReason.END, Usage(calls=1, input_tokens=9), "proofreader")


class Proofreader(OfflineModel):
    """Writes like the offline model, and proposes the given edits where their quotation occurs."""

    def __init__(self) -> None:
        self.edits: list[dict[str, str]] = []
        self.calls = 0
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.one_by_one = False  # whether each reply waits to be released
        self.asked = asyncio.Event()
        self.failure: Exception | None = None
        self.in_vain: dict[str, TextReply] = {}  # the replies to prompts that contain these words

    async def complete(self, request: TextRequest) -> TextReply:
        if request.stage != STAGE:
            return await super().complete(request)
        self.calls += 1
        self.asked.set()
        await self.may_answer.wait()
        if self.one_by_one:
            self.may_answer.clear()
        if self.failure:
            raise self.failure
        for words, reply in self.in_vain.items():
            if words in request.messages[0].text:
                return replace(reply, call_id=uuid4())
        told = [edit for edit in self.edits if edit["quote"] in request.messages[0].text]
        return TextReply(json.dumps({"edits": told}), StopReason.END, Usage(calls=1, input_tokens=9), "proofreader")


def edit(quote: str, replacement: str, kind: str = "spelling", severity: str = "major") -> dict[str, str]:
    told = {"prefix": "", "suffix": "", "reason": "It is misspelt."}
    return {"quote": quote, "replacement": replacement, "type": kind, "severity": severity, **told}


class Editor(OfflineModel):
    """Writes like the offline model under another name, and reviews a book with these findings."""

    name = "editor"

    def __init__(self) -> None:
        self.findings: list[dict[str, Any]] = []

    async def complete(self, request: TextRequest) -> TextReply:
        if request.stage != "review":
            return await super().complete(request)
        reply = json.dumps({"findings": self.findings})
        return TextReply(reply, StopReason.END, Usage(calls=1, input_tokens=9), "editor")


@pytest.fixture
def editor() -> Editor:
    return Editor()


@pytest.fixture
async def reader(open_api: OpenApi, editor: Editor) -> Api:
    return await (await open_api(model=editor)).as_new_account("ada")


@pytest.fixture
async def read_book(reader: Api) -> dict[str, Any]:
    return await written(reader)


@pytest.fixture
def proofreader() -> Proofreader:
    return Proofreader()


@pytest.fixture
async def author(open_api: OpenApi, proofreader: Proofreader) -> Api:
    return await (await open_api(model=proofreader)).as_new_account("ada")


@pytest.fixture
async def book(author: Api) -> dict[str, Any]:
    return await written(author)


async def written(author: Api) -> dict[str, Any]:
    """A book of two chapters, with mistakes by its author in the first."""
    made = await author.outlined()
    for chapter, content in zip(made["chapters"], (FIRST, SECOND), strict=True):
        await author.patch(f"/chapters/{chapter['id']}/", {"content": content})
    return dict((await author.get(f"/books/{made['id']}/")).body)


async def reported(author: Api, book: dict[str, Any], **asked: Any) -> dict[str, Any]:
    reply = await author.post("/proofreading-reports/", {"book": book["id"], **asked})
    assert reply.status == 202, reply.body
    return await ended(author, reply.body["id"])


async def ended(author: Api, report_id: int) -> dict[str, Any]:
    def is_over(report: dict[str, Any]) -> bool:
        return report["status"] in ("completed", "error")

    return await until(author, report_id, is_over)


async def until(author: Api, report_id: int, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    async with asyncio.timeout(30):
        while True:
            report = dict((await author.get(f"/proofreading-reports/{report_id}/")).body)
            if condition(report):
                return report
            await pause()


async def suggestions(author: Api, report: dict[str, Any], query: str = "") -> list[dict[str, Any]]:
    reply = await author.get(f"/proofreading-reports/{report['id']}/suggestions/{query}")
    assert reply.status == 200, reply.body
    return list(reply.body["results"])


async def content_of(author: Api, book: dict[str, Any], place: int = 0) -> str:
    return str((await author.get(f"/chapters/{book['chapters'][place]['id']}/")).body["content"])


async def test_a_report_has_the_findings_of_the_rules_and_the_model(
    author: Api, book: dict[str, Any], proofreader: Proofreader
) -> None:
    proofreader.edits = [edit("water", "waters")]

    report = await reported(author, book)

    assert (report["status"], report["progress"], report["failure"]) == ("completed", 100, None)
    assert report["counts"]["by_type"] == {"spelling": 1, "grammar": 1, "punctuation": 1}
    found = await suggestions(author, report)
    assert [(each["original_text"], each["suggested_text"]) for each in found] == [
        ("the the", "the"), ("water", "waters"), ("said ,", "said,"),
    ]  # fmt: skip
    assert all(FIRST[each["start"] : each["end"]] == each["original_text"] for each in found)


async def test_an_applied_suggestion_changes_its_span_and_keeps_the_old_text_as_a_revision(
    author: Api, book: dict[str, Any]
) -> None:
    report = await reported(author, book)
    doubled = (await suggestions(author, report, "?type=grammar"))[0]
    path = f"/proofreading-reports/{report['id']}/suggestions/{doubled['id']}"

    preview = (await author.get(f"{path}/preview/")).body
    applied = (await author.post(f"{path}/apply/")).body

    assert (preview["before"], preview["after"]) == ("the the", "the")
    assert preview["context_before"].endswith("out over ")
    before, after = FIRST.splitlines(), FIRST.replace("the the", "the").splitlines()
    assert preview["diff"].splitlines() == list(unified_diff(before, after, "before", "after", lineterm="", n=0))
    assert applied["status"] == "applied"
    assert await content_of(author, book) == FIRST.replace("the the", "the")
    newest = (await author.get(f"/chapters/{book['chapters'][0]['id']}/revisions/")).body[0]
    assert newest["origin"] == "proofreading"
    assert (await author.post(f"{path}/apply/")).body["status"] == "applied"
    assert await content_of(author, book) == FIRST.replace("the the", "the")


async def test_unknown_suggestion_ids_are_named(author: Api, book: dict[str, Any]) -> None:
    report = await reported(author, book)
    own = [each["id"] for each in await suggestions(author, report)]

    path = f"/proofreading-reports/{report['id']}/apply/"
    outcome = (await author.post(path, {"suggestion_ids": [999_998, *own, 999_999]})).body

    assert outcome["unknown_ids"] == [999_998, 999_999]
    assert outcome["applied"] > 0
    assert "unknown_ids" not in (await author.post(path, {"suggestion_ids": own})).body


async def test_many_suggestions_are_applied_together_and_the_rest_keep_their_places(
    author: Api, book: dict[str, Any]
) -> None:
    report = await reported(author, book)

    outcome = (await author.post(f"/proofreading-reports/{report['id']}/apply/", {"severity": ["major"]})).body

    assert outcome == {"applied": 1, "stale": 0, "chapters": [book["chapters"][0]["id"]]}
    (left,) = await suggestions(author, report, "?status=pending")
    content = await content_of(author, book)
    assert content[left["start"] : left["end"]] == left["original_text"] == "said ,"


async def test_suggestions_are_placed_again_if_the_chapter_changes_while_they_are_applied(
    author: Api, book: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    report = await reported(author, book)
    ids = [each["id"] for each in await suggestions(author, report)]
    chapter, pool = book["chapters"][0]["id"], author.services.database.http
    in_use, changes = [], iter(["A new beginning.\n\n" + FIRST])

    async def edited_meanwhile(function: Any, *arguments: Any) -> Any:
        result = await compute(function, *arguments)
        in_use.append(pool.in_use)
        for content in changes:
            await author.patch(f"/chapters/{chapter}/", {"content": content})
        return result

    monkeypatch.setattr(corrections, "compute", edited_meanwhile)
    reply = await author.post(f"/proofreading-reports/{report['id']}/apply/", {"suggestion_ids": ids})

    assert reply.status == 200, reply.body
    content = (await author.get(f"/chapters/{chapter}/")).body["content"]
    assert content == "A new beginning.\n\nThe lamp went out over the water.\n\nShe said, at last, that it was cold."
    assert in_use[0] == 0


async def test_suggestions_of_a_chapter_that_keeps_changing_can_be_read_but_not_applied(
    author: Api, book: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    report = await reported(author, book)
    (first, *_) = await suggestions(author, report)
    chapter, pool = book["chapters"][0]["id"], author.services.database.http
    change = "UPDATE chapter SET content_version = content_version + 1 WHERE id = $1"

    async def changed_meanwhile(function: Any, *arguments: Any) -> Any:
        result = await compute(function, *arguments)
        await pool.execute(change, chapter)
        return result

    monkeypatch.setattr(corrections, "compute", changed_meanwhile)
    await pool.execute(change, chapter)
    path = f"/proofreading-reports/{report['id']}"

    listed = await author.get(f"{path}/suggestions/")
    preview = await author.get(f"{path}/suggestions/{first['id']}/preview/")
    refused = await author.post(f"{path}/apply/", {"suggestion_ids": [first["id"]]})

    assert (listed.status, preview.status, refused.status, refused.code) == (200, 200, 409, "CONFLICT")
    assert await content_of(author, book) == FIRST


async def test_safe_suggestions_are_marked_and_can_be_listed_and_applied_alone(
    author: Api, book: dict[str, Any]
) -> None:
    report = await reported(author, book)

    safe, other = [await suggestions(author, report, f"?safe={flag}") for flag in ("true", "false")]
    outcome = (await author.post(f"/proofreading-reports/{report['id']}/apply/", {"safe": True})).body

    assert [(each["original_text"], each["safe"]) for each in (*safe, *other)] == [("said ,", True), ("the the", False)]
    assert outcome["applied"] == 1
    assert await content_of(author, book) == FIRST.replace("said ,", "said,")
    pending = await suggestions(author, report, "?status=pending")
    assert [(each["original_text"], each["type"]) for each in pending] == [("the the", "grammar")]
    for refused in ({"safe": False}, {"safe": "true"}, {}):
        assert (await author.post(f"/proofreading-reports/{report['id']}/apply/", refused)).status == 400


async def test_safe_corrections_keep_what_was_noted_about_the_chapter(author: Api, book: dict[str, Any]) -> None:
    pool, chapter = author.services.database.http, book["chapters"][0]["id"]
    digest = Digest(1, content_hash(FIRST), "The lamp goes out.")
    async with pool.acquire() as connection, connection.transaction():
        await material.save_digest(connection, chapter, digest)
    report = await reported(author, book)
    (grammar,) = await suggestions(author, report, "?type=grammar")

    noted = []
    for chosen in ({"safe": True}, {"suggestion_ids": [grammar["id"]]}):
        await author.post(f"/proofreading-reports/{report['id']}/apply/", chosen)
        loaded = await load_material(pool, author.account_id, book["id"])
        kept = stored_digest(loaded, loaded.chapters[0])
        noted.append(kept and kept.summary)

    assert "the the" not in await content_of(author, book)
    assert noted == ["The lamp goes out.", None]


async def test_the_context_in_a_preview_has_whole_words(author: Api, book: dict[str, Any]) -> None:
    around = "Remarkable circumstances notwithstanding, everybody understood. " * 3
    path = f"/chapters/{book['chapters'][0]['id']}/"
    await author.patch(path, {"content": f"{around}They sat by the the window. {around}"})
    report = await reported(author, book)
    doubled = (await suggestions(author, report, "?type=grammar"))[0]

    shown = (await author.get(f"/proofreading-reports/{report['id']}/suggestions/{doubled['id']}/preview/")).body

    words = set(f"{around} They sat by the window.".split())
    assert {*shown["context_before"].split(), *shown["context_after"].split()} <= words
    assert f"{shown['context_before']}the the{shown['context_after']}" in await content_of(author, book)


async def test_a_suggestion_whose_text_is_gone_becomes_stale_and_changes_nothing(
    author: Api, book: dict[str, Any]
) -> None:
    report = await reported(author, book)
    doubled = (await suggestions(author, report, "?type=grammar"))[0]
    await author.patch(f"/chapters/{book['chapters'][0]['id']}/", {"content": "All anew."})

    reply = await author.post(f"/proofreading-reports/{report['id']}/suggestions/{doubled['id']}/apply/")

    assert reply.body["status"] == "stale"
    assert await content_of(author, book) == "All anew."
    assert await suggestions(author, report, "?status=pending") == []


@pytest.mark.parametrize("looked_at", [False, True])
async def test_stale_suggestions_are_counted_whether_or_not_they_have_been_read(
    author: Api, book: dict[str, Any], looked_at: bool
) -> None:
    report = await reported(author, book)
    await author.patch(f"/chapters/{book['chapters'][0]['id']}/", {"content": "All anew."})
    if looked_at:
        await suggestions(author, report)

    outcome = (await author.post(f"/proofreading-reports/{report['id']}/apply/", {"severity": ["major", "minor"]})).body

    assert (outcome["applied"], outcome["stale"], outcome["chapters"]) == (0, 2, [])


async def test_an_edit_before_a_suggestion_moves_the_suggestion(author: Api, book: dict[str, Any]) -> None:
    report = await reported(author, book)
    await author.patch(f"/chapters/{book['chapters'][0]['id']}/", {"content": f"A new beginning.\n\n{FIRST}"})

    outcome = (await author.post(f"/proofreading-reports/{report['id']}/apply/", {"severity": ["major", "minor"]})).body

    assert (outcome["applied"], outcome["stale"]) == (2, 0)
    expected = FIRST.replace("the the", "the").replace("said ,", "said,")
    assert await content_of(author, book) == f"A new beginning.\n\n{expected}"


@pytest.mark.parametrize("seed", range(2))
async def test_applying_suggestions_to_random_chapters_changes_only_their_spans(
    author: Api, book: dict[str, Any], seed: int
) -> None:
    case, path = judge.made(seed), f"/chapters/{book['chapters'][0]['id']}/"
    report = await reported(author, book, chapter_ids=[book["chapters"][1]["id"]])
    written = (await author.patch(path, {"content": case.content})).body["content"]
    stored = await chapters.find(author.services.database.http, author.account_id, book["chapters"][0]["id"])
    assert stored is not None
    made = [judge.suggestion(each.id, written, each.start_offset, each.end_offset, each.suggested_text)
            for each in case.pending]  # fmt: skip
    named = [{name: getattr(each, name) for name in NEW} for each in made]
    told = {"chapter_id": stored.id, "content_version": stored.content_version}
    async with author.services.database.http.acquire() as connection:
        await store.add(connection, report["id"], [NewSuggestion(**{**each, **told}) for each in named])

    for _ in range(4):
        if case.rng.random() < 0.5:
            place = case.rng.randint(0, len(written))
            await author.patch(path, {"content": f"{written[:place]}{case.text(2)} {written[place:]}"})
        pending = await suggestions(author, report, "?status=pending")
        before = await content_of(author, book)
        assert all(before[each["start"] : each["end"]] == each["original_text"] for each in pending)

        chosen = [each["id"] for each in pending if case.rng.random() < 0.5]
        await author.post(f"/proofreading-reports/{report['id']}/apply/", {"suggestion_ids": chosen})

        applied = {each["id"] for each in await suggestions(author, report, "?status=applied")}
        written = await content_of(author, book)
        assert written == changed(before, [each for each in pending if each["id"] in applied])


def changed(content: str, applied: list[dict[str, Any]]) -> str:
    for each in sorted(applied, key=lambda suggestion: -suggestion["start"]):
        content = content[: each["start"]] + each["suggested_text"] + content[each["end"] :]
    return content


async def test_a_dismissed_suggestion_is_not_made_again(author: Api, book: dict[str, Any]) -> None:
    first = await reported(author, book)
    doubled = (await suggestions(author, first, "?type=grammar"))[0]
    await author.post(f"/proofreading-reports/{first['id']}/suggestions/{doubled['id']}/dismiss/")

    second = await reported(author, book)

    assert [each["original_text"] for each in await suggestions(author, second)] == ["said ,"]


async def test_suggestions_are_paged_by_20_with_the_most_severe_first(author: Api) -> None:
    made = await author.outlined()
    slips = "\n\n".join(f"Guest {n} went to the the sea." for n in range(21))
    await author.patch(f"/chapters/{made['chapters'][0]['id']}/", {"content": f"She said , no.\n\n{slips}"})
    report = await reported(author, made)
    path = f"/proofreading-reports/{report['id']}/suggestions/"

    first = (await author.get(path)).body
    second = (await author.get(first["next"].removeprefix("http://books.example"), prefix="")).body

    assert (first["count"], len(first["results"]), first["previous"]) == (22, 20, None)
    assert (second["next"], second["previous"]) == (None, f"http://books.example/api/v1{path}?page=1")
    assert [each["severity"] for each in second["results"]] == ["major", "minor"]
    assert (await author.get(f"{path}?page=3")).code == "NOT_FOUND"


async def test_only_the_requested_chapters_are_read(
    author: Api, book: dict[str, Any], proofreader: Proofreader
) -> None:
    report = await reported(author, book, chapter_ids=[book["chapters"][1]["id"]])

    assert (await suggestions(author, report), proofreader.calls) == ([], 1)


async def test_a_report_that_cannot_be_made_is_refused(author: Api, book: dict[str, Any]) -> None:
    empty = await author.outlined()
    stranger = await author.as_new_account("eve")

    assert (await author.post("/proofreading-reports/", {"book": empty["id"]})).code == "CONFLICT"
    assert (await stranger.post("/proofreading-reports/", {"book": book["id"]})).code == "NOT_FOUND"
    assert (await author.post("/proofreading-reports/", {})).code == "VALIDATION_ERROR"
    wrong = await author.post("/proofreading-reports/", {"book": book["id"], "chapter_ids": [10**9]})
    assert wrong.body["error"]["details"] == {
        "chapter_ids": [
            f"These chapter ids do not belong to this book: {10**9}. Read its chapters (GET /books/{{id}}/)."
        ]
    }


async def test_a_report_of_another_account_is_not_found(author: Api, book: dict[str, Any]) -> None:
    report = await reported(author, book)
    found = await suggestions(author, report)
    stranger = await author.as_new_account("eve")
    path = f"/proofreading-reports/{report['id']}/"

    for method, where in (
        ("GET", path), ("DELETE", path), ("GET", f"{path}suggestions/"), ("POST", f"{path}apply/"),
        ("GET", f"{path}suggestions/{found[0]['id']}/preview/"), ("POST", f"{path}suggestions/{found[0]['id']}/apply/"),
        ("POST", f"{path}suggestions/{found[0]['id']}/dismiss/"),
    ):  # fmt: skip
        body = {"json": {"severity": ["major"]}} if where.endswith("s/apply/") else {}
        reply = await stranger.call(method, where, **({"json": {"severity": []}} if where == f"{path}apply/" else body))
        assert reply.code == "NOT_FOUND", (method, where)
    assert await content_of(author, book) == FIRST
    assert (await author.delete(path)).status == 204
    assert (await author.get(path)).code == "NOT_FOUND"


async def test_a_book_has_one_report_at_a_time_and_none_during_a_run(
    author: Api, book: dict[str, Any], proofreader: Proofreader
) -> None:
    proofreader.may_answer.clear()
    first = (await author.post("/proofreading-reports/", {"book": book["id"]})).body
    await asyncio.wait_for(proofreader.asked.wait(), 10)

    second = await author.post("/proofreading-reports/", {"book": book["id"]})
    run = await author.post(f"/books/{book['id']}/generate/")
    proofreader.may_answer.set()

    assert (second.code, run.code) == ("CONFLICT", "CONFLICT")
    assert (await ended(author, first["id"]))["status"] == "completed"


async def test_a_model_failure_ends_the_report_with_the_reason(
    author: Api, book: dict[str, Any], proofreader: Proofreader
) -> None:
    proofreader.failure = UpstreamAIError("It is away.", stage=STAGE, retryable=True, chapter_number=1)

    report = await reported(author, book)

    assert report["status"] == "error"
    assert report["failure"]["code"] == "UPSTREAM_AI_ERROR"
    assert report["failure"]["retryable"] is True
    proofreader.failure = None
    assert (await reported(author, book))["status"] == "completed"


@pytest.mark.parametrize(("reply", "said", "retryable"), [(REFUSED, "refused", False), (OF_NO_USE, "be used", True)])
async def test_a_report_whose_model_read_nothing_is_not_clean_and_costs_no_check(
    author: Api, book: dict[str, Any], proofreader: Proofreader, reply: TextReply, said: str, retryable: bool
) -> None:
    proofreader.in_vain = {"": reply}

    report = await reported(author, book)

    assert (report["status"], report["failure"]["code"]) == ("error", "UPSTREAM_AI_ERROR")
    assert said in report["summary"] == report["failure"]["message"]
    assert (report["failure"]["retryable"], report["failure"]["stage"]) == (retryable, STAGE)
    assert [each["original_text"] for each in await suggestions(author, report)] == ["the the", "said ,"]
    used = (await author.get("/auth/subscriptions/current/")).body["usage"]
    assert used["proofreading_checks_used"] == 0


@pytest.mark.parametrize(("reply", "why"), [(REFUSED, "the model refused"), (OF_NO_USE, "replies could not be used")])
async def test_a_chapter_that_the_model_could_not_read_is_named_in_the_summary(
    author: Api, book: dict[str, Any], proofreader: Proofreader, reply: TextReply, why: str
) -> None:
    proofreader.in_vain = {"Nobody answered her": reply}

    report = await reported(author, book)

    assert (report["status"], report["failure"]) == ("completed", None)
    assert report["summary"].startswith("2 chapters read; ")
    assert "Only the built-in rules checked chapter 2, because " in report["summary"]
    assert report["summary"].endswith(f"{why}.")
    used = (await author.get("/auth/subscriptions/current/")).body["usage"]
    assert used["proofreading_checks_used"] == 1


async def test_reports_refused_by_the_model_count_from_the_eleventh_on(
    author: Api, book: dict[str, Any], proofreader: Proofreader
) -> None:
    proofreader.in_vain = {"": REFUSED}
    only = [book["chapters"][1]["id"]]
    for _ in range(failed_jobs.FREE_A_PERIOD):
        await reported(author, book, chapter_ids=only)
    before = (await author.get("/auth/subscriptions/current/")).body["usage"]["proofreading_checks_used"]

    await reported(author, book, chapter_ids=only)

    after = (await author.get("/auth/subscriptions/current/")).body["usage"]["proofreading_checks_used"]
    assert (before, after) == (0, 1)


async def test_each_report_counts_one_check_and_is_refused_when_none_are_left(
    open_api: OpenApi, proofreader: Proofreader
) -> None:
    author = await (await open_api(model=proofreader, billing="on")).as_new_account("ada")
    made = await author.outlined()
    await author.patch(f"/chapters/{made['chapters'][0]['id']}/", {"content": FIRST})

    await reported(author, made)
    spent = await author.post("/proofreading-reports/", {"book": made["id"]})

    used = (await author.get("/auth/subscriptions/current/")).body["usage"]["proofreading_checks_used"]
    assert (spent.status, spent.code, used) == (429, "QUOTA_EXCEEDED", 1)
    assert spent.body["error"]["details"]["quota_type"] == "proofreading_checks"


async def test_a_report_in_progress_has_its_check_reserved(open_api: OpenApi, proofreader: Proofreader) -> None:
    author = await (await open_api(model=proofreader, billing="on")).as_new_account("ada")
    first, second = await author.outlined(), await author.outlined()
    for each in (first, second):
        await author.patch(f"/chapters/{each['chapters'][0]['id']}/", {"content": FIRST})
    proofreader.may_answer.clear()
    await author.post("/proofreading-reports/", {"book": first["id"]})
    await proofreader.asked.wait()

    beside = await author.post("/proofreading-reports/", {"book": second["id"]})
    proofreader.may_answer.set()

    assert (beside.status, beside.code) == (429, "QUOTA_EXCEEDED")
    assert beside.body["error"]["details"]["quota_type"] == "proofreading_checks"


async def test_a_check_is_counted_once_even_if_the_commit_response_is_lost(
    open_api: OpenApi, proofreader: Proofreader, monkeypatch: pytest.MonkeyPatch
) -> None:
    author = await (await open_api(model=proofreader, billing="on")).as_new_account("ada")
    made = await author.outlined()
    await author.patch(f"/chapters/{made['chapters'][0]['id']}/", {"content": FIRST})
    pro = "UPDATE subscription SET plan_id = (SELECT id FROM plan WHERE slug = 'pro') WHERE account_id = $1"
    await author.services.database.http.execute(pro, author.account_id)
    through_outages, repeated = Health.through_outages, asyncio.Event()

    async def repeat_completion(health: Health, operation: Any, **options: Any) -> Any:
        result = await through_outages(health, operation, **options)
        if "Reports._complete" in operation.__qualname__:
            result = await through_outages(health, operation, **options)
            repeated.set()
        return result

    monkeypatch.setattr(Health, "through_outages", repeat_completion)
    await reported(author, made)
    await repeated.wait()

    used = (await author.get("/auth/subscriptions/current/")).body["usage"]["proofreading_checks_used"]
    assert used == 1


async def test_a_check_reads_no_more_than_the_plan_allows_even_if_text_is_added(
    open_api: OpenApi, proofreader: Proofreader
) -> None:
    author = await (await open_api(model=proofreader, billing="on")).as_new_account("ada")
    made = await author.outlined(target_word_count=20)
    first, second = (chapter["id"] for chapter in made["chapters"])
    await longest_book_of_free(author, 20)
    half = ("It was of no use. " * 20)[:300]
    await author.patch(f"/chapters/{first}/", {"content": half})
    await author.patch(f"/chapters/{second}/", {"content": f"{half}!"})

    refused = await author.post("/proofreading-reports/", {"book": made["id"]})
    assert (refused.status, refused.code) == (402, "PLAN_UPGRADE_REQUIRED")
    details = refused.body["error"]["details"]
    assert (details["requested"], details["max_allowed"]) == (601, 600)
    assert proofreader.calls == 0

    await author.patch(f"/chapters/{second}/", {"content": half})
    proofreader.may_answer.clear()
    accepted = await author.post("/proofreading-reports/", {"book": made["id"]})
    assert accepted.status == 202
    await asyncio.wait_for(proofreader.asked.wait(), 30)
    await author.patch(f"/chapters/{second}/", {"content": "It was of no use. " * 20})
    proofreader.may_answer.set()
    assert (await ended(author, accepted.body["id"]))["status"] == "completed"
    assert proofreader.calls == 1


async def test_a_book_covered_by_a_credit_is_read_in_full_on_any_plan(
    open_api: OpenApi, proofreader: Proofreader
) -> None:
    author = await (await open_api(model=proofreader, billing="on")).as_new_account("ada")
    made = await author.outlined(target_word_count=50)
    await longest_book_of_free(author, 20)
    await author.patch(f"/chapters/{made['chapters'][0]['id']}/", {"content": "В окне горел свет. " * 30})

    report = (await author.post("/proofreading-reports/", {"book": made["id"]})).body

    assert (await ended(author, report["id"]))["status"] == "completed"
    assert proofreader.calls == 1


async def longest_book_of_free(author: Api, words: int) -> None:
    change = "UPDATE plan SET features = jsonb_set(features, '{max_word_count_per_book}', to_jsonb($1::int))"
    await author.services.database.http.execute(f"{change} WHERE slug = 'free'", words)


async def test_every_call_of_a_report_is_in_the_ledger(
    author: Api, book: dict[str, Any], proofreader: Proofreader
) -> None:
    before = (await author.get(f"/books/{book['id']}/")).body["usage"]["calls"]

    await reported(author, book)

    assert (
        (await author.get(f"/books/{book['id']}/")).body["usage"]["calls"] == before + proofreader.calls == before + 2
    )


def finding(chapter: int, quote: str, replacement: str = "", severity: str = "major") -> dict[str, Any]:
    told = {"kind": "contradiction", "others": [], "why": "It was dark before.", "remedy": "Say that it was lit."}
    return {"chapter": chapter, "quote": quote, "replacement": replacement, "severity": severity, **told}


async def reviewed(author: Api, book: dict[str, Any]) -> dict[str, Any]:
    reply = await author.post(f"/books/{book['id']}/review/")
    assert (reply.status, reply.body["kind"], reply.body["status"]) == (202, "review", "pending"), reply.body
    return await ended(author, reply.body["id"])


async def test_a_review_lists_findings_and_replacements_and_changes_nothing(
    reader: Api, read_book: dict[str, Any], editor: Editor
) -> None:
    editor.findings = [finding(1, "The lamp went out", "The lamp was lit"), finding(2, "The boat was gone")]

    report = await reviewed(reader, read_book)

    assert report["summary"] == "2 chapters read; 2 findings: 2 major."
    with_text, without = await suggestions(reader, report)
    assert (with_text["original_text"], with_text["suggested_text"]) == ("The lamp went out", "The lamp was lit")
    assert (without["suggested_text"], without["explanation"]) == (None, "It was dark before. Say that it was lit.")
    assert await content_of(reader, read_book) == FIRST
    path = f"/proofreading-reports/{report['id']}/suggestions"
    for refused in (
        await reader.get(f"{path}/{without['id']}/preview/"),
        await reader.post(f"{path}/{without['id']}/apply/"),
    ):
        assert (refused.status, refused.body["error"]["code"]) == (409, "CONFLICT")
        assert "then dismiss the finding." in refused.body["error"]["message"]
    assert (await reader.post(f"{path}/{with_text['id']}/apply/")).body["status"] == "applied"
    assert (await content_of(reader, read_book)).startswith("The lamp was lit over")
    all_at_once = await reader.post(f"/proofreading-reports/{report['id']}/apply/", {"severity": ["major"]})
    assert all_at_once.body == {"applied": 0, "stale": 0, "chapters": []}
    assert (await reader.post(f"{path}/{without['id']}/dismiss/")).body["status"] == "dismissed"
    assert await suggestions(reader, report, "?status=pending") == []


async def test_without_a_language_model_a_review_says_that_nobody_has_read_the_book(
    author: Api, book: dict[str, Any]
) -> None:
    report = await reviewed(author, book)

    assert (report["status"], report["summary"]) == (
        "completed",
        "The book was not read: this server has no language model.",
    )
    used = (await author.get("/auth/subscriptions/current/")).body["usage"]
    assert used["proofreading_checks_used"] == 0


async def test_a_book_without_text_cannot_be_reviewed(author: Api) -> None:
    made = await author.outlined()

    refused = await author.post(f"/books/{made['id']}/review/")

    assert (refused.status, refused.body["error"]["code"]) == (409, "CONFLICT")
