"""Builds the objects that need only settings and a database. Commands use them without the rest of the service."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import structlog

from bookgen.accounts.keyring import Keyring
from bookgen.billing.checkout import Payments
from bookgen.billing.gateway import Gateway
from bookgen.billing.quota import Quota
from bookgen.errors import StartupError
from bookgen.providers.mail import Mailer, OutboxMailer
from bookgen.services.backup_schedule import BackupPlan, BackupSchedule
from bookgen.services.credentials import CredentialSigner, new_identity
from bookgen.services.picture_marks import PictureMarks
from bookgen.settings import Config, reveal
from bookgen.store.database import Database
from bookgen.store.postgres.keyfile import kept_secret, kept_text

log = structlog.get_logger(__name__)


def public_url(config: Config) -> str:
    return config.public_url or f"http://{config.host}:{config.port}"


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


def payments_of_service(config: Config, database: Database, wake_mail: Callable[[], None]) -> Payments:
    """Build the payments of a running service. If billing is on, warn if payments cannot be made or confirmed."""
    if config.billing_enabled and not config.stripe_secret_key:
        log.warning(
            "nothing_can_be_bought",
            what="Billing is on, but no Stripe key is set: plan limits apply, and nobody can pay for a plan.",
            to_do="Set STRIPE_SECRET_KEY, or BOOKGEN_BILLING=off.",
        )
    elif config.billing_enabled and not config.stripe_webhook_secret:
        log.warning(
            "payments_not_confirmed",
            what="No webhook secret is set, so payments cannot be confirmed: customers pay and receive nothing.",
            to_do="Set STRIPE_WEBHOOK_SECRET to the secret that `bookgen payments sync --apply` prints.",
        )
    return build_payments(config, database, wake_mail)


def build_mailer(config: Config) -> Mailer:
    if url := reveal(config.smtp_url):
        from bookgen.providers.smtp import SmtpMailer  # slow to import, and only needed with a mail server

        return SmtpMailer(url, sender=config.mail_from)
    return OutboxMailer(config.data_dir / "outbox", sender=config.mail_from)


def build_keyring(config: Config, database: Database, *, create: bool = True) -> Keyring:
    """Build the ring of keys that sign tokens. Without `create`, a missing secret raises StartupError."""
    file = config.data_dir / "secret.key"
    if not create and config.secret_key is None and not file.exists():
        raise StartupError(
            f"The file {file} does not exist. Set BOOKGEN_DATA_DIR or BOOKGEN_SECRET_KEY to the value that the service "
            "uses."
        )
    origin = "BOOKGEN_SECRET_KEY" if config.secret_key else str(file)
    return Keyring(database.http, signing_secret(config), origin=origin)


def signing_secret(config: Config) -> str:
    """The service's secret: from the setting, or else from the data folder, where the first start generates it."""
    return reveal(config.secret_key) or kept_secret(config.data_dir / "secret.key")


def build_picture_marks(config: Config) -> PictureMarks:
    """Build the object that marks pictures with their origin and signs the marks, unless BOOKGEN_MARK_ORIGIN is off.

    The marks are signed with the server's own key, which the first start creates. If this key cannot be stored,
    pictures are marked but not signed.
    """
    if config.mark_origin == "off":
        return PictureMarks(on=False)
    try:
        return PictureMarks(credentials=CredentialSigner(kept_text(config.data_dir / "origin.pem", new_identity)))
    except StartupError as error:
        log.warning("pictures_are_not_signed", reason=str(error), to_do="Make the data folder writable.")
        return PictureMarks()


def build_backup_schedule(
    config: Config, database: Database, may_begin: Callable[[], bool], shortage: Callable[[], str | None]
) -> BackupSchedule | None:
    if config.backup_dir is None:
        return None
    plan = BackupPlan(config.backup_dir, config.backup_seconds, config.backup_keep)
    return BackupSchedule(database.direct_dsn, plan, may_begin, shortage)
