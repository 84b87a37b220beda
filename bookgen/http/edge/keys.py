"""Typed keys for the objects that handlers read from the application and the request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from aiohttp import web

from bookgen.models import Book, Chapter, Estimate
from bookgen.rate_limits import Limiter, Network, Verdict

if TYPE_CHECKING:
    from bookgen.accounts.departure import Departure
    from bookgen.accounts.service import Accounts
    from bookgen.actors.supervisor import Supervisor
    from bookgen.billing.checkout import Payments
    from bookgen.billing.quota import Quota
    from bookgen.files.keeping import Files
    from bookgen.http.edge.concurrency import RequestSemaphores
    from bookgen.http.edge.deprecation import Deprecation
    from bookgen.http.edge.large_answers import Outgoing
    from bookgen.http.edge.preferences import Waiters
    from bookgen.services.artwork import Artwork
    from bookgen.services.exports import Publisher
    from bookgen.services.proofreading import Proofreading
    from bookgen.store.database import Database
    from bookgen.store.postgres.space import DiskSpace
    from bookgen.support.assistant import Support


@dataclass(frozen=True, slots=True)
class Site:
    """Settings that callers may see, or that change the responses."""

    public_url: str
    registration_enabled: bool
    email_verification_required: bool
    google_client_id: str | None
    billing_enabled: bool
    accepts_payments: bool  # billing is on and the payment processor is set up
    sends_mail: bool  # else e-mails are written to a folder for the operator
    stripe_publishable_key: str | None
    models: Sequence[str]
    currency: str
    allowed_origins: frozenset[str]
    trusted_proxies: tuple[Network, ...]
    metrics_token: str | None
    export_defaults: Mapping[str, Any]
    console: bool  # whether the web page is served
    documents: Path | None  # the folder of the manuals, which the support assistant reads
    site_name: str = "bookgen"
    deprecation: Deprecation | None = None

    @property
    def secure(self) -> bool:
        return self.public_url.startswith("https://")

    @property
    def root(self) -> str:
        """The path under which a proxy publishes the service; empty at the root of the host."""
        return urlsplit(self.public_url).path


@dataclass(frozen=True, slots=True)
class Services:
    """The services that `app/build.py` builds for the handlers: `request.app[SERVICES]`."""

    database: Database
    files: Files
    supervisor: Supervisor
    accounts: Accounts
    departure: Departure
    quota: Quota
    payments: Payments
    publisher: Publisher
    proofreading: Proofreading
    artwork: Artwork
    support: Support
    limiter: Limiter
    site: Site
    estimate: Callable[[Book, Sequence[Chapter]], Callable[[], Estimate]]  # returns a function that computes it
    unready: Callable[[], str | None] = lambda: None  # why a load balancer must send nothing here; None: it may
    shortage: Callable[[], str | None] = lambda: None  # why nothing more may be stored; None: it may
    disk: Callable[[], DiskSpace | None] = lambda: None  # the space on the disk that has the data folder


SERVICES: web.AppKey[Services] = web.AppKey("services")
OUTGOING: web.AppKey[Outgoing] = web.AppKey("outgoing")
SEMAPHORES: web.AppKey[RequestSemaphores] = web.AppKey("semaphores")
WAITING: web.AppKey[Waiters] = web.AppKey("waiting")
UNKNOWN_PROXIES: web.AppKey[set[str]] = web.AppKey("unknown_proxies")  # an untrusted proxy, which is logged only once
DOCUMENT: web.AppKey[Callable[[], bytes]] = web.AppKey("document")  # the OpenAPI document; only the first call is slow

NOT_FOUND: web.AppKey[Callable[[web.Request], Awaitable[web.StreamResponse]]] = web.AppKey("not_found")  # the HTML page
REREAD_BOOK: web.AppKey[Callable[..., Awaitable[web.Response]]] = web.AppKey("reread_book")  # `books.whole_book`

REQUEST_ID: web.RequestKey[str] = web.RequestKey("request_id")
ACCOUNT_ID: web.RequestKey[int] = web.RequestKey("account_id")
VERDICT: web.RequestKey[Verdict] = web.RequestKey("verdict")
SHOWN_BOOK: web.RequestKey[int] = web.RequestKey("shown_book")  # the id of the book that the answer shows
BODY: web.RequestKey[dict[str, Any]] = web.RequestKey("body")  # validated by the handler's @json_schema
QUERY: web.RequestKey[dict[str, Any]] = web.RequestKey("query")  # validated by its @querystring_schema
