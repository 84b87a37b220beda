"""PostgreSQL's operators, functions and aggregates, as far as the service's statements use them."""

from __future__ import annotations

import datetime
import hashlib
import json
import operator
import re
import unicodedata
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any

import orjson

from tests.sim.memory import values
from tests.sim.memory.errors import SqlError
from tests.sim.memory.values import (
    BOOL,
    DAY,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    JSON_NULL,
    JSONB,
    MICROS_FROM_1970,
    NUMERIC,
    SECOND,
    TEXT,
    TIMESTAMPTZ,
    JsonNull,
    to_json,
)  # fmt: skip

WHOLE = (INT2, INT4, INT8)


def text_of_json(value: Any) -> str:
    """As `jsonb` shows itself: keys by length, then bytes, and spaces after colons and commas."""
    return json.dumps(orjson.loads(to_json(_sorted(value))), ensure_ascii=False)


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value, key=lambda key: (len(key.encode()), key.encode()))}
    return [_sorted(each) for each in value] if isinstance(value, list) else value


def as_text(oid: int, value: Any) -> str:
    """As a cast to text shows it."""
    if oid == BOOL:
        return "true" if value else "false"
    return text_of_json(value) if oid == JSONB else values.to_text(oid, value)


# Operators


def binary(name: str, left: int, right: int) -> Callable[[Any, Any], Any]:
    """The operator of that name for values of those types, neither of them null."""
    if name == "/":
        if left in WHOLE:
            return _divide_whole
        return operator.truediv
    if name == "*" and INTERVAL in (left, right):
        return lambda a, b: round(a * b)
    if name == "||":
        if JSONB in (left, right):
            return _join_json
        return _join_texts(left, right) if TEXT in (left, right) else _join_lists
    if name == "-" and left == JSONB:
        return lambda a, b: {key: a[key] for key in a if key != b}
    if name == "%":
        return lambda a, b: a - b * _divide_whole(a, b)
    return OPERATORS[name]


def _divide_whole(a: int, b: int) -> int:
    if b == 0:
        raise SqlError("22012", "division by zero")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _join_json(a: Any, b: Any) -> Any:
    if isinstance(a, dict) and isinstance(b, dict):
        return {**a, **b}
    return (a if isinstance(a, list) else [a]) + (b if isinstance(b, list) else [b])


def _join_texts(left: int, right: int) -> Callable[[Any, Any], str]:
    if left == right:
        return operator.add
    return lambda a, b: as_text(left, a) + as_text(right, b)


def _join_lists(a: Any, b: Any) -> Any:
    return (a if isinstance(a, list) else [a]) + (b if isinstance(b, list) else [b])


def get_json(value: Any, key: Any) -> Any:
    if isinstance(value, dict) and isinstance(key, str):
        found = value.get(key, _MISSING)
    elif isinstance(value, list) and isinstance(key, int) and -len(value) <= key < len(value):
        found = value[key]
    else:
        found = _MISSING
    if found is _MISSING:
        return None
    return JSON_NULL if found is None else found


_MISSING = object()


def get_json_text(value: Any, key: Any) -> str | None:
    found = get_json(value, key)
    if found is None or isinstance(found, JsonNull):
        return None
    return found if isinstance(found, str) else text_of_json(found)


def like(text: str, pattern: str) -> bool:
    expression = re.sub(r"\\(.)|%|_|(.)", _like_part, pattern, flags=re.DOTALL)
    return re.fullmatch(expression, text, re.DOTALL) is not None


def _like_part(match: re.Match[str]) -> str:
    if match[0] == "%":
        return ".*"
    return "." if match[0] == "_" else re.escape(match[1] or match[2])


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "+": operator.add, "-": operator.sub, "*": operator.mul,
    "->": get_json, "->>": get_json_text, "?": lambda a, b: b in a, "~~": like, "!~~": lambda a, b: not like(a, b),
    "~": lambda a, b: re.search(b, a) is not None,
    "@>": lambda a, b: all(each in a for each in b),
    "&&": lambda a, b: any(each in a for each in b),
}  # fmt: skip


