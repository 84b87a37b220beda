"""`bookgen mail test ADDRESS`: send a test e-mail, without the service or its database."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from email.utils import make_msgid
from urllib.parse import urlsplit

from bookgen import config
from bookgen.accounts import signup
from bookgen.app.parts import build_mailer, public_url
from bookgen.models import Letter
from bookgen.providers.mail import MailNotSent

TEXT = "This is a test e-mail from the bookgen service at {url}."


def add_options(parser: ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="mail_command", metavar="COMMAND", required=True)
    test = commands.add_parser("test", help="send a test e-mail")
    test.add_argument("address", metavar="ADDRESS")


async def run(options: Namespace) -> int:
    settings = config.load()
    address, url = signup.valid_email(options.address), public_url(settings)
    text = TEXT.format(url=url)
    letter = Letter(
        recipient=address,
        subject="Test e-mail from bookgen",
        text=f"{text}\n",
        html=f"<p>{text}</p>\n",
        message_id=make_msgid(domain=urlsplit(url).hostname or "localhost"),
    )
    try:
        await build_mailer(settings).send(letter)
    except MailNotSent as error:
        raise MailNotSent(f"The e-mail to {address} was not sent: {error}") from error
    if settings.smtp_url:
        print(f"The mail server accepted an e-mail to {address}.")
    else:
        print(
            f"No mail server is set (BOOKGEN_SMTP_URL). The e-mail to {address} is in {settings.data_dir / 'outbox'}."
        )
    return 0
