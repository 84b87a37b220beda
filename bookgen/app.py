"""The composition root: builds every object from the settings, opens them in order, closes them in reverse."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass
from datetime import timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, Unpack

import aiohttp
import structlog

from bookgen import metrics, telemetry, threads
from bookgen.accounts.blocking import RightsCache
from bookgen.accounts.departure import Departure
from bookgen.accounts.keyring import Keyring
from bookgen.accounts.mailing import Mailing
from bookgen.accounts.passwords import Passwords
from bookgen.accounts.service import Accounts
from bookgen.accounts.tokens import Tokens
from bookgen.actors.resources import Products, Writing
from bookgen.actors.supervisor import Supervisor
from bookgen.billing.checkout import Payments
from bookgen.billing.cost_caps import CostCaps
from bookgen.billing.gateway import Gateway
from bookgen.billing.quota import Quota
from bookgen.config import Config, reveal
from bookgen.errors import StartupError, Unavailable
from bookgen.http.books_schemas import LANGUAGES
from bookgen.http.edge import serving
from bookgen.http.edge.keys import Services, Site
from bookgen.http.edge.watchdog import Watchdog
from bookgen.http.server import BoundedRunner, build_app, build_probes
from bookgen.limits import Budget, LimitClass, Limiter
from bookgen.models import ProcessRole, RevisionMode, Usage
from bookgen.providers.access import Access
from bookgen.providers.google import GoogleSignIn
from bookgen.providers.images import ImageModel
from bookgen.providers.mail import Mailer, OutboxMailer
from bookgen.providers.prices import prices
from bookgen.providers.prices import use as use_models
from bookgen.providers.registry import PROVIDERS, ModelSettings, build_image_model, build_text_model, without_price
from bookgen.providers.text import TextModel
from bookgen.render.fonts import missing
from bookgen.render.formats import FORMATS
from bookgen.render.pool import RenderPool
from bookgen.render.settings import ExportSettings
from bookgen.render.trim import TRIMS
from bookgen.services.artwork import Artwork
from bookgen.services.backup_schedule import BackupPlan, BackupSchedule
from bookgen.services.corrections import Corrections
from bookgen.services.cover_design import CoverDesigner
from bookgen.services.credentials import CredentialSigner, new_identity
from bookgen.services.editing import MAX_CHAPTERS
from bookgen.services.painting import Painter
from bookgen.services.picture_making import PictureMaker
from bookgen.services.picture_marks import PictureMarks
from bookgen.services.proofreading import Proofreading
from bookgen.services.publishing import Publisher
from bookgen.store.database import Database
from bookgen.store.migrate import migrate, require_migrated
from bookgen.store.outages import through_outages
from bookgen.store.postgres.keyfile import kept_secret, kept_text
from bookgen.store.postgres.server import PostgresAddress, running_postgres
from bookgen.store.postgres.space import MIN_FREE_BYTES, DiskGuard, disk_space, make_data_folder, no_room, no_shortage
from bookgen.support.assistant import Support
from bookgen.support.facts import Facts
from bookgen.support.ledger import Ledger
from bookgen.writing.blurb import draft_blurb
from bookgen.writing.estimate import Estimates
from bookgen.writing.kinds import draft_outline, write_chapter
from bookgen.writing.notes import note_rest
from bookgen.writing.passage import rewrite_passage
from bookgen.writing.rework import rework_chapters
from bookgen.writing.window import WINDOW

MICROS = 1_000_000
# How long a thread that computes may keep the interpreter from the event loop.
SWITCH_SECONDS = 0.001
# New objects that trigger a garbage collection. Python's default of 700 is reached often when a process takes up a
# thousand books at once; collecting then took a ninth of the time.
OBJECTS_A_COLLECTION = 10_000
# Default daily cost caps if registration is open and billing is off.
STRANGERS_ACCOUNT_DAY = Decimal("5.00")
STRANGERS_DAY = Decimal("50.00")
ROLES = {
    ProcessRole.WEB: "web: other processes write the books",
    ProcessRole.ACTORS: "actors: other processes serve requests",
    ProcessRole.BOTH: "both: serves requests and writes books",
}
# Slow imports that the start does not need. They are imported after it, so that no request waits for them.
LATER = ("email_validator", "disposable_email_domains", "markdown_it", "json_repair")


log = structlog.get_logger(__name__)


async def serve(config: Config, **overrides: Unpack[Overrides]) -> None:
    """Run the service until SIGTERM or SIGINT. Raises StartupError only before the first request is answered."""
    telemetry.configure_logs(config.log_format or ("console" if sys.stderr.isatty() else "json"), config.log_level)
    make_data_folder(config.data_dir)
    serving.allow_open_files()
    async with contextlib.AsyncExitStack() as closing:
        await closing.enter_async_context(Watchdog(metrics.LOOP_LAG.observe).watching())
        bound = closing.enter_context(serving.bind(config.host, config.port))
        address = serving.address(bound)
        if config.public_url is None and config.role != "actors" and serving.is_everywhere(bound):
            log.warning("links_lead_nowhere", they_begin_with=address, to_do="set BOOKGEN_PUBLIC_URL")
        config = config.model_copy(update={"public_url": config.public_url or address})
        try:
            service = await closing.enter_async_context(build(config, **overrides))
        except (StartupError, Unavailable) as error:
            full = None if config.database_url else no_room(config.data_dir)
            if full:
                raise StartupError(full) from error
            raise
        build_http = build_app if service.role.answers_requests else build_probes
        runner = BoundedRunner(build_http(service.services))
        closing.push_async_callback(runner.cleanup)
        await serving.listen(runner, bound)
        sys.setswitchinterval(SWITCH_SECONDS)
        gc.collect()
        gc.freeze()  # objects alive now stay alive, so the collector can skip them
        gc.set_threshold(OBJECTS_A_COLLECTION)
        await closing.enter_async_context(service.working())
        stop = closing.enter_context(serving.StopSignal().listening())
        print(_announcement(config, address, service.model), flush=True)
        closing.enter_context(_running(import_the_rest()))
        closing.enter_context(_running(warn_of_missing_fonts()))
        await stop.asked.wait()
        log.info("draining", seconds=config.drain_seconds)
        await serving.drain(service.supervisor.drain, config.drain_seconds, stop.cut)


async def warn_of_missing_fonts() -> None:
    """Log the offered languages in which this machine cannot set a PDF or a cover, and what to install."""
    looking = await asyncio.create_subprocess_exec(
        sys.executable, "-m", missing.__name__, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL
    )
    try:
        found, _ = await looking.communicate()
    except asyncio.CancelledError:
        looking.kill()
        await looking.wait()
        raise
    if tags := found.decode().split():
        log.warning(
            "fonts_missing",
            what=f"No font for {', '.join(tags)}: PDFs and covers in these languages are refused.",
            to_do=f"Install fonts, on Debian and Ubuntu: {missing.to_install(tags)}",
        )


async def import_the_rest() -> None:
    """Import the modules in LATER, in a thread."""
    for name in LATER:
        await threads.compute(importlib.import_module, name)


class Overrides(TypedDict, total=False):
    """Objects to use instead of those that `build` would make. All but the database are closed with the service."""

    database: Database
    model: TextModel
    images: ImageModel
    passwords: Passwords
    limiter: Limiter
    pool: RenderPool
    least_free: int  # free bytes on the embedded database's disk below which nothing new is stored
    alone: bool  # whether only the operator uses the service, even if registration is open


@dataclass(frozen=True)
class Service:
    """All parts of a service, connected."""

    role: ProcessRole
    services: Services
    supervisor: Supervisor
    model: TextModel
    tokens: Tokens
    keyring: Keyring
    rights: RightsCache
    mailing: Mailing
    backups: BackupSchedule | None

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """A context in which the background work runs: sending letters, watching blocks, payments, runs and backups.

        Letters are sent where requests are served, since requests create them and their links lead back there.
        """
        with contextlib.ExitStack() as background:
            background.enter_context(_running(self.keyring.watch(self.tokens)))
            background.enter_context(_running(self.rights.watch(self.supervisor.end_runs)))
            if self.role.answers_requests:
                background.enter_context(_running(self.mailing.run()))
            if self.role.takes_work:
                background.enter_context(_running(self.services.payments.reconcile_nightly()))
            await self.supervisor.start()
            async with self.backups.working() if self.backups else contextlib.nullcontext():
                yield


@contextlib.asynccontextmanager
async def build(config: Config, **overrides: Unpack[Overrides]) -> AsyncIterator[Service]:
    """A context with a service built from the settings and the overrides. Closes everything in reverse order."""
    async with contextlib.AsyncExitStack() as closing:
        yield await _build(config, overrides, closing)


@contextlib.asynccontextmanager
async def open_database(config: Config, *, create: bool = False) -> AsyncIterator[Database]:
    """A context with the connection pools of a migrated database, embedded or at the configured URL.

    It is created and migrated only with `create`, as the service does. A command refuses a missing database: in a wrong
    folder it would otherwise use a new, empty one.
    """
    prepare: Callable[[str, Path], Awaitable[object]] = migrate if create else require_migrated
    async with postgres(config, create=create) as address:
        # Another process that started the embedded server may be stopping it right now; then ours starts it again.
        await through_outages(lambda: prepare(address.direct_dsn, migrations()), seconds=30)
        database = await through_outages(lambda: _open_pools(config, address), seconds=30)
        try:
            yield database
        finally:
            await database.close()


def postgres(config: Config, *, create: bool = True) -> AbstractAsyncContextManager[PostgresAddress]:
    """A context with the configured PostgreSQL server running. Without `create` it raises NoDatabase if no embedded
    database exists.
    """
    return running_postgres(
        reveal(config.database_url),
        config.data_dir,
        config.pg_bindir,
        direct_url=reveal(config.database_direct_url),
        create=create,
    )


async def _open_pools(config: Config, address: PostgresAddress) -> Database:
    sizes = config.sizes
    return await Database.open(
        address.dsn,
        direct_dsn=address.direct_dsn,
        statement_cache=config.database_statement_cache == "on",
        http_connections=sizes.http_connections,
        run_connections=sizes.run_connections,
    )


def migrations() -> Path:
    """The folder of the SQL migrations."""
    return _beside("sql")


def documents() -> Path:
    """The folder of the user documentation."""
    return _beside("docs")


def _beside(name: str) -> Path:
    """A folder next to the package in a checkout. In a wheel it is inside the package, with an underscore."""
    package = Path(__file__).parent
    inside = package / f"_{name}"
    return inside if inside.is_dir() else package.parent / name


async def _build(config: Config, overrides: Overrides, closing: contextlib.AsyncExitStack) -> Service:
    use_models(config.models_file)
    url = public_url(config)
    given = overrides.get("database")
    database = given if given is not None else await closing.enter_async_context(open_database(config, create=True))
    model = overrides.get("model") or build_model(config)
    closing.push_async_callback(model.close)
    images = overrides.get("images") or build_images(config)
    if images is not None:
        closing.push_async_callback(images.close)
    quota = build_quota(config)
    context_tokens = _context_tokens(config, model)
    caps = _caps(config, model, alone=overrides.get("alone", False))
    least_free = overrides.get("least_free", MIN_FREE_BYTES)
    shortage = no_shortage if config.database_url else DiskGuard(config.data_dir, least_free).shortage
    pool = overrides.get("pool") or RenderPool()
    publisher = Publisher(database, quota, pool, shortage, marks_origin=config.mark_origin == "on")
    closing.push_async_callback(publisher.close)
    marks = _picture_marks(config)
    painter = Painter(images, pool, marks)
    maker = PictureMaker(database, pool, images, painter, price=_price, caps=caps, marks=marks)
    artwork = Artwork(database, quota, maker, CoverDesigner(database, model, price=_price, caps=caps))
    corrections = Corrections(database.http, quota)
    products = Products(artwork.paint_cover, corrections.apply_safe_of_run, publisher.make_files)
    supervisor = Supervisor(
        database,
        writing=Writing(
            draft_outline,
            partial(rework_chapters, context_tokens=context_tokens),
            partial(write_chapter, context_tokens=context_tokens),
            draft_blurb,
            partial(rewrite_passage, context_tokens=context_tokens),
            note_rest,
        ),
        products=products,
        model=model,
        painter=painter,
        quota=quota,
        price=_price,
        caps=caps,
        chapters_at_once=config.sizes.chapters_at_once,
        names_model=config.model != "auto",
        revision=RevisionMode(config.revision),
        context_tokens=context_tokens,
        role=ProcessRole(config.role),
    )
    closing.push_async_callback(supervisor.drain, 0)
    mailer = build_mailer(config)
    mailing = Mailing(database.http, mailer, public_url=url)
    payments = _payments(config, database, mailing.wake)
    closing.push_async_callback(payments.close)
    passwords = overrides.get("passwords") or Passwords(threads=config.sizes.password_threads)
    closing.callback(passwords.close)
    keyring, tokens = build_keyring(config, database), Tokens(_secret(config))
    await (keyring.require_own() if config.database_url else keyring.claim())
    await keyring.load(tokens)
    rights = RightsCache(database.http)
    accounts = Accounts(
        database.http,
        tokens=tokens,
        passwords=passwords,
        google=GoogleSignIn(
            await closing.enter_async_context(aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20))),
            client_id=config.google_client_id or None,
            api_base=config.google_api_base,
        ),
        registration_open=config.registration == "open",
        verification_mandatory=config.email_verification == "mandatory",
        guards_spending=config.sells_to_strangers and model.name != "offline",
        wake_mail=mailing.wake,
        rights=rights,
    )
    reports = supervisor.reports
    services = Services(
        database=database,
        supervisor=supervisor,
        accounts=accounts,
        departure=Departure(database.http, payments, supervisor.delete_books, rights),
        quota=quota,
        payments=payments,
        publisher=publisher,
        proofreading=Proofreading(database.http, quota, corrections, reports.wake, reports.call_off),
        artwork=artwork,
        support=Support.over(
            documents(),
            f"{url}/api/v1/docs/",
            model,
            Ledger(database.http, _price, supervisor.resources.ledger_writes.begin, caps.day),
            _facts(config),
            database.http,
        ),
        limiter=overrides.get("limiter") or Limiter(_budgets(config)),
        site=_site(config, model),
        estimate=Estimates(
            model.name,
            _price,
            image_model_name=images.name if images else "",
            picture_tokens=prices().picture_tokens,
            context_tokens=context_tokens,
            speed=lambda: model.shown_speed,
        ),
        unready=lambda: supervisor.unready,
        shortage=shortage,
        disk=lambda: disk_space(config.data_dir),
    )
    backups = _backup_schedule(config, database, lambda: supervisor.resources.takes_runs, shortage)
    return Service(ProcessRole(config.role), services, supervisor, model, tokens, keyring, rights, mailing, backups)


def _backup_schedule(
    config: Config, database: Database, may_begin: Callable[[], bool], shortage: Callable[[], str | None]
) -> BackupSchedule | None:
    if config.backup_dir is None:
        return None
    plan = BackupPlan(config.backup_dir, config.backup_seconds, config.backup_keep)
    return BackupSchedule(database.direct_dsn, plan, may_begin, shortage)


def _context_tokens(config: Config, model: TextModel) -> int:
    """The maximum tokens of a call that reads the whole book: the model's window, or less if configured."""
    window = prices().context_window(model.name) or WINDOW
    return min(window, config.context_tokens or window)


