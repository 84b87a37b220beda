"""Turns a good reply into the sent one: its length, and the faults that change its text."""

from __future__ import annotations

import hashlib
import random
from typing import Any

from tests.fakes.model_bodies import user_text
from tests.fakes.model_garbage import GARBAGE
from tests.fakes.model_script import Call


def factor_of(setting: float | list[float], call: Call) -> float:
    if isinstance(setting, int | float):
        return float(setting)
    seed = hashlib.sha256(user_text(call.body).encode()).digest()
    return random.Random(int.from_bytes(seed)).uniform(*setting)


def shaped(text: str, protocol: str, kind: str, options: dict[str, Any]) -> tuple[str, str]:
    """The text and its stop reason: end, length, refusal or filter."""
    match kind:
        case "refusal":
            silent = protocol == "anthropic"  # reports a refusal as the stop reason; the others send it as text
            return options.get("text", "" if silent else "I can't help with that."), "refusal"
        case "filter":
            return text[: options.get("after", 80)], "filter"
        case "truncate" | "truncate_flagged_end":
            text = text[: int(len(text) * options.get("fraction", 0.6))]
            return text, "length" if kind == "truncate" else "end"
        case "stops":
            return text, options["reason"]
        case "empty":
            return "", "end"
        case "huge":
            return text + "x" * options.get("size", 50 << 20), "end"
        case "text":
            return options["text"], "end"
        case "garbage":
            return GARBAGE[options["kind"]](text), "end"
    return text, "end"
