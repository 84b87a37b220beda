"""Every block and command of the pages for operators runs as printed, or a table says why it can't.

The blocks run in a shell, in a folder like a checkout with a running service. Scripts stand in for docker, kubectl and
helm: they write down their arguments, which have to fit the files in `deploy/`.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest
import yaml

from bookgen import __version__, config
from bookgen.commands.cli import parser
from bookgen.settings import names
from bookgen.store.postgres import binaries
from tests.documented import FencedBlock, blocks, commands, other_programs
from tests.service import ROOT, ServiceProcess, environment, run

NOT_RUN = {
    "install: make serve": "installs packages from an index; tests/test_makefile.py runs the set-up",
    "install: python3 -m venv .venv": "installs packages from an index; tests/test_package.py looks at the wheel",
    "install: cd /opt/bookgen && python3 -m venv .venv":
        "changes the machine, as root; `make boot` runs it on a machine of its own",
    "configure: BOOKGEN_FILES=s3://books/service": "settings of another server: tests/http/test_files.py",
    "operate: ALTER SYSTEM SET synchronous_standby_names = 'standby';":
        "a second server: tests/chaos/replicated.py does it, for tests/chaos/test_failover.py",
    "operate: export BOOKGEN_DATABASE_URL='postgresql://bookgen:secret@db1.example.org,db2.example.org/bookgen"
    "?target_session_attrs=read-write'": "servers of other machines: tests/chaos/test_failover.py uses such a URL",
    "operate: [Definition]": "no command: tests/http/test_metrics.py reads the log with this expression",
    "upgrade: git pull": "needs a remote repository and an index of packages",
}  # fmt: skip
COMMANDS_NOT_RUN = {
    "mcp": "speaks a protocol: tests/commands/test_mcp.py",
    "payments sync": "needs a payment processor: tests/commands/test_payments.py",
    "payments replay": "needs a payment processor: tests/commands/test_payments.py",
    "payments reconcile": "needs a payment processor: tests/commands/test_payments.py",
    "keys reset": "needs a secret that was lost: tests/accounts/test_keyring.py",
    "files move": "tests/commands/test_files.py",
    "backup": "tests/commands/test_backup.py",
    "restore": "tests/commands/test_backup.py",
}
PROGRAMS_NOT_RUN = {
    ".venv/bin/pip uninstall bookgen": "changes the environment that the tests run in",
    "apt install fonts-noto-cjk": "changes the machine; .ci/run does it where it may",
    "apt install postgresql-15": "changes the machine",
    "apt install python3-venv": "changes the machine",
    "make pythons": "runs this suite on other versions of Python",
    "python3 -m venv": "what `make` does without uv: tests/test_makefile.py",
    "pg_basebackup -R": "tests/chaos/replicated.py runs it",
    "pg_ctl promote": "tests/chaos/replicated.py runs it",
    "systemctl edit bookgen": "needs a running systemd",
    "systemctl restart bookgen": "needs a running systemd: `make boot`",
}
GIVES_READ_ACCESS = "chgrp -R GROUP data; chmod g+rx data data/sockets; chmod g+r data/pg.service.password"
ELSEWHERE = ("docker", "kubectl", "helm")
PATIENT = 240


@dataclass(frozen=True, slots=True)
class ServedCheckout:
    """A folder like a checkout with a running service. `noted`: the file in which stand-ins write their arguments."""

    folder: Path
    programs: Path
    noted: Path
    url: str

    async def shell(self, text: str, **more: str | None) -> str:
        """Run the text as a script in the checkout. Returns what it prints."""
        path = f"{self.programs}:{binaries.find()}:{os.environ['PATH']}"
        told = {**environment(self.folder), "PATH": path, **{name: str(value) for name, value in more.items()}}
        process = await asyncio.create_subprocess_exec(
            "sh", "-euc", text, cwd=self.folder, env=told,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        said, complained = await asyncio.wait_for(process.communicate(), PATIENT)
        assert process.returncode == 0, f"{text}\n{said.decode()}{complained.decode()}"
        return said.decode()

    def here(self, text: str) -> str:
        """The text with the folders of the page as they are here."""
        return text.replace("/opt/bookgen", str(self.folder)).replace("/var/lib/bookgen", str(self.folder))

    def calls(self) -> list[list[str]]:
        """The arguments of each call of a stand-in."""
        return [shlex.split(line) for line in self.noted.read_text().splitlines()]


@pytest.fixture(scope="module")
async def checkout(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServedCheckout]:
    folder, programs = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("programs")
    noted = programs / "noted"
    shutil.copytree(ROOT / "deploy", folder / "deploy")
    (folder / ".venv/bin").mkdir(parents=True)
    ours = f'exec env PYTHONPATH={ROOT} {sys.executable} -m bookgen "$@"'
    scripts = {programs / "bookgen": ours, folder / ".venv/bin/bookgen": ours}
    scripts[programs / "sudo"] = '[ "$1" != -u ] || shift 2\nexec env "$@"'
    for name in ELSEWHERE:
        scripts[programs / name] = f'{{ printf "%s " {name}; printf "\'%s\' " "$@"; echo; }} >> {noted}'
    for path, script in scripts.items():
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    async with ServiceProcess(folder) as service:
        yield ServedCheckout(folder, programs, noted, service.url)


def test_every_block_of_the_pages_is_run_or_named_with_the_reason_why_not() -> None:
    found = [block.name for block in blocks()]

    assert len(set(found)) == len(found)
    assert set(found) == NOT_RUN.keys() | PLAYS.keys()
    assert not NOT_RUN.keys() & PLAYS.keys()


def test_every_command_of_the_pages_is_run_or_named_with_the_reason_why_not() -> None:
    assert commands() == COMMANDS_NOT_RUN.keys() | {*PLAYED}
    assert other_programs() == PROGRAMS_NOT_RUN.keys() | {GIVES_READ_ACCESS}


def test_every_test_that_a_reason_names_is_there() -> None:
    reasons = " ".join([*NOT_RUN.values(), *COMMANDS_NOT_RUN.values(), *PROGRAMS_NOT_RUN.values()])

    assert [path for path in re.findall(r"tests/[\w/]+\.py", reasons) if not (ROOT / path).exists()] == []


# The blocks, by what is done with them.


async def lists_accounts(block: FencedBlock, checkout: ServedCheckout, _: str) -> None:
    await run(checkout.folder, "account", "create", "bob@example.org")

    assert "bob@example.org" in await checkout.shell(checkout.here(block.text))


async def continues_runs(block: FencedBlock, checkout: ServedCheckout, _: str) -> None:
    await checkout.shell(block.text)


async def makes_secrets_for_compose(block: FencedBlock, checkout: ServedCheckout, _: str) -> None:
    await checkout.shell(block.text)

    made = dict(line.split("=", 1) for line in (checkout.folder / "deploy/.env").read_text().splitlines())
    compose = (ROOT / "deploy/compose.yaml").read_text()
    assert set(re.findall(r"\$\{(\w+):\?", compose)) == made.keys()
    assert len(bytes.fromhex(made["BOOKGEN_SECRET_KEY"])) == len(bytes.fromhex(made["POSTGRES_PASSWORD"])) == 32
    told = {line.split("=")[0] for line in (checkout.folder / "deploy/bookgen.env").read_text().splitlines()}
    assert told <= set(names().values())
    assert {call[call.index("exec") + 1] for call in checkout.calls() if "exec" in call} <= {
        *yaml.safe_load(compose)["services"]
    }


async def fits_the_image(block: FencedBlock, checkout: ServedCheckout, _: str) -> None:
    await checkout.shell(block.text)

    built, started = [call for call in checkout.calls() if call[:2] in (["docker", "build"], ["docker", "run"])]
    dockerfile = (ROOT / "deploy/Dockerfile").read_text()
    assert started[-1] == built[built.index("-t") + 1]
    assert f"VOLUME {started[started.index('-v') + 1].split(':')[1]}\n" in dockerfile
    assert f"BOOKGEN_PORT={started[started.index('-p') + 1].split(':')[-1]}" in dockerfile


async def fits_the_chart(block: FencedBlock, checkout: ServedCheckout, _: str) -> None:
    await checkout.shell(block.text)

    values = yaml.safe_load((ROOT / "deploy/helm/values.yaml").read_text())
    arguments = [each for call in checkout.calls() if call[0] in ("kubectl", "helm") for each in call]
    sets = [arguments[at + 1].split("=")[0] for at, each in enumerate(arguments) if each == "--set"]
    literals = {each.split("=")[1] for each in arguments if each.startswith("--from-literal=")}
    assert len(sets) == 3
    assert [name for name in sets if not _has(values, name)] == []
    assert literals <= set(names().values())
    assert ["kubectl", "create", "secret", "generic", values["secretName"]] in [call[:5] for call in checkout.calls()]


async def makes_a_database(block: FencedBlock, checkout: ServedCheckout, cluster_dsn: str) -> None:
    """Under another name, since the server of the tests has a superuser `bookgen`."""
    server = urlsplit(cluster_dsn)
    host = parse_qs(server.query)["host"][0]
    here = re.sub(r"(ROLE|DATABASE|OWNER) bookgen", r"\1 documented", block.text)
    here = here.replace("bookgen:secret@db.example.org/bookgen", f"documented:secret@/documented?host={host}")
    login = {"PGHOST": host, "PGUSER": server.username, "PGPASSWORD": server.password, "PGDATABASE": "postgres"}
    superuser = await asyncpg.connect(cluster_dsn)
    try:
        assert "applied 0001" in await checkout.shell(f"{here}\nbookgen migrate", **login)
    finally:
        await superuser.execute("DROP DATABASE IF EXISTS documented")
        await superuser.execute("DROP ROLE IF EXISTS documented")
        await superuser.close()


async def sets_what_the_service_takes(block: FencedBlock, checkout: ServedCheckout, _: str) -> None:
    """As lines of a file `.env`, which may say `export`."""
    path = checkout.folder / "documented.env"
    path.write_text(re.sub(r"=…$", "=what the operator has chosen", block.text, flags=re.MULTILINE))
    with pytest.MonkeyPatch.context() as patched:
        for name in {*names().values(), "DATABASE_URL"}:
            patched.delenv(name, raising=False)
        read = config.load(path)

    given = re.findall(r"^(?:export )?(\w+)=", block.text, re.MULTILINE)
    fields = [field for field, name in names().items() if name in given]
    assert len(fields) == len(given) > 0
    assert all(getattr(read, field) is not None for field in fields)


PLAYS = {
    "install: cat > deploy/.env <<END": makes_secrets_for_compose,
    "install: docker build -f deploy/Dockerfile -t bookgen .": fits_the_image,
    "install: kubectl create secret generic bookgen --from-literal=BOOKGEN_SECRET_KEY=$(openssl rand -hex 32) \\":
        fits_the_chart,
    "install: cd /var/lib/bookgen && sudo -u bookgen /opt/bookgen/.venv/bin/bookgen account list": lists_accounts,
    'install: psql -c "CREATE ROLE bookgen LOGIN PASSWORD \'secret\'" '
    "-c \"CREATE DATABASE bookgen OWNER bookgen ENCODING 'UTF8' TEMPLATE template0\"": makes_a_database,
    "install: export BOOKGEN_DATABASE_URL=postgresql://bookgen:secret@pooler.example.org:6432/bookgen":
        sets_what_the_service_takes,
    "operate: cd /opt/bookgen && sudo .venv/bin/bookgen account list": lists_accounts,
    "operate: BOOKGEN_BACKUP_DIR=/var/backups/bookgen": sets_what_the_service_takes,
    "operate: bookgen runs resume --all": continues_runs,
}  # fmt: skip

# The commands, in an order in which each finds what it needs; what each has to print, and its exit code.
EMAIL = "ada@example.org"
PLAYED: Mapping[str, tuple[tuple[str, ...], str, int]] = {
    "serve": (("--version",), f"bookgen {__version__}", 0),  # the service itself runs beside all of this
    "migrate": (("migrate",), "nothing to apply", 0),
    "check": (("check",), "", 0),
    "account create": (("account", "create", EMAIL, "--password", "a grey weighbridge in the rain"), EMAIL, 0),
    "account make-staff": (("account", "make-staff", EMAIL), "", 0),
    "account remove-staff": (("account", "remove-staff", EMAIL), "", 0),
    "account set-plan": (("account", "set-plan", EMAIL, "pro"), "", 0),
    "account grant-credits": (
        ("account", "grant-credits", EMAIL, "3", "--words", "50000", "--reason", "thanks"),
        "",
        0,
    ),
    "account set-password": (("account", "set-password", EMAIL, "--password", "another grey weighbridge"), "", 0),
    "account block": (("account", "block", EMAIL, "--reason", "spam", "--ban"), "", 0),
    "account unblock": (("account", "unblock", EMAIL), "", 0),
    "account sessions end": (("account", "sessions", "end", EMAIL), "", 0),
    "account audit": (("account", "audit", EMAIL), "block", 0),
    "account list": (("account", "list"), EMAIL, 0),
    "account export": (("account", "export", EMAIL, "ada.zip"), "ada.zip", 0),
    "mail test": (("mail", "test", EMAIL), "outbox", 0),
    "write": (
        ("write", "The Salt Road", "--chapters", "1", "--words", "60", "--format", "epub", "--out", "out"),
        "",
        0,
    ),
    "proof": (("proof", "The Salt Road", "--list"), "", 0),
    "verify": (("verify", "FILE"), "algorithmicMedia", 0),
    "runs list": (("runs", "list", "--all"), "completed", 0),
    "runs": (("runs", "list"), "", 0),
    "runs show": (("runs", "show", "RUN"), "The Salt Road", 0),
    "runs pause": (("runs", "pause", "RUN"), "", 1),  # it is completed
    "runs resume": (("runs", "resume", "RUN"), "", 1),
    "runs cancel": (("runs", "cancel", "--all"), "", 0),
    "keys rotate": (("keys", "rotate"), "15 seconds", 0),
    "account delete": (("account", "delete", EMAIL, "--yes"), "", 0),
}


@pytest.mark.timeout(400)  # thirty commands
async def test_every_command_does_beside_the_running_service_what_the_page_says(checkout: ServedCheckout) -> None:
    for name, (arguments, expected, code) in PLAYED.items():
        given = [*arguments]
        if name in ("write", "proof"):
            given += ["--server", checkout.url]
        if "FILE" in given:
            (made,) = (checkout.folder / "out").glob("*.epub")
            given[given.index("FILE")] = str(made)
        if "RUN" in given:
            _, listed, _ = await run(checkout.folder, "runs", "list", "--all")
            given[given.index("RUN")] = re.findall(r"\b[0-9a-f]{8}\b", listed)[0]

        ended, said, complained = await run(checkout.folder, *given)

        assert (ended, expected in said) == (code, True), f"bookgen {' '.join(given)}\n{ended}\n{said}{complained}"
        assert "Traceback" not in complained


@pytest.mark.timeout(400)
async def test_every_block_works_as_it_is_printed(checkout: ServedCheckout, cluster_dsn: str) -> None:
    for block in blocks():
        if block.name not in NOT_RUN:
            checkout.noted.write_text("")
            await PLAYS[block.name](block, checkout, cluster_dsn)
            _require_fitting(checkout.calls())

    await checkout.shell(GIVES_READ_ACCESS.replace("GROUP", str(os.getgid())))
    data = checkout.folder / "data"
    assert [path.stat().st_mode & 0o050 for path in (data, data / "sockets")] == [0o050, 0o050]
    assert (data / "pg.service.password").stat().st_mode & 0o040


def _require_fitting(calls: Sequence[Sequence[str]]) -> None:
    """The files that other programs get are there, and a command within a container is one of ours."""
    for call in calls:
        for before, each in pairwise(call):
            if before in ("-f", "install") or each.startswith("deploy/helm"):
                assert "/" not in each or (ROOT / each).exists(), call
        if "bookgen" in call[3:] and "exec" in call:
            command = call[len(call) - call[::-1].index("bookgen") :]
            parser(command[0]).parse_args(command)  # SystemExit if there is no such command


def _has(values: Mapping[str, Any], name: str) -> bool:
    first, _, rest = name.partition(".")
    return first in values and (not rest or _has(values[first], rest))
