"""Malformed JSON as models really send it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

GARBAGE: dict[str, Callable[[str], str]] = {
    "fenced": lambda text: f"```json\n{text}\n```",
    "talkative": lambda text: f"Sure! Here is the JSON you asked for:\n\n{text}\n\nLet me know if it needs changes.",
    "trailing_comma": lambda text: re.sub(r"([\]}])", r",\1", text),
    "single_quotes": lambda text: text.replace('"', "'"),
    "cut": lambda text: text[: len(text) * 2 // 3],
    "no_quotes_on_keys": lambda text: re.sub(r'"(\w+)":', r"\1:", text),
    "comments": lambda text: text.replace("{", "{ // the object\n", 1),
    "wrong_shape": lambda text: json.dumps({"result": "done"}),
    "prose": lambda text: "I would rather describe the outline in my own words: it begins by the sea.",
    "twice": lambda text: f"{text}\n{text}",
    "wrapped": lambda text: json.dumps({"response": json.loads(text)}),
    "null": lambda text: "null",
}