def _picture_marks(config: Config) -> PictureMarks:
    """The marks of pictures, signed with the server's own key, which the first start creates. If it cannot be stored,
    pictures are not signed.
    """
    if config.mark_origin == "off":
        return PictureMarks(on=False)
    try:
        return PictureMarks(credentials=CredentialSigner(kept_text(config.data_dir / "origin.pem", new_identity)))
    except StartupError as error:
        log.warning("pictures_are_not_signed", reason=str(error), to_do="Make the data folder writable.")
        return PictureMarks()


def build_keyring(config: Config, database: Database, *, create: bool = True) -> Keyring:
    """The keys that sign tokens. Without `create` it raises StartupError if the service's secret is missing."""
    file = config.data_dir / "secret.key"
    if not create and config.secret_key is None and not file.exists():
        raise StartupError(f"There is no {file}. Set BOOKGEN_DATA_DIR or BOOKGEN_SECRET_KEY as the service has it.")
    origin = "BOOKGEN_SECRET_KEY" if config.secret_key else str(file)
    return Keyring(database.http, _secret(config), origin=origin)


def _secret(config: Config) -> str:
    return reveal(config.secret_key) or kept_secret(config.data_dir / "secret.key")


def build_quota(config: Config) -> Quota:
    return Quota(
        billing=config.billing_enabled,
        public_url=public_url(config),
        renewal_grace=timedelta(days=config.renewal_grace_days),
    )


