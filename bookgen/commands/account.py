"""`bookgen account …`: the operator's commands on accounts, with or without a running service."""

from __future__ import annotations

import secrets
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg

from bookgen import config
from bookgen.accounts import signup
from bookgen.accounts.passwords import MAX_LENGTH, MIN_LENGTH, Passwords, require_strong
from bookgen.app.database import open_database
from bookgen.billing import credits
from bookgen.billing.standing import is_live, standard_plan
from bookgen.commands import account_leaving, passwords
from bookgen.commands.operators import operator
from bookgen.errors import Conflict, InvalidInput, NotFound
from bookgen.models import Account, CreditKind, LinkPurpose, Notice
from bookgen.store import accounts, audit, bans, links, mails, plans, subscriptions
from bookgen.store.accounts import NewAccount
from bookgen.store.database import DB, Database

WORDS_PER_CREDIT = 50_000
GREATEST = 2**31 - 1
AUDIT_ENTRIES = 200


def add_options(parser: ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="account_command", metavar="COMMAND", required=True)

    create = _command(commands, "create", "create an account", _create)
    create.add_argument("--username", metavar="U", help="default: derived from the e-mail address")
    passwords.add_option(create, "the password (default: generated and printed)")
    create.add_argument("--staff", action="store_true", help="allow access to the staff overview")

    plan = _command(commands, "set-plan", "put an account on a plan", _set_plan)
    plan.add_argument("slug", metavar="SLUG")

    grant = _command(commands, "grant-credits", "grant credits to an account", _grant_credits)
    grant.add_argument("credits", metavar="N", type=_positive)
    grant.add_argument(
        "--words", metavar="W", type=_positive, default=WORDS_PER_CREDIT, help="words that each credit covers"
    )
    grant.add_argument("--reason", metavar="R", default="")

    block = _command(commands, "block", "block an account", _block)
    block.add_argument("--reason", metavar="R", default="")
    block.add_argument("--ban", action="store_true", help="also ban the browsers and networks that the account used")

    _command(commands, "audit", "show the audit log of an account, newest first", _audit)
    sessions = commands.add_parser("sessions", help="manage the sessions of an account")
    ends = sessions.add_subparsers(dest="sessions_command", metavar="COMMAND", required=True)
    _command(ends, "end", "revoke all tokens of an account", _end_sessions)
    _command(commands, "unblock", "unblock an account and lift its bans", _unblock)
    _command(commands, "make-staff", "give an account access to the staff overview", _make_staff)
    _command(commands, "remove-staff", "withdraw an account's access to the staff overview", _remove_staff)
    password = _command(commands, "set-password", "set the password of an account and end its sessions", _set_password)
    passwords.add_option(password, "the new password (default: prompt, or read standard input)")
    export = _command(commands, "export", "write everything stored about an account to a ZIP file", _export)
    export.add_argument("file", metavar="FILE", type=Path)
    delete = _command(commands, "delete", "delete an account with all its books", _delete)
    delete.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    commands.add_parser("list", help="list all accounts").set_defaults(account_action=_list)


async def run(options: Namespace) -> int:
    settings = config.load()
    async with open_database(settings) as database:
        await options.account_action(options, database)
    if options.account_command in ("list", "set-plan") and not settings.billing_enabled:
        plan = standard_plan(billing=False)
        print(
            f"Billing is off, so every account has the plan {plan}. Plans set here apply once billing is on.",
            file=sys.stderr,
        )
    return 0


Action = Callable[[Namespace, Database], Awaitable[None]]
NOTHING: Mapping[str, Any] = {}


def _command(commands: Any, name: str, summary: str, action: Action) -> ArgumentParser:
    parser: ArgumentParser = commands.add_parser(name, help=summary)
    parser.add_argument("email", metavar="EMAIL")
    parser.set_defaults(account_action=action)
    return parser


async def _create(args: Namespace, database: Database) -> None:
    password = await passwords.read(args.password) or secrets.token_urlsafe(12)
    email = signup.valid_email(args.email)
    password_hash = await _hashed(password, args.username or "", email)
    async with database.http.acquire() as connection, connection.transaction():
        username = args.username and signup.valid_username(args.username, email)
        account = await accounts.create(
            connection,
            NewAccount(
                username=username or await accounts.first_free_username(connection, email),
                email=email,
                password_hash=password_hash,
                email_verified=True,
                is_staff=args.staff,
            ),
        )
        await _record(connection, "create", account, {"staff": args.staff})
    made = "" if args.password else f", password {password}"
    print(f"Created {account.email}: id {account.id}, username {account.username}{made}")


async def _hashed(password: str, *own: str) -> str:
    """Check a new password and return its hash.

    Raises InvalidInput if the password is too short, too long or easy to guess. `own`: the account's names and e-mail
    address. A password that resembles one of them counts as easy to guess.
    """
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        raise InvalidInput(f"A password must have {MIN_LENGTH} to {MAX_LENGTH} characters.")
    require_strong("password", password, *own)
    hashing = Passwords()
    try:
        return await hashing.hash(password)
    finally:
        hashing.close()


async def _set_plan(args: Namespace, database: Database) -> None:
    async with _account_change(args, database, {"plan": args.slug}) as (connection, account):
        if await plans.find(connection, args.slug) is None:
            raise NotFound(f"There is no plan {args.slug!r}.")
        await subscriptions.lock(connection, account.id)
        subscription = await subscriptions.find(connection, account.id)
        if subscription is not None and is_live(subscription):
            raise Conflict("The payment processor bills this subscription. Change the plan at the processor.")
        await subscriptions.set_plan(connection, account.id, args.slug)
    print(f"{account.email} is now on the plan {args.slug}.")


