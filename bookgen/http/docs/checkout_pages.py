"""The pages that a buyer comes back to from the payment processor, unless the caller named others."""

from __future__ import annotations

from aiohttp import web

from bookgen.http.docs.pages import CSP, STYLE

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
<body><main><h1>{title}</h1><p>{text}</p></main></body>
</html>
"""


async def success(request: web.Request) -> web.Response:
    return _page(
        "Thank you",
        "What you bought is yours as soon as the payment is confirmed, which takes a moment. "
        "If you bought without an account, look for our mail: it signs you in. "
        "If your address has an account here already, no mail comes: log in as always.",
    )


async def canceled(request: web.Request) -> web.Response:
    return _page("Nothing was bought", "You left the payment page, and nothing was charged.")


async def done(request: web.Request) -> web.Response:
    return _page("All done", "You may close this page.")


def _page(title: str, text: str) -> web.Response:
    html = PAGE.format(title=title, text=text, style=STYLE)
    return web.Response(text=html, content_type="text/html", headers={"Content-Security-Policy": CSP})