def build_payments(config: Config, database: Database, wake_mail: Callable[[], None] = lambda: None) -> Payments:
    key, secrets = reveal(config.stripe_secret_key), reveal(config.stripe_webhook_secret) or ""
    return Payments(
        database.http,
        Gateway(key, api_base=config.stripe_api_base) if key else None,
        public_url=public_url(config),
        # While a webhook secret is being replaced, the setting holds both, separated by a comma.
        webhook_secrets=[secret.strip() for secret in secrets.split(",") if secret.strip()],
        allowed_origins=config.allowed_origins,
        sells=config.billing_enabled,
        renewal_grace=timedelta(days=config.renewal_grace_days),
        wake_mail=wake_mail,
    )


def _payments(config: Config, database: Database, wake_mail: Callable[[], None]) -> Payments:
    """The payments of a running service. Logs a warning if billing is on but payments cannot be made or confirmed."""
    if config.billing_enabled and not config.stripe_secret_key:
        log.warning(
            "nothing_can_be_bought",
            what="Billing is on, but no Stripe key is set: plan limits apply, and nobody can pay for a plan.",
            to_do="Set STRIPE_SECRET_KEY, or BOOKGEN_BILLING=off.",
        )
    elif config.billing_enabled and not config.stripe_webhook_secret:
        log.warning(
            "payments_are_not_heard_of",
            what="No webhook secret is set, so payments cannot be confirmed: customers pay and receive nothing.",
            to_do="Set STRIPE_WEBHOOK_SECRET to the secret that `bookgen payments sync --apply` prints.",
        )
    return build_payments(config, database, wake_mail)


