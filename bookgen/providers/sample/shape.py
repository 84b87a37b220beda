"""Builds JSON for a schema from named values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def shaped(schema: Mapping[str, Any], known: Any, name: str = "") -> Any:
    """JSON for a schema of objects, lists and texts, with the values of `known`.

    Where `known` has none, a list is empty, a choice is its first value, and a text is `name`, the property's name.
    """
    if "enum" in schema:
        return known if known in schema["enum"] else schema["enum"][0]
    match schema["type"]:
        case "object":
            values = known if isinstance(known, Mapping) else {}
            return {key: shaped(part, values.get(key), key) for key, part in schema["properties"].items()}
        case "array":
            items = list(known.values()) if isinstance(known, Mapping) else known or []
            return [shaped(schema["items"], item, name) for item in items]
    return _text(known, name)


def _text(known: Any, name: str) -> str:
    if isinstance(known, Mapping):
        known = known.get("name") or known.get("title") or next(iter(known.values()), "")
    return str(known) if known is not None else name.replace("_", " ")
