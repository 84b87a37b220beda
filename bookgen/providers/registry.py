"""Builds text and image models from settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bookgen.errors import StartupError
from bookgen.providers.access import Access
from bookgen.providers.attempt import Provider
from bookgen.providers.deadlines import Deadlines
from bookgen.providers.fallback import FallbackModel
from bookgen.providers.images import ImageModel
from bookgen.providers.offline import NAME as OFFLINE
from bookgen.providers.offline import OfflineModel
from bookgen.providers.pacing import Pacing
from bookgen.providers.prices import prices
from bookgen.providers.rate_limits import MAX_CALLS
from bookgen.providers.retrying import RetryingModel
from bookgen.providers.text import THE_ONLY_ONE, TextModel
from bookgen.providers.waits import RetryRules

if TYPE_CHECKING:
    from bookgen.providers.sdk import SdkProvider

AUTO, OPENAI = "auto", "openai"
MIN_IMAGE_SECONDS = 180.0  # a picture takes longer than the first word of a text
CONCURRENCY = 16  # calls at once

# Only the chosen provider is imported: importing an SDK takes about 5 % of the start-up time.


def _anthropic() -> type[SdkProvider]:
    from bookgen.providers.anthropic import AnthropicProvider

    return AnthropicProvider


def _openai() -> type[SdkProvider]:
    from bookgen.providers.openai import OpenAIProvider

    return OpenAIProvider


# In the order in which `auto` looks for a key. A provider's settings are NAME_API_KEY and NAME_BASE_URL.
PROVIDERS: Mapping[str, Callable[[], type[SdkProvider]]] = {"anthropic": _anthropic, "openai": _openai}


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Settings of all models. Times are in seconds.

    - `access`: the key and the address of each provider.
    - `timeout`: the time limit of a call; None: the limit depends on the server's measured speed.
    - `tries`: how often a call is tried at most.
    - `retry_delay`: the delay before the second try. It doubles before each further try.
    - `outage`: how long a run (the writing of a book) waits for a provider that cannot be reached.
    - `concurrency`: how many calls are made at once. None: a local server gets as many calls as it turns out to serve
      at once, up to CONCURRENCY. A cloud gets CONCURRENCY calls at first, and then as many as its reported rate limits
      allow.
    """

    access: Mapping[str, Access] = field(default_factory=dict)
    timeout: float | None = None
    tries: int = 4
    concurrency: int | None = None
    requests_per_minute: int = 0
    retry_delay: float = 2
    outage: float = 86_400


def build_text_model(spec: str, settings: ModelSettings, *, fallback: str = "") -> TextModel:
    """Return the model for `spec`: `auto`, `offline` or `PROVIDER:MODEL`. A provider alone means its default model.

    `fallback`: the spec of a second model, which answers if the first one fails or refuses; empty: no second model.
    """
    primary = _model(chosen(spec, settings), settings, waits=not fallback)
    if not fallback:
        return primary
    return FallbackModel(primary, _model(fallback, settings, waits=True))


def build_image_model(spec: str, settings: ModelSettings) -> ImageModel | None:
    """Return the image model; None if pictures are drawn locally. `spec`: `auto`, `offline` or `openai:MODEL`.

    `auto` means OpenAI if OpenAI's key is set without another URL, because other servers may have no image model.
    """
    access = settings.access.get(OPENAI, Access())
    if spec == AUTO:
        spec = OPENAI if access.key and not access.url else OFFLINE
    name, _, model = spec.partition(":")
    if name == OFFLINE:
        return None
    from bookgen.providers.openai_images import OpenAIImageProvider, OpenAIImages

    total = max(settings.timeout or 0.0, MIN_IMAGE_SECONDS)
    provider = OpenAIImageProvider(
        model or prices().image_defaults[OPENAI],
        access,
        # the first byte comes with the finished picture
        deadlines=Deadlines(first_byte=total, total=total),
        connections=settings.concurrency or CONCURRENCY,
    )
    return OpenAIImages(_retrying(provider, settings))


def without_price(model: TextModel) -> list[str]:
    """Return the names of `model` and its fallback that have no price, so that cost caps cannot count their calls."""
    return [name for name in model.names if prices().of(name) is None]


def chosen(spec: str, settings: ModelSettings) -> str:
    """Return `spec`. Replace `auto` by a provider with a key, else by one with an address and no need for a key.

    If there is no such provider, `auto` becomes `offline`.
    """
    if spec != AUTO:
        return spec
    access = settings.access
    with_key = (name for name in PROVIDERS if name in access and access[name].key)
    with_url = (name for name in PROVIDERS if name in access and access[name].url and not PROVIDERS[name]().needs_key)
    return next(with_key, next(with_url, OFFLINE))


def _default(provider: str, access: Access) -> str:
    """Return the model to use if the settings name only the provider.

    If the operator has set the address of a compatible server, the result is THE_ONLY_ONE: the only model of that
    server.
    """
    return THE_ONLY_ONE if access.url and not PROVIDERS[provider]().needs_key else prices().defaults.get(provider, "")


def _model(spec: str, settings: ModelSettings, *, waits: bool) -> TextModel:
    name, _, model = spec.partition(":")
    if name == OFFLINE:
        return OfflineModel()
    if name not in PROVIDERS:
        raise StartupError(f"Unknown model provider {name!r}. Use {', '.join(PROVIDERS)} or {OFFLINE}.")
    access = settings.access.get(name, Access())
    provider = PROVIDERS[name]()(
        model or _default(name, access),
        access,
        deadlines=None if settings.timeout is None else Deadlines.of(settings.timeout),
        connections=settings.concurrency or MAX_CALLS,
    )
    learns = settings.concurrency is None and provider.is_self_hosted
    follows = settings.concurrency is None and not provider.is_self_hosted
    return _retrying(provider, settings, waits=waits, learns=learns, follows=follows)


def _retrying(
    provider: Provider, settings: ModelSettings, *, waits: bool = True, learns: bool = False, follows: bool = False
) -> RetryingModel:
    return RetryingModel(
        provider,
        pacing=Pacing(
            concurrency=settings.concurrency or CONCURRENCY,
            requests_per_minute=settings.requests_per_minute,
            learns=learns,
        ),
        rules=RetryRules(tries=settings.tries, first_delay=settings.retry_delay, outage=settings.outage),
        waits=waits,
        follows=follows,
    )
