"""`bookgen runs …`: the operator's commands on runs, with or without a running service.

A run is the writing of a book.
"""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from datetime import datetime
from uuid import uuid4

from bookgen import config
from bookgen.actors import status
from bookgen.actors.messages import Command, Pause, Resume, Stop
from bookgen.actors.resources import OperatorProcess
from bookgen.actors.transaction import Transactions
from bookgen.app.database import open_database
from bookgen.app.parts import build_quota
from bookgen.billing.quota import Quota
from bookgen.commands.exit_codes import FAILED
from bookgen.commands.operators import operator
from bookgen.errors import BookgenError, Conflict, InvalidInput, NotFound
from bookgen.models import RunStatus
from bookgen.store import audit, backups, run_list, runs
from bookgen.store.database import Database
from bookgen.store.progress import ChapterCounts, RunProgress
from bookgen.store.run_list import ListedRun

MIN_ID_CHARACTERS = 4
ACTIVE = (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.PAUSED)
LISTED = (*ACTIVE, RunStatus.ERROR)
COMMANDS: dict[str, tuple[Command, str]] = {
    "pause": (Pause(), "pause a run; the model call in flight may finish"),
    "resume": (Resume(), "continue a paused run, or retry a failed one"),
    "cancel": (Stop(), "stop a run; finished chapters are kept"),
}
# With `--all`, a command applies to the runs in these states.
ALL = {
    "pause": (RunStatus.QUEUED, RunStatus.RUNNING),
    "resume": (RunStatus.PAUSED,),
    "cancel": ACTIVE,
}


def add_options(parser: ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="runs_command", metavar="COMMAND", required=True)

    listing = commands.add_parser("list", help="list active and failed runs")
    listing.add_argument("--all", action="store_true", help="include completed and stopped runs")
    listing.set_defaults(runs_action=_list)

    show = commands.add_parser("show", help="show a run")
    show.add_argument("id", metavar="ID", help="the run's id, or its first characters")
    show.set_defaults(runs_action=_show)

    for name, (_, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary)
        which = command.add_mutually_exclusive_group(required=True)
        which.add_argument("id", metavar="ID", nargs="?", help="the run's id, or its first characters")
        which.add_argument("--all", action="store_true", help=f"all runs that are {' or '.join(ALL[name])}")
        if name == "resume":
            command.add_argument("--failed", action="store_true", help="with --all: include failed runs")
        command.set_defaults(runs_action=_steer)


async def run(options: Namespace) -> int:
    settings = config.load()
    async with open_database(settings) as database:
        return await carry_out(options, database, build_quota(settings))


async def carry_out(options: Namespace, database: Database, quota: Quota) -> int:
    """Run the command that the options name, and print the result. Returns the exit code."""
    code: int = await options.runs_action(options, database, quota)
    return code


async def _list(options: Namespace, database: Database, _: Quota) -> int:
    listed = await run_list.in_states(database.http, tuple(RunStatus) if options.all else LISTED)
    if made_at := await backups.waiting_copy(database.http):
        print(
            f"Restored from a backup of {made_at:%Y-%m-%d %H:%M} UTC. To continue its runs: bookgen runs resume --all"
        )
    print(f"{'id':<36}  {'status':<9}  {'chapters':>8}  {'changed (UTC)':<16}  account, book: message")
    for each in listed:
        found, done = each.run, f"{each.run.done}/{each.run.total}"
        told = f"{each.email}, {each.title}: {_message(each)}"
        print(f"{found.id}  {found.status:<9}  {done:>8}  {found.updated_at:%Y-%m-%d %H:%M}  {told}")
    return 0


async def _show(options: Namespace, database: Database, _: Quota) -> int:
    found = await _found(database, options.id)
    run = found.run
    rows = {
        "id": str(run.id),
        "book": f"{run.book_id}, {found.title}",
        "account": f"{run.account_id}, {found.email}",
        "status": run.status,
        "message": _message(found),
        "mode": f"{run.mode}, phase {run.phase}",
        "model": run.writer or "no call yet",
        "chapters": f"{run.done} of {run.total}",
        "words": f"{run.words_written}",
        "process": str(run.owner or "none"),
        "crashes": str(run.crash_count),
        "accepted": _time(run.started_at),
        "changed": _time(run.updated_at),
        "ended": _time(run.finished_at),
        "failure": f"{run.failure['code']}: {run.failure['message']}" if run.failure else "none",
    }
    for name, value in rows.items():
        print(f"{name:<10}{value}")
    return 0


async def _steer(options: Namespace, database: Database, quota: Quota) -> int:
    """Pause, resume or cancel one run, or with `--all` every run that the command can apply to. Returns the exit code.

    With `--all`, the error of a run is printed instead of raised, and the exit code is then FAILED.
    """
    name = options.runs_command
    transactions = Transactions(OperatorProcess(database.runs, quota))
    if not options.all:
        print(await _steer_one(transactions, database, name, await _found(database, options.id)))
        return 0
    failed = False
    chosen = await _all(options, database)
    continued = name == "resume" and await backups.waiting_copy(database.http) is not None
    if continued:
        await backups.let_continue(database.http)
        print("The runs of the restored backup continue now.")
    for each in chosen:
        try:
            print(await _steer_one(transactions, database, name, each))
        except BookgenError as error:
            failed = True
            print(f"bookgen: {each.run.id}: {error}", file=sys.stderr)
    if not chosen and not continued:
        print("nothing to do")
    return FAILED if failed else 0


async def _all(options: Namespace, database: Database) -> Sequence[ListedRun]:
    statuses = list(ALL[options.runs_command])
    if getattr(options, "failed", False):
        statuses.append(RunStatus.ERROR)
    return await run_list.in_states(database.http, statuses)


async def _steer_one(transactions: Transactions, database: Database, name: str, listed: ListedRun) -> str:
    """Apply the command `name` to a run. Returns a line that shows the new state of the run.

    Raises Conflict if the book has a newer run or the run's state forbids the command.
    """
    run = listed.run
    newest = await runs.newest(database.http, run.book_id)
    if newest and newest.id != run.id:
        raise Conflict(f"This run has ended, and its book has a newer run. Use the id of that run: {newest.id}")
    committed = await transactions.steer(run.account_id, run.book_id, COMMANDS[name][0], uuid4())
    details = {"run": str(run.id), "book": run.book_id}
    await audit.record(
        database.http, actor=operator(), action=f"{name}-run", account_id=run.account_id, details=details
    )
    after = committed.run.status if committed.run else "gone"
    return f"{run.id}  {after:<9}  {listed.email}, {listed.title}"


async def _found(database: Database, text: str) -> ListedRun:
    """Find the run whose id begins with `text`.

    Raises NotFound if there is none. Raises InvalidInput if there are several, or if `text` is too short or cannot be
    the beginning of an id.
    """
    beginning = text.strip().lower()
    if len(beginning) < MIN_ID_CHARACTERS or re.fullmatch(r"[0-9a-f-]+", beginning) is None:
        raise InvalidInput(f"{text!r} is not a run id. List run ids with: bookgen runs list")
    found = await run_list.by_id(database.http, beginning)
    if not found:
        raise NotFound(f"No run has the id {text}. List runs with: bookgen runs list")
    if len(found) > 1:
        raise InvalidInput(f"More than one run id starts with {text}. Enter more characters of the id.")
    return found[0]


def _message(listed: ListedRun) -> str:
    run = listed.run
    counts = ChapterCounts(chapters=run.total, texts=run.done, kept=run.done)
    return status.message(RunProgress(run, listed.place, None, counts))


def _time(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC" if moment else "-"
