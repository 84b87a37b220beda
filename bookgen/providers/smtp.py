"""Sends mails through an SMTP server."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

import aiosmtplib

from bookgen.models import Letter
from bookgen.providers.mail import MailFault, MailNotSent, message

TIMEOUT_SECONDS = 30.0


class SmtpMailer:
    """Sends e-mails by SMTP. A `smtps://` URL uses TLS from the start; with `smtp://`, the connection switches to TLS.

    A server on this machine may lack TLS. Any other server must have it, unless the URL ends in `?tls=off`.
    """

    def __init__(self, url: str, *, sender: str) -> None:
        parts = urlsplit(url)
        self._sender = sender
        self._tls = parts.scheme == "smtps"
        self._host = parts.hostname or "localhost"
        self._port = parts.port
        self._start_tls = None if parts.query == "tls=off" or _is_local(self._host) else not self._tls
        self._username = unquote(parts.username) if parts.username else None
        self._password = unquote(parts.password) if parts.password else None

    async def send(self, letter: Letter) -> None:
        try:
            await aiosmtplib.send(
                message(letter, self._sender),
                hostname=self._host,
                port=self._port,
                username=self._username,
                password=self._password,
                use_tls=self._tls,
                start_tls=self._start_tls,
                timeout=TIMEOUT_SECONDS,
            )
        except (aiosmtplib.SMTPException, OSError, TimeoutError, ValueError) as error:
            raise MailNotSent(f"{type(error).__name__}: {error}", _fault(error)) from error


FAULTS: Mapping[type[Exception], MailFault] = {
    aiosmtplib.SMTPAuthenticationError: MailFault.LOGIN,
    aiosmtplib.SMTPRecipientsRefused: MailFault.RECIPIENT,
    aiosmtplib.SMTPRecipientRefused: MailFault.RECIPIENT,
    aiosmtplib.SMTPConnectError: MailFault.CONNECTION,
    aiosmtplib.SMTPServerDisconnected: MailFault.CONNECTION,
    aiosmtplib.SMTPTimeoutError: MailFault.CONNECTION,
    aiosmtplib.SMTPResponseException: MailFault.REFUSED,
    OSError: MailFault.CONNECTION,  # also TimeoutError, its subclass
}


def _fault(error: Exception) -> MailFault:
    return next((fault for kind, fault in FAULTS.items() if isinstance(error, kind)), MailFault.OTHER)


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