# Casts


def cast(source: int, target: int) -> Callable[[Any], Any]:
    """The function that makes a value of one type one of another."""
    if target in WHOLE:
        if source == FLOAT8:
            return lambda value: int(Decimal(value).to_integral_value(ROUND_HALF_EVEN))
        if source == NUMERIC:
            return lambda value: int(value.to_integral_value(ROUND_HALF_UP))
        return int
    if target == FLOAT8:
        return float
    if target == NUMERIC:
        return lambda value: Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if target == TEXT:
        return lambda value: as_text(source, value)
    if target == BOOL:
        return bool
    return lambda value: value


def through_text(source: int, target: int) -> Callable[[Any], Any]:
    if target in (TEXT, values.VARCHAR):
        return lambda value: as_text(source, value)
    if source in values.TEXTS:
        return lambda value: values.from_text(target, value)
    return lambda value: values.from_text(target, as_text(source, value))


# Functions, of arguments none of which is null where the server's are strict; the types of the arguments come first


def _concat(types: list[int], *parts: Any) -> str:
    return "".join(
        ("t" if part else "f") if oid == BOOL else as_text(oid, part)
        for oid, part in zip(types, parts, strict=True) if part is not None
    )  # fmt: skip


def _build_object(types: list[int], *parts: Any) -> dict[str, Any]:
    keys = [as_text(oid, part) for oid, part in zip(types[::2], parts[::2], strict=True)]
    return dict(
        zip(keys, (json_of(oid, part) for oid, part in zip(types[1::2], parts[1::2], strict=True)), strict=True)
    )


def json_of(oid: int, value: Any) -> Any:
    """A value of any type as JSON, inside of other JSON."""
    if value is None or value is JSON_NULL:
        return None
    if oid in (BOOL, JSONB, values.JSON, *WHOLE, FLOAT8, NUMERIC):
        return value
    if oid in values.ELEMENT_OF:
        return [json_of(values.ELEMENT_OF[oid], each) for each in value]
    return as_text(oid, value)


def _kind_of_json(_types: Any, value: Any) -> str:
    if value is JSON_NULL:
        return "null"
    kinds = {bool: "boolean", dict: "object", list: "array", str: "string"}
    return kinds.get(type(value), "number")


def _extract(types: list[int], what: str, value: int) -> Decimal:
    if what.lower() != "epoch":
        raise NotImplementedError(f"extract({what})")
    since = value if types[1] == INTERVAL else value + MICROS_FROM_1970
    return Decimal(since).scaleb(-6)


def _truncate(_types: Any, what: str, value: int, *_zone: Any) -> int:
    if what == "day":
        return value // DAY * DAY
    moment = datetime.datetime(2000, 1, 1) + datetime.timedelta(microseconds=value)
    start = {
        "month": moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0),
        "hour": moment.replace(minute=0, second=0, microsecond=0),
    }[what]
    return (start - datetime.datetime(2000, 1, 1)) // datetime.timedelta(microseconds=1)


