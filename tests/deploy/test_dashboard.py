"""The dashboard for Grafana: what its panels say, and that each has data.

For the data, a real Prometheus scrapes a service whose processes are killed.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
import yaml

from bookgen.commands.cli import COMMANDS
from bookgen.settings import names
from bookgen.store import backups
from bookgen.store.backups import BackupRecord
from tests.chaos.conftest import world
from tests.chaos.process import Process
from tests.chaos.world import Author, World
from tests.deploy.firing import named
from tests.fakes.model_script import fault
from tests.metrics_source import declared
from tests.ports import free_port
from tests.service import ROOT

__all__ = ["world"]

DASHBOARD = ROOT / "deploy/grafana/bookgen.json"
# What Grafana puts in place of its variables.
GRAFANA = {"$instance": ".+", "$__rate_interval": "20s"}
WAITING = "bookgen_runs_waiting_for_model"
FROM_THE_DATABASE = re.compile(r"(?:in|on) the database\b|the database's list")
SECONDS = 60.0


def panels() -> dict[str, list[str]]:
    """The queries of each panel, by the panel's title."""
    return {
        panel["title"]: [target["expr"] for target in panel["targets"]]
        for panel in json.loads(DASHBOARD.read_text())["panels"]
    }


def descriptions() -> dict[str, str]:
    """The description of each panel, by the panel's title."""
    return {panel["title"]: panel["description"] for panel in json.loads(DASHBOARD.read_text())["panels"]}


def test_every_panel_says_what_it_shows() -> None:
    assert {title: text for title, text in descriptions().items() if not re.fullmatch(r"\S.{40,}\.", text)} == {}


