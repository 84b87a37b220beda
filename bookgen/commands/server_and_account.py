"""The server that a command uses (one that it starts, or a running one), and the command's account there."""

from __future__ import annotations

import argparse
import contextlib
import hmac
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from bookgen import config
from bookgen.client.client import Client
from bookgen.client.errors import Unauthenticated
from bookgen.commands import passwords
from bookgen.commands.temporary_server import temporary_server
from bookgen.errors import StartupError
from bookgen.models import UNNAMED_AUTHOR
from bookgen.store.postgres.clusters import require_cluster
from bookgen.store.postgres.keyfile import kept_secret
from bookgen.store.postgres.space import make_data_folder

# Two accounts, so that a command never continues a book of sample text with a real model.
WRITER, SAMPLER = "writer", "sampler"
POLL_LOCAL, POLL_REMOTE = 0.5, 15.0


@dataclass(frozen=True)
class ServerAccount:
    """The server and account that a command uses. Without a `login`, the command creates an account for this computer.

    `suffix`: what to append to the name of that account. `log`: the log file, if the command has started the server.
    """

    url: str
    password: str
    login: str | None = None
    suffix: str = ""
    poll_seconds: float = POLL_LOCAL
    log: Path | None = None

    async def sign_in(self, client: Client) -> bool:
        """Sign in as `login`, or else with this computer's own account, which the first call creates.

        Returns True if the server has no model and writes only sample text. Raises StartupError if no account can be
        created.
        """
        site = await client.public_settings()
        sample: bool = site["models"] == ["offline"]
        if self.login:
            await client.login(self.login, self.password)
            return sample
        name = f"{SAMPLER if sample else WRITER}{self.suffix}"
        try:
            await client.login(name, self.password)
        except Unauthenticated:
            if not site["registration_enabled"] or site["email_verification_required"]:
                raise StartupError(
                    f"No account can be created at {self.url}: registration is closed or needs a verified e-mail. "
                    "Sign in to your account with --login."
                ) from None
            await client.register(name, f"{name}@bookgen.test", self.password, first_name=UNNAMED_AUTHOR)
        return sample


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--server", type=_url, metavar="URL", help="URL of a running server (default: start one)")
    parser.add_argument(
        "--login", metavar="NAME", help="e-mail or username on that server (default: create an account)"
    )
    passwords.add_option(parser, "the password for --login")


def _url(text: str) -> str:
    if not text.startswith(("http://", "https://")):
        raise argparse.ArgumentTypeError(f"must be a URL such as https://books.example.org (got {text!r})")
    return text


@contextlib.asynccontextmanager
async def server_account(options: argparse.Namespace, *, create: bool = True) -> AsyncIterator[ServerAccount]:
    """A context with the server that the options name, or else with a server that runs as long as the context.

    `create`: whether the started server may create its embedded database. If it may not, and there is no database,
    NoDatabase is raised. Raises StartupError if the options do not fit together or the server does not start.
    """
    if options.login and not options.server:
        raise StartupError("--login needs --server.")
    if options.password and not options.login:
        raise StartupError("--password needs --login.")
    if options.server and options.login:
        password = await passwords.read(options.password or passwords.ASK)
        yield ServerAccount(options.server, password or "", options.login, poll_seconds=POLL_REMOTE)
        return
    settings = config.load()
    if not (create or options.server or settings.database_url):
        require_cluster(settings.data_dir)
    make_data_folder(settings.data_dir)
    key = kept_secret(settings.data_dir / "write.key")
    if options.server:
        # A different password for each server, and a suffix that makes the username unique there.
        password = hmac.new(key.encode(), options.server.encode(), "sha256").hexdigest()
        yield ServerAccount(options.server, password, suffix=f"-{password[:8]}", poll_seconds=POLL_REMOTE)
        return
    async with temporary_server(settings) as (url, log):
        yield ServerAccount(url, key, log=log)
