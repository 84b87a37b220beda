"""The composition root: builds every object from the settings, opens them in order, closes them in reverse."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import aiohttp
import structlog

from bookgen import telemetry
from bookgen.accounts.blocking import Standings
from bookgen.accounts.mailing import Mailing
from bookgen.accounts.passwords import Passwords
from bookgen.accounts.service import AccountRules, Accounts
from bookgen.accounts.tokens import Tokens
from bookgen.actors.resources import CostCaps, Writing
from bookgen.actors.supervisor import Supervisor
from bookgen.billing.checkout import Payments
from bookgen.billing.quota import Quota
from bookgen.config import Config, reveal
from bookgen.errors import StartupError
from bookgen.http.edge import serving
from bookgen.http.edge.keys import Services, Site
from bookgen.http.edge.watchdog import Watchdog
from bookgen.http.server import build_app, build_runner
from bookgen.limits import Budget, LimitClass, Limiter
from bookgen.models import Usage
from bookgen.providers.google import GoogleSignIn
from bookgen.providers.mail import build_mailer
from bookgen.providers.prices import prices
from bookgen.providers.registry import PROVIDERS, ModelSettings, build_text_model, without_price
from bookgen.providers.sdk import Access
from bookgen.providers.text import TextModel
from bookgen.publishing import Publisher
from bookgen.render.settings import ExportSettings
from bookgen.store.database import Database, through_outage
from bookgen.store.migrate import migrate
from bookgen.store.postgres.keyfile import kept_secret
from bookgen.store.postgres.server import running_postgres
from bookgen.store.postgres.space import LEAST_FREE, DiskGuard, no_shortage
from bookgen.support.assistant import Support
from bookgen.writing.chapter import write_chapter
from bookgen.writing.estimate import Estimates
from bookgen.writing.outline import draft_outline, rework_chapters

MICROS = 1_000_000

log = structlog.get_logger(__name__)


async def serve(config: Config, *, least_free: int = LEAST_FREE) -> None:
    """Until SIGTERM or SIGINT. StartupError before the first request is answered, or never."""
    telemetry.configure_logs(config.log_format or ("console" if sys.stderr.isatty() else "json"), config.log_level)
    make_data_folder(config.data_dir)
    serving.allow_open_files()
    async with contextlib.AsyncExitStack() as closing:
        await closing.enter_async_context(Watchdog(telemetry.LOOP_LAG.observe).watching())
        bound = closing.enter_context(serving.bind(config.host, config.port))
        public_url = config.public_url or serving.address(bound)
        if config.public_url is None and serving.is_everywhere(bound):
            log.warning("links_lead_nowhere", they_begin_with=public_url, to_do="set BOOKGEN_PUBLIC_URL")
        database = await closing.enter_async_context(open_database(config))
        service = await _build(config, database, public_url, closing, least_free)
        runner = build_runner(build_app(service.services))
        closing.push_async_callback(runner.cleanup)
        await serving.listen(runner, bound)
        await service.supervisor.start()
        gc.collect()
        gc.freeze()  # what is alive now stays alive: the collector need not walk it again
        stop = closing.enter_context(serving.StopSignal().listening())
        print(f"bookgen is ready at {serving.address(bound)} ({_summary(config, service)})", flush=True)
        await stop.asked.wait()
        log.info("draining", seconds=config.drain_seconds)
        await serving.drain(service.supervisor.drain, config.drain_seconds, stop.cut)


@contextlib.asynccontextmanager
async def open_database(config: Config) -> AsyncIterator[Database]:
    """A migrated database, embedded or by URL, and its pools."""
    async with running_postgres(reveal(config.database_url), config.data_dir, config.pg_bindir) as dsn:
        # The process that started an embedded server may take it down just now; ours starts it again.
        await through_outage(lambda: migrate(dsn, migrations()))
        database = await through_outage(lambda: Database.open(dsn))
        try:
            yield database
        finally:
            await database.close()


def migrations() -> Path:
    return _beside("sql")


def documents() -> Path:
    return _beside("docs")


def _beside(name: str) -> Path:
    """A folder of the checkout, which a wheel carries inside the package."""
    package = Path(__file__).parent
    inside = package / f"_{name}"
    return inside if inside.is_dir() else package.parent / name


def make_data_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise StartupError(f"BOOKGEN_DATA_DIR={folder} can't be written: {error.strerror}.") from error


@dataclass(frozen=True)
class Service:
    """What `serve` needs of what was built."""

    services: Services
    supervisor: Supervisor
    model: TextModel


async def _build(
    config: Config, database: Database, public_url: str, closing: contextlib.AsyncExitStack, least_free: int
) -> Service:
    web = await closing.enter_async_context(aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)))
    model = build_model(config)
    closing.push_async_callback(model.close)
    caps = CostCaps(_micros(config.book_cost_cap), _micros(config.account_daily_cost_cap), prices().currency)
    _warn_of_idle_caps(caps, model)
    quota = Quota(billing=config.billing_enabled, public_url=public_url)
    supervisor = Supervisor(
        database,
        writing=Writing(draft_outline, rework_chapters, write_chapter),
        model=model,
        quota=quota,
        price=_price,
        caps=caps,
        call_seconds=config.model_timeout,
        shortage=no_shortage if config.database_url else DiskGuard(config.data_dir, least_free).shortage,
    )
    closing.push_async_callback(supervisor.drain, 0)
    mailing = _mailing(config, database, public_url)
    closing.enter_context(_running(mailing.run()))
    payments = build_payments(config, database, public_url, mailing.wake)
    closing.push_async_callback(payments.close)
    publisher = Publisher(database, quota)
    closing.push_async_callback(publisher.close)
    await publisher.start()
    services = Services(
        database=database,
        supervisor=supervisor,
        accounts=_accounts(config, database, web, supervisor, mailing, closing),
        quota=quota,
        payments=payments,
        publisher=publisher,
        support=Support.over(documents(), f"{public_url}/api/v1/docs/", model),
        limiter=Limiter(_budgets(config)),
        site=_site(config, public_url, model),
        estimate=Estimates(model.name, _price),
        unready=lambda: supervisor.unready,
    )
    return Service(services, supervisor, model)


def build_payments(
    config: Config, database: Database, public_url: str, wake_mail: Callable[[], None] = lambda: None
) -> Payments:
    return Payments.with_keys(
        database.http,
        secret_key=reveal(config.stripe_secret_key),
        webhook_secret=reveal(config.stripe_webhook_secret),
        api_base=config.stripe_api_base,
        public_url=public_url,
        allowed_origins=config.allowed_origins,
        wake_mail=wake_mail,
    )


def build_model(config: Config, *, tries: int | None = None) -> TextModel:
    settings = ModelSettings(
        access={name: Access(*config.access(name)) for name in PROVIDERS},
        timeout=config.model_timeout,
        retries=tries or config.model_retries,
        concurrency=config.model_concurrency,
        requests_per_minute=config.model_rpm,
    )
    return build_text_model(config.model, settings, fallback=config.fallback_model)


def _mailing(config: Config, database: Database, public_url: str) -> Mailing:
    mailer = build_mailer(reveal(config.smtp_url), sender=config.mail_from, outbox=config.data_dir / "outbox")
    return Mailing(database.http, mailer, public_url=public_url)


def _warn_of_idle_caps(caps: CostCaps, model: TextModel) -> None:
    for name in without_price(model) if (caps.book, caps.account_day) != (None, None) else ():
        log.warning("cost_cap_cannot_stop", model=name, advice="Add the model's prices to providers/prices.toml.")


def _price(model: str, usage: Usage) -> int | None:
    price = prices().of(model)
    return None if price is None else price.of(usage)


def _accounts(
    config: Config,
    database: Database,
    web: aiohttp.ClientSession,
    supervisor: Supervisor,
    mailing: Mailing,
    closing: contextlib.AsyncExitStack,
) -> Accounts:
    standings = Standings(database.http)
    closing.enter_context(_running(standings.watch(supervisor.account_blocked)))
    passwords = Passwords()
    closing.callback(passwords.close)
    return Accounts(
        database.http,
        tokens=Tokens(reveal(config.secret_key) or kept_secret(config.data_dir / "secret.key")),
        passwords=passwords,
        google=GoogleSignIn(web, client_id=config.google_client_id or None, api_base=config.google_api_base),
        rules=AccountRules(config.registration == "open", config.email_verification == "mandatory"),
        wake_mail=mailing.wake,
        standings=standings,
    )


def _site(config: Config, public_url: str, model: TextModel) -> Site:
    return Site(
        public_url=public_url,
        registration_enabled=config.registration == "open",
        email_verification_required=config.email_verification == "mandatory",
        google_client_id=config.google_client_id or None,
        billing_enabled=config.billing_enabled,
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


def _budgets(config: Config) -> dict[LimitClass, Budget]:
    rates = {
        LimitClass.READ: config.rate_read,
        LimitClass.WRITE: config.rate_write,
        LimitClass.EXPENSIVE: config.rate_expensive,
        LimitClass.PUBLIC: config.rate_public,
        LimitClass.AUTH: config.rate_auth,
    }
    return {limit_class: Budget.parse(rate) for limit_class, rate in rates.items()}


def _micros(amount: Decimal | None) -> int | None:
    return None if amount is None else int(amount * MICROS)


@contextlib.contextmanager
def _running(loop: Coroutine[Any, Any, None]) -> Iterator[None]:
    """A loop for as long as the service lives."""
    task = asyncio.create_task(loop)
    try:
        yield
    finally:
        task.cancel()


def _summary(config: Config, service: Service) -> str:
    database = "BOOKGEN_DATABASE_URL" if config.database_url else f"embedded in {config.data_dir}"
    return f"database: {database}, model: {service.model.name}"
