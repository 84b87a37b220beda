"""The service as `app/build.py` makes it, in the test's process, with the test's own settings and database."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from bookgen.accounts.passwords import Passwords
from bookgen.app.build import Overrides, Service, build
from bookgen.rate_limits import LimitClass
from bookgen.settings import Config, names
from bookgen.store.database import Database
from tests.canaries import CANARY
from tests.render_pool import SHARED

SECRET_KEY = f"the secret key {CANARY} of the tests is long enough for HS256"
# Settings by Config's field names. Rate limits are high enough not to affect other tests.
DEFAULTS: dict[str, Any] = {
    "secret_key": SECRET_KEY,
    "model": "offline",
    "public_url": "http://books.example",
    "mail_from": "books@books.example",
    **{each.setting: "1000000/minute" for each in LimitClass},
}


class GivenConfig(Config):
    """A Config that does not read the environment or a file, which would take most of its time."""

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, *_: Any, **__: Any
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


def settings(folder: Path, **chosen: Any) -> Config:
    """The tests' settings, with these changes."""
    given = {**DEFAULTS, "data_dir": folder, **chosen}
    variables = names()
    return GivenConfig(**{variables[field]: value for field, value in given.items()})


@contextlib.asynccontextmanager
async def composed(database: Database, folder: Path, **given: Any) -> AsyncIterator[Service]:
    """Build the service. `given`: settings by field name, and the keys of `Overrides`.

    For speed, passwords are hashed cheaply, and pictures and files made earlier in this process are reused.
    """
    overrides = {name: given.pop(name) for name in Overrides.__annotations__ if name in given}
    overrides.setdefault("passwords", Passwords(time_cost=1, memory_kib=8))
    overrides.setdefault("least_free", 0)
    overrides.setdefault("pool", SHARED)
    async with build(settings(folder, **given), database=database, **overrides) as service:
        yield service
