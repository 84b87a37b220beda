"""`bookgen mail test ADDRESS`: whether a letter reaches the mail server, without the service or its database."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from email.utils import make_msgid
from urllib.parse import urlsplit

from bookgen import config
from bookgen.accounts import signup
from bookgen.app.parts import build_mailer, public_url
from bookgen.models import Letter
from bookgen.providers.mail import MailNotSent

TEXT = "This is a test letter of the bookgen service at {url}. Its mail server accepted it."


def add_options(parser: ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="mail_command", metavar="COMMAND", required=True)
    test = commands.add_parser("test", help="send a test letter")
    test.add_argument("address", metavar="ADDRESS")


async def run(options: Namespace) -> int:
    settings = config.load()
    address, url = signup.valid_email(options.address), public_url(settings)
    text = TEXT.format(url=url)
    letter = Letter(
        recipient=address,
        subject="Test letter from bookgen",
        text=f"{text}\n",
        html=f"<p>{text}</p>\n",
        message_id=make_msgid(domain=urlsplit(url).hostname or "localhost"),
    )
    try:
        await build_mailer(settings).send(letter)
    except MailNotSent as error:
        raise MailNotSent(f"The letter to {address} was not sent: {error}") from error
    if settings.smtp_url:
        print(f"The mail server accepted a letter to {address}.")
    else:
        print(
            f"No mail server is set (BOOKGEN_SMTP_URL). The letter to {address} is in {settings.data_dir / 'outbox'}."
        )
    return 0
