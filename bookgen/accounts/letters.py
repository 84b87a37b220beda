"""The texts of the service's e-mails."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from html import escape

from bookgen.models import Letter, LinkPurpose, Notice

SITE = "bookgen"
LIFETIME = {
    LinkPurpose.VERIFY_EMAIL: timedelta(days=3),
    LinkPurpose.RESET_PASSWORD: timedelta(hours=1),
    LinkPurpose.MAGIC_LOGIN: timedelta(hours=24),
    LinkPurpose.UNDO_EMAIL: timedelta(days=7),
    LinkPurpose.APPROVE_EMAIL: timedelta(days=3),
}


@dataclass(frozen=True, slots=True)
class _Wording:
    """The text of an e-mail. `action`: the label of its link; empty in a notice, which has no link."""

    subject: str
    opening: str
    closing: str
    action: str = ""


WORDING: dict[LinkPurpose | Notice, _Wording] = {
    LinkPurpose.VERIFY_EMAIL: _Wording(
        subject="Verify your e-mail address",
        opening="please confirm that this is your e-mail address.",
        action="Verify my address",
        closing=(
            "This link works once and expires in 3 days. Your password stays the same. If you are not signed in when "
            "you follow the link, all devices are signed out. If you did not create an account with this address, do "
            "not follow the link."
        ),
    ),
    LinkPurpose.RESET_PASSWORD: _Wording(
        subject="Set a new password",
        opening="we received a request for a new password for your account.",
        action="Set a new password",
        closing=(
            "This link works once and expires in one hour. Setting a password signs out all devices. If you did not "
            "request a new password, ignore this e-mail."
        ),
    ),
    LinkPurpose.MAGIC_LOGIN: _Wording(
        subject="Your sign-in link",
        opening="thank you. Your credits are in your account. This link signs you in.",
        action="Sign in",
        closing="This link works once and expires in 24 hours. To sign in again later, request a new password.",
    ),
    LinkPurpose.UNDO_EMAIL: _Wording(
        subject="Your e-mail address is being changed",
        opening="we received a request to change the e-mail address of your account.",
        action="Keep my current address",
        closing=(
            "This link works once and expires in 7 days. It undoes the change of your e-mail address, even if the new "
            "address is already in use, and signs out all devices. If you requested the change, ignore this e-mail."
        ),
    ),
    LinkPurpose.APPROVE_EMAIL: _Wording(
        subject="Approve your new e-mail address",
        opening="we received a request to change the e-mail address of your account to {asked}.",
        action="Approve the change",
        closing=(
            "This link works once, expires in 3 days and asks you to sign in. The address changes once you have also "
            "followed the link that we sent to the new address. If you did not request the change, do not follow this "
            "link: someone else is signed in to your account. Set a new password, which signs out all devices."
        ),
    ),
    Notice.RECEIPT: _Wording(
        subject="Your receipt",
        opening="thank you. You paid for {bought} with this e-mail address.",
        closing="To use your purchase, sign in to the account that has verified this address. If you have no account, "
        "register with this address and verify it.",
    ),
    Notice.PASSWORD_CHANGED: _Wording(
        subject="Your password was changed",
        opening="the password of your account was changed.",
        closing="If this was not you, request a new password now. The link to set it is sent only to this address.",
    ),
    Notice.GOOGLE_LINKED: _Wording(
        subject="A Google account was linked to yours",
        opening="the Google account with this e-mail address was linked to your account and can now sign in to it.",
        closing=(
            "If this was not you, someone else can use your Google account: secure it. Then ask the operator of this "
            "service to end all sessions of your account here."
        ),
    ),
    Notice.NEW_SIGN_IN: _Wording(
        subject="New sign-in to your account",
        opening="someone signed in to your account with {by}, from a new browser and network.",
        closing=(
            "If this was not you, request a new password now and ask the operator of this service to end all sessions "
            "of your account."
        ),
    ),
}

# Variants of letters, used if their details contain the named key.
VARIANTS: dict[tuple[LinkPurpose | Notice, str], _Wording] = {
    # The first letter to a guest is also the receipt.
    (LinkPurpose.MAGIC_LOGIN, "bought"): replace(
        WORDING[LinkPurpose.MAGIC_LOGIN],
        subject="Your purchase and sign-in link",
        opening="thank you. You paid for {bought}. This link signs you in to the account that holds your purchase.",
    ),
    (LinkPurpose.VERIFY_EMAIL, "change"): _Wording(
        subject="Verify your new e-mail address",
        opening="please confirm that this is the new e-mail address of your account.",
        action="Verify my new address",
        closing=(
            "This link works once, expires in 3 days and asks you to sign in to the account. Your password stays the "
            "same, and all devices stay signed in. If you did not request this change, ignore this e-mail."
        ),
    ),
    (Notice.GOOGLE_LINKED, "ended"): replace(
        WORDING[Notice.GOOGLE_LINKED],
        opening=(
            "the Google account with this e-mail address was linked to your account and can now sign in to it. The "
            "password was removed and all other devices were signed out, in case someone else had set up the account. "
            "To sign in by password again, request a new password."
        ),
    ),
}

HTML = """\
<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{subject}</title></head>
<body style="margin:0;padding:24px;background:#f5f3ef;color:#222;font:16px/1.5 Georgia,serif">
<div style="max-width:34em;margin:0 auto;padding:32px;background:#fff;border-radius:4px">
<p>Hello {name},</p>
<p>{opening}</p>
{link}<p style="font-size:14px;color:#555">{closing}</p>
<p style="font-size:14px"><a href="{home}" style="color:#234">{site}</a></p>
</div>
</body>
</html>
"""

LINK = """\
<p style="margin:28px 0"><a href="{url}" style="display:inline-block;padding:10px 20px;background:#234;color:#fff;\
text-decoration:none;border-radius:4px">{action}</a></p>
<p style="font-size:14px;word-break:break-all">{url}</p>
"""


def compose(
    what: LinkPurpose | Notice,
    *,
    home: str,
    recipient: str,
    username: str,
    details: Mapping[str, str],
    message_id: str,
    url: str = "",
) -> Letter:
    """Write an e-mail of the kind `what`.

    `home`: the service's URL. `url`: the e-mail's link, if it has one. `details`: values for placeholders in the text.
    """
    wording = next((VARIANTS[what, key] for key in details if (what, key) in VARIANTS), WORDING[what])
    words = {
        "name": _greeted(username),
        "subject": wording.subject,
        "opening": wording.opening.format_map(details),
        "action": wording.action,
        "closing": wording.closing,
        "url": url,
        "site": SITE,
        "home": home,
    }
    parts = [f"Hello {words['name']},", words["opening"], words["closing"], f"{SITE}\n{home}\n"]
    if url:
        parts.insert(2, f"{wording.action}:\n{url}")
    escaped = {key: escape(value) for key, value in words.items()}
    return Letter(
        recipient=recipient,
        subject=f"{wording.subject} ({SITE})",
        text="\n\n".join(parts),
        html=HTML.format(**escaped, link=LINK.format(**escaped) if url else ""),
        message_id=message_id,
    )


def _greeted(username: str) -> str:
    """The name for the greeting: the username, or "reader" unless the username is one short word.

    A stranger could register someone else's address with a username that is itself a message.
    """
    return username if re.fullmatch(r"[\w-]{1,40}", username) else "reader"
