"""A client that knows only the contract: it checks every answer against the rules for all answers."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import aiohttp

from tests.http.document import DOCUMENT
from tests.http.forms import misfits
from tests.service import ServiceProcess

PREFIX = "/api/v1"
# Section 7 of the contract and section 1 of its decisions.
CODES = {
    "VALIDATION_ERROR": 400,
    "GENERATION_IN_PROGRESS": 400,
    "INVALID_CREDENTIALS": 401,
    "AUTHENTICATION_REQUIRED": 401,
    "TOKEN_EXPIRED": 401,
    "TOKEN_INVALID": 401,
    "PLAN_UPGRADE_REQUIRED": 402,
    "quota_exceeded": 402,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "METHOD_NOT_ALLOWED": 405,
    "CONFLICT": 409,
    "PAYMENTS_NOT_CONFIGURED": 409,
    "PAYLOAD_TOO_LARGE": 413,
    "QUOTA_EXCEEDED": 429,
    "RATE_LIMIT_EXCEEDED": 429,
    "UPSTREAM_AI_ERROR": 502,
    "SERVICE_UNAVAILABLE": 503,
    "SERVER_ERROR": 500,
}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Any
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def error(self) -> Any:
        return self.body["error"]


@dataclass
class BlackboxCaller:
    """A caller with or without a token. `seen` lists every method, path and status of all callers of one service."""

    service: ServiceProcess
    http: aiohttp.ClientSession
    token: str | None = None
    seen: set[tuple[str, str, int]] = field(default_factory=set)

    def with_token(self, token: str | None) -> Self:
        return type(self)(self.service, self.http, token, self.seen)

    async def send(self, method: str, path: str, *, base: str = PREFIX, **options: Any) -> Answer:
        """Send one request. Checks the answer against the rules for all answers."""
        headers = options.pop("headers", {})
        if self.token is not None:
            headers = {"Authorization": f"Bearer {self.token}", **headers}
        async with self.http.request(
            method, self.service.url + base + path, headers=headers, allow_redirects=False, **options
        ) as reply:
            answer = Answer(reply.status, reply.headers, await reply.read())
        check_headers(answer)
        if answer.status >= 400 and method != "HEAD":
            check_error(answer, self.service.url)
        elif reply.content_type == "application/json" and answer.raw and path != "/schema/":
            assert "error" not in answer.body, "a success body never contains `error`"
        return answer

    async def call(
        self, row: str, status: int, form: Any = None, *, body: Any = None, query: Any = None, **ids: Any
    ) -> Any:
        """Call an endpoint of the contract, given as "METHOD /path/{id}/". Checks the status and the form."""
        method, path = row.split(" ")
        filled = re.sub(r"{(\w+)}", lambda name: str(ids[name[1]]), path)
        answer = await self.send(method, filled, **({} if body is None else {"json": body}), params=query)
        assert answer.status == status, (row, answer.status, answer.raw[:500])
        self.seen.add((method, path, status))
        is_json = bool(answer.raw) and answer.headers["Content-Type"].startswith("application/json")
        assert (is_json and isinstance(answer.body, list)) == documented_as_list(method, path, status), row
        if form is not None:
            assert misfits(answer.body, form) == [], row
        return answer.body if is_json else answer

    async def refused(self, row: str, code: str, *, body: Any = None, **ids: Any) -> Any:
        """The details of a refusal."""
        refusal = await self.call(row, CODES[code], body=body, **ids)
        assert refusal["error"]["code"] == code, refusal
        return refusal["error"].get("details")


def documented_as_list(method: str, path: str, status: int) -> bool:
    """Whether the OpenAPI document gives this answer as a list."""
    answers = DOCUMENT["paths"][path][method.lower()]["responses"]
    schema = answers.get(str(status), {}).get("content", {}).get("application/json", {}).get("schema", {})
    return bool(schema.get("type") == "array")


def check_headers(answer: Answer) -> None:
    for name in ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"):
        assert re.fullmatch(r"\d+", answer.headers[name]), name
    assert answer.headers["X-API-Version"] == answer.headers["X-API-Version-Latest"] == "v1"
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,64}", answer.headers["X-Request-Id"])
    assert (answer.status == 429) <= ("Retry-After" in answer.headers)
    assert (answer.status == 405) <= ("Allow" in answer.headers)
    if answer.status == 401:
        assert re.fullmatch(r'Bearer realm="api".*', answer.headers["WWW-Authenticate"])


def check_error(answer: Answer, url: str) -> None:
    assert answer.headers["Content-Type"].startswith("application/json"), answer.raw
    assert answer.body.keys() == {"error"}
    error = answer.error
    assert error.keys() - {"details"} == {"code", "message", "status", "documentation_url"}
    assert CODES[error["code"]] == error["status"] == answer.status
    assert isinstance(error["message"], str)
    assert error["documentation_url"] == f"{url}{PREFIX}/docs/errors/#{error['code']}"
    if error["code"] == "VALIDATION_ERROR":
        details = error.get("details", {})
        assert all(isinstance(text, str) for messages in details.values() for text in messages), details


def newest_letter(folder: Path, page: str) -> str:
    """The path of the call behind the newest mailed link to a page."""
    found = []
    for letter in sorted((folder / "data" / "outbox").glob("*.eml"), key=lambda file: file.stat().st_mtime_ns):
        text = re.sub(r"=\r?\n", "", letter.read_text())
        found += re.findall(rf"/{page}/[\w=-]+/[\w-]+/", text)
    return "/auth" + found[-1]