def build_mailer(config: Config) -> Mailer:
    if url := reveal(config.smtp_url):
        from bookgen.providers.smtp import SmtpMailer  # slow to import, and not needed without a mail server

        return SmtpMailer(url, sender=config.mail_from)
    return OutboxMailer(config.data_dir / "outbox", sender=config.mail_from)


def build_model(config: Config, *, tries: int | None = None) -> TextModel:
    """The configured writing model. Raises StartupError, also for a wrong entry in the operator's file of models."""
    use_models(config.models_file)
    return build_text_model(config.model, _model_settings(config, tries), fallback=config.fallback_model)


def build_images(config: Config) -> ImageModel | None:
    """The configured image model, or None if bookgen draws pictures itself."""
    return build_image_model(config.image_model, _model_settings(config, None))


def _model_settings(config: Config, tries: int | None) -> ModelSettings:
    return ModelSettings(
        access={name: Access(*config.access(name)) for name in PROVIDERS},
        timeout=config.model_timeout if "model_timeout" in config.model_fields_set else None,
        retries=tries or config.model_retries,
        concurrency=config.model_concurrency if "model_concurrency" in config.model_fields_set else None,
        requests_per_minute=config.model_rpm,
        outage=config.model_outage,
    )


def _caps(config: Config, model: TextModel, *, alone: bool = False) -> CostCaps:
    """The configured cost caps. If anyone can register and billing is off, unset daily caps get defaults."""
    account_day, day = config.account_daily_cost_cap, config.daily_cost_cap
    currency = prices().currency
    if config.open_to_strangers and not alone and model.name != "offline":
        account_day, day = account_day or STRANGERS_ACCOUNT_DAY, day or STRANGERS_DAY
        log.warning(
            "strangers_may_spend",
            what=f"Anyone can register and have {model.name} write books at your cost: "
            f"up to {account_day} {currency} per account and {day} {currency} in total per day.",
            to_do="Set BOOKGEN_REGISTRATION=closed, turn billing on, or set the two caps.",
        )
    elif config.registration == "open" and not alone and model.name != "offline" and day is None:
        log.warning(
            "spending_has_no_cap",
            what=f"Anyone can register, and you pay for what {model.name} writes on free plans, without a daily cap.",
            to_do="Set BOOKGEN_DAILY_COST_CAP.",
        )
    caps = CostCaps(_micros(config.book_cost_cap), _micros(account_day), _micros(day), currency)
    for name in without_price(model) if not caps.none else ():
        log.warning("cost_cap_cannot_stop", model=name, advice="Add the model's prices to BOOKGEN_MODELS_FILE.")
    return caps


