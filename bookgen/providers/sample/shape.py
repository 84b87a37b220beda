"""JSON of an asked schema, made from values known by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def shaped(schema: Mapping[str, Any], known: Any, name: str = "") -> Any:
    """What of `known` fits `schema`, and the plainest value for what it lacks."""
    schema = _one_of(schema, known)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return known if known in schema["enum"] else schema["enum"][0]
    match _type(schema, known):
        case "object":
            values = known if isinstance(known, Mapping) else {}
            return {key: shaped(part, values.get(key), key) for key, part in schema.get("properties", {}).items()}
        case "array":
            return _array(schema, known, name)
        case "integer":
            return _bounded(schema, known if isinstance(known, int) else 1)
        case "number":
            return _bounded(schema, known if isinstance(known, int | float) else 1)
        case "boolean":
            return bool(known)
        case "null":
            return None
        case _:
            return _text(schema, known, name)


def _one_of(schema: Mapping[str, Any], known: Any) -> Mapping[str, Any]:
    choices = schema.get("anyOf") or schema.get("oneOf") or []
    if not choices:
        return schema
    nulls = [choice for choice in choices if choice.get("type") == "null"]
    return dict(nulls[0] if known is None and nulls else next(c for c in choices if c not in nulls))


def _type(schema: Mapping[str, Any], known: Any) -> str:
    kinds = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kinds, str):
        return kinds
    return "null" if known is None and "null" in kinds else next(kind for kind in kinds if kind != "null")


def _array(schema: Mapping[str, Any], known: Any, name: str) -> list[Any]:
    known = list(known.values()) if isinstance(known, Mapping) else known
    values = list(known) if isinstance(known, list | tuple) else []
    values += [None] * (schema.get("minItems", 0) - len(values))
    return [shaped(schema.get("items", {}), value, name) for value in values[: schema.get("maxItems", len(values))]]


def _bounded(schema: Mapping[str, Any], value: float) -> float:
    least, most = float(schema.get("minimum", value)), float(schema.get("maximum", value))
    bounded = min(max(value, least), most)
    return int(bounded) if bounded == int(bounded) else bounded


def _text(schema: Mapping[str, Any], known: Any, name: str) -> str:
    if isinstance(known, Mapping):
        known = known.get("name") or known.get("title") or next(iter(known.values()), "")
    text = str(known) if known is not None else name.replace("_", " ")
    return text[: schema.get("maxLength", len(text))]
