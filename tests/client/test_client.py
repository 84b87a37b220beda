"""The client against a server with scripted responses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bookgen.client import errors
from bookgen.client.client import Client

HANG_UP = 299
Answer = tuple[int, Any] | tuple[int, Any, dict[str, str]]


class Script:
    """Answers each path with its next scripted response, and repeats the last one."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Answer]] = {}
        self.asked: list[tuple[str, str, str | None]] = []
        self.preferred: list[tuple[str | None, str | None]] = []
        self.paused: list[float] = []

    def says(self, path: str, *answers: Answer) -> None:
        self.answers[path] = list(answers)

    async def answer(self, request: web.Request) -> web.Response:
        path = request.path.removeprefix("/api/v1")
        self.asked.append((request.method, path, request.headers.get("Authorization")))
        self.preferred.append((request.headers.get("Prefer"), request.headers.get("If-None-Match")))
        answers = self.answers[path]
        status, body, headers = (*(answers.pop(0) if len(answers) > 1 else answers[0]), {})[:3]
        if status == HANG_UP and request.transport:
            request.transport.abort()
        if isinstance(body, bytes):
            return web.Response(status=status, body=body, headers=headers)
        return web.json_response(body, status=status, headers=headers)

    def count(self, path: str) -> int:
        return sum(asked == path for _, asked, _ in self.asked)

    async def pause(self, seconds: float) -> None:
        self.paused.append(seconds)


def failure(code: str, status: int, message: str = "No.", **details: Any) -> Answer:
    return status, {"error": {"code": code, "message": message, "status": status, "details": details}}


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
async def client(script: Script) -> AsyncIterator[Client]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", script.answer)
    async with TestServer(app) as server, Client(str(server.make_url("/")), pause=script.pause) as client:
        script.says("/auth/login/", (200, {"user": {}, "tokens": {"access": "a1", "refresh": "r1"}}))
        await client.login("me@example.org", "password")
        yield client


async def test_a_call_sends_the_token_of_the_login(client: Client, script: Script) -> None:
    script.says("/books/", (200, []))

    await client.list_books()

    assert script.asked[-1] == ("GET", "/books/", "Bearer a1")


async def test_an_expired_token_is_refreshed_once_and_the_call_is_repeated(client: Client, script: Script) -> None:
    script.says("/books/", failure("TOKEN_EXPIRED", 401), (200, []))
    script.says("/auth/token/refresh/", (200, {"access": "a2", "refresh": "r2"}))

    assert await client.list_books() == []

    assert script.asked[-1] == ("GET", "/books/", "Bearer a2")


async def test_a_token_that_stays_expired_is_refreshed_only_once(client: Client, script: Script) -> None:
    script.says("/books/", failure("TOKEN_EXPIRED", 401))
    script.says("/auth/token/refresh/", (200, {"access": "a2", "refresh": "r2"}))

    with pytest.raises(errors.Unauthenticated):
        await client.list_books()

    assert script.count("/books/") == 2


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (failure("VALIDATION_ERROR", 400, title=["Required."]), errors.InvalidRequest),
        (failure("GENERATION_IN_PROGRESS", 400), errors.GenerationInProgress),
        (failure("INVALID_CREDENTIALS", 401), errors.Unauthenticated),
        (failure("PLAN_UPGRADE_REQUIRED", 402), errors.PlanUpgradeRequired),
        (failure("quota_exceeded", 402), errors.QuotaExceeded),
        (failure("QUOTA_EXCEEDED", 429), errors.QuotaExceeded),
        (failure("NOT_FOUND", 404), errors.NotFound),
        (failure("CONFLICT", 409), errors.Conflict),
    ],
)
async def test_a_refusal_raises_its_own_class_and_is_not_retried(
    client: Client, script: Script, answer: Answer, kind: type[errors.ApiError]
) -> None:
    script.says("/books/", answer)

    with pytest.raises(kind) as refused:
        await client.create_book(title="")

    assert refused.value.details == answer[1]["error"]["details"]
    assert script.count("/books/") == 1


async def test_a_failed_model_call_is_tried_three_times_with_growing_delays(client: Client, script: Script) -> None:
    script.says("/books/1/generate-outline/", failure("UPSTREAM_AI_ERROR", 502, retryable=True))

    with pytest.raises(errors.UpstreamAIError):
        await client.generate_outline(1)

    assert script.count("/books/1/generate-outline/") == 3
    assert [int(seconds) for seconds in script.paused] == [2, 4]


async def test_a_refusal_by_the_model_is_not_retried(client: Client, script: Script) -> None:
    script.says("/books/1/generate-outline/", failure("UPSTREAM_AI_ERROR", 502, retryable=False))

    with pytest.raises(errors.UpstreamAIError):
        await client.generate_outline(1)

    assert script.count("/books/1/generate-outline/") == 1


async def test_a_rate_limit_is_waited_for_as_long_as_it_says(client: Client, script: Script) -> None:
    status, body = failure("RATE_LIMIT_EXCEEDED", 429)[:2]
    script.says("/books/", (status, body, {"Retry-After": "7"}), (200, []))

    assert await client.list_books() == []
    assert script.paused == [7]


async def test_a_wait_of_a_day_raises_an_error(client: Client, script: Script) -> None:
    status, body = failure("RATE_LIMIT_EXCEEDED", 429)[:2]
    script.says("/auth/register/", (status, body, {"Retry-After": "86400"}))

    with pytest.raises(errors.RateLimited):
        await client.register("u", "e@example.org", "password")


