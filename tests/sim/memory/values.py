"""Values of PostgreSQL's types in Python, on the wire, as text, and in the constants of its trees.

A timestamp is its microseconds since 2000, an interval its microseconds, a UUID its bytes, JSON what `orjson` makes of
it; SQL's null is None, and so that of JSON has a name of its own.
"""

from __future__ import annotations

import datetime
import json
import struct
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any
from uuid import UUID

import orjson

BOOL, BYTEA, NAME, INT8, INT2, INT4, TEXT, OID, JSON = 16, 17, 19, 20, 21, 23, 25, 26, 114
FLOAT4, FLOAT8, UNKNOWN, VARCHAR, DATE, TIMESTAMP, TIMESTAMPTZ, INTERVAL = 700, 701, 705, 1043, 1082, 1114, 1184, 1186
NUMERIC, REGCLASS, RECORD, VOID, UUID_TYPE, JSONB = 1700, 2205, 2249, 2278, 2950, 3802
ELEMENT_OF = {
    1000: BOOL, 1001: BYTEA, 1003: NAME, 1005: INT2, 1007: INT4, 1009: TEXT, 1015: VARCHAR, 1016: INT8, 1021: FLOAT4,
    1022: FLOAT8, 1028: OID, 1185: TIMESTAMPTZ, 1187: INTERVAL, 1231: NUMERIC, 2951: UUID_TYPE, 3807: JSONB,
}  # fmt: skip
INTEGERS = {INT2: "!h", INT4: "!i", INT8: "!q", OID: "!I", REGCLASS: "!I"}
TEXTS = (TEXT, VARCHAR, NAME, UNKNOWN)
MICROS_FROM_1970 = 946_684_800 * 1_000_000
SECOND = 1_000_000
DAY = 86_400 * SECOND


class JsonNull:
    """The null of JSON, which SQL takes for a value."""

    def __repr__(self) -> str:
        return "null"


JSON_NULL = JsonNull()


def to_json(value: Any) -> bytes:
    return orjson.dumps(value, default=_plain, option=orjson.OPT_PASSTHROUGH_SUBCLASS)


def _plain(value: Any) -> Any:
    if value is JSON_NULL:
        return None
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def from_json(text: bytes | str) -> Any:
    value = orjson.loads(text)
    return JSON_NULL if value is None else value


# On the wire


@lru_cache(None)
def decoder(oid: int) -> Callable[[bytes], Any]:
    """What reads a value in the binary format."""
    if oid in INTEGERS:
        unpack = struct.Struct(INTEGERS[oid]).unpack
        return lambda data: unpack(data)[0]
    if oid in TEXTS:
        return lambda data: data.decode()
    if oid in ELEMENT_OF:
        return _array_decoder(decoder(ELEMENT_OF[oid]))
    return DECODERS[oid]


