"""Reading and saving: the service compared with raw aiohttp, FastAPI and Django REST framework."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import statistics
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import asyncpg

from bench.service import data
from bench.service.bench import Bench
from bench.service.processes import SECRET, ServerProcess, peer, service
from bench.service.scorecard import Scorecard
from bench.service.slices import LoadGenerator, Measure, Slice, in_turn, ratio, show

OURS, HELLO, RAW, FASTAPI, DRF = "ours", "hello (bare aiohttp)", "raw aiohttp + asyncpg", "FastAPI", "Django REST"
PEER_MODULES = "bench.service.peers"

TOUCH = """
    WITH changed AS (
        UPDATE chapter SET title = 'Title ' || random(), updated_at = clock_timestamp()
         WHERE book_id = ANY($1::bigint[]) AND chapter_number = 1 RETURNING book_id)
    UPDATE book SET updated_at = clock_timestamp() FROM changed WHERE id = book_id
"""
FIRST_READS = 4  # per book and slice


async def measure(bench: Bench, scores: Scorecard) -> None:
    async with contextlib.AsyncExitStack() as closing:
        folder = bench.folder / "http"
        folder.mkdir()
        own, theirs = await bench.database("http_ours"), await bench.database("http_peers")
        await data.migrate(own, folder)
        requests = await data.seed(own, theirs, folder, bench.options.polled)
        model = await closing.enter_async_context(await data.silent_model())
        url = f"http://127.0.0.1:{model.sockets[0].getsockname()[1]}/v1"
        servers = {
            RAW: await closing.enter_async_context(_peer(bench, folder, "raw", theirs)),
            FASTAPI: await closing.enter_async_context(_peer(bench, folder, "fastapi_peer", theirs)),
            DRF: await closing.enter_async_context(_peer(bench, folder, "django_peer", theirs)),
            OURS: await closing.enter_async_context(
                service(folder, own, BOOKGEN_MODEL="openai:silent", OPENAI_BASE_URL=url, BOOKGEN_MODEL_TIMEOUT="36000")
            ),
        }
        load = await closing.enter_async_context(LoadGenerator.running(bench.postmaster))
        await until_resident(own)
        await Comparison(bench, scores, load, servers, requests, own).run()


class Comparison:
    """Runs the rows one after the other. Within each row the servers take turns."""

    def __init__(
        self,
        bench: Bench,
        scores: Scorecard,
        load: LoadGenerator,
        servers: Mapping[str, ServerProcess],
        requests: data.Requests,
        dsn: str,
    ) -> None:
        self._bench = bench
        self._scores = scores
        self._load = load
        self._servers = servers
        self._requests = requests
        self._dsn = dsn

    async def run(self) -> None:
        files, at_least = self._requests, self._scores.at_least
        status = await self._row("status poll, the book resident", files.resident, 64)
        at_least("status poll of a resident book / FastAPI", _better(status, FASTAPI), 2)
        await self._row("status poll, the book elsewhere", files.elsewhere, 64)
        listed = await self._row("list of 20 books", files.listing, 32)
        at_least("list of 20 books / FastAPI", _better(listed, FASTAPI), 1)
        saved = await self._row("chapter save, 18 KB", files.save, 32)
        at_least("chapter save / raw", _better(saved, RAW), 0.5)
        whole = await self._row("whole book, warm", files.book, 32)
        at_least("whole book warm / FastAPI", _better(whole, FASTAPI), 1)
        await self._first_reads()
        known = self._known(files.book, "known-book")
        await self._row("whole book, unchanged: 304, theirs 200", files.book, 32, ours=known)
        known = self._known(files.resident, "known-status")
        await self._row("status, unchanged: 304, theirs 200", files.resident, 64, ours=known)
        known = self._known(files.elsewhere, "known-elsewhere")
        await self._row("status elsewhere, unchanged: 304, theirs 200", files.elsewhere, 64, ours=known)

    async def _row(
        self, title: str, requests: Path, connections: int, *, ours: Path | None = None
    ) -> dict[str, list[Slice]]:
        def measure(server: ServerProcess, file: Path) -> Measure:
            return partial(self._load.slice, server, file, connections, seconds=self._bench.options.seconds)

        rows = {HELLO: measure(self._servers[RAW], self._requests.hello)}
        rows |= {name: measure(server, ours or requests if name == OURS else requests)
                 for name, server in self._servers.items()}  # fmt: skip
        for warm in rows.values():
            await warm()
        return self._shown(f"{title}; {connections} connections", await in_turn(rows, self._bench.options.rounds))

    async def _first_reads(self) -> dict[str, list[Slice]]:
        """First reads over one connection. The changes are made directly in the databases and are not timed."""
        rows = {name: partial(self._first_read, server) for name, server in self._servers.items()}
        results = await in_turn(rows, self._bench.options.rounds)
        return self._shown("whole book, first read after a change; 1 connection", results)

    async def _first_read(self, server: ServerProcess) -> Slice:
        books, slices = self._requests.books, []
        for _ in range(FIRST_READS):
            connection = await asyncpg.connect(self._dsn)
            await connection.execute(TOUCH, books)
            await connection.close()
            slices.append(await self._load.slice(server, self._requests.book, 1, count=len(books)))
        return Slice(
            sum(each.answers for each in slices),
            sum(each.bad for each in slices),
            *(statistics.mean(getattr(each, name) for each in slices)
              for name in ("rate", "p50", "p99", "server", "database", "foreign")),
        )  # fmt: skip

    def _known(self, requests: Path, name: str) -> Path:
        """The same requests by a caller who already has the current responses."""
        port = self._servers[OURS].port
        known = []
        for method, path, token, body, _ in data.read(requests):
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("GET", str(path), headers={"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            answer.read()
            known.append([method, path, token, body, answer.headers["ETag"]])
            connection.close()
        return data.write(requests.parent, name, known)

    def _shown(self, title: str, results: dict[str, list[Slice]]) -> dict[str, list[Slice]]:
        show(title, results, OURS)
        return results


def _better(results: Mapping[str, list[Slice]], peer_name: str) -> float:
    """The peer's CPU time per response divided by ours, each including its database."""
    return ratio(results[peer_name], results[OURS], lambda each: each.cpu)


def _peer(bench: Bench, folder: Path, module: str, dsn: str) -> contextlib.AbstractAsyncContextManager[ServerProcess]:
    python = bench.options.peers_python
    serve = {
        "raw": [str(python), "-m", f"{PEER_MODULES}.raw"],
        "fastapi_peer": [str(python), "-m", "uvicorn", f"{PEER_MODULES}.fastapi_peer:app", "--port", "{port}",
                         "--no-access-log", "--log-level", "warning"],
        "django_peer": [str(python), "-m", "gunicorn", "--threads", "4", "--bind", "127.0.0.1:{port}",
                        f"{PEER_MODULES}.django_peer:application"],
    }[module]  # fmt: skip
    return peer(module, serve, folder, {"PEER_DSN": dsn, "PEER_SECRET": SECRET})


async def until_resident(dsn: str) -> None:
    """Wait until the service has claimed every running run."""
    connection = await asyncpg.connect(dsn)
    while await connection.fetchval("SELECT count(*) FROM run WHERE status = 'running' AND owner IS NULL"):
        await asyncio.sleep(0.2)
    await connection.close()
