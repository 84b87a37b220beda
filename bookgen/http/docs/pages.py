"""The pages that mailed links open, and those that a buyer comes back to unless the caller named others.

A mailed link's page asks before it acts, so that a mail scanner uses no link up.
"""

from __future__ import annotations

import base64
import hashlib

from aiohttp import web

STYLE = """
body { margin: 0; padding: 2rem; background: #f5f3ef; color: #222; font: 1.1rem/1.5 Georgia, serif }
main { max-width: 30rem; margin: 10vh auto 0; padding: 2rem; background: #fff; border-radius: 4px }
h1 { margin-top: 0; font-size: 1.5rem; font-weight: normal }
input { display: block; box-sizing: border-box; width: 100%; margin: .3rem 0 1rem; padding: .5rem; font: inherit }
button { padding: .5rem 1.2rem; border: 0; border-radius: 4px; background: #234; color: #fff; font: inherit }
output { display: block; margin-top: 1rem; overflow-wrap: anywhere }
"""

# The call is the page's own path below the API's.
SCRIPT = """
const form = document.querySelector("form"), output = document.querySelector("output");
const page = /^(.*?)(\\/(?:verify-email|reset-password|magic-login|undo-email)\\/.*)$/;
const [, root, call] = location.pathname.match(page);
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const method = form.dataset.method, fields = Object.fromEntries(new FormData(form));
  const options = method === "GET" ? {} : {
    method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(fields) };
  try {
    const reply = await fetch(root + "/api/v1/auth" + call, options);
    const body = await reply.json();
    if (reply.ok) form.hidden = true;
    output.textContent = reply.ok
      ? body.message || `You are signed in as ${body.user.username}. Your access token: ${body.tokens.access}`
      : Object.values(body.error.details || {}).flat().join(" ") || body.error.message;
  } catch { output.textContent = "The service cannot be reached. Try again in a moment."; }
});
"""

PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"""

FORM = """\
<form data-method="{method}">{fields}<button>{action}</button></form>
<output role="status"></output>
<noscript>This page needs JavaScript to talk to the service.</noscript>
<script>{script}</script>"""

PASSWORD_FIELD = (
    '<label>New password, at least 8 characters<input type="password" name="new_password" minlength="8" '
    'maxlength="128" autocomplete="new-password" required autofocus></label>'
)


def _source(inline: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode() + "'"


CSP = (
    f"default-src 'none'; script-src {_source(SCRIPT)}; style-src {_source(STYLE)}; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)


async def verify_email(request: web.Request) -> web.Response:
    return _form("Verify your e-mail address", "GET", "Verify my address")


async def reset_password(request: web.Request) -> web.Response:
    return _form("Set a new password", "POST", "Set it", PASSWORD_FIELD)


async def magic_login(request: web.Request) -> web.Response:
    return _form("Sign in", "POST", "Sign in")


async def undo_email(request: web.Request) -> web.Response:
    return _form("Keep this e-mail address", "POST", "Take the change back and sign everybody out")


async def checkout_success(request: web.Request) -> web.Response:
    return _page(
        "Thank you",
        "<p>What you bought is yours as soon as the payment is confirmed, which takes a moment. "
        "If you bought without an account, look for our mail: it signs you in. "
        "If your address has an account here already, the mail is a receipt: log in as always.</p>",
    )


async def checkout_canceled(request: web.Request) -> web.Response:
    return _page("Nothing was bought", "<p>You left the payment page, and nothing was charged.</p>")


async def portal_done(request: web.Request) -> web.Response:
    return _page("All done", "<p>You may close this page.</p>")


def _form(title: str, method: str, action: str, fields: str = "") -> web.Response:
    return _page(title, FORM.format(method=method, action=action, fields=fields, script=SCRIPT))


def _page(title: str, body: str) -> web.Response:
    html = PAGE.format(title=title, style=STYLE, body=body)
    return web.Response(text=html, content_type="text/html", headers={"Content-Security-Policy": CSP})