def _array_decoder(element: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    def decode(data: bytes) -> list[Any]:
        if struct.unpack_from("!i", data)[0] == 0:
            return []
        (count,) = struct.unpack_from("!i", data, 12)
        at, found = 20, []
        for _ in range(count):
            (length,) = struct.unpack_from("!i", data, at)
            at += 4
            found.append(None if length < 0 else element(data[at : at + length]))
            at += max(length, 0)
        return found

    return decode


def _decode_numeric(data: bytes) -> Decimal:
    count, weight, sign, scale = struct.unpack_from("!hhHh", data)
    digits = struct.unpack_from(f"!{count}h", data, 8)
    return _decimal(digits, weight, sign == 0x4000, scale)


def _decimal(digits: tuple[int, ...], weight: int, negative: bool, scale: int) -> Decimal:
    value = sum((Decimal(digit) * Decimal(10000) ** (weight - place) for place, digit in enumerate(digits)), Decimal(0))
    return (-value if negative else value).quantize(Decimal(1).scaleb(-scale))


def _encode_numeric(value: Decimal) -> bytes:
    return _numeric(str(Decimal(value)))  # equal numbers may have other scales


@lru_cache(10_000)
def _numeric(text: str) -> bytes:
    sign, digits, exponent = Decimal(text).as_tuple()
    scale = max(0, -int(exponent))
    number = "".join(map(str, digits)) + "0" * max(0, int(exponent))
    whole, part = (number[:-scale] or "0", number[-scale:].rjust(scale, "0")) if scale else (number, "")
    whole = whole.rjust(-(-len(whole) // 4) * 4, "0")
    part = part.ljust(-(-len(part) // 4) * 4, "0")
    groups = [int((whole + part)[at : at + 4]) for at in range(0, len(whole + part), 4)]
    weight = len(whole) // 4 - 1
    while groups and not groups[0]:
        groups.pop(0)
        weight -= 1
    while groups and not groups[-1]:
        groups.pop()
    weight = weight if groups else 0
    return struct.pack(f"!hhHh{len(groups)}h", len(groups), weight, 0x4000 if sign else 0, scale, *groups)


DECODERS: dict[int, Callable[[bytes], Any]] = {
    BOOL: lambda data: data != b"\0",
    BYTEA: bytes,
    UUID_TYPE: bytes,
    FLOAT8: lambda data: struct.unpack("!d", data)[0],
    FLOAT4: lambda data: struct.unpack("!f", data)[0],
    TIMESTAMPTZ: lambda data: struct.unpack("!q", data)[0],
    TIMESTAMP: lambda data: struct.unpack("!q", data)[0],
    DATE: lambda data: struct.unpack("!i", data)[0] * DAY,
    INTERVAL: lambda data: struct.unpack("!q", data[:8])[0] + struct.unpack("!i", data[8:12])[0] * DAY,
    JSONB: lambda data: from_json(data[1:]),
    JSON: from_json,
    NUMERIC: _decode_numeric,
}


@lru_cache(None)
def encoder(oid: int) -> Callable[[Any], bytes]:
    """What writes a value in the binary format."""
    if oid in INTEGERS:
        return struct.Struct(INTEGERS[oid]).pack
    if oid in TEXTS:
        return lambda value: value.encode()
    if oid in ELEMENT_OF:
        return _array_encoder(ELEMENT_OF[oid])
    return ENCODERS[oid]


def _array_encoder(oid: int) -> Callable[[Any], bytes]:
    element = encoder(oid)

    def encode(values: list[Any]) -> bytes:
        if not values:
            return struct.pack("!iii", 0, 0, oid)
        parts = [struct.pack("!iiiii", 1, int(None in values), oid, len(values), 1)]
        for value in values:
            data = None if value is None else element(value)
            parts.append(struct.pack("!i", -1) if data is None else struct.pack("!i", len(data)) + data)
        return b"".join(parts)

    return encode


ENCODERS: dict[int, Callable[[Any], bytes]] = {
    BOOL: lambda value: b"\1" if value else b"\0",
    BYTEA: bytes,
    UUID_TYPE: bytes,
    FLOAT8: struct.Struct("!d").pack,
    FLOAT4: struct.Struct("!f").pack,
    TIMESTAMPTZ: struct.Struct("!q").pack,
    TIMESTAMP: struct.Struct("!q").pack,
    INTERVAL: lambda value: struct.pack("!qii", value, 0, 0),
    JSONB: lambda value: b"\1" + to_json(value),
    JSON: to_json,
    NUMERIC: _encode_numeric,
    VOID: lambda _: b"",
}


# As text


def to_text(oid: int, value: Any) -> str:
    match oid:
        case 16:
            return "t" if value else "f"
        case 2950:
            return str(UUID(bytes=value))
        case 3802 | 114:
            return json.dumps(orjson.loads(to_json(value)), ensure_ascii=False)
        case 1184:
            moment = datetime.datetime.fromtimestamp(0, datetime.UTC) + datetime.timedelta(
                microseconds=value + MICROS_FROM_1970
            )
            return moment.isoformat(" ")
        case 701:
            return repr(int(value)) if value == int(value) else repr(value)
        case 17:
            return "\\x" + bytes(value).hex()
    if oid in ELEMENT_OF:
        return "{" + ",".join("NULL" if each is None else to_text(ELEMENT_OF[oid], each) for each in value) + "}"
    return str(value)


def from_text(oid: int, text: str) -> Any:
    match oid:
        case 16:
            return text.lower() in ("t", "true", "on", "1", "yes", "y")
        case 20 | 21 | 23 | 26:
            return int(text)
        case 701 | 700:
            return float(text)
        case 1700:
            return Decimal(text)
        case 2950:
            return UUID(text).bytes
        case 3802 | 114:
            return from_json(text)
        case 1184:
            moment = datetime.datetime.fromisoformat(text)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
            since = moment - datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
            return (since.days * 86_400 + since.seconds) * SECOND + since.microseconds
        case 17:
            return bytes.fromhex(text.removeprefix("\\x"))
    if oid in ELEMENT_OF:
        inside = text[1:-1]
        return [from_text(ELEMENT_OF[oid], each.strip('"')) for each in inside.split(",")] if inside else []
    return text


# In trees


def constant(oid: int, data: bytes) -> Any:
    """The value of a constant, from the bytes that PostgreSQL has for it in memory."""
    if oid in (INT2, INT4, INT8, OID, REGCLASS, TIMESTAMPTZ, TIMESTAMP):
        return int.from_bytes(data, "little", signed=True)
    if oid == BOOL:
        return bool(data[0])
    if oid == FLOAT8:
        return struct.unpack("<d", data)[0]
    if oid == UUID_TYPE:
        return data
    if oid == NAME:
        return data.split(b"\0")[0].decode()
    if oid == INTERVAL:
        micros, days, months = struct.unpack("<qii", data)
        if months:
            raise NotImplementedError("intervals of months")
        return micros + days * DAY
    if oid == UNKNOWN:
        return data.rstrip(b"\0").decode()
    body = data[4:]
    if oid in TEXTS:
        return body.decode()
    if oid == BYTEA:
        return body
    if oid == JSONB:
        return _json_constant(body)
    if oid == NUMERIC:
        return _numeric_constant(body)
    raise NotImplementedError(f"a constant of type {oid}")


# Of a container of `jsonb`: the kinds, the number of its entries, and of an entry its kind and where it ends.
SCALAR, OBJECT, COUNT = 0x10000000, 0x20000000, 0x0FFFFFFF
IS_END, KIND, LENGTH = 0x80000000, 0x70000000, 0x0FFFFFFF
STRING, NUMBER, FALSE, TRUE, NULL = 0x0, 0x10000000, 0x20000000, 0x30000000, 0x40000000


def _json_constant(body: bytes) -> Any:
    (header,) = struct.unpack_from("<I", body)
    value = _json_container(body)
    if header & SCALAR:
        (value,) = value
    return JSON_NULL if value is None else value


def _json_container(body: bytes) -> Any:
    (header,) = struct.unpack_from("<I", body)
    count = (header & COUNT) * (2 if header & OBJECT else 1)
    data, end, found = 4 + 4 * count, 0, []
    for entry in struct.unpack_from(f"<{count}I", body, 4):
        start, end = end, entry & LENGTH if entry & IS_END else end + (entry & LENGTH)
        found.append(_json_entry(entry & KIND, body, data + start, data + end))
    if header & OBJECT:
        return dict(zip(found[: count // 2], found[count // 2 :], strict=True))
    return found


def _json_entry(kind: int, body: bytes, start: int, end: int) -> Any:
    if kind == STRING:
        return body[start:end].decode()
    if kind in (FALSE, TRUE, NULL):
        return {FALSE: False, TRUE: True, NULL: None}[kind]
    start = -(-start // 4) * 4  # what is neither is aligned
    if kind == NUMBER:
        number = _numeric_constant(body[start + 4 : end])
        return int(number) if number == int(number) else float(number)
    return _json_container(body[start:end])


def _numeric_constant(body: bytes) -> Decimal:
    (header,) = struct.unpack_from("<H", body)
    if header & 0x8000:
        weight = (header & 0x3F) - (0x40 if header & 0x40 else 0)
        digits = struct.unpack_from(f"<{(len(body) - 2) // 2}h", body, 2)
        return _decimal(digits, weight, bool(header & 0x2000), (header & 0x1F80) >> 7)
    (weight,) = struct.unpack_from("<h", body, 2)
    digits = struct.unpack_from(f"<{(len(body) - 4) // 2}h", body, 4)
    return _decimal(digits, weight, (header & 0xC000) == 0x4000, header & 0x3FFF)
