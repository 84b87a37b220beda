"""`bookgen payments …`: the operator's commands on payments."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

from bookgen import config
from bookgen.app.database import open_database
from bookgen.app.parts import build_payments
from bookgen.billing.checkout import Payments

DAYS, MAX_DAYS = 90, 36_500


def add_options(parser: ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="payments_command", metavar="COMMAND", required=True)

    sync = commands.add_parser("sync", help="compare products, prices, portal and webhook with the payment processor")
    sync.add_argument(
        "--apply", action="store_true", help="create what is missing at the payment processor (default: only report it)"
    )
    sync.set_defaults(lines=lambda args, reconciliation: reconciliation.sync(apply=args.apply))

    replay = commands.add_parser("replay", help="apply pending events")
    replay.add_argument("--all", action="store_true", help="also replay events that were already applied")
    replay.set_defaults(lines=lambda args, reconciliation: reconciliation.replay(everything=args.all))

    reconcile = commands.add_parser("reconcile", help="compare payments with what was granted")
    reconcile.add_argument("--mend", action="store_true", help="correct bookgen's data to match the payment processor")
    reconcile.add_argument(
        "--days", type=_days, default=DAYS, metavar="N", help=f"how many days of purchases (default: {DAYS})"
    )
    reconcile.set_defaults(
        lines=lambda args, reconciliation: reconciliation.reconcile(
            mend=args.mend, since=timedelta(days=args.days), now=datetime.now(UTC)
        )
    )


def _days(text: str) -> int:
    if not text.isdecimal() or int(text) > MAX_DAYS:
        raise ArgumentTypeError(f"must be a number from 0 to {MAX_DAYS}, not {text!r}")
    return int(text)


async def run(options: Namespace) -> int:
    settings = config.load()
    async with open_database(settings) as database:
        payments = build_payments(settings, database)
        try:
            await carry_out(options, payments)
        finally:
            await payments.close()
    return 0


async def carry_out(args: Namespace, payments: Payments) -> None:
    """Run the command that `args` name, and print a line for each finding or change."""
    lines: AsyncIterator[str] = args.lines(args, payments.reconciliation())
    quiet = True
    async for line in lines:
        quiet = False
        print(line)
    if quiet:
        print("nothing to do")
