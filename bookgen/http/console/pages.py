"""The HTML pages: the page at `/`, the pages of mailed links, and the pages that follow a checkout.

All of them use only the API. The page of a mailed link does nothing until someone clicks, so that mail scanners do not
use up the link.
"""

from __future__ import annotations

import asyncio
import html
from http import HTTPStatus
from pathlib import Path

from aiohttp import web

from bookgen import __version__, errors
from bookgen.http.console.static import assets
from bookgen.http.edge.contract import refuses
from bookgen.http.edge.keys import SERVICES
from bookgen.http.edge.routing import Handler

TEMPLATES = Path(__file__).parent
# Modules of every first visit. The browser preloads them instead of following the imports one by one.
PRELOADED = (
    "api", "app", "deletions", "format", "hooks", "idea", "live", "router", "session", "shelf", "sign", "signal",
    "site", "tile", "ui", "vendor/preact", "welcome",
)  # fmt: skip

# Nothing is loaded from other hosts, no inline script or style is used, and text never becomes markup.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)

FORM = """\
<form data-method="{method}">{fields}<button class="primary">{action}</button></form>
<p role="status"></p>
<noscript><p>This page needs JavaScript.</p></noscript>"""

PASSWORD_FIELD = """\
<div class="field"><label for="new">New password</label>
<input id="new" type="password" name="new_password" minlength="8" maxlength="128" autocomplete="new-password"
 aria-describedby="hint" required autofocus><p class="hint" id="hint">At least 8 characters.</p></div>"""


# Shown if the link needs the account's owner. A disabled field is neither validated nor sent.
SIGN_IN_FIELDS = """\
<fieldset class="bare" hidden disabled><div class="field"><label for="name">E-mail address or username</label>
<input id="name" name="name" autocomplete="username" required></div>
<div class="field"><label for="password">Password of the account</label>
<input id="password" type="password" name="password" autocomplete="current-password" required></div></fieldset>"""


@refuses(errors.NotFound)
async def index(request: web.Request) -> web.Response:
    if not request.app[SERVICES].site.console:
        raise errors.NoSuchPath
    return await _page(request, "index.html")


def _static(title: str, body: str, status: int = 200) -> Handler:
    """A handler that returns a page with this title. `body`: the HTML below the title."""

    async def page(request: web.Request) -> web.Response:
        response = await _page(request, "letter.html", title=title, body=body)
        response.set_status(status)
        return response

    return page


def _form(title: str, method: str, action: str, fields: str = "") -> Handler:
    return _static(title, FORM.format(method=method, action=action, fields=fields))


verify_email = _form("Verify your e-mail address", "GET", "Verify my address", SIGN_IN_FIELDS)
_set_password = _form("Set a new password", "POST", "Set password", PASSWORD_FIELD)
_cannot_reset = _static(
    "This link no longer works",
    "<p>A link to set a password works once and expires in one hour. To get another one, choose "
    "“Forgot password?” on the sign-in page.</p>",
)
not_found = _static("Page not found", "<p>There is nothing at this address.</p>", HTTPStatus.NOT_FOUND)


@refuses(errors.NotFound)
async def reset_password(request: web.Request) -> web.StreamResponse:
    link = request.match_info["uid"], request.match_info["token"]
    is_valid = await request.app[SERVICES].accounts.profiles.can_reset(*link)
    return await (_set_password if is_valid else _cannot_reset)(request)


magic_login = _form("Sign in", "POST", "Sign in")
undo_email = _form("Keep this e-mail address", "POST", "Undo the change and sign out everywhere")
approve_email = _form("Approve your new e-mail address", "POST", "Approve the change", SIGN_IN_FIELDS)
checkout_success = _static(
    "Thank you",
    "<p>Your purchase is available once the payment is confirmed, usually within a minute.</p>"
    "<p data-guests>If you bought without an account, we e-mail you a sign-in link. "
    "If your address already has an account here, we e-mail you a receipt: sign in as usual.</p>",
)
checkout_canceled = _static("Payment canceled", "<p>You left the payment page. Nothing was charged.</p>")
portal_done = _static("All done", "<p>You can close this page.</p>")


async def _page(request: web.Request, template: str, **filled: str) -> web.Response:
    site = request.app[SERVICES].site
    folder = f"{site.root}/console/{(await asyncio.to_thread(assets)).version}"
    preloads = "\n".join(f'<link rel="modulepreload" href="{folder}/{module}.js">' for module in PRELOADED)
    home = f"{site.root}/" if site.console else ""
    text = (TEMPLATES / template).read_text("utf-8")
    known = {
        "version": __version__,
        "folder": folder,
        "preloads": preloads,
        "home": home,
        "name": html.escape(site.site_name),
    }
    for key, value in {**known, **filled}.items():
        text = text.replace(f"{{{{{key}}}}}", value)
    return web.Response(
        text=text,
        content_type="text/html",
        headers={"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"},
    )
