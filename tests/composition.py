"""The service as `app.build` makes it, in the process of the test, on settings and a database of the test's own."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from bookgen import app, config
from bookgen.accounts.passwords import Passwords
from bookgen.app import Overrides, Service
from bookgen.config import Config
from bookgen.limits import LimitClass
from bookgen.store.database import Database
from tests.canaries import CANARY
from tests.render_pool import SHARED

SECRET_KEY = f"the secret key {CANARY} of the tests is long enough for HS256"
# By the names of Config's fields. No budget is in the way of a test that does not speak of it.
DEFAULTS: dict[str, Any] = {
    "secret_key": SECRET_KEY,
    "model": "offline",
    "public_url": "http://books.example",
    "mail_from": "books@books.example",
    **{each.setting: "1000000/minute" for each in LimitClass},
}


class GivenConfig(Config):
    """Asks neither the environment nor a file, which takes longer than all else in it."""

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, *_: Any, **__: Any
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


def settings(folder: Path, **chosen: Any) -> Config:
    """The settings named, over those of all tests."""
    given = {**DEFAULTS, "data_dir": folder, **chosen}
    names = config.names()
    return GivenConfig(**{names[field]: value for field, value in given.items()})


@contextlib.asynccontextmanager
async def composed(database: Database, folder: Path, **given: Any) -> AsyncIterator[Service]:
    """`given`: settings by field, and what `app.Overrides` names. Passwords are hashed as cheaply as can be, and
    a picture or a file that a test of this process has had made already is not made again."""
    overrides = {name: given.pop(name) for name in Overrides.__annotations__ if name in given}
    overrides.setdefault("passwords", Passwords(time_cost=1, memory_kib=8))
    overrides.setdefault("least_free", 0)
    overrides.setdefault("pool", SHARED)
    async with app.build(settings(folder, **given), database=database, **overrides) as service:
        yield service
