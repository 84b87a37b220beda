"""The metrics: named by Prometheus' conventions, with few label values, and all on the operator's page."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from prometheus_client import REGISTRY, generate_latest

import bookgen.metrics  # noqa: F401 (declares them)
from tests.metrics_source import declared

PAGE = Path(__file__).parent.parent / "docs/operate.md"
# The values of each of these labels are listed in the code, the settings or the route table.
BOUNDED = {
    *("cap", "code", "currency", "format", "kind", "limit_class", "method", "model", "outcome", "pool", "provider"),
    *("reason", "route", "state", "status", "way"),
}


def test_the_page_for_operators_lists_every_metric_with_labels_and_meaning() -> None:
    rows = re.findall(r"^\| `(bookgen_\w+)` \| ?(.*?) ?\| (.*) \|$", PAGE.read_text(), re.M)

    assert rows == [
        (metric.name, ", ".join(f"`{label}`" for label in metric.labels), metric.meaning) for metric in declared()
    ]


def test_metric_names_end_in_the_unit_and_labels_have_few_values() -> None:
    assert len(declared()) > 40
    for metric in declared():
        assert re.fullmatch(r"bookgen_[a-z_]+", metric.name)
        assert metric.name.endswith("_total") is (metric.kind == "Counter")
        assert metric.kind != "Histogram" or metric.name.endswith(("_seconds", "_bytes"))
        assert set(metric.labels) <= BOUNDED


@pytest.mark.checker("promtool")
def test_promtool_accepts_the_metrics() -> None:
    ours = "".join(
        part
        for part in re.split(r"(?=^# HELP )", generate_latest(REGISTRY).decode(), flags=re.M)
        if part.startswith("# HELP bookgen_")
    )

    found = subprocess.run(
        ["promtool", "check", "metrics"], input=ours, capture_output=True, text=True, timeout=60, check=False
    )

    assert (found.returncode, found.stderr) == (0, "")
