"""Whether an alert fires by what the service's metrics said before and after a fault, judged by promtool."""

from __future__ import annotations

import math
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from prometheus_client import REGISTRY

from tests.service import ROOT

FOLDER = ROOT / "deploy/prometheus"
ALERTS: dict[str, dict[str, Any]] = {
    rule["alert"]: rule for group in yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
}  # fmt: skip
Series = dict[str, float]
ENDLESS = 1e12  # promtool has no word for an endless value
BEFORE_MINUTES, FAULT_MINUTES, AFTER_MINUTES = 60, 8, 90
COUNTERS = ("_total", "_bucket", "_count", "_sum")
FIRED = 'count by (alertname) (count by (alertname) (max_over_time(ALERTS{alertstate="firing"}[2h])))'


def promtool(*arguments: object) -> None:
    done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def named(expression: str) -> set[str]:
    """The metrics of bookgen that an expression reads."""
    return set(re.findall(r"\bbookgen_[a-z_]+", expression))


def samples() -> Series:
    """All our samples by the name of their series."""
    return {
        series_of(sample.name, sample.labels): sample.value
        for family in REGISTRY.collect()
        if family.name.startswith("bookgen_")
        for sample in family.samples
    }


def series_of(name: str, labels: Mapping[str, str]) -> str:
    told = {"instance": "one"} | dict(labels)
    return name + "{" + ",".join(f'{label}="{value}"' for label, value in sorted(told.items())) + "}"


def fire(expected: Iterable[str], before: Series, after: Series, folder: Path) -> None:
    """Check that exactly these alerts fire when the metrics that they read go from `before` to `after`.

    A gauge changes at once and keeps its value. A counter grows during FAULT_MINUTES, by whole numbers. A series that
    is not in `before` appears with the first value of the fault, as Prometheus would see it.
    """
    expected = sorted(expected)
    read = {name for alert in expected for name in named(ALERTS[alert]["expr"])}
    case = {
        "interval": "1m",
        "input_series": [
            {"series": series, "values": _course(series, before.get(series), min(value, ENDLESS))}
            for series, value in after.items()
            if series.partition("{")[0] in read
        ],
        "promql_expr_test": [
            {
                "expr": FIRED,
                "eval_time": f"{BEFORE_MINUTES + AFTER_MINUTES}m",
                "exp_samples": [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in expected],
            }
        ],
    }
    rules = {"rule_files": [str(FOLDER / "alerts.yaml")], "evaluation_interval": "1m", "tests": [case]}
    file = folder / "faults.yaml"
    file.write_text(yaml.safe_dump(rules))
    promtool("test", "rules", file)


def _course(series: str, before: float | None, after: float) -> str:
    """The values, one a minute, as promtool writes them."""
    start = f"_x{BEFORE_MINUTES}" if before is None else f"{before:.6f}x{BEFORE_MINUTES}"
    if not series.partition("{")[0].endswith(COUNTERS):
        return f"{start} {after:.6f}x{FAULT_MINUTES + AFTER_MINUTES}"
    grown = after - (before or 0.0)
    during = [(before or 0.0) + math.ceil(grown * minute / FAULT_MINUTES) for minute in range(1, FAULT_MINUTES)]
    return " ".join([start, *(f"{min(value, after):.6f}" for value in during), f"{after:.6f}x{AFTER_MINUTES}"])
