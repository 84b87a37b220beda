"""Builds the service: `_build` makes every object, in order, and gives each the objects that it needs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict, Unpack

import aiohttp

from bookgen.accounts.departure import Departure
from bookgen.accounts.keyring import Keyring
from bookgen.accounts.mailing import Mailing
from bookgen.accounts.passwords import Passwords
from bookgen.accounts.rights import RightsCache
from bookgen.accounts.service import Accounts
from bookgen.accounts.tokens import Tokens
from bookgen.actors.resources import Products, Writing
from bookgen.actors.supervisor import Supervisor
from bookgen.app.database import open_database
from bookgen.app.files import build_files, keep_times, require_place
from bookgen.app.package_data import documents
from bookgen.app.parts import (
    build_backup_schedule,
    build_keyring,
    build_mailer,
    build_picture_marks,
    build_quota,
    payments_of_service,
    public_url,
    signing_secret,
)
from bookgen.app.providers import build_caps, build_images, build_model, context_tokens, price
from bookgen.app.site import budgets, site, support_facts
from bookgen.billing.checkout import Payments
from bookgen.billing.cost_caps import CostCaps
from bookgen.billing.quota import Quota
from bookgen.files.cleanup import FileCleanup
from bookgen.files.keeping import Files
from bookgen.http.edge.keys import Services
from bookgen.models import ProcessRole, RevisionMode
from bookgen.providers.google import GoogleSignIn
from bookgen.providers.images import ImageModel
from bookgen.providers.prices import prices
from bookgen.providers.prices import use as use_models
from bookgen.providers.text import TextModel
from bookgen.rate_limits import Limiter
from bookgen.render.pool import RenderPool
from bookgen.services.artwork import Artwork
from bookgen.services.backup_schedule import BackupSchedule
from bookgen.services.corrections import Corrections
from bookgen.services.cover_design import CoverDesigner
from bookgen.services.exports import Publisher
from bookgen.services.picture_making import PictureMaker
from bookgen.services.proofreading import Proofreading
from bookgen.services.spread_pictures import Painter
from bookgen.settings import Config
from bookgen.store.database import Database
from bookgen.store.postgres.space import MIN_FREE_BYTES, DiskGuard, disk_space, no_shortage
from bookgen.support.assistant import Support
from bookgen.support.ledger import Ledger
from bookgen.writing.blurb import draft_blurb
from bookgen.writing.estimate import Estimates
from bookgen.writing.kinds import draft_outline, write_chapter
from bookgen.writing.notes import note_rest
from bookgen.writing.passage import rewrite_passage
from bookgen.writing.rework import rework_chapters


class Overrides(TypedDict, total=False):
    """Objects to use instead of those that `build` would make. All except the database are closed with the service."""

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
    """A built service: its role and the objects that do its work."""

    role: ProcessRole
    services: Services
    supervisor: Supervisor
    model: TextModel
    tokens: Tokens
    keyring: Keyring
    rights: RightsCache
    mailing: Mailing
    backups: BackupSchedule | None
    cleanup: FileCleanup

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """A context in which the background work runs: writing books, sending e-mails, backups and other regular jobs.

        Only a process that serves requests sends e-mails. Requests create the e-mails, and the links in the e-mails
        open pages that such a process serves.
        """
        with contextlib.ExitStack() as background:
            background.enter_context(running(self.keyring.watch(self.tokens)))
            background.enter_context(running(self.rights.watch(self.supervisor.end_runs)))
            if self.role.answers_requests:
                background.enter_context(running(self.mailing.run()))
            if self.role.takes_work:
                background.enter_context(running(self.services.payments.reconcile_nightly()))
                background.enter_context(running(self.cleanup.run()))
            await self.supervisor.start()
            async with self.backups.working() if self.backups else contextlib.nullcontext():
                yield


@contextlib.asynccontextmanager
async def build(config: Config, **overrides: Unpack[Overrides]) -> AsyncIterator[Service]:
    """A context with a service, built from the settings and the overrides. At the end, it closes all objects."""
    async with AsyncExitStack() as closing:
        yield await _build(config, overrides, closing)


@dataclass(frozen=True, slots=True)
class Foundation:
    """The objects that most services need."""

    config: Config
    database: Database
    model: TextModel
    images: ImageModel | None
    quota: Quota
    caps: CostCaps
    context_tokens: int
    shortage: Callable[[], str | None]  # why the disk is too full to store more; None: there is room
    files: Files


@dataclass(frozen=True, slots=True)
class Makers:
    """The services that turn a written book into a product: pictures, corrections and files."""

    painter: Painter
    artwork: Artwork
    corrections: Corrections
    publisher: Publisher


async def _build(config: Config, overrides: Overrides, closing: AsyncExitStack) -> Service:
    base = await _foundation(config, overrides, closing)
    makers = _makers(base, overrides.get("pool") or RenderPool(), closing)
    supervisor = _supervisor(base, makers)
    closing.push_async_callback(supervisor.drain, 0)
    mailing = Mailing(base.database.http, build_mailer(config), public_url=public_url(config))
    payments = payments_of_service(config, base.database, mailing.wake)
    closing.push_async_callback(payments.close)
    passwords = overrides.get("passwords") or Passwords(threads=config.sizes.password_threads)
    closing.callback(passwords.close)
    keyring, tokens = build_keyring(config, base.database), Tokens(signing_secret(config))
    await (keyring.require_own() if config.database_url else keyring.claim())
    await keyring.load(tokens)
    rights = RightsCache(base.database.http)
    accounts = Accounts(
        base.database.http,
        tokens=tokens,
        passwords=passwords,
        google=await _google(config, closing),
        registration_open=config.registration == "open",
        verification_mandatory=config.email_verification == "mandatory",
        guards_spending=config.sells_to_strangers and base.model.name != "offline",
        wake_mail=mailing.wake,
        rights=rights,
    )
    departure = Departure(base.database.http, payments, supervisor.delete_books, rights)
    limiter = overrides.get("limiter") or Limiter(budgets(config))
    services = _services(base, makers, supervisor, accounts, departure, payments, limiter)
    backups = build_backup_schedule(config, base.database, lambda: supervisor.resources.takes_runs, base.shortage)
    role, cleanup = ProcessRole(config.role), FileCleanup(base.database.runs, base.files, keep_times(config))
    return Service(role, services, supervisor, base.model, tokens, keyring, rights, mailing, backups, cleanup)


async def _foundation(config: Config, overrides: Overrides, closing: AsyncExitStack) -> Foundation:
    use_models(config.models_file)
    given = overrides.get("database")
    database = given if given is not None else await closing.enter_async_context(open_database(config, create=True))
    model = overrides.get("model") or build_model(config)
    closing.push_async_callback(model.close)
    images = overrides.get("images") or build_images(config)
    if images is not None:
        closing.push_async_callback(images.close)
    files = build_files(config)
    await require_place(config, files, database.http)
    least_free = overrides.get("least_free", MIN_FREE_BYTES)
    return Foundation(
        config,
        database,
        model,
        images,
        build_quota(config),
        build_caps(config, model, alone=overrides.get("alone", False)),
        context_tokens(config, model),
        no_shortage if config.database_url else DiskGuard(config.data_dir, least_free).shortage,
        files,
    )


def _makers(base: Foundation, pool: RenderPool, closing: AsyncExitStack) -> Makers:
    marks_origin = base.config.mark_origin == "on"
    publisher = Publisher(base.database, base.quota, pool, base.shortage, files=base.files, marks_origin=marks_origin)
    closing.push_async_callback(publisher.close)
    marks = build_picture_marks(base.config)
    painter = Painter(base.images, pool, marks)
    maker = PictureMaker(base.database, pool, base.images, painter, price=price, caps=base.caps, marks=marks)
    designer = CoverDesigner(base.database, base.model, price=price, caps=base.caps)
    artwork = Artwork(base.database, base.quota, maker, designer, base.files)
    return Makers(painter, artwork, Corrections(base.database.http, base.quota), publisher)


def _supervisor(base: Foundation, makers: Makers) -> Supervisor:
    config = base.config
    return Supervisor(
        base.database,
        writing=Writing(
            draft_outline,
            partial(rework_chapters, context_tokens=base.context_tokens),
            partial(write_chapter, context_tokens=base.context_tokens),
            draft_blurb,
            partial(rewrite_passage, context_tokens=base.context_tokens),
            note_rest,
        ),
        products=Products(
            makers.artwork.paint_cover, makers.corrections.apply_safe_of_run, makers.publisher.make_files
        ),
        model=base.model,
        painter=makers.painter,
        quota=base.quota,
        price=price,
        caps=base.caps,
        chapters_at_once=config.sizes.chapters_at_once,
        names_model=config.model != "auto",
        revision=RevisionMode(config.revision),
        context_tokens=base.context_tokens,
        role=ProcessRole(config.role),
        files=base.files,
    )


async def _google(config: Config, closing: AsyncExitStack) -> GoogleSignIn:
    session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20))
    return GoogleSignIn(
        await closing.enter_async_context(session),
        client_id=config.google_client_id or None,
        api_base=config.google_api_base,
    )


def _services(
    base: Foundation,
    makers: Makers,
    supervisor: Supervisor,
    accounts: Accounts,
    departure: Departure,
    payments: Payments,
    limiter: Limiter,
) -> Services:
    config, database, model = base.config, base.database, base.model
    reports = supervisor.reports
    return Services(
        database=database,
        files=base.files,
        supervisor=supervisor,
        accounts=accounts,
        departure=departure,
        quota=base.quota,
        payments=payments,
        publisher=makers.publisher,
        proofreading=Proofreading(database.http, base.quota, makers.corrections, reports.wake, reports.call_off),
        artwork=makers.artwork,
        support=Support.over(
            documents(),
            f"{public_url(config)}/api/v1/docs/",
            model,
            Ledger(database.http, price, supervisor.resources.ledger_writes.begin, base.caps.day),
            support_facts(config),
            database.http,
        ),
        limiter=limiter,
        site=site(config, model),
        estimate=Estimates(
            model.name,
            price,
            image_model_name=base.images.name if base.images else "",
            picture_tokens=prices().picture_tokens,
            context_tokens=base.context_tokens,
            revision=RevisionMode(config.revision),
            speed=lambda: model.shown_speed,
        ),
        unready=lambda: supervisor.unready,
        shortage=base.shortage,
        disk=lambda: disk_space(config.data_dir),
    )


@contextlib.contextmanager
def running(loop: Coroutine[Any, Any, None]) -> Iterator[None]:
    """A context in which the coroutine runs as a background task."""
    task = asyncio.create_task(loop)
    try:
        yield
    finally:
        task.cancel()
