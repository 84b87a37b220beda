"""Reads the settings from the environment or a `.env` file into a frozen Config. Invalid settings prevent a start."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from pathlib import Path

from pydantic import AliasChoices, ValidationError

from bookgen import env_file as dotenv
from bookgen.errors import StartupError
from bookgen.setting_types import PREFIX, PROVIDERS, shown
from bookgen.settings import Config, names


def load(env_file: Path | None = Path(".env")) -> Config:
    """Read and check the settings. Raises StartupError with one line for each problem.

    If `env_file` is None, only the environment is read.
    """
    lines = dotenv.read(env_file)
    if malformed := [*dotenv.malformed(env_file, lines)]:
        raise StartupError("\n".join(malformed))
    problems = [*_unknown({*os.environ, *(line.key for line in lines if line.key)})]
    try:
        config = Config(_env_file=env_file)  # type: ignore[call-arg]
        problems += [*_keyless(config), *_unpooled(config), *_unshared(config), *_unsealed(config)]
        problems += [*_unsigned(config)]
    except ValidationError as error:
        problems += _wrong(error)
    if problems:
        raise StartupError("\n".join(problems))
    return config


def _unknown(given: Iterable[str]) -> Iterable[str]:
    known = list(names().values())
    for name in sorted(given):
        if name.upper().startswith(PREFIX) and name not in known:
            near = difflib.get_close_matches(name.upper(), known, n=1)
            yield f"{name} is not a setting." + (f" Did you mean {near[0]}?" if near else "")


def _wrong(error: ValidationError) -> Iterable[str]:
    fields = {name: Config.model_fields[field] for field, name in names().items()}
    for name, value in {str(problem["loc"][0]): problem["input"] for problem in reversed(error.errors())}.items():
        field = fields[name]
        alias = field.validation_alias
        called = " or ".join(map(str, alias.choices)) if isinstance(alias, AliasChoices) else name
        takes = field.json_schema_extra["takes"] if isinstance(field.json_schema_extra, dict) else ""
        yield f"{called} takes {takes}, not {shown(field.annotation, value)}."


def _keyless(config: Config) -> Iterable[str]:
    """A message for each chosen model that needs an API key but has none. A model at a base URL needs no key."""
    for field in ("model", "fallback_model", "image_model"):
        provider = getattr(config, field).partition(":")[0]
        if provider in PROVIDERS and not any(config.access(provider)):
            yield f"{names()[field]}={getattr(config, field)} needs {provider.upper()}_API_KEY."


def _unpooled(config: Config) -> Iterable[str]:
    if config.database_direct_url and not config.database_url:
        yield "BOOKGEN_DATABASE_DIRECT_URL needs BOOKGEN_DATABASE_URL, the address of the pooler."


def _unshared(config: Config) -> Iterable[str]:
    if config.role != "both" and not config.database_url:
        yield f"BOOKGEN_ROLE={config.role} needs BOOKGEN_DATABASE_URL. With the embedded database only `both` works."


def _unsealed(config: Config) -> Iterable[str]:
    if config.backup_dir and not config.backup_passphrase:
        yield "BOOKGEN_BACKUP_DIR needs BOOKGEN_BACKUP_PASSPHRASE, which encrypts the backups."


def _unsigned(config: Config) -> Iterable[str]:
    if not (config.s3_endpoint or config.files.startswith("s3://")):
        return  # bookgen does not use these keys, so another program may have set them
    if bool(config.aws_access_key_id) != bool(config.aws_secret_access_key):
        yield "Set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or neither."
    elif config.s3_endpoint and not config.aws_access_key_id:
        yield "BOOKGEN_S3_ENDPOINT needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
