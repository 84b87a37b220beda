"""Letters: their text and HTML, sending by one of several processes, and retries."""

from __future__ import annotations

import asyncio
import re
import stat
from collections.abc import AsyncIterator
from datetime import timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any, cast

import asyncpg
import pytest
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword
from structlog.testing import capture_logs

from bookgen.accounts.mailing import MAX_ATTEMPTS, Mailing
from bookgen.accounts.rights import RightsCache
from bookgen.metrics import MAIL_FAILING
from bookgen.models import Letter, LinkPurpose
from bookgen.providers.mail import Mailer, MailNotSent
from bookgen.providers.smtp import SmtpMailer
from bookgen.store import mails
from bookgen.store.database import open_pool
from tests.accounts.door import Door, OpenDoor
from tests.chaos.pg_proxy import PgProxy
from tests.ports import free_port

KEPT_OF_A_LETTER = {"id", "purpose", "email", "account_id", "details", "attempts", "due_at", "last_error", "created_at"}


class Mailbox:
    """What an SMTP server received."""

    def __init__(self) -> None:
        self.letters: asyncio.Queue[EmailMessage] = asyncio.Queue()
        self.logins: list[tuple[bytes, bytes]] = []

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.letters.put_nowait(cast(EmailMessage, message_from_bytes(envelope.content, policy=policy.default)))
        return "250 OK"

    def authenticate(self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        if isinstance(data, LoginPassword):
            self.logins.append((data.login, data.password))
        return AuthResult(success=True)


@pytest.fixture
async def smtp() -> AsyncIterator[tuple[Mailbox, int]]:
    mailbox = Mailbox()
    server = await asyncio.get_running_loop().create_server(
        lambda: SMTP(mailbox, authenticator=mailbox.authenticate, auth_require_tls=False, hostname="mx.example"),
        "127.0.0.1",
        0,
    )
    yield mailbox, server.sockets[0].getsockname()[1]
    server.close()


class Unreliable:
    """Refuses `refusals` letters, then accepts everything."""

    def __init__(self, refusals: int) -> None:
        self.refusals = refusals
        self.taken: list[Letter] = []

    async def send(self, letter: Letter) -> None:
        if self.refusals > 0:
            self.refusals -= 1
            raise MailNotSent("451 try again later")
        self.taken.append(letter)


def mailing(door: Door, mailer: Mailer) -> Mailing:
    return Mailing(door.database.http, mailer, public_url="http://books.example")


async def waiting(door: Door) -> int:
    count: int = await door.database.http.fetchval("SELECT count(*) FROM mail")
    return count


async def test_a_letter_is_sent_by_smtp_right_after_the_request(open_door: OpenDoor, smtp: tuple[Mailbox, int]) -> None:
    mailbox, port = smtp
    door = await open_door(smtp_url=f"smtp://us%40er:p%2Fw@127.0.0.1:{port}", mail_from="Books <b@books.example>")
    worker = asyncio.create_task(door.mailing.run())

    await door.register("ada", first_name="Buy at https://spam.example")
    letter = await mailbox.letters.get()

    assert mailbox.logins == [(b"us@er", b"p/w")]
    assert (letter["From"], letter["To"]) == ("Books <b@books.example>", "ada@example.com")
    assert [part.get_content_type() for part in letter.iter_parts()] == ["text/plain", "text/html"]
    text, html = (part.get_content() for part in letter.iter_parts())
    assert "Hello ada," in text
    assert "spam" not in text + html
    link = next(line for line in text.splitlines() if line.startswith("http"))
    assert link in html
    assert (await door.call("GET", "/auth" + link.removeprefix("http://books.example")))[0] == 200
    worker.cancel()


@pytest.mark.parametrize(
    ("url", "arrives"),
    [("smtp://127.0.0.1", True), ("smtp://localhost", True), ("smtp://0.0.0.0", False), ("smtp://0.0.0.0{tls}", True)],
)
async def test_a_remote_server_without_tls_gets_no_letters_unless_it_is_allowed(
    smtp: tuple[Mailbox, int], url: str, arrives: bool
) -> None:
    mailbox, port = smtp
    scheme, _, rest = url.partition("://")
    host, marked = rest.removesuffix("{tls}"), rest.endswith("{tls}")
    mailer = SmtpMailer(f"{scheme}://{host}:{port}{'?tls=off' if marked else ''}", sender="b@books.example")
    letter = Letter("ada@example.com", "Hello", "text", "<p>html</p>", "<1@books.example>")

    if arrives:
        await mailer.send(letter)
        assert (await mailbox.letters.get())["To"] == "ada@example.com"
    else:
        with pytest.raises(MailNotSent):
            await mailer.send(letter)
        assert mailbox.letters.empty()


async def test_a_username_that_looks_like_a_link_is_left_out_of_letters(door: Door) -> None:
    await door.register("www.spam.example")

    (letter,) = await door.letters()

    assert "Hello reader," in str(letter)
    assert "spam" not in str(letter).partition("\n\n")[2]


async def test_the_outbox_holds_complete_files_that_only_the_owner_can_read(door: Door) -> None:
    await door.register("ada")

    letters = await door.letters()

    (file,) = door.outbox.iterdir()
    assert file.suffix == ".eml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert letters[0]["Subject"] == "Verify your e-mail address (bookgen)"
    assert letters[0]["Message-ID"].endswith("@books.example>")
    assert re.search(rb"^http://books\.example/verify-email/\w+/[\w-]{43}/\r?$", file.read_bytes(), re.MULTILINE)


async def test_a_letter_appears_in_the_outbox_only_when_it_is_complete(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Path] = []
    replace = Path.replace

    def look_and_replace(unfinished: Path, target: Path) -> Path:
        seen.extend(unfinished.parent.glob("*.eml"))
        return replace(unfinished, target)

    monkeypatch.setattr(Path, "replace", look_and_replace)
    await door.register("ada")

    assert len(await door.letters()) == 1
    assert seen == []


async def test_a_rolled_back_registration_sends_no_letter(door: Door) -> None:
    await door.register("ada")
    await door.letters()

    await door.post("/auth/register/", {"username": "ADA", "email": "x@example.com", "password": "long enough"})

    assert await waiting(door) == 0
    assert len(await door.letters()) == 1


async def test_a_letter_that_could_not_be_sent_is_tried_again_later(door: Door) -> None:
    await door.register("ada")
    mailer = Unreliable(refusals=2)
    worker = mailing(door, mailer)

    for attempt in (1, 2):
        assert await worker.deliver_due() == 1
        assert await worker.deliver_due() == 0
        row = await door.database.http.fetchrow("SELECT attempts, due_at > now() AS later, last_error FROM mail")
        assert tuple(row) == (attempt, True, "451 try again later")
        await door.database.http.execute("UPDATE mail SET due_at = now()")
    await worker.deliver_due()

    assert len(mailer.taken) == 1
    assert await waiting(door) == 0
    assert await door.database.http.fetchval("SELECT count(*) FROM link") == 1


async def test_the_metrics_show_why_letters_fail_until_one_succeeds(door: Door) -> None:
    await door.register("ada")
    nowhere = SmtpMailer(f"smtp://127.0.0.1:{free_port()}", sender="b@books.example")

    assert await mailing(door, nowhere).deliver_due() == 1
    assert failing() == {"connection"}

    await door.database.http.execute("UPDATE mail SET due_at = now()")
    await mailing(door, Unreliable(refusals=0)).deliver_due()
    assert failing() == set()


def failing() -> set[str]:
    """The reasons shown in the metric."""
    return {sample.labels["reason"] for metric in MAIL_FAILING.collect() for sample in metric.samples if sample.value}


class UntilBoth:
    """Accepts letters once two are being sent. The table is gone before the second one can be deleted."""

    def __init__(self, db: asyncpg.Pool) -> None:
        self._db = db
        self._begun = 0
        self._both, self._gone = asyncio.Event(), asyncio.Event()
        self.taken: list[Letter] = []

    async def send(self, letter: Letter) -> None:
        self._begun += 1
        if self._begun == 1:
            await self._both.wait()
            await self._db.execute("ALTER TABLE mail RENAME TO mail_elsewhere")
            self._gone.set()
        else:
            self._both.set()
            await self._gone.wait()
            await self._db.execute("SELECT pg_sleep(0.2)")
        self.taken.append(letter)


async def test_a_letter_that_cannot_be_deleted_from_the_queue_does_not_block_the_others(door: Door) -> None:
    await door.register("ada")
    await door.register("bea")
    mailer = UntilBoth(door.database.http)

    with pytest.raises(asyncpg.UndefinedTableError):
        await mailing(door, mailer).deliver_due()

    assert {letter.recipient for letter in mailer.taken} == {"ada@example.com", "bea@example.com"}
    await door.database.http.execute("ALTER TABLE mail_elsewhere RENAME TO mail")


async def test_the_log_says_why_a_letter_is_postponed(door: Door) -> None:
    await door.register("ada")

    with capture_logs() as logs:
        await mailing(door, Unreliable(refusals=1)).deliver_due()

    assert [line["error"] for line in logs if line["event"] == "mail_postponed"] == ["451 try again later"]


async def test_a_letter_that_keeps_failing_is_given_up(door: Door) -> None:
    await door.register("ada")
    worker = mailing(door, Unreliable(refusals=1000))
    await door.database.http.execute("UPDATE mail SET attempts = $1", MAX_ATTEMPTS - 1)

    await worker.deliver_due()

    assert await waiting(door) == 0
    assert await door.database.http.fetchval("SELECT count(*) FROM link") == 0


async def test_an_unreachable_mail_server_is_a_failed_attempt() -> None:
    letter = Letter("ada@example.com", "Hello", "text", "<p>html</p>", "<1@books.example>")

    with pytest.raises(MailNotSent):
        await SmtpMailer("smtp://127.0.0.1:1", sender="b@books.example").send(letter)


async def test_each_letter_is_sent_by_one_process_only(door: Door) -> None:
    mailer = Unreliable(refusals=0)
    for number in range(30):
        await door.register(f"reader{number}")
    workers = [mailing(door, mailer) for _ in range(4)]

    async def drain(worker: Mailing) -> None:
        while await worker.deliver_due():
            pass

    await asyncio.gather(*map(drain, workers))

    assert sorted(letter.recipient for letter in mailer.taken) == sorted(
        f"reader{number}@example.com" for number in range(30)
    )


async def test_concurrent_claims_take_different_letters_and_do_not_wait(door: Door) -> None:
    for number in range(6):
        await door.register(f"reader{number}")

    async with door.database.http.acquire() as connection, connection.transaction():
        first = await mails.claim(connection, 4, timedelta(minutes=5))
        second = await mails.claim(door.database.http, 4, timedelta(minutes=5))

    assert len(first) == 4
    assert len(second) == 2
    assert not {mail.id for mail in first} & {mail.id for mail in second}


async def test_the_letter_that_has_waited_longest_goes_first(door: Door) -> None:
    """Otherwise letters that come in keep those waiting that failed once."""
    for number in range(6):
        await door.register(f"reader{number}")
    db = door.database.http
    await db.execute("UPDATE mail SET due_at = now() - id % 3 * interval '1 minute'")
    longest = {row["id"] for row in await db.fetch("SELECT id FROM mail ORDER BY due_at LIMIT 2")}

    claimed = await mails.claim(db, 2, timedelta(minutes=5))

    assert {mail.id for mail in claimed} == longest


async def test_letters_claimed_by_a_dead_process_are_claimed_again(door: Door) -> None:
    await door.register("ada")
    await door.database.http.execute("UPDATE mail SET attempts = 1, due_at = now() - interval '1 second'")
    mailer = Unreliable(refusals=0)

    await mailing(door, mailer).deliver_due()

    assert len(mailer.taken) == 1


async def test_a_blocked_account_gets_no_letters(door: Door) -> None:
    body = await door.register("ada")
    await door.letters()
    await door.block(body["user"]["id"])

    await door.post("/auth/forgot-password/", {"email": "ada@example.com"})

    assert len(await door.letters()) == 1


async def test_the_loop_survives_an_error_while_sending(door: Door) -> None:
    sent = asyncio.Event()

    class BrokenMailer:
        async def send(self, letter: Letter) -> None:
            if letter.recipient == "ada@example.com":
                raise RuntimeError("a bug")
            sent.set()

    worker = mailing(door, BrokenMailer())
    running = asyncio.create_task(worker.run())
    await door.register("ada")
    await door.register("bea")
    worker.wake()

    await sent.wait()

    assert not running.done()
    running.cancel()


async def test_the_mail_queue_stores_no_tokens(door: Door) -> None:
    await mails.enqueue(door.database.http, LinkPurpose.RESET_PASSWORD, "nobody@example.com")

    columns = await door.database.http.fetchrow("SELECT * FROM mail")

    assert set(columns.keys()) == KEPT_OF_A_LETTER


async def test_a_database_outage_is_logged_as_a_warning_without_a_traceback(dsn: str) -> None:
    async with PgProxy(dsn) as proxy:
        away = await open_pool(proxy.dsn, size=1)
        proxy.close()
        with capture_logs() as logs:
            loops = [
                asyncio.create_task(Mailing(away, Unreliable(0), public_url="http://books.example").run()),
                asyncio.create_task(RightsCache(away).watch(asyncio.Queue[int]().put)),
            ]
            while len(logs) < 2:  # noqa: ASYNC110 (the signal is a line of the log)
                await asyncio.sleep(0)
            for loop in loops:
                loop.cancel()
        away.terminate()

    assert {line["event"] for line in logs} == {"mail_not_read", "blocked_accounts_not_read"}
    assert all(line["log_level"] == "warning" and "exc_info" not in line for line in logs)
