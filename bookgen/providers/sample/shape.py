"""Builds JSON for a schema from named values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def shaped(schema: Mapping[str, Any], known: Any, name: str = "") -> Any:
    """Return JSON that fits `schema`, filled with the values of `known`.

    `schema` has only objects, lists and texts. If `known` has no value for a property, a list is empty, a choice gets
    its first value, and a text is `name`, the name of the property.
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
