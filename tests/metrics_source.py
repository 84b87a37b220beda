"""The metrics as `bookgen/metrics.py` declares them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "bookgen/metrics.py"
KINDS = ("Counter", "Gauge", "Histogram")


@dataclass(frozen=True, slots=True)
class DeclaredMetric:
    kind: str
    name: str
    meaning: str
    labels: tuple[str, ...]


def declared() -> list[DeclaredMetric]:
    calls = [node.value for node in ast.parse(SOURCE.read_text()).body if isinstance(node, ast.Assign)]
    return [
        DeclaredMetric(call.func.id, *_given(call))
        for call in calls
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in KINDS
    ]


def _given(call: ast.Call) -> tuple[str, str, tuple[str, ...]]:
    name, meaning, *labels = map(ast.literal_eval, call.args)
    return name, meaning, tuple(labels[0]) if labels else ()
