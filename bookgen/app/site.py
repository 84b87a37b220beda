"""Collects the settings that callers and the support assistant may know, and the rate limits."""

from __future__ import annotations

from dataclasses import asdict

from bookgen.app.package_data import documents
from bookgen.app.parts import public_url
from bookgen.http.edge.keys import Site
from bookgen.models import LANGUAGES
from bookgen.providers.prices import prices
from bookgen.providers.text import TextModel
from bookgen.rate_limits import Budget, LimitClass
from bookgen.render.formats import FORMATS
from bookgen.render.settings import ExportSettings
from bookgen.render.trim import TRIMS
from bookgen.services.revised_outline import MAX_CHAPTERS
from bookgen.settings import Config, reveal
from bookgen.support.facts import Facts


def site(config: Config, model: TextModel) -> Site:
    return Site(
        public_url=public_url(config),
        registration_enabled=config.registration == "open",
        email_verification_required=config.email_verification == "mandatory",
        google_client_id=config.google_client_id or None,
        billing_enabled=config.billing_enabled,
        accepts_payments=config.billing_enabled and bool(config.stripe_secret_key),
        sends_mail=config.smtp_url is not None,
        stripe_publishable_key=config.stripe_publishable_key or None,
        models=(model.name,),
        currency=prices().currency,
        allowed_origins=frozenset(config.allowed_origins),
        trusted_proxies=config.trusted_proxies,
        metrics_token=reveal(config.metrics_token),
        export_defaults=asdict(ExportSettings()),
        documents=documents(),
        console=config.console == "on",
    )


def support_facts(config: Config) -> Facts:
    """The facts about this server with which the support assistant can answer questions."""
    return Facts(
        languages=tuple(LANGUAGES.values()),
        formats=tuple(each.label for each in FORMATS.values()),
        trims=tuple(TRIMS),
        limits={str(each): getattr(config, each.setting) for each in LimitClass},
        max_chapters=MAX_CHAPTERS,
        sells=config.billing_enabled,
        url=f"{public_url(config)}/api/v1/docs/",
    )


def budgets(config: Config) -> dict[LimitClass, Budget]:
    """The rate limit of each class of endpoints, as configured."""
    return {each: Budget.parse(getattr(config, each.setting)) for each in LimitClass}
