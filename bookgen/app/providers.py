"""Builds the models that write and paint, and determines what their calls cost and may cost."""

from __future__ import annotations

from decimal import Decimal

import structlog

from bookgen.billing.cost_caps import CostCaps
from bookgen.models import Usage
from bookgen.providers.access import Access
from bookgen.providers.images import ImageModel
from bookgen.providers.prices import prices
from bookgen.providers.prices import use as use_models
from bookgen.providers.registry import PROVIDERS, ModelSettings, build_image_model, build_text_model, without_price
from bookgen.providers.text import TextModel
from bookgen.settings import Config
from bookgen.writing.window import WINDOW

MICROS = 1_000_000

log = structlog.get_logger(__name__)


def build_model(config: Config, *, tries: int | None = None) -> TextModel:
    """Build the configured writing model. `tries`: attempts per call, instead of the configured number.

    Raises StartupError if the model is unknown or the operator's file of models is wrong.
    """
    use_models(config.models_file)
    return build_text_model(config.model, _model_settings(config, tries), fallback=config.fallback_model)


def build_images(config: Config) -> ImageModel | None:
    """Build the configured image model; None if bookgen draws pictures itself."""
    return build_image_model(config.image_model, _model_settings(config, None))


def _model_settings(config: Config, tries: int | None) -> ModelSettings:
    return ModelSettings(
        access={name: Access(*config.access(name)) for name in PROVIDERS},
        timeout=config.model_timeout if "model_timeout" in config.model_fields_set else None,
        tries=tries or config.model_retries,
        concurrency=config.model_concurrency if "model_concurrency" in config.model_fields_set else None,
        requests_per_minute=config.model_rpm,
        outage=config.model_outage,
    )


def context_tokens(config: Config, model: TextModel) -> int:
    """The maximum number of tokens in a call that reads the whole book.

    This is the model's context window, or the configured number if that is smaller.
    """
    window = prices().context_window(model.name) or WINDOW
    return min(window, config.context_tokens or window)


def build_caps(config: Config, model: TextModel, *, alone: bool = False) -> CostCaps:
    """The configured cost caps. If anyone can register and billing is off, daily caps that are not set get defaults.

    `alone`: only the operator uses the service, so no cap gets a default.
    """
    book, account_day, day = config.book_cost_cap, config.account_daily_cost_cap, config.daily_cost_cap
    caps = CostCaps(_micros(book), _micros(account_day), _micros(day), prices().currency)
    if config.open_to_strangers and not alone and model.name != "offline":
        caps = caps.with_default_daily_caps()
        log.warning(
            "strangers_may_spend",
            what=f"Anyone can register and have {model.name} write books at your cost: "
            f"up to {caps.amount(caps.account_day)} per account and {caps.amount(caps.day)} in total per day.",
            to_do="Set BOOKGEN_REGISTRATION=closed, turn billing on, or set BOOKGEN_ACCOUNT_DAILY_COST_CAP and "
            "BOOKGEN_DAILY_COST_CAP.",
        )
    elif config.registration == "open" and not alone and model.name != "offline" and caps.day is None:
        log.warning(
            "spending_has_no_cap",
            what=f"Anyone can register, and you pay for what {model.name} writes on free plans, without a daily cap.",
            to_do="Set BOOKGEN_DAILY_COST_CAP.",
        )
    for name in without_price(model) if not caps.none else ():
        log.warning(
            "cost_cap_cannot_stop",
            model=name,
            what="The price of this model is unknown, so its calls do not count towards the cost caps.",
            to_do="Add the model's prices to BOOKGEN_MODELS_FILE.",
        )
    return caps


def price(model: str, usage: Usage) -> int | None:
    """The cost of the usage, in millionths of the currency unit; None if the model has no price."""
    found = prices().of(model)
    return None if found is None else found.of(usage)


def _micros(amount: Decimal | None) -> int | None:
    return None if amount is None else int(amount * MICROS)