async def _grant_credits(args: Namespace, database: Database) -> None:
    details = {"credits": args.credits, "words_per_book": args.words}
    async with _account_change(args, database, details) as (connection, account):
        await subscriptions.lock(connection, account.id)
        description = args.reason or "Granted by the operator"
        try:
            await credits.grant(connection, account.id, args.credits, args.words, CreditKind.BONUS, description)
        except asyncpg.NumericValueOutOfRangeError:
            raise InvalidInput(f"An account can have at most {GREATEST} credits.") from None
    print(f"Granted {account.email} {args.credits} credits, each for a book of up to {args.words} words.")


async def _block(args: Namespace, database: Database) -> None:
    details: dict[str, Any] = {"bans": 0}
    async with _account_change(args, database, details) as (connection, account):
        await accounts.block(connection, account.id, args.reason)
        if args.ban:
            details["bans"] = await bans.ban_origins(connection, account.id, args.reason)
    print(f"Blocked {account.email}. All processes apply this within five seconds.")


async def _unblock(args: Namespace, database: Database) -> None:
    async with _account_change(args, database) as (connection, account):
        await accounts.unblock(connection, account.id)
        await bans.lift(connection, account.id)
    print(f"Unblocked {account.email}.")


async def _make_staff(args: Namespace, database: Database) -> None:
    async with _account_change(args, database) as (connection, account):
        await accounts.make_staff(connection, account.id)
    print(f"{account.email} is staff.")


async def _remove_staff(args: Namespace, database: Database) -> None:
    async with _account_change(args, database) as (connection, account):
        await accounts.remove_staff(connection, account.id)
    print(f"{account.email} is no longer staff.")


async def _set_password(args: Namespace, database: Database) -> None:
    account = await _find(database.http, args.email)
    password_hash = await _hashed(
        await passwords.read(args.password or passwords.ASK) or "", account.username, account.email
    )
    async with _account_change(args, database) as (connection, account):
        await accounts.set_password(connection, account.id, password_hash)
        await links.void(connection, account.id, LinkPurpose.RESET_PASSWORD)
        await accounts.end_tokens(connection, account.id, datetime.now(UTC))
        await mails.enqueue(
            connection, Notice.PASSWORD_CHANGED, account.email, account.id, by="the operator of this server"
        )
    print(f"Set the password of {account.email} and ended its sessions. All processes apply this within five seconds.")


async def _export(args: Namespace, database: Database) -> None:
    account = await _find(database.http, args.email)
    await account_leaving.export(args, database, account)
    await _record(database.http, "export", account, {})


async def _delete(args: Namespace, database: Database) -> None:
    await account_leaving.delete(args, database, await _find(database.http, args.email))


async def _audit(args: Namespace, database: Database) -> None:
    account = await _find(database.http, args.email)
    for entry in await audit.listed(database.http, account.id, AUDIT_ENTRIES):
        said = ", ".join(f"{name} {value}" for name, value in entry.details.items())
        why = f" ({entry.reason})" if entry.reason else ""
        print(f"{entry.created_at:%Y-%m-%d %H:%M:%S}  {entry.action:<18}  {entry.actor}  {said}{why}")


async def _end_sessions(args: Namespace, database: Database) -> None:
    async with _account_change(args, database) as (connection, account):
        await accounts.end_tokens(connection, account.id, datetime.now(UTC))
    print(f"Signed out {account.email} everywhere. All processes apply this within five seconds.")


async def _list(args: Namespace, database: Database) -> None:
    print(f"{'id':>6}  {'plan':<12} {'books':>5}  {'created':<10}  {'':<13}  email, username")
    for account in await accounts.list_all(database.http):
        marks = " ".join(["staff"] * account.is_staff + ["blocked"] * account.blocked)
        print(
            f"{account.id:>6}  {account.plan or '-':<12} {account.books:>5}  {account.created_at:%Y-%m-%d}"
            f"  {marks:<13}  {account.email}, {account.username}"
        )


@asynccontextmanager
async def _account_change(
    args: Namespace, database: Database, details: Mapping[str, Any] = NOTHING
) -> AsyncIterator[tuple[asyncpg.Connection, Account]]:
    """A context that yields a transaction's connection, and the account that the command is about.

    At its end, it records in the audit log who changed the account, and why. `details`: further facts for the audit
    log. Raises NotFound if no account has the e-mail address.
    """
    async with database.http.acquire() as connection, connection.transaction():
        account = await _find(connection, args.email)
        yield connection, account
        await _record(connection, args.account_command, account, details, getattr(args, "reason", ""))


async def _find(db: DB, email: str) -> Account:
    account = await accounts.find_by_email(db, email.strip())
    if account is None:
        raise NotFound(f"No account has the e-mail address {email}. List accounts with: bookgen account list")
    return account


async def _record(connection: DB, action: str, account: Account, details: Mapping[str, Any], reason: str = "") -> None:
    await audit.record(
        connection, actor=operator(), action=action, account_id=account.id, details=details, reason=reason
    )


def _positive(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= GREATEST:
        raise ArgumentTypeError(f"must be a number from 1 to {GREATEST}, not {text!r}")
    return int(text)