async def test_the_status_is_read_before_generate_is_retried(client: Client, script: Script) -> None:
    running = {"generation_status": "running", "status_message": "Writing", "task_id": "t", "mode": "full"}
    script.says("/books/1/generate/", failure("SERVER_ERROR", 500))
    script.says("/books/1/generation-status/", (200, running))

    started = await client.generate(1)

    assert started == {"message": "Writing", "book_id": 1, "task_id": "t", "mode": "full"}
    assert script.count("/books/1/generate/") == 1


async def test_generate_is_sent_again_if_no_run_was_started(client: Client, script: Script) -> None:
    script.says("/books/1/generate/", failure("SERVER_ERROR", 500), (202, {"book_id": 1}))
    script.says("/books/1/generation-status/", failure("NOT_FOUND", 404))

    assert await client.generate(1) == {"book_id": 1}


async def test_a_lost_response_to_generate_is_resolved_by_the_status(client: Client, script: Script) -> None:
    running = {"generation_status": "running", "status_message": "Writing", "task_id": "t", "mode": "full"}
    script.says("/books/1/generate/", (HANG_UP, None))
    script.says("/books/1/generation-status/", (200, running))
    assert (await client.generate(1))["task_id"] == "t"

    script.says("/books/2/generate/", (HANG_UP, None), (202, {"book_id": 2}))
    script.says("/books/2/generation-status/", failure("NOT_FOUND", 404))
    assert await client.generate(2) == {"book_id": 2}

    script.says("/books/3/generate/", (HANG_UP, None))
    script.says("/books/3/generation-status/", (200, {**running, "generation_status": "completed"}))
    with pytest.raises(errors.Unavailable):
        await client.generate(3)
    assert script.count("/books/3/generate/") == 1


async def test_progress_ends_with_the_run(client: Client, script: Script) -> None:
    statuses = [(200, {"generation_status": name}) for name in ("running", "paused", "running", "completed")]
    script.says("/books/1/generation-status/", *statuses)

    seen = [status["generation_status"] async for status in client.progress(1)]

    assert seen == ["running", "paused", "running", "completed"]
    assert script.paused == [15, 15, 15]


async def test_a_report_is_polled_soon_at_first_and_then_less_often(client: Client, script: Script) -> None:
    pending = [(200, {"status": "running", "progress": done}) for done in range(7)]
    script.says("/proofreading-reports/1/", *pending, (200, {"status": "completed", "progress": 100}))

    seen = [report["progress"] async for report in client.reading(1)]

    assert seen == [*range(7), 100]
    assert script.paused == [0.5, 1, 2, 4, 8, 15, 15]


async def test_long_polling_is_used_if_the_server_supports_it(client: Client, script: Script) -> None:
    waited = {"Preference-Applied": "wait=15"}
    script.says(
        "/books/1/generation-status/",
        (200, {"generation_status": "running"}, {"ETag": '"a"'}),
        (304, b"", {"ETag": '"a"', **waited}),
        (200, {"generation_status": "completed"}, {"ETag": '"b"', **waited}),
    )
    script.preferred.clear()

    seen = [status["generation_status"] async for status in client.progress(1)]

    assert seen == ["running", "completed"]
    assert script.preferred == [(None, None), ("wait=15", '"a"'), ("wait=15", '"a"')]
    assert script.paused == [1, 1]


@pytest.mark.parametrize(
    ("disposition", "name"),
    [
        ("attachment; filename=\"x.pdf\"; filename*=UTF-8''Z%C3%BCrich.pdf", "Zürich.pdf"),
        ('attachment; filename="plain.pdf"', "plain.pdf"),
        ("attachment; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd", "_.._etc_passwd"),
        ("attachment", "book.pdf"),
    ],
)
async def test_an_export_has_a_safe_name(client: Client, script: Script, disposition: str, name: str) -> None:
    headers = {"Content-Disposition": disposition, "Content-Type": "application/pdf"}
    script.says("/books/1/export_pdf/", (200, b"%PDF-", headers))

    file = await client.export(1, "pdf")

    assert (file.filename, file.content_type, file.body) == (name, "application/pdf", b"%PDF-")


async def test_older_error_bodies_are_understood(client: Client, script: Script) -> None:
    script.says("/books/", (400, {"detail": "Framework says no."}))
    with pytest.raises(errors.ApiError, match="Framework says no"):
        await client.list_books()

    script.says("/books/", (400, {"error": "Flat text."}))
    with pytest.raises(errors.ApiError, match="Flat text"):
        await client.list_books()

    script.says("/books/", (400, {"title": ["Required."]}))
    with pytest.raises(errors.InvalidRequest) as refused:
        await client.list_books()
    assert refused.value.details == {"title": ["Required."]}


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, errors.Unauthenticated), (403, errors.PermissionDenied), (404, errors.NotFound), (409, errors.Conflict)],
)
async def test_the_http_status_decides_if_the_error_has_no_code(
    client: Client, script: Script, status: int, kind: type[errors.ApiError]
) -> None:
    script.says("/books/", (status, b"<html>"))

    with pytest.raises(kind):
        await client.list_books()


async def test_the_older_error_code_for_a_refresh_token_is_understood(client: Client, script: Script) -> None:
    script.says("/books/", failure("token_not_valid", 401))

    with pytest.raises(errors.Unauthenticated):
        await client.list_books()


async def test_the_error_for_a_moved_server_names_its_new_address(client: Client, script: Script) -> None:
    script.says("/books/", (301, b"", {"Location": "https://books.example.org/api/v1/books/"}))

    with pytest.raises(errors.ApiError, match=r"https://books\.example\.org/.* Use that address"):
        await client.list_books()


async def test_an_unreachable_server_raises_an_error_after_three_tries() -> None:
    script = Script()
    async with Client("http://127.0.0.1:1", pause=script.pause) as client:
        with pytest.raises(errors.Unavailable, match="can't be reached"):
            await client.list_books()

    assert len(script.paused) == 2
