"""Reads the table of models: their prices and limits. The operator's file can override single entries."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bookgen.errors import StartupError

PACKAGED = Path(__file__).with_name("prices.toml")
SETTING = "BOOKGEN_MODELS_FILE"
MAX_MICROS = 10**12
RATES = ("input", "output", "cache_write", "cache_read")
TOP = ("currency", "verified_on", "default", "default_images", "picture")

Micros = Annotated[int, Field(ge=0, le=MAX_MICROS, strict=True)]
Tokens = Annotated[int, Field(ge=256, le=100_000_000, strict=True)]


class Rates(BaseModel):
    """Prices per million tokens of each kind, in millionths of the currency.

    If the price of cached tokens is not set, it is the same as the price of input tokens.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: Micros
    output: Micros
    cache_write: Micros
    cache_read: Micros

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, given: Any) -> Any:
        if not isinstance(given, dict) or "input" not in given:
            return given
        return {"cache_write": given["input"], "cache_read": given["input"], **given}


class RatesAbove(Rates):
    """The rates of a call whose prompt has more than `tokens` tokens. They apply to the whole call."""

    tokens: Tokens


class ModelEntry(BaseModel):
    """A model: its rates (None if its price is unknown), its context window, and the length of its longest reply."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rates: Rates | None = None
    above: RatesAbove | None = None
    context_window: Tokens | None = None
    max_output_tokens: Tokens | None = None

    @model_validator(mode="before")
    @classmethod
    def _group(cls, given: Any) -> Any:
        """Move the rates into an object `rates`, because the file has them next to the model's other keys."""
        if not isinstance(given, dict):
            return given
        rates = {name: value for name, value in given.items() if name in RATES}
        others = {name: value for name, value in given.items() if name not in RATES}
        return {**others, "rates": rates} if rates else others


class PictureTokens(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)  # the file also names the source of the numbers

    tokens: Tokens


class ModelTable(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
    verified_on: date
    default: dict[str, str]
    default_images: dict[str, str]
    picture: PictureTokens
    models: dict[str, dict[str, ModelEntry]]


def read_table(file: Path | None) -> ModelTable:
    """Return the packaged table, overridden by the entries of `file`. Raises StartupError for an invalid entry."""
    table = _read(PACKAGED)
    if file is None:
        return _checked(table, PACKAGED)
    own = _read(file)
    if own.get("currency", table["currency"]) != table["currency"]:
        table = _without_prices(table)
    return _checked(_merged(table, own), file)


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise StartupError(f"{SETTING}={file} can't be read: {reason}.") from error
    except tomllib.TOMLDecodeError as error:
        raise StartupError(f"{SETTING}={file} is not valid TOML: {error}.") from error


def _merged(table: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(table)
    for name, value in own.items():
        former = merged.get(name)
        merged[name] = _merged(former, value) if isinstance(former, dict) and isinstance(value, dict) else value
    return merged


def _without_prices(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table without its prices. Used if the operator's file has another currency."""
    return {
        name: {model: _without_rates(entry) for model, entry in value.items()} if name not in TOP else value
        for name, value in table.items()
    }


def _without_rates(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name not in (*RATES, "above")}


def _checked(table: Mapping[str, Any], file: Path) -> ModelTable:
    models = {name: value for name, value in table.items() if name not in TOP}
    try:
        return ModelTable(models=models, **{name: table[name] for name in TOP})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(_names(first["loc"]))
        raise StartupError(f"{SETTING}={file}: {place}: {first['msg']} (got {first['input']!r}).") from error


def _names(place: tuple[int | str, ...]) -> Iterator[str]:
    """Yield the keys in the operator's TOML file that lead to an invalid value.

    `place`: the location in pydantic's validation error, which also contains names that are not in the file.
    """
    for name in map(str, place):
        if name not in ("models", "rates"):
            yield f'"{name}"' if "." in name else name
