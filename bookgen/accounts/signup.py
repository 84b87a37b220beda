"""Rules for new accounts: the username, the e-mail address and the origin of the request."""

from __future__ import annotations

import hashlib
import ipaddress
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from bookgen.accounts.lookalikes import misleads
from bookgen.errors import InvalidInput

USERNAME_PATTERN = r"^[\w.@+-]{3,150}$"
GMAIL = frozenset({"gmail.com", "googlemail.com"})
FINGERPRINT_ACCOUNTS = 2
FINGERPRINT_RETRY_SECONDS = 86_400
# New accounts per day and IP address, and per surrounding network, if free accounts cost us model calls.
ADDRESS_ACCOUNTS, SURROUNDINGS_ACCOUNTS = 5, 20
REGISTRATION_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Caller:
    """The origin of a request: its IP address and, if the browser sent one, its fingerprint."""

    address: str
    fingerprint: str | None = None

    @property
    def fingerprint_hash(self) -> str | None:
        text = (self.fingerprint or "").strip()
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest() if text else None

    @property
    def network(self) -> str | None:
        """The IPv4 address, or the /64 network of an IPv6 address (one household); None for loopback."""
        return self._network(32, 64)

    @property
    def surroundings(self) -> str | None:
        """The /24 network of the IPv4 address, or the /48 network of an IPv6 address; None for loopback."""
        return self._network(24, 48)

    def _network(self, prefix_of_4: int, prefix_of_6: int) -> str | None:
        try:
            address = ipaddress.ip_address(self.address)
        except ValueError:
            return None
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        if address.is_loopback:
            return None
        prefix = prefix_of_4 if address.version == 4 else prefix_of_6
        return str(ipaddress.ip_network(f"{address}/{prefix}", strict=False))

    @property
    def origin(self) -> dict[str, str]:
        """The browser's hashed fingerprint and the network of the address, as bans and the audit log store them."""
        known = {"fingerprint": self.fingerprint_hash, "address": self.network}
        return {kind: value for kind, value in known.items() if value}


def valid_email(text: str) -> str:
    """The e-mail address in its normal form. Raises InvalidInput if it is malformed.

    Does not check whether the address exists: its owner has to follow a mailed link.
    """
    from email_validator import EmailNotValidError, validate_email  # slow, so app/serve.py imports it after the start

    try:
        # With the test environment, addresses under .test are allowed.
        found = validate_email(text.strip(), check_deliverability=False, allow_smtputf8=False, test_environment=True)
    except EmailNotValidError:
        raise _unfit("email", "Enter a valid e-mail address, such as name@example.com.") from None
    if "." not in found.ascii_domain:
        raise _unfit("email", "Enter a valid e-mail address, such as name@example.com.")
    return found.normalized


def personal_email(text: str) -> str:
    """The e-mail address in its normal form. Raises InvalidInput if it is disposable or a Gmail alias."""
    from disposable_email_domains import blocklist  # slow, so app/serve.py imports it after the start

    email = valid_email(text)
    local, _, domain = email.lower().rpartition("@")
    if any(parent in blocklist for parent in _parents(domain)):
        raise _unfit("email", "Disposable e-mail addresses are not accepted. Use a permanent one.")
    if domain in GMAIL and ("." in local or "+" in local):
        raise _unfit(
            "email", "Gmail aliases are not accepted. Enter the address without dots and without the plus part."
        )
    return email


def valid_username(text: str, email: str) -> str:
    """The username in its normal form. Raises InvalidInput if its characters are not allowed or mix alphabets, or if it
    has the form of an e-mail address other than `email`, the account's own.
    """
    name = unicodedata.normalize("NFKC", text)
    if not re.fullmatch(USERNAME_PATTERN, name):
        raise _unfit("username", "A username must have 3 to 150 characters: letters, digits and . _ @ + -")
    if misleads(name):
        raise _unfit(
            "username", "This username mixes letters that look alike in different alphabets. Use one alphabet."
        )
    if re.search(r".@.+\..", name) and _mailbox(name) != _mailbox(email):
        raise _unfit("username", "A username that looks like an e-mail address must be your own e-mail address.")
    return name


def _mailbox(email: str) -> str:
    local, _, domain = email.lower().rpartition("@")
    return f"{local}@{'gmail.com' if domain in GMAIL else domain}"


def _parents(domain: str) -> Iterator[str]:
    labels = domain.split(".")
    return (".".join(labels[start:]) for start in range(len(labels) - 1))


def _unfit(field: str, sentence: str) -> InvalidInput:
    return InvalidInput(sentence, **{field: [sentence]})
