"""Maps rows to dataclasses: each field takes the column of the same name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from enum import StrEnum
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

if TYPE_CHECKING:
    from asyncpg import Record

N = TypeVar("N")


def field_names(noun: type[Any]) -> tuple[str, ...]:
    """The names of a dataclass's fields, in order."""
    return tuple(field.name for field in fields(noun))


def text_names(noun: type[Any]) -> tuple[str, ...]:
    """The names of a dataclass's fields that hold free text: those of the type `str` or `str | None`, so no enums."""
    hints = get_type_hints(noun)
    return tuple(name for name in field_names(noun) if hints[name] in (str, str | None))


def columns(names: Sequence[str], table: str = "") -> str:
    """The names as an SQL column list, each qualified with `table` if given."""
    return ", ".join(f"{table}.{name}" if table else name for name in names)


def parameters(names: Sequence[str], first: int = 1) -> str:
    """An SQL parameter list with one parameter per name: `$1, $2` …"""
    return ", ".join(f"${number}" for number in range(first, first + len(names)))


def mapper(noun: type[N], **made: Callable[[Record], Any]) -> Callable[[Record], N]:
    """A function that turns a row into the dataclass `noun`. Further columns of the row are ignored.

    The values of enum fields are converted; null stays None. `made`: functions that compute
    the values of fields from the row, for fields that are not simply the column of the same name.
    """
    names, hints = [name for name in field_names(noun) if name not in made], get_type_hints(noun)
    values_of = itemgetter(*names)
    enums = [(place, enum) for place, name in enumerate(names) if (enum := _enum(hints[name]))]

    def noun_of(row: Record) -> N:
        values = list(values_of(row))
        for place, enum in enums:
            if values[place] is not None:
                values[place] = enum(values[place])
        if not made:
            return noun(*values)
        return noun(**dict(zip(names, values, strict=True)), **{name: make(row) for name, make in made.items()})

    return noun_of


def _enum(hint: Any) -> type[StrEnum] | None:
    """The enum in a field's type hint, also in `Enum | None`. None if there is no enum."""
    return next(
        (each for each in (hint, *get_args(hint)) if isinstance(each, type) and issubclass(each, StrEnum)), None
    )
