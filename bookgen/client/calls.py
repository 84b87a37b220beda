"""The calls of the API: a method for each common call, and `call` for all others.

An expired token is refreshed once. A call is tried up to three times if a rate limit is exceeded, the service is
unavailable or has an internal error, or a model call fails.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlencode

import aiohttp

from bookgen.client.errors import ApiError, Conflict, NotFound, RateLimited, Unavailable, UpstreamAIError, error_of

JSON = dict[str, Any]
ACTIVE = ("running", "paused")
EMPTY: Mapping[str, str] = {}
NOT_MODIFIED = 304
POLL_SECONDS = 15.0  # the shortest interval that the API recommends
CHANGES_SECONDS = 1.0  # between two calls to a server that answers as soon as the status changes
MAX_PREFERENCE_SECONDS = 60  # the maximum that `Prefer: wait` allows
BACKOFF_SECONDS = (2.0, 4.0)  # three attempts in total
MAX_WAIT_SECONDS = 120.0
CONNECTION_LOST = "CONNECTION_LOST"  # the client's own code: the request was sent, but its result is unknown
TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=900)


@dataclass(frozen=True, slots=True)
class File:
    """An exported book. `missing_chapters`: the numbers of chapters without text, which the file leaves out."""

    filename: str
    content_type: str
    body: bytes
    missing_chapters: tuple[int, ...] = ()


class Calls:
    """The API calls of one account on one server. Use it as an async context manager."""

    def __init__(self, server: str, *, pause: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        base = server.rstrip("/")
        self._base = base if re.search(r"/api(/v\d+)?$", base) else f"{base}/api/v1"
        self._pause = pause
        self._session: aiohttp.ClientSession | None = None
        self._access: str | None = None
        self._refresh: str | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(timeout=TIMEOUT)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def call(self, method: str, path: str, body: JSON | None = None) -> Any:
        """Make any call that returns JSON, for example `call("POST", f"/books/{book_id}/duplicate/")`."""
        return await self._json(method, path, body)

    async def public_settings(self) -> JSON:
        """What the server offers, such as models, languages, trim sizes and features."""
        return await self._json("GET", "/public-settings/")

    # Accounts

    async def register(self, username: str, email: str, password: str, **names: str) -> JSON:
        """Create an account and sign in, unless the server asks for a verified e-mail first. Returns the user."""
        answer = await self._json(
            "POST", "/auth/register/", {"username": username, "email": email, "password": password, **names}
        )
        self._keep(answer.get("tokens"))
        return dict(answer["user"])

    async def login(self, login: str, password: str) -> JSON:
        """Sign in and return the user. `login`: an e-mail address or a username."""
        # A username may contain an @. If it looks like an address, it is the e-mail address of the same account.
        field = "email" if re.search(r".@.+\..", login) else "username"
        answer = await self._json("POST", "/auth/login/", {field: login, "password": password})
        self._keep(answer["tokens"])
        return dict(answer["user"])

    async def profile(self) -> JSON:
        return await self._json("GET", "/auth/profile/")

    # Books

    async def list_books(self) -> list[JSON]:
        return await self._json("GET", "/books/")  # type: ignore[return-value]

    async def create_book(self, **fields: Any) -> JSON:
        return await self._json("POST", "/books/", fields)

    async def create_childrens_book(self, **fields: Any) -> JSON:
        return await self._json("POST", "/books/childrens/", fields)

    async def book(self, book_id: int) -> JSON:
        return await self._json("GET", f"/books/{book_id}/")

    async def change_book(self, book_id: int, **fields: Any) -> JSON:
        return await self._json("PATCH", f"/books/{book_id}/", fields)

    async def delete_book(self, book_id: int) -> None:
        await self._json("DELETE", f"/books/{book_id}/")

    async def generate_outline(self, book_id: int) -> JSON:
        return await self._json("POST", f"/books/{book_id}/generate-outline/")

    async def update_outline(self, book_id: int, chapters: list[JSON], *, replace: bool = False) -> JSON:
        return await self._json("POST", f"/books/{book_id}/update-outline/", {"chapters": chapters, "replace": replace})

    async def bible(self, book_id: int) -> JSON:
        """The story bible: what has been decided about the book. Every chapter is written from it."""
        return await self._json("GET", f"/books/{book_id}/bible/")

    async def change_bible(self, book_id: int, **fields: Any) -> JSON:
        """Change fields of the story bible. An empty text or list removes the field."""
        return await self._json("PATCH", f"/books/{book_id}/bible/", fields)

    async def facts(self, book_id: int) -> list[JSON]:
        """The facts of the story that the chapters state, each with the passage that states it."""
        return await self._json("GET", f"/books/{book_id}/facts/")  # type: ignore[return-value]

    async def change_fact(self, book_id: int, fact_id: int, **fields: Any) -> JSON:
        """Correct a fact's `value`, or set its `status`: "settled", "wrong" or "intended" (contradicted on purpose)."""
        return await self._json("PATCH", f"/books/{book_id}/facts/{fact_id}/", fields)

    async def regenerate_chapter(self, chapter_id: int, instructions: str = "") -> JSON:
        """Have the model write the chapter again. With `instructions`, it changes only what they ask for."""
        return await self._json("POST", f"/chapters/{chapter_id}/regenerate/", {"instructions": instructions})

    async def rewrite_passage(self, chapter_id: int, start: int, end: int, instructions: str = "") -> JSON:
        """Have the characters `start` to `end` reworded. Returns a suggestion, and does not change the chapter."""
        wish = {"instructions": instructions, "passage": {"start": start, "end": end}}
        return await self._json("POST", f"/chapters/{chapter_id}/regenerate/", wish)

    async def change_chapter(self, chapter_id: int, **fields: Any) -> JSON:
        return await self._json("PATCH", f"/chapters/{chapter_id}/", fields)

    # Generation

    async def generate(self, book_id: int) -> JSON:
        """Start a run (the writing of a book). After a lost response, it checks the status before it tries again."""
        return await self._started(book_id, "generate")

    async def produce(self, book_id: int, *, again: bool = False, cover: bool = True) -> JSON:
        """Make the whole book in one run. `again`: even if it is finished. `cover`: make a cover if there is none."""
        without = {} if cover else {"cover": False}  # servers before 0.12 do not know the field
        return await self._started(book_id, "produce", {"again": again, **without})

    async def _started(self, book_id: int, action: str, body: JSON | None = None) -> JSON:
        for delay in (*BACKOFF_SECONDS, None):
            try:
                return await self._json("POST", f"/books/{book_id}/{action}/", body, tries=1)
            except ApiError as error:
                doubtful = error if error.code == CONNECTION_LOST else None
                wait = delay if doubtful else _retry_after(error, delay)
                if wait is None:
                    raise
            await self._pause(wait)
            status = await self.status_or_none(book_id)
            if status is not None and status["generation_status"] in ACTIVE:
                task_id, mode = status.get("task_id"), status.get("mode")
                return {"message": status["status_message"], "book_id": book_id, "task_id": task_id, "mode": mode}
            if doubtful and status is not None:
                raise doubtful  # a run that has ended may be the requested one
        raise AssertionError("unreachable")

    async def status(self, book_id: int) -> JSON:
        return await self._json("GET", f"/books/{book_id}/generation-status/")

    async def status_or_none(self, book_id: int) -> JSON | None:
        """The status of the book's latest run; None if the book has never had a run."""
        try:
            return await self.status(book_id)
        except NotFound:
            return None

    async def pause(self, book_id: int) -> JSON:
        return await self._json("POST", f"/books/{book_id}/pause-generation/")

    async def resume(self, book_id: int) -> JSON:
        return await self._json("POST", f"/books/{book_id}/resume-generation/")

    async def stop(self, book_id: int) -> JSON:
        return await self._json("POST", f"/books/{book_id}/stop-generation/")

    async def progress(self, book_id: int, every: float = POLL_SECONDS) -> AsyncIterator[JSON]:
        """Yield the run's status now and after each change, until the run has ended. A paused run has not ended.

        A server without long polling is polled once in `every` seconds.
        """
        path, tag, waits = f"/books/{book_id}/generation-status/", "", True
        patience = min(max(1, round(every)), MAX_PREFERENCE_SECONDS)
        while True:
            preference = {"If-None-Match": tag, "Prefer": f"wait={patience}"} if tag else {}
            headers, content = await self._send("GET", path, headers=preference)
            if content:
                status = json.loads(content)
                yield status
                if status["generation_status"] not in ACTIVE:
                    return
            tag = headers.get("ETag", "")
            # The server answers at once if there was a change between two calls.
            waits = "Preference-Applied" in headers or (waits and bool(content))
            await self._pause(min(every, CHANGES_SECONDS) if tag and waits else every)

    async def ended_within(self, book_id: int, seconds: float) -> JSON:
        """Wait until the run has ended or is paused, but at most `seconds`, and return the run's status."""
        status = await self.status(book_id)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                async for status in self.progress(book_id):
                    if status["generation_status"] != "running":
                        break
        return status

    async def finished(self, book_id: int, every: float = POLL_SECONDS) -> JSON:
        """Wait until the run has ended and return its final status."""
        statuses = [status async for status in self.progress(book_id, every)]
        return statuses[-1]

    # Proofreading

    async def proofread(self, book_id: int) -> JSON:
        """Start to proofread the book and return the new report. If a report is in progress, return that report."""
        try:
            return await self._json("POST", "/proofreading-reports/", {"book": book_id})
        except Conflict:
            for report in await self.reports(book_id):
                if report["kind"] == "proofreading" and report["status"] in ("pending", "running"):
                    return report
            raise

    async def reports(self, book_id: int) -> list[JSON]:
        """The reports of the book's proofreadings and editor's readings, newest first."""
        reports: list[JSON] = await self._json("GET", f"/proofreading-reports/?book={book_id}")  # type: ignore[assignment]
        return reports

    async def review(self, book_id: int) -> JSON:
        """Have an editor read the book. Returns the new report; wait for its end with `reading`."""
        return await self._json("POST", f"/books/{book_id}/review/")

    async def reading(self, report_id: int, every: float = POLL_SECONDS) -> AsyncIterator[JSON]:
        """Poll a report, less and less often, until it is completed or has failed. Yields the report each time."""
        seconds = 0.5  # a short text is read in less
        while True:
            report = await self._json("GET", f"/proofreading-reports/{report_id}/")
            yield report
            if report["status"] in ("completed", "error"):
                return
            await self._pause(min(seconds, every))
            seconds *= 2

    async def suggestions(self, report_id: int, **chosen: str) -> AsyncIterator[JSON]:
        """Yield all suggestions of the report, the most severe first. `chosen`: filters, as in `status="pending"`."""
        number = 1
        while True:
            query = urlencode({**chosen, "page": number})
            page = await self._json("GET", f"/proofreading-reports/{report_id}/suggestions/?{query}")
            for suggestion in page["results"]:
                yield suggestion
            if page["next"] is None:
                return
            number += 1

    async def preview_suggestion(self, report_id: int, suggestion_id: int) -> JSON:
        return await self._json("GET", f"/proofreading-reports/{report_id}/suggestions/{suggestion_id}/preview/")

    async def apply_suggestion(self, report_id: int, suggestion_id: int) -> JSON:
        return await self._json("POST", f"/proofreading-reports/{report_id}/suggestions/{suggestion_id}/apply/")

    async def dismiss_suggestion(self, report_id: int, suggestion_id: int) -> JSON:
        return await self._json("POST", f"/proofreading-reports/{report_id}/suggestions/{suggestion_id}/dismiss/")

    async def apply_suggestions(self, report_id: int, suggestion_ids: Sequence[int]) -> JSON:
        body = {"suggestion_ids": list(suggestion_ids)}
        return await self._json("POST", f"/proofreading-reports/{report_id}/apply/", body)

    # Covers

    async def generate_cover(self, book_id: int, count: int = 3, *, style: str = "", prompt: str = "") -> list[JSON]:
        """Generate `count` covers and return them. Choose one of them with `select_cover`."""
        body = {"count": count, "style": style, "prompt": prompt}
        return list((await self._json("POST", f"/books/{book_id}/generate-cover/", body, tries=1))["covers"])

    async def declaration(self, book_id: int) -> JSON:
        """The declaration, which publishing platforms ask for: who wrote the book's words and made its pictures."""
        return await self._json("GET", f"/books/{book_id}/declaration/")

    async def select_cover(self, book_id: int, cover_id: int) -> JSON:
        return await self._json("POST", f"/books/{book_id}/select-cover/", {"cover_id": cover_id})

    # Files

    async def picture(self, url: str) -> bytes:
        """Download a JPEG. `url`: the `image_url` of a cover or an illustration. This needs no token."""
        _, content = await self._fetch("GET", url, url)
        return content

    async def export_formats(self) -> list[str]:
        """The formats that the account's plan includes."""
        return list((await self._json("GET", "/auth/subscriptions/current/"))["limits"]["export_formats"])

    async def export(self, book_id: int, format: str, settings: Mapping[str, Any] | None = None) -> File:
        """Export the book. `format`: one of `export_formats`. `settings`: export settings; None: the book's own."""
        body = {} if settings is None else {"settings": dict(settings)}
        headers, content = await self._send("POST", f"/books/{book_id}/export_{format}/", body)
        name = _filename(headers.get("Content-Disposition", ""), f"book.{format}")
        missing = re.findall(r"\d+", headers.get("X-Missing-Chapters", ""))
        return File(name, headers["Content-Type"], content, tuple(map(int, missing)))

    # The wire

    async def _json(self, method: str, path: str, body: Any = None, *, tries: int = 3) -> JSON:
        _, content = await self._send(method, path, body, tries=tries)
        return json.loads(content) if content else {}

    async def _send(
        self, method: str, path: str, body: Any = None, *, tries: int = 3, headers: Mapping[str, str] = EMPTY
    ) -> tuple[Mapping[str, str], bytes]:
        delays = BACKOFF_SECONDS[: tries - 1]
        refreshed = False
        for delay in (*delays, None):
            try:
                return await self._once(method, path, body, headers)
            except ApiError as error:
                if error.code == "TOKEN_EXPIRED" and self._refresh and not refreshed:
                    refreshed = True
                    await self._renew()
                    return await self._once(method, path, body, headers)
                wait = _retry_after(error, delay)
                if wait is None:
                    raise
            await self._pause(wait)
        raise AssertionError("unreachable")

    async def _once(
        self, method: str, path: str, body: Any, headers: Mapping[str, str] = EMPTY
    ) -> tuple[Mapping[str, str], bytes]:
        """Send the request once. Returns headers and body. If a sent ETag matches, the body is empty."""
        token = {"Authorization": f"Bearer {self._access}"} if self._access else {}
        return await self._fetch(method, self._base + path, self._base, json=body, headers={**headers, **token})

    async def _fetch(self, method: str, url: str, server: str, **options: Any) -> tuple[Mapping[str, str], bytes]:
        if self._session is None:
            raise RuntimeError("use the client as an async context manager")
        try:
            async with self._session.request(method, url, allow_redirects=False, **options) as response:
                content = await response.read()
        except (aiohttp.ClientError, OSError) as error:
            # Only a request that did not reach the server or that changes nothing may be repeated.
            safe = method == "GET" or isinstance(error, aiohttp.ClientConnectorError)
            code = "SERVICE_UNAVAILABLE" if safe else CONNECTION_LOST
            raise Unavailable(0, code, f"{server} can't be reached: {error}") from error
        if response.status >= 300 and response.status != NOT_MODIFIED:
            raise error_of(response.status, content, response.headers)
        return response.headers, content

    async def _renew(self) -> None:
        refresh, self._access = self._refresh, None
        _, content = await self._once("POST", "/auth/token/refresh/", {"refresh": refresh})
        self._keep(json.loads(content))

    def _keep(self, tokens: Mapping[str, str] | None) -> None:
        if tokens is not None:
            self._access, self._refresh = tokens["access"], tokens["refresh"]


def _retry_after(error: ApiError, delay: float | None) -> float | None:
    """Seconds until the next attempt; None if there is none. `delay`: the back-off; None after the last attempt."""
    if delay is None:
        return None
    if error.code == "SERVER_ERROR" or (isinstance(error, UpstreamAIError) and error.details.get("retryable", True)):
        return delay + random.uniform(0, 1)
    if isinstance(error, RateLimited) or error.code == "SERVICE_UNAVAILABLE":
        return max(error.retry_after, delay) if error.retry_after <= MAX_WAIT_SECONDS else None
    return None


def _filename(disposition: str, default: str) -> str:
    """The file name in a Content-Disposition header, without folders. An encoded name (RFC 5987) takes precedence."""
    name = default
    if match := re.search(r"filename\*=UTF-8''([^;]+)", disposition, re.I):
        name = unquote(match[1])
    elif match := re.search(r'filename="([^"]+)"', disposition):
        name = match[1]
    return re.sub(r"[/\\\0]", "_", name).lstrip(".") or default