def _price(model: str, usage: Usage) -> int | None:
    price = prices().of(model)
    return None if price is None else price.of(usage)


def public_url(config: Config) -> str:
    return config.public_url or f"http://{config.host}:{config.port}"


def _site(config: Config, model: TextModel) -> Site:
    return Site(
        public_url=public_url(config),
        registration_enabled=config.registration == "open",
        email_verification_required=config.email_verification == "mandatory",
        google_client_id=config.google_client_id or None,
        billing_enabled=config.billing_enabled,
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


def _facts(config: Config) -> Facts:
    return Facts(
        languages=tuple(LANGUAGES.values()),
        formats=tuple(each.label for each in FORMATS.values()),
        trims=tuple(TRIMS),
        limits={str(each): getattr(config, each.setting) for each in LimitClass},
        max_chapters=MAX_CHAPTERS,
        sells=config.billing_enabled,
        url=f"{public_url(config)}/api/v1/docs/",
    )


def _budgets(config: Config) -> dict[LimitClass, Budget]:
    """The budget of each limit class, from its setting."""
    return {each: Budget.parse(getattr(config, each.setting)) for each in LimitClass}


def _micros(amount: Decimal | None) -> int | None:
    return None if amount is None else int(amount * MICROS)


@contextlib.contextmanager
def _running(loop: Coroutine[Any, Any, None]) -> Iterator[None]:
    """A context in which the coroutine runs as a background task."""
    task = asyncio.create_task(loop)
    try:
        yield
    finally:
        task.cancel()


def _announcement(config: Config, address: str, model: TextModel) -> str:
    """The start-up message: the service's addresses and what it uses."""
    page = "off (BOOKGEN_CONSOLE)" if config.console == "off" else f"{address}/"
    programs = f"{address}/api/v1/docs/"
    if config.role == "actors":
        page = programs = "off (BOOKGEN_ROLE=actors): probes and metrics only"
    database = "BOOKGEN_DATABASE_URL" if config.database_url else f"embedded in {config.data_dir}"
    mail = "by BOOKGEN_SMTP_URL" if config.smtp_url else f"kept in {config.data_dir / 'outbox'}"
    billing = "on" if config.billing_enabled else "off"
    return "\n".join(
        [
            f"bookgen is ready at {address}",
            f"  for people    {page}",
            f"  for programs  {programs}",
            f"  role          {ROLES[ProcessRole(config.role)]}",
            f"  database      {database}",
            f"  models        {model.name}",
            f"  mail          {mail}; billing {billing}",
        ]
    )
