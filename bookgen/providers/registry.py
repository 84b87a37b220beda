"""From a setting to a text model."""

from __future__ import annotations

from dataclasses import dataclass, field

from bookgen.errors import StartupError
from bookgen.providers.attempt import Provider
from bookgen.providers.fallback import FallbackModel
from bookgen.providers.offline import NAME as OFFLINE
from bookgen.providers.offline import OfflineModel
from bookgen.providers.pacing import Pacing
from bookgen.providers.prices import prices
from bookgen.providers.retrying import RetryingModel, RetryRules
from bookgen.providers.text import TextModel
from bookgen.providers.transport import Deadlines

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """`retry_delay`: the first of 2, 4, 8 … seconds between tries."""

    anthropic_key: str = field(default="", repr=False)
    anthropic_url: str = ""
    openai_key: str = field(default="", repr=False)
    openai_url: str = ""
    timeout: float = 180
    retries: int = 4
    concurrency: int = 16
    requests_per_minute: int = 0
    retry_delay: float = 2


def build_text_model(spec: str, settings: ModelSettings, *, fallback: str = "") -> TextModel:
    """`spec`: `auto`, `offline`, `anthropic:MODEL` or `openai:MODEL`; a provider alone means its default model."""
    first = _model(chosen(spec, settings), settings, waits=not fallback)
    if not fallback:
        return first
    return FallbackModel(first, _model(fallback, settings, waits=True))


def without_price(model: TextModel) -> list[str]:
    """The names of those models in `model` whose calls no cost cap can count."""
    names = model.names if isinstance(model, FallbackModel) else (model.name,)
    return [name for name in names if prices().of(name) is None]


def chosen(spec: str, settings: ModelSettings) -> str:
    """What `auto` stands for."""
    if spec != AUTO:
        return spec
    if settings.anthropic_key:
        return "anthropic"
    return "openai" if settings.openai_key else OFFLINE


def _model(spec: str, settings: ModelSettings, *, waits: bool) -> TextModel:
    provider, _, model = spec.partition(":")
    if provider == OFFLINE:
        return OfflineModel()
    return RetryingModel(
        _provider(provider, model or prices().defaults.get(provider, ""), settings),
        pacing=Pacing(concurrency=settings.concurrency, requests_per_minute=settings.requests_per_minute),
        rules=RetryRules(tries=settings.retries, first_delay=settings.retry_delay),
        waits=waits,
    )


def _provider(provider: str, model: str, settings: ModelSettings) -> Provider:
    deadlines = Deadlines.of(settings.timeout)
    if provider == "anthropic":
        from bookgen.providers.anthropic import AnthropicProvider

        return AnthropicProvider(
            model,
            key=settings.anthropic_key,
            base_url=settings.anthropic_url,
            deadlines=deadlines,
            connections=settings.concurrency,
        )
    if provider == "openai":
        from bookgen.providers.openai import OpenAIProvider

        return OpenAIProvider(
            model,
            key=settings.openai_key,
            base_url=settings.openai_url,
            deadlines=deadlines,
            connections=settings.concurrency,
        )
    raise StartupError(f"There is no model provider {provider!r}; it is anthropic, openai or offline.")
