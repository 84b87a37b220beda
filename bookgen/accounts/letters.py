"""How the service's letters are worded."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from html import escape

from bookgen.models import Account, Letter, LinkPurpose

LIFETIME = {
    LinkPurpose.VERIFY_EMAIL: timedelta(days=3),
    LinkPurpose.RESET_PASSWORD: timedelta(hours=1),
    LinkPurpose.MAGIC_LOGIN: timedelta(hours=24),
}


@dataclass(frozen=True, slots=True)
class _Wording:
    subject: str
    opening: str
    action: str
    closing: str


WORDING = {
    LinkPurpose.VERIFY_EMAIL: _Wording(
        subject="Verify your e-mail address",
        opening="please confirm that this is your e-mail address.",
        action="Verify my address",
        closing="The link is good for 3 days. If you have no account with us, ignore this letter.",
    ),
    LinkPurpose.RESET_PASSWORD: _Wording(
        subject="Set a new password",
        opening="somebody, hopefully you, asked for a new password for your account.",
        action="Set a new password",
        closing="The link is good for one hour and once. If you did not ask, ignore this letter: nothing has changed.",
    ),
    LinkPurpose.MAGIC_LOGIN: _Wording(
        subject="Your sign-in link",
        opening="thank you. Your credits are in your account, and this link signs you in to it.",
        action="Sign in",
        closing="The link is good for 24 hours and once. Later, ask for a new password to get back in.",
    ),
}

TEXT = """\
Hello {name},

{opening}

{action}:
{url}

{closing}

{site}
{home}
"""

HTML = """\
<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{subject}</title></head>
<body style="margin:0;padding:24px;background:#f5f3ef;color:#222;font:16px/1.5 Georgia,serif">
<div style="max-width:34em;margin:0 auto;padding:32px;background:#fff;border-radius:4px">
<p>Hello {name},</p>
<p>{opening}</p>
<p style="margin:28px 0"><a href="{url}" style="display:inline-block;padding:10px 20px;background:#234;color:#fff;\
text-decoration:none;border-radius:4px">{action}</a></p>
<p style="font-size:14px;word-break:break-all">{url}</p>
<p style="font-size:14px;color:#555">{closing}</p>
<p style="font-size:14px"><a href="{home}" style="color:#234">{site}</a></p>
</div>
</body>
</html>
"""


def compose(purpose: LinkPurpose, account: Account, *, url: str, site: str, home: str, message_id: str) -> Letter:
    wording = WORDING[purpose]
    words = {
        "name": _greeted(account.username),
        "subject": wording.subject,
        "opening": wording.opening,
        "action": wording.action,
        "closing": wording.closing,
        "url": url,
        "site": site,
        "home": home,
    }
    return Letter(
        recipient=account.email,
        subject=f"{wording.subject} ({site})",
        text=TEXT.format(**words),
        html=HTML.format(**{key: escape(value) for key, value in words.items()}),
        message_id=message_id,
    )


def _greeted(username: str) -> str:
    """Whoever registers chooses the name and the address: a name that could carry a message of theirs is left out."""
    return username if re.fullmatch(r"[\w-]{1,40}", username) else "reader"
