"""Sends queued e-mails. A transaction queues an e-mail in the database; the e-mail is sent after the commit."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import timedelta
from urllib.parse import urlsplit

import asyncpg
import structlog

from bookgen import metrics
from bookgen.accounts.letters import LIFETIME, compose
from bookgen.accounts.tokens import encode_uid, link_token_hash, new_link_token
from bookgen.errors import Unavailable
from bookgen.models import Account, LinkPurpose, Notice
from bookgen.providers.mail import Mailer, MailFault, MailNotSent
from bookgen.store import accounts, addresses, links, mails
from bookgen.store.mails import DueMail

BATCH = 8
LEASE = timedelta(minutes=5)
LOOK_EVERY_SECONDS = 5.0
FIRST_RETRY = timedelta(seconds=15)
MAX_RETRY = timedelta(hours=1)
MAX_ATTEMPTS = 32
# Limits letters per address, so that nobody can flood a mailbox by requesting password links.
LETTERS_AN_HOUR = 5

log = structlog.get_logger(__name__)
metrics.start_at_zero(metrics.MAIL_FAILURES, MailFault)


class Mailing:
    """Sends queued e-mails in a loop. Every process runs this loop, but claims an e-mail before it sends it."""

    def __init__(self, db: asyncpg.Pool, mailer: Mailer, *, public_url: str) -> None:
        self._db = db
        self._mailer = mailer
        self._public_url = public_url.rstrip("/")
        self._domain = urlsplit(public_url).hostname or "localhost"
        self._wake = asyncio.Event()
        self._counting = asyncio.Lock()

    def wake(self) -> None:
        """Make `run` look for queued e-mails immediately."""
        self._wake.set()

    async def run(self) -> None:
        """Send queued e-mails until cancelled."""
        while True:
            self._wake.clear()
            try:
                if await self.deliver_due():
                    continue
                await links.prune(self._db)
                await addresses.prune(self._db)
            except Unavailable as outage:
                log.warning("mail_not_read", reason=str(outage))
            except Exception:
                log.exception(
                    "mail_not_read",
                    to_do="In 5 seconds, the service looks again for e-mails to send. If this repeats, report "
                    "the traceback as a bug.",
                )
            await self._wait()

    async def deliver_due(self) -> int:
        """Send one batch of due e-mails. Returns the number of e-mails in the batch."""
        due = await mails.claim(self._db, BATCH, LEASE)
        # A failure does not interrupt the other letters, because an interrupted one might be sent twice.
        outcomes = await asyncio.gather(*map(self._deliver, due), return_exceptions=True)
        for outcome in outcomes:
            if outcome is not None:
                raise outcome
        return len(due)

    async def _wait(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_EVERY_SECONDS):
                await self._wake.wait()

    async def _deliver(self, mail: DueMail) -> None:
        try:
            if isinstance(mail.purpose, Notice):
                await self._notify(mail)
            else:
                await self._send_link(mail, mail.purpose)
        except MailNotSent as failure:
            self._fails(failure.fault)
            await self._postpone(mail, failure)
        except Exception as error:
            log.exception(
                "mail_failed",
                mail_id=mail.id,
                to_do="The e-mail is sent again later. If this repeats while the database answers, report the "
                "traceback as a bug.",
            )
            self._fails(MailFault.OTHER)
            await self._postpone(mail, error)
        else:
            await mails.delete(self._db, mail.id)

    async def _notify(self, mail: DueMail) -> None:
        account = await accounts.find(self._db, mail.account_id) if mail.account_id else None
        if mail.purpose is Notice.RECEIPT or (account and not account.blocked):
            await self._send(mail, mail.email, account)

    async def _send_link(self, mail: DueMail, purpose: LinkPurpose) -> None:
        addressed = await self._addressed(mail)
        if addressed is None:
            return
        account, recipient = addressed
        token = await self._link(mail, purpose, account, recipient)
        if token is None:
            return
        try:
            await self._send(
                mail, recipient, account, f"{self._public_url}/{purpose}/{encode_uid(account.id)}/{token}/"
            )
        except BaseException:
            await links.discard(self._db, link_token_hash(token))
            raise

    async def _addressed(self, mail: DueMail) -> tuple[Account, str] | None:
        """The account that the e-mail is for, and the address to send it to; None if there is no such account.

        An e-mail queued without an account is for the account that has its address. It is sent to the address as
        spelled in the account, which may differ from what someone typed.
        """
        if mail.account_id is None:
            account = await accounts.find_by_email(self._db, mail.email)
            return (account, account.email) if account else None
        account = await accounts.find(self._db, mail.account_id)
        return (account, mail.email) if account else None

    async def _link(self, mail: DueMail, purpose: LinkPurpose, account: Account, recipient: str) -> str | None:
        """Create the link of an e-mail and return its token; None if the e-mail must not be sent.

        For example, an address gets at most LETTERS_AN_HOUR e-mails of a kind.
        """
        # A link that approves a change is valid only for the requested address, not for a later one.
        email = mail.details["asked"] if purpose is LinkPurpose.APPROVE_EMAIL else recipient
        async with self._counting:  # so that concurrent e-mails together stay within LETTERS_AN_HOUR
            if not await self._wanted(purpose, account, email):
                return None
            token = new_link_token()
            await links.create(self._db, account.id, purpose, email, link_token_hash(token), LIFETIME[purpose])
            return token

    async def _wanted(self, purpose: LinkPurpose, account: Account, email: str) -> bool:
        if account.blocked:
            return False
        if purpose is LinkPurpose.APPROVE_EMAIL and email != account.pending_email:
            return False
        if purpose is LinkPurpose.VERIFY_EMAIL:
            unproven = {account.pending_email} if account.email_verified else {account.pending_email, account.email}
            if email not in unproven:
                return False
        sent = await links.count_within(self._db, account.id, purpose, email, timedelta(hours=1))
        return sent < LETTERS_AN_HOUR

    async def _send(self, mail: DueMail, recipient: str, account: Account | None, url: str = "") -> None:
        letter = compose(
            mail.purpose,
            home=self._public_url,
            recipient=recipient,
            username=account.username if account else "",
            details=mail.details,
            message_id=f"<{mail.created_at:%Y%m%d%H%M%S%f}.{mail.id}@{self._domain}>",
            url=url,
        )
        await self._mailer.send(letter)
        metrics.MAIL_SENT.inc()
        metrics.MAIL_FAILING.clear()

    def _fails(self, fault: MailFault) -> None:
        """Count a failure, and show its reason in the metrics until an e-mail is sent successfully."""
        metrics.MAIL_FAILURES.labels(fault).inc()
        metrics.MAIL_FAILING.clear()
        metrics.MAIL_FAILING.labels(fault).set(1)

    async def _postpone(self, mail: DueMail, error: Exception) -> None:
        if mail.attempts >= MAX_ATTEMPTS:
            log.error(
                "mail_given_up",
                mail_id=mail.id,
                purpose=mail.purpose,
                error=str(error),
                to_do="The e-mail was not sent and is deleted. If `error` is not about the recipient's address, test "
                "the mail server with: bookgen mail test ADDRESS",
            )
            await mails.delete(self._db, mail.id)
            return
        delay = min(FIRST_RETRY * 2 ** (mail.attempts - 1), MAX_RETRY)
        log.warning(
            "mail_postponed",
            mail_id=mail.id,
            purpose=mail.purpose,
            seconds=delay.total_seconds(),
            error=str(error)[:500],
            to_do="The service tries to send the e-mail again. If this repeats, test the mail server with: "
            "bookgen mail test ADDRESS",
        )
        await mails.postpone(self._db, mail.id, delay, str(error)[:500])
