"""The alerts for Prometheus: each fires in a case of its own, and their names are those of the code."""

from __future__ import annotations

import re

import pytest
import yaml

from bookgen.commands.cli import COMMANDS
from tests.deploy.firing import ALERTS, FOLDER, named, promtool
from tests.metrics_source import declared
from tests.service import ROOT


@pytest.mark.checker("promtool")
def test_every_alert_fires_in_its_test_case_and_not_before() -> None:
    promtool("check", "config", FOLDER / "prometheus.yaml")

    promtool("test", "rules", FOLDER / "alerts_test.yaml")

    cases = yaml.safe_load((FOLDER / "alerts_test.yaml").read_text())["tests"]
    fired = {rule["alertname"] for case in cases for rule in case["alert_rule_test"] if rule["exp_alerts"]}
    assert fired == set(ALERTS)


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


def test_the_events_and_commands_named_in_alerts_exist_in_the_code() -> None:
    code = "".join(file.read_text() for file in (ROOT / "bookgen").rglob("*.py"))

    for name, rule in ALERTS.items():
        for event in re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", rule["annotations"]["to_do"].replace("to_do", "")):
            assert event in code, name
        for command in re.findall(r"bookgen ([a-z]+) [a-zA-Z-]+", rule["annotations"]["to_do"]):
            assert command in COMMANDS, name


def test_every_alert_says_what_it_means_and_what_to_do_about_it() -> None:
    for name, rule in ALERTS.items():
        told = rule["annotations"]
        assert set(told) == {"summary", "to_do"}, name
        assert rule["labels"]["severity"] in ("critical", "warning")