def _round(_types: Any, value: Any, places: int = 0) -> Any:
    if isinstance(value, float):
        return float(round(value))
    return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def _moment(value: float) -> int:
    return round((value - MICROS_FROM_1970 // SECOND) * SECOND)


def _left(_types: Any, text: str, count: int) -> str:
    return text[:count]


def _right(_types: Any, text: str, count: int) -> str:
    return text[-count:] if count else ""


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "concat": _concat,
    "length": lambda _, value: len(value),
    "char_length": lambda _, value: len(value),
    "octet_length": lambda _, value: len(value.encode()) if isinstance(value, str) else len(value),
    "lower": lambda _, value: value.lower(),
    "upper": lambda _, value: value.upper(),
    "left": _left,
    "right": _right,
    "replace": lambda _, text, old, new: text.replace(old, new),
    "normalize": lambda _, text, form="NFC": unicodedata.normalize(form, text),
    "btrim": lambda _, text, what=" ": text.strip(what),
    "strpos": lambda _, text, part: text.find(part) + 1,
    "substr": lambda _, text, start, count=None: text[start - 1 : None if count is None else start - 1 + count],
    "encode": lambda _, data, how: {"hex": bytes.hex}[how](data),
    "sha256": lambda _, data: hashlib.sha256(data).digest(),
    "convert_to": lambda _, text, how: text.encode(),
    "abs": lambda _, value: abs(value),
    "round": _round,
    "floor": lambda _, value: value // 1,
    "ceil": lambda _, value: -(-value // 1),
    "extract": _extract,
    "date_trunc": _truncate,
    "to_timestamp": lambda _, value: _moment(value),
    "array_position": lambda _, found, value: found.index(value) + 1 if value in found else None,
    "array_length": lambda _, found, dimension: len(found) or None,
    "cardinality": lambda _, found: len(found),
    "jsonb_build_object": _build_object,
    "jsonb_build_array": lambda types, *parts: [json_of(oid, part) for oid, part in zip(types, parts, strict=True)],
    "to_json": lambda types, value: json_of(types[0], value),
    "to_jsonb": lambda types, value: json_of(types[0], value),
    "jsonb_typeof": _kind_of_json,
    "jsonb_array_length": lambda _, value: len(value),
    "int8_mul_float8": lambda _, a, b: a * b,
    "hashint8": lambda _, value: value,
}  # fmt: skip

SETS: dict[str, Callable[..., Any]] = {
    "generate_series": lambda first, last, step=1: [(value,) for value in range(first, last + 1, step)],
    "jsonb_array_elements": lambda value: [(JSON_NULL if each is None else each,) for each in value],
    "jsonb_array_elements_text": lambda value: [
        (None if each is None else each if isinstance(each, str) else text_of_json(each),) for each in value
    ],
    "jsonb_each": lambda value: [(key, JSON_NULL if each is None else each) for key, each in value.items()],
    "regexp_split_to_table": lambda text, pattern: [(each,) for each in re.split(pattern, text)],
    "unnest": lambda value: [(each,) for each in value],
}


# Aggregates, of the values that there are; each is a list of the arguments of a row


def _total(oid: int, rows: list[Any]) -> Any:
    found = [row[0] for row in rows if row[0] is not None]
    if not found:
        return None
    return sum(found, Decimal(0)) if oid == NUMERIC and not isinstance(found[0], float) else sum(found)


def _mean(_oid: int, rows: list[Any]) -> Any:
    found = [row[0] for row in rows if row[0] is not None]
    if not found:
        return None
    return sum(found) / len(found) if isinstance(found[0], float) else Decimal(sum(found)) / len(found)


def _best(choose: Callable[[Any], Any]) -> Callable[[int, list[Any]], Any]:
    return lambda _oid, rows: choose(found) if (found := [row[0] for row in rows if row[0] is not None]) else None


def _joined(_oid: int, rows: list[Any]) -> str | None:
    found = [row for row in rows if row[0] is not None]
    if not found:
        return None
    return str(found[0][0]) + "".join((row[1] or "") + row[0] for row in found[1:])


AGGREGATES: dict[str, Callable[[int, list[Any]], Any]] = {
    "count": lambda _, rows: sum(1 for row in rows if not row or row[0] is not None),
    "sum": _total,
    "avg": _mean,
    "min": _best(min),
    "max": _best(max),
    "bool_or": _best(any),
    "bool_and": _best(all),
    "every": _best(all),
    "string_agg": _joined,
    "array_agg": lambda _, rows: [row[0] for row in rows] or None,
    "jsonb_agg": lambda _, rows: [None if row[0] is JSON_NULL else row[0] for row in rows] or None,
    "json_agg": lambda _, rows: [None if row[0] is JSON_NULL else row[0] for row in rows] or None,
    "jsonb_object_agg": lambda _, rows: {row[0]: row[1] for row in rows} or None,
}

__all__ = ["AGGREGATES", "FUNCTIONS", "SETS", "TIMESTAMPTZ", "as_text", "binary", "cast", "json_of", "through_text"]
