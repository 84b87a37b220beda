"""The types of settings, the descriptions of allowed values, and the names of the environment variables."""

from __future__ import annotations

import re
from decimal import Decimal
from email.utils import parseaddr
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, StringConstraints
from pydantic_settings import NoDecode

from bookgen.rate_limits import LimitClass

PREFIX = "BOOKGEN_"
MIN_PASSPHRASE_CHARACTERS = 12


def _words(value: object) -> object:
    """Split a text at commas and spaces. Any other value is returned unchanged."""
    return value.replace(",", " ").split() if isinstance(value, str) else value


def _matching(pattern: str) -> AfterValidator:
    def check(secret: SecretStr) -> SecretStr:
        if re.match(pattern, secret.get_secret_value()) is None:
            raise ValueError(pattern)
        return secret

    return AfterValidator(check)


def _with_sound_port(url: str) -> str:
    """Return the URL unchanged. Raises ValueError if it has no host, or a port that is not valid."""
    parts = urlsplit(url)
    if not parts.hostname or parts.port == 0:
        raise ValueError(url)
    return url


def _mailbox(text: str) -> str:
    if re.fullmatch(r"[^\s@<>]+@[^\s@<>]+", parseaddr(text)[1]) is None:
        raise ValueError(text)
    return text


def _mail_server(url: SecretStr) -> SecretStr:
    text = _with_sound_port(url.get_secret_value())
    if urlsplit(text).query not in ("", "tls=off"):
        raise ValueError(text)
    return url


def _long_enough(key: SecretStr) -> SecretStr:
    if len(key.get_secret_value().encode()) < 32:
        raise ValueError("too short")
    return key


def file_place(text: str) -> str:
    """Return `text` if it names a place for files: `database`, a folder or a bucket. Raises ValueError otherwise."""
    if not text or (re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", text) and re.fullmatch(BUCKET_URL, text) is None):
        raise ValueError(text)
    return text


def _good_passphrase(passphrase: SecretStr) -> SecretStr:
    if len(passphrase.get_secret_value()) < MIN_PASSPHRASE_CHARACTERS:
        raise ValueError("too short")
    return passphrase


FILES_TAKES = "database, a folder or s3://bucket/prefix"
BUCKET_URL = r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9!_.*'()-]+)*/?"
Text = Annotated[str, StringConstraints(strip_whitespace=True)]
FilePlace = Annotated[Text, AfterValidator(file_place)]
Folder = Annotated[Path, AfterValidator(Path.expanduser)]
Url = Annotated[
    str,
    StringConstraints(pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$"),
    AfterValidator(_with_sound_port),
    AfterValidator(lambda url: url.rstrip("/")),
]
Origin = Annotated[str, StringConstraints(pattern=r"^https?://[^\s/?#@]+$"), AfterValidator(_with_sound_port)]
URL = "an http(s) URL without a login"
ApiKey = Annotated[SecretStr, _matching(r"^[!-~]*\Z")]  # characters that are valid in a header
KEY = "a key of ASCII letters, digits and signs, without spaces"
Rate = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]{0,8}/(second|minute|hour|day)$")]
Interval = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]{0,5}[mhd]$")]
SECONDS = {"m": 60, "h": 3_600, "d": 86_400}
AMOUNT = "an amount like 12.50, in US dollars or in the currency of your models file"
Money = Annotated[Decimal, Field(gt=0, max_digits=12, decimal_places=6)]
PostgresUrl = Annotated[SecretStr, _matching(r"^postgres(ql)?://")]
MailServerUrl = Annotated[SecretStr, _matching(r"^smtps?://[^\s/]+\Z"), AfterValidator(_mail_server)]
Mailbox = Annotated[Text, AfterValidator(_mailbox)]
SigningKey = Annotated[SecretStr, AfterValidator(_long_enough)]
Passphrase = Annotated[SecretStr, AfterValidator(_good_passphrase)]
Origins = Annotated[tuple[Origin, ...], NoDecode, BeforeValidator(_words)]
Networks = Annotated[tuple[IPv4Network | IPv6Network, ...], NoDecode, BeforeValidator(_words)]
PROVIDERS = ("anthropic", "openai")  # text providers; each has NAME_API_KEY and NAME_BASE_URL
_NAMED = "|".join(PROVIDERS)
MODELS = [f"{name}:MODEL" for name in PROVIDERS]
TextModelName = Annotated[str, StringConstraints(pattern=rf"^(auto|offline|({_NAMED}|offline):\S+)$")]
ImageModelName = Annotated[str, StringConstraints(pattern=r"^(auto|offline|openai:\S+)$")]
FallbackName = Annotated[str, StringConstraints(pattern=rf"^(offline|({_NAMED}|offline):\S+)?$")]


def setting(default: Any, takes: str, meaning: str, **bounds: Any) -> Any:
    return Field(default, description=meaning, json_schema_extra={"takes": takes}, **bounds)


def rate(limit: LimitClass) -> Any:
    """The setting for the rate limit of a class of endpoints, with the default and the description of the class."""
    return setting(limit.default, f"a rate like {limit.default}", limit.meaning)


def setting_name(field: str) -> str:
    """The environment variable of a field of Config: the field's name in capitals, with the prefix BOOKGEN_.

    Names that a provider defines, such as OPENAI_API_KEY, have no prefix.
    """
    name = field.upper()
    return name if name.startswith(("ANTHROPIC_", "AWS_", "OPENAI_", "STRIPE_")) else f"{PREFIX}{name}"


def seconds_of(interval: str) -> float:
    """The length in seconds of an interval such as `24h`."""
    return float(int(interval[:-1]) * SECONDS[interval[-1]])


def shown(annotation: object, value: object) -> str:
    """An invalid value as an error message shows it. A value that may contain a secret becomes "the given value"."""
    return "the given value" if "SecretStr" in str(annotation) or "@" in str(value) else repr(value)
