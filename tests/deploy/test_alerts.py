"""The alerts for Prometheus: each fires in a case of its own, and several fire by real faults of the service."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import REGISTRY

from bookgen import metrics
from bookgen.accounts.mailing import Mailing
from bookgen.commands.cli import COMMANDS
from bookgen.http.outside import gauges
from bookgen.providers.smtp import SmtpMailer
from bookgen.store import backups
from bookgen.store.backups import BackupRecord
from bookgen.store.database import Database
from tests.fakes.model_script import fault
from tests.fakes.model_server import ModelServer
from tests.http.conftest import Api, OpenApi, open_api
from tests.metrics_source import declared
from tests.providers.calls import anthropic, chapter_request, steady
from tests.service import ROOT

__all__ = ["open_api"]

FOLDER = ROOT / "deploy/prometheus"
ALERTS: dict[str, dict[str, Any]] = {
    rule["alert"]: rule for group in yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
}  # fmt: skip
Series = dict[str, float]
ENDLESS = 1e12  # promtool has no word for an endless value


def promtool(*arguments: object) -> None:
    done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.checker("promtool")
def test_every_alert_fires_in_its_test_case_and_not_before() -> None:
    promtool("check", "config", FOLDER / "prometheus.yaml")

    promtool("test", "rules", FOLDER / "alerts_test.yaml")

    cases = yaml.safe_load((FOLDER / "alerts_test.yaml").read_text())["tests"]
    fired = {rule["alertname"] for case in cases for rule in case["alert_rule_test"] if rule["exp_alerts"]}
    assert fired == set(ALERTS)


def named(expression: str) -> set[str]:
    """The metrics of bookgen that an expression reads."""
    return set(re.findall(r"\bbookgen_[a-z_]+", expression))


def exposed() -> set[str]:
    """The names of all series, those of histograms too."""
    return {
        name
        for metric in declared()
        for name in (
            [f"{metric.name}_{part}" for part in ("bucket", "count", "sum")]
            if metric.kind == "Histogram"
            else [metric.name]
        )
    }


def test_alerts_and_dashboard_use_existing_metrics_only() -> None:
    read = named((FOLDER / "alerts.yaml").read_text()) | named((ROOT / "deploy/grafana/bookgen.json").read_text())

    assert read - exposed() == set()
    assert len(read) > 30


def test_the_labels_used_in_alerts_are_labels_of_their_metrics() -> None:
    labels = {metric.name: {*metric.labels, "le"} for metric in declared()}

    for rule in ALERTS.values():
        for name, told in re.findall(r"\b(bookgen_[a-z_]+)\{([^}]*)\}", rule["expr"]):
            assert set(re.findall(r"(\w+)[=!]", told)) <= labels[name], rule["alert"]


def samples() -> Series:
    """All our samples by the name of their series."""
    return {
        series_of(sample.name, sample.labels): sample.value
        for family in REGISTRY.collect()
        if family.name.startswith("bookgen_")
        for sample in family.samples
    }


def series_of(name: str, labels: Mapping[str, str]) -> str:
    return name + "{" + ",".join(f'{label}="{value}"' for label, value in sorted(labels.items())) + "}"


def fire(expected: Iterable[str], before: Series, after: Series, folder: Path) -> None:
    """Check that exactly these alerts fire when the metrics that they read go from `before` to `after`."""
    expected = sorted(expected)
    read = {name for alert in expected for name in named(ALERTS[alert]["expr"])}
    expression = 'count by (alertname) (count by (alertname) (max_over_time(ALERTS{alertstate="firing"}[2h])))'
    case = {
        "interval": "1m",
        "input_series": [
            {"series": series, "values": f"{before.get(series, 0.0):.6f}x60 {min(value, ENDLESS):.6f}x90"}
            for series, value in after.items()
            if series.partition("{")[0] in read and value != before.get(series, 0.0)
        ],
        "promql_expr_test": [
            {
                "expr": expression,
                "eval_time": "150m",
                "exp_samples": [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in expected],
            }
        ],
    }
    rules = {"rule_files": [str(FOLDER / "alerts.yaml")], "evaluation_interval": "1m", "tests": [case]}
    file = folder / "faults.yaml"
    file.write_text(yaml.safe_dump(rules))
    promtool("test", "rules", file)


@pytest.mark.checker("promtool")
async def test_real_faults_fire_their_alerts(
    database: Database, open_api: OpenApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gauges, "FRESH_SECONDS", 0.0)
    metrics.MAIL_FAILING.clear()  # an earlier test may have left a reason
    async with ModelServer() as server:
        server.script(fault("status", status=400, stage="chapter", times=99))
        failing = steady(anthropic(server), tries=9)
        api = await (await open_api(model=failing)).as_new_account("ada")
        await backups.record(database.http, BackupRecord(await database.http.fetchval("SELECT now()"), True, 1, "x"))
        await api.get("/metrics", prefix="")
        before = samples()

        await _runs_fail(api)
        await _passwords_are_guessed(api)
        nowhere = SmtpMailer("smtp://127.0.0.1:1", sender="b@books.example")
        await Mailing(database.http, nowhere, public_url="http://books.example").deliver_due()
        await database.http.execute("DELETE FROM backup")
        full = await open_api(least_free=1 << 60)
        await full.get("/metrics", prefix="")
        await _provider_is_away(server, failing)
        await database.http.close()
        await full.get("/metrics", prefix="")

        expected = [
            "BookgenRunsFail", "BookgenSignInsFail", "BookgenMailFails", "BookgenBackupOld", "BookgenDiskAlmostFull",
            "BookgenModelAway", "BookgenDatabaseDown",
        ]  # fmt: skip
        await asyncio.to_thread(fire, expected, before, samples(), tmp_path)


async def _runs_fail(api: Api) -> None:
    for _ in range(3):
        book = await api.outlined()
        assert (await api.post(f"/books/{book['id']}/generate/")).status == 202
        await api.until(book["id"], "error")


async def _passwords_are_guessed(api: Api) -> None:
    visitor, guess = await api.as_nobody(), {"username": "ada", "password": "a guess"}
    answers = await asyncio.gather(*(visitor.post("/auth/login/", guess) for _ in range(60)))
    assert {answer.status for answer in answers} == {401, 429}


async def _provider_is_away(server: ModelServer, model: Any) -> None:
    """Leave the breaker open, with a probe that gets no answer."""
    server.forget_script()
    server.script(fault("drop", times=5), fault("hold"))
    known = len(server.requests)
    waits = asyncio.create_task(model.complete(chapter_request()))
    await server.until(lambda: len(server.requests) == known + 6)
    waits.cancel()
    await asyncio.wait([waits])


def test_the_events_and_commands_named_in_alerts_exist_in_the_code() -> None:
    code = "".join(file.read_text() for file in (ROOT / "bookgen").rglob("*.py"))

    for name, rule in ALERTS.items():
        for event in re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", rule["annotations"]["to_do"].replace("to_do", "")):
            assert event in code, name
        for command in re.findall(r"bookgen ([a-z]+) [a-zA-Z-]+", rule["annotations"]["to_do"]):
            assert command in COMMANDS, name


def test_every_alert_says_what_it_means_and_what_to_do_about_it() -> None:
    for name, rule in ALERTS.items():
        told: Mapping[str, str] = rule["annotations"]
        assert set(told) == {"summary", "to_do"}, name
        assert rule["labels"]["severity"] in ("critical", "warning")
