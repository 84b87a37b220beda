"""Builds e-mails. If there is no SMTP server, they are written to a folder."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from email.utils import format_datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from bookgen.errors import BookgenError
from bookgen.models import Letter
from bookgen.processes import give_to_owner_of


class MailFault(StrEnum):
    """Why an e-mail could not be sent. The values are labels in the metrics."""

    CONNECTION = "connection"  # no server, no TLS, or it does not answer
    LOGIN = "login"
    RECIPIENT = "recipient"  # the server refuses the recipient's address
    REFUSED = "refused"  # the server refuses the mail or the sender
    DISK = "disk"  # the outbox cannot be written
    OTHER = "other"


class MailNotSent(BookgenError):
    """An e-mail could not be sent."""

    def __init__(self, message: str, fault: MailFault = MailFault.OTHER) -> None:
        super().__init__(message)
        self.fault = fault


class Mailer(Protocol):
    async def send(self, letter: Letter) -> None:
        """Send an e-mail. Raises MailNotSent on failure."""


class OutboxMailer:
    """Writes each e-mail to a folder as an .eml file, which mail programs can open."""

    def __init__(self, folder: Path, *, sender: str) -> None:
        self._folder = folder
        self._sender = sender

    async def send(self, letter: Letter) -> None:
        await asyncio.to_thread(self._write, letter)

    def _write(self, letter: Letter) -> None:
        name = letter.message_id.strip("<>").partition("@")[0] + ".eml"
        try:
            self._make_folder()
            unfinished = self._folder / f".{name}.part"  # it becomes an .eml only when it is complete
            # Links in mails give access to accounts, so from the start only the owner may read the file.
            with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                give_to_owner_of(self._folder, file.fileno())
                file.write(message(letter, self._sender).as_bytes())
            unfinished.replace(self._folder / name)
        except OSError as error:
            raise MailNotSent(f"{type(error).__name__}: {error}", MailFault.DISK) from error

    def _make_folder(self) -> None:
        if self._folder.is_dir():
            return
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            give_to_owner_of(self._folder.parent, descriptor)
        finally:
            os.close(descriptor)


def message(letter: Letter, sender: str) -> EmailMessage:
    ascii_only = letter.recipient.isascii() and sender.isascii()
    mail = EmailMessage(policy=SMTP if ascii_only else SMTPUTF8)
    mail["From"] = sender
    mail["To"] = letter.recipient
    mail["Subject"] = letter.subject
    mail["Date"] = format_datetime(datetime.now(UTC))
    mail["Message-ID"] = letter.message_id
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(letter.text, cte=_encoding(letter.text))
    mail.add_alternative(letter.html, subtype="html", cte=_encoding(letter.html))
    return mail


def _encoding(text: str) -> str:
    """Return the transfer encoding for `text`: 7bit if it is ASCII, so that links in the .eml file are not wrapped."""
    return "7bit" if text.isascii() else "quoted-printable"
