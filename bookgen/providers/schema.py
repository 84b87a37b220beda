"""Converts JSON Schemas to the form that providers accept: all properties required, no others allowed, no bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_BOUNDS = (
    "minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "multipleOf", "pattern", "uniqueItems", "minProperties", "maxProperties", "format",
)  # fmt: skip


def strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return `schema` in the form that the strict modes of all providers accept.

    Bounds, such as a maximum length, are moved to the description.
    """
    bounds = {name: schema[name] for name in _BOUNDS if name in schema}
    plain = {name: _inner(name, value) for name, value in schema.items() if name not in bounds}
    if plain.get("type") == "object" or "properties" in plain:
        plain |= {"additionalProperties": False, "required": list(plain.get("properties", {}))}
    if bounds:
        said = ", ".join(f"{name} {value}" for name, value in bounds.items())
        plain["description"] = f"{plain['description']} ({said})" if "description" in plain else said
    return plain


def _inner(name: str, value: Any) -> Any:
    if name in ("properties", "$defs", "definitions"):
        return {key: strict(part) for key, part in value.items()}
    if name == "items" and isinstance(value, Mapping):
        return strict(value)
    if name in ("anyOf", "oneOf", "allOf"):
        return [strict(part) for part in value]
    return value