def test_what_the_descriptions_of_panels_name_exists() -> None:
    code = "".join(file.read_text() for file in (ROOT / "bookgen").rglob("*.py"))
    settings, all_text = names().values(), " ".join(descriptions().values())

    assert [name for name in re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", all_text) if f'"{name}"' not in code] == []
    assert [name for name in re.findall(r"\bBOOKGEN_\w+", all_text) if name not in settings] == []
    assert [name for name in re.findall(r"\bbookgen ([a-z]+)", all_text) if name not in COMMANDS] == []


def test_a_metric_that_every_process_reads_from_the_database_is_not_summed() -> None:
    read = {metric.name for metric in declared() if FROM_THE_DATABASE.search(metric.meaning)}
    queries = [query for queries in panels().values() for query in queries if named(query) & read]

    assert len(queries) > 5
    assert [query for query in queries if not query.startswith(("max", "min"))] == []


class Prometheus:
    """A running Prometheus, asked over its API."""

    def __init__(self, url: str, web: aiohttp.ClientSession) -> None:
        self._url, self._web, self._began = url, web, time.time()

    async def points(self, expression: str) -> list[float]:
        """All points of the time series that the expression gives, since the start; a point without a value is none."""
        for variable, value in GRAFANA.items():
            expression = expression.replace(variable, value)
        asked = {"query": expression, "start": self._began, "end": time.time(), "step": "1"}
        async with self._web.get(f"{self._url}/api/v1/query_range", params=asked) as answer:
            body = await answer.json()
        assert body["status"] == "success", body
        return [float(value) for series in body["data"]["result"] for _, value in series["values"] if value != "NaN"]

    async def ready(self) -> bool:
        try:
            async with self._web.get(f"{self._url}/-/ready") as answer:
                return answer.status == 200
        except aiohttp.ClientError:
            return False


@asynccontextmanager
async def prometheus(targets: list[str], folder: Path) -> AsyncIterator[Prometheus]:
    scraped = {"job_name": "bookgen", "scrape_interval": "1s", "static_configs": [{"targets": targets}]}
    (folder / "prometheus.yaml").write_text(yaml.safe_dump({"scrape_configs": [scraped]}))
    address = f"127.0.0.1:{free_port()}"
    program = await asyncio.create_subprocess_exec(
        "prometheus", f"--config.file={folder}/prometheus.yaml", f"--storage.tsdb.path={folder}/series",
        f"--web.listen-address={address}", "--log.level=error",
    )  # fmt: skip
    try:
        async with aiohttp.ClientSession() as web:
            running = Prometheus(f"http://{address}", web)
            async with asyncio.timeout(SECONDS):
                while not await running.ready():
                    assert program.returncode is None, "Prometheus has ended"
                    await asyncio.sleep(0.05)
            yield running
    finally:
        if program.returncode is None:
            program.terminate()
        await program.wait()


@pytest.mark.checker("prometheus")
async def test_every_query_of_the_dashboard_has_data_after_kills_and_faults(world: World, tmp_path: Path) -> None:
    ports = [str(free_port()) for _ in range(3)]
    async with prometheus([f"127.0.0.1:{port}" for port in ports], tmp_path) as running:
        await backups.record(world.pool, BackupRecord(await world.value("SELECT now()"), True, 1, "x"))
        queries = {(title, query) for title, queries in panels().items() for query in queries}
        needs_another_model = {each for each in queries if WAITING in each[1]}

        second = await _troubled_life(world, ports, running)
        await _have_data(running, queries - needs_another_model)
        await world.kill(second)
        await world.serve(BOOKGEN_PORT=ports[2], BOOKGEN_MODEL="offline")

        await _have_data(running, needs_another_model)


async def _have_data(running: Prometheus, queries: set[tuple[str, str]]) -> None:
    """Wait until each query, with the title of its panel, has a point. Prometheus scrapes once a second."""
    try:
        async with asyncio.timeout(SECONDS):
            while queries := {each for each in queries if not await running.points(each[1])}:  # noqa: ASYNC110
                await asyncio.sleep(0.5)
    except TimeoutError:
        pytest.fail(f"no data: {sorted(queries)}")


async def _troubled_life(world: World, ports: list[str], running: Prometheus) -> Process:
    """Books are written and exported, a process is killed, and the model, the mail server and a caller fail.

    Returns the process that is left, with a run whose key is refused.
    """
    unreachable = {"BOOKGEN_SMTP_URL": f"smtp://127.0.0.1:{free_port()}?tls=off"}
    world.provider = "anthropic:claude-sonnet-5-5"  # has a price
    first, second = [await world.serve(BOOKGEN_PORT=port, **unreachable) for port in ports[:2]]
    author = await world.author()
    await _have_data(running, {("both processes", "count(up == 1) == 2")})  # so that counters are seen at zero
    await _written_and_exported(world, second, author)
    await _register_and_guess(second)

    world.model.script(fault("hold", stage="chapter"))
    book = await world.book(author)
    await world.generate(first, author, book)
    await world.model.until(lambda: any(call.fault == "hold" for call in world.model.requests))
    await world.kill(first)
    await world.until_status(book, "completed")

    refused = await world.book(author)
    world.model.script(fault("status", status=401, chapter_number=2, times=1000))
    await world.generate(second, author, refused)
    return second


async def _written_and_exported(world: World, process: Process, author: Author) -> None:
    book = await world.book(author)
    await world.generate(process, author, book)
    await world.until_status(book, "completed")
    headers = {"Authorization": f"Bearer {author.token}"}
    path = f"{process.url}/api/v1/books/{book}/export_epub/"
    async with aiohttp.ClientSession(headers=headers) as web, web.post(path, json={}) as answer:
        assert answer.status == 200, await answer.text()


async def _register_and_guess(process: Process) -> None:
    form = {"username": "ada", "email": "ada@example.com", "password": "7 pounds of unsold plums"}
    guess = {"email": "ada@example.com", "password": "a guess that is wrong"}
    async with aiohttp.ClientSession(f"{process.url}/api/v1/") as web:
        for path, body, status in (("auth/register/", form, 201), ("auth/login/", guess, 401)):
            async with web.post(path, json=body) as answer:
                assert answer.status == status, await answer.text()
