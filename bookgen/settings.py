"""All settings that an operator can choose, each with its type, default, allowed values and meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from bookgen.parallelism import Sizes, for_this_machine
from bookgen.rate_limits import LimitClass
from bookgen.setting_types import (
    AMOUNT,
    FILES_TAKES,
    KEY,
    MIN_PASSPHRASE_CHARACTERS,
    MODELS,
    URL,
    ApiKey,
    FallbackName,
    FilePlace,
    Folder,
    ImageModelName,
    Interval,
    Mailbox,
    MailServerUrl,
    Money,
    Networks,
    Origins,
    Passphrase,
    PostgresUrl,
    Rate,
    SigningKey,
    Text,
    TextModelName,
    Url,
    rate,
    seconds_of,
    setting,
    setting_name,
)


class Config(BaseSettings):
    """The operator's settings, built by `config.load`. Only `app` and `commands` use this object.

    Other packages get single values.
    """

    model_config = SettingsConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=setting_name,
        env_ignore_empty=True,
        case_sensitive=True,
        env_file_encoding="utf-8",
    )

    host: Text = setting("127.0.0.1", "an address of this machine", "The address to listen on.")
    port: int = setting(8000, "0 to 65535", "The port to listen on. 0 picks a free port.", ge=0, le=65535)
    public_url: Url | None = setting(
        None,
        "an address like https://books.example.org",
        "The address at which users reach the service, for links in e-mails. Default: host and port.",
    )
    data_dir: Folder = setting(
        Path("data"), "a folder", "The folder of the embedded database, the keys and, without a mail server, e-mails."
    )
    database_url: PostgresUrl | None = setting(
        None,
        "a URL like postgresql://user:password@host/name",
        "A PostgreSQL 15+ server (also read from `DATABASE_URL`). Default: an embedded server in the data folder.",
        validation_alias=AliasChoices("BOOKGEN_DATABASE_URL", "DATABASE_URL"),
    )
    database_direct_url: PostgresUrl | None = setting(
        None,
        "a URL like postgresql://user:password@host/name",
        "The same database without a pooler. Needed if `BOOKGEN_DATABASE_URL` leads to a transaction pooler.",
    )
    database_statement_cache: Literal["on", "off"] = setting(
        "on",
        "on or off",
        "Whether to use prepared statements. Set `off` if a pooler lacks them, such as PgBouncer before 1.21.",
    )
    database_pool: int | None = setting(
        None,
        "1 or more",
        "How many database connections a process may open for runs. Default: 4 per core, up to 16.",
        ge=1,
    )
    http_pool: int | None = setting(
        None,
        "1 or more",
        "How many database connections a process may open for requests. Default: 8 per core, up to 32.",
        ge=1,
    )
    chapters_at_once: int | None = setting(
        None, "1 or more", "How many chapters a process writes at once. Default: 32 per core, up to 256.", ge=1
    )
    secret_key: SigningKey | None = setting(
        None,
        "at least 32 bytes",
        "The key that signs tokens. Default: created at the first start and kept in the data folder.",
    )

    role: Literal["web", "actors", "both"] = setting(
        "both",
        "web, actors or both",
        "What this process does. `web` answers requests and writes no books; `actors` writes books and answers "
        "only `/healthz`, `/readyz` and `/metrics`. `web` and `actors` need `BOOKGEN_DATABASE_URL`.",
    )

    model: TextModelName = setting(
        "auto",
        f"auto, offline, {' or '.join(MODELS)}",
        "The writing model. `auto`: Anthropic if its key is set, else OpenAI if its key or URL is set, else offline.",
    )
    image_model: ImageModelName = setting(
        "auto", "auto, offline or openai:MODEL", "The model that creates covers and illustrations."
    )
    fallback_model: FallbackName = setting(
        "",
        f"{', '.join(MODELS)} or offline",
        "The model to use if `BOOKGEN_MODEL` refuses or is unavailable. Default: none.",
    )
    anthropic_api_key: ApiKey | None = setting(None, KEY, "The API key for Anthropic.")
    anthropic_base_url: Url | None = setting(
        None, URL, "The URL of a server to use instead of Anthropic's. It must offer the same API."
    )
    openai_api_key: ApiKey | None = setting(None, KEY, "The API key for OpenAI.")
    openai_base_url: Url | None = setting(
        None, URL, "The URL of a server to use instead of OpenAI's, such as a local one. It must offer the same API."
    )
    model_timeout: float = setting(
        180.0,
        "seconds above 0",
        "The time limit of one try of a model call. If you do not set it, a slow server gets more time.",
        gt=0,
        allow_inf_nan=False,
    )
    model_retries: int = setting(4, "1 or more", "How many times a model call is tried in total.", ge=1)
    model_outage: float = setting(
        86_400.0,
        "seconds, 0 or more",
        "How long a run waits for an unavailable model before it fails. 0: the run fails after `BOOKGEN_MODEL_RETRIES` "
        "tries.",
        ge=0,
        allow_inf_nan=False,
    )
    model_concurrency: int = setting(
        16,
        "1 or more",
        "How many model calls may run at once, in all processes together. If you do not set it, a local server starts "
        "with 1 and gets more if it can serve them.",
        ge=1,
    )
    model_rpm: int = setting(
        0, "0 or more", "How many model calls may start per minute, in all processes together. 0: no limit.", ge=0
    )
    book_cost_cap: Money | None = setting(None, AMOUNT, "The maximum cost of all model calls of one book.")
    account_daily_cost_cap: Money | None = setting(
        None,
        AMOUNT,
        "The maximum cost of one account's model calls per day (UTC). Default: 5.00 if registration is open, billing "
        "is off and the model is paid; otherwise no cap.",
    )
    daily_cost_cap: Money | None = setting(
        None,
        AMOUNT,
        "The maximum cost of all accounts' model calls per day (UTC). Default: 50.00 if registration is open, billing "
        "is off and the model is paid; otherwise no cap.",
    )
    revision: Literal["off", "report", "apply", "compare"] = setting(
        "apply",
        "off, report, apply or compare",
        'What "Write, proofread and make files" does with its editor\'s findings. `report`: list them. '
        "`apply`: make small edits. `compare`: make only edits that win two blind comparisons with the draft. "
        "`off`: no editor reads the book.",
    )
    models_file: Folder | None = setting(
        None,
        "a TOML file",
        "A file with prices, context windows and reply sizes of models. It overrides the packaged table.",
    )
    context_tokens: int | None = setting(
        None,
        "4000 or more",
        "The maximum number of tokens of a model call that contains a book's text. With 32000 or less, chapters are "
        "written with digests of the earlier ones, not with their text. Default: the model's context window.",
        ge=4_000,
    )
    mark_origin: Literal["on", "off"] = setting(
        "on",
        "on or off",
        "Whether files and pictures carry machine-readable marks of AI origin.",
    )
    drain_seconds: float = setting(
        25.0,
        "seconds, 0 or more",
        "How long model calls get to finish after SIGTERM. A call cut off is repeated after the next start.",
        ge=0,
        allow_inf_nan=False,
    )

    billing: Literal["auto", "on", "off"] = setting(
        "auto", "auto, on or off", "Whether plans and payments are on. `auto`: on if `STRIPE_SECRET_KEY` is set."
    )
    renewal_grace_days: int = setting(
        3,
        "1 to 365",
        "How many days a subscription stays active after its paid period if no renewal event arrives.",
        ge=1,
        le=365,
    )
    stripe_secret_key: ApiKey | None = setting(None, KEY, "The secret key of your Stripe account.")
    stripe_webhook_secret: SecretStr | None = setting(None, "a secret", "The signing secret of your Stripe webhook.")
    stripe_publishable_key: Text = setting("", "a key", "The publishable key of your Stripe account, sent to browsers.")
    stripe_api_base: Url | None = setting(
        None, URL, "The URL of a server to use instead of Stripe's, such as a test server. It must offer the same API."
    )

    smtp_url: MailServerUrl | None = setting(
        None,
        "a URL like smtp://user:password@host:port or smtps://host (?tls=off allows smtp without TLS)",
        "The mail server. Default: e-mails are written to `outbox/` in the data folder.",
    )
    mail_from: Mailbox = setting("bookgen@localhost", "an e-mail address", "The sender of e-mails.")
    registration: Literal["open", "closed"] = setting("open", "open or closed", "Whether anyone can register.")
    email_verification: Literal["off", "mandatory"] = setting(
        "off", "off or mandatory", "Whether a new account must first confirm its e-mail address."
    )
    google_client_id: Text = setting("", "a client id", "Your Google client id. If set, users can sign in with Google.")
    google_api_base: Url | None = setting(
        None, URL, "The URL of a server to use instead of Google's, such as a test server. It must offer the same API."
    )
    allowed_origins: Origins = setting(
        (),
        "origins like https://app.example.org, separated by commas",
        "Origins of other sites that may call the API from a browser. They are also allowed in return URLs and `Host` "
        "headers.",
    )
    trusted_proxies: Networks = setting(
        (),
        "networks like 10.0.0.0/8, separated by commas",
        "The networks of your reverse proxies. Their `X-Forwarded-For` header says who the client is.",
    )

    rate_read: Rate = rate(LimitClass.READ)
    rate_write: Rate = rate(LimitClass.WRITE)
    rate_expensive: Rate = rate(LimitClass.EXPENSIVE)
    rate_public: Rate = rate(LimitClass.PUBLIC)
    rate_auth: Rate = rate(LimitClass.AUTH)
    files: FilePlace = setting(
        "database",
        FILES_TAKES,
        "Where pictures and exports are stored. To move existing ones, run `bookgen files move`.",
    )
    s3_endpoint: Url | None = setting(None, URL, "The URL of an S3-compatible server, if it is not Amazon's.")
    aws_access_key_id: ApiKey | None = setting(
        None, KEY, "The key id for the bucket. Default: the key that AWS gives the machine, task or pod."
    )
    aws_secret_access_key: ApiKey | None = setting(None, KEY, "The secret key for the bucket.")
    aws_session_token: ApiKey | None = setting(None, KEY, "The session token of temporary keys.")
    aws_region: Text = setting(
        "",
        "a region like eu-central-1",
        "The region of the bucket (also read from `AWS_DEFAULT_REGION`).",
        validation_alias=AliasChoices("AWS_REGION", "AWS_DEFAULT_REGION"),
    )
    exports_per_book: int = setting(8, "1 or more", "How many exports a book keeps. The oldest are deleted.", ge=1)
    exports_mb: int = setting(
        256, "1 or more", "How many megabytes of exports an account keeps. The oldest are deleted.", ge=1
    )
    exports_for: Interval | None = setting(
        None,
        "a time like 24h or 30d",
        "How long an export is kept. A deleted export can be made again. Default: no limit.",
    )
    covers_per_book: int | None = setting(
        None, "0 or more", "How many covers of a book are kept besides the selected one. Default: all.", ge=0
    )
    covers_for: Interval | None = setting(
        None, "a time like 24h or 30d", "How long a cover that is not selected is kept. Default: no limit."
    )
    backup_passphrase: Passphrase | None = setting(
        None,
        f"at least {MIN_PASSPHRASE_CHARACTERS} characters",
        "The passphrase that encrypts backups. Without it, no backup can be restored.",
    )
    backup_dir: Folder | None = setting(
        None,
        "a folder",
        "The folder for scheduled backups. Needs `BOOKGEN_BACKUP_PASSPHRASE`. Default: no scheduled backups.",
    )
    backup_every: Interval = setting("24h", "a time like 24h, 30m or 7d", "The time between two scheduled backups.")
    backup_keep: int = setting(7, "1 or more", "How many scheduled backups are kept. The oldest are deleted.", ge=1)
    console: Literal["on", "off"] = setting("on", "on or off", "Whether the web page is served at `/`.")
    metrics_token: ApiKey | None = setting(None, KEY, "A token that gives access to `/metrics` from other machines.")
    pg_bindir: Folder | None = setting(
        None, "a folder", "The folder of the PostgreSQL programs for the embedded database. Default: the bundled ones."
    )
    pg_old_bindir: Folder | None = setting(
        None,
        "a folder",
        "The folder with the programs of an older PostgreSQL, needed to move its database to the newer version.",
    )
    log_format: Literal["console", "json"] | None = setting(
        None, "console or json", "The log format. Default: `console` on a terminal, otherwise `json`."
    )
    log_level: Literal["debug", "info", "warning", "error"] = setting(
        "info", "debug, info, warning or error", "The lowest level that is logged."
    )

    @property
    def sizes(self) -> Sizes:
        return for_this_machine(self.chapters_at_once, self.database_pool, self.http_pool)

    @property
    def backup_seconds(self) -> float:
        """The time between two scheduled backups."""
        return seconds_of(self.backup_every)

    @property
    def billing_enabled(self) -> bool:
        return self.billing == "on" or (self.billing == "auto" and self.stripe_secret_key is not None)

    @property
    def open_to_strangers(self) -> bool:
        """Whether anyone can register and generate books for free: billing is off, so no plan limits them."""
        return self.registration == "open" and not self.billing_enabled

    @property
    def sells_to_strangers(self) -> bool:
        """Whether anyone can register while billing is on: every new account may then use the free plan."""
        return self.registration == "open" and self.billing_enabled

    def access(self, provider: str) -> tuple[str, str]:
        """The API key and the base URL of the provider. Each is empty if it is not set."""
        return reveal(getattr(self, f"{provider}_api_key")) or "", getattr(self, f"{provider}_base_url") or ""


def names() -> dict[str, str]:
    """The environment variable of each field of Config, in the order of the documentation."""
    return {field: _name(info.validation_alias) for field, info in Config.model_fields.items()}


def reveal(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret is not None else None


def _name(alias: object) -> str:
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else str(alias)
