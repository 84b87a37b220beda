"""The API's documentation: the OpenAPI document, a page to try it, the error catalogue and the guides."""

from __future__ import annotations

import asyncio
import html
import json
import re
from functools import cache
from pathlib import Path

from aiohttp import web

from bookgen import errors
from bookgen.http.edge import replies
from bookgen.http.edge.contract import answers_content, conditional, docs, refuses
from bookgen.http.edge.keys import DOCUMENT, SERVICES
from bookgen.rate_limits import LimitClass
from bookgen.render.formats import FORMATS, LABELS
from bookgen.support.retrieval import slug

ASSETS = Path(__file__).parent / "assets"
GUIDES = Path(__file__).parent / "guides"
SWAGGER = ASSETS / "swagger-ui"

# The page loads nothing from other hosts. Swagger UI sets inline styles.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PUBLIC_FOR_AN_HOUR = "public, max-age=3600"

FILES = {
    "swagger-ui.css": (SWAGGER, "text/css"),
    "swagger-ui-bundle.js": (SWAGGER, "text/javascript"),
    "docs.js": (ASSETS, "text/javascript"),
    "docs.css": (ASSETS, "text/css"),
    "browse.css": (ASSETS, "text/css"),
}

TEXT = {"type": "string"}
EXPORTS = "\n".join(
    f'    POST {{base_url}}/books/{{id}}/{each.path}/  {{"settings": {{}}}}    → {each.content_type}'
    for each in FORMATS.values()
)


@docs(
    "site",
    "List the main URLs of this API",
    "Returns the name of the service, the API version, the URLs of the documentation, and the URLs to start with: "
    "registration, login and books. No account needed.",
)
@answers_content("application/json", {"type": "object"}, "The version and the URLs")
@conditional
async def index(request: web.Request) -> web.Response:
    base = f"{request.app[SERVICES].site.public_url}/api/v1"
    addresses = {
        "schema": f"{base}/schema/",
        "docs": f"{base}/docs/",
        "errors": f"{base}/docs/errors/",
        "agents": f"{base}/docs/agents/",
        "settings": f"{base}/public-settings/",
        "register": f"{base}/auth/register/",
        "login": f"{base}/auth/login/",
        "books": f"{base}/books/",
    }
    return replies.json({"name": request.app[SERVICES].site.site_name, "version": "v1", **addresses})


@docs("site", "Read this OpenAPI document", "OpenAPI 3.1, generated from the running code.")
@answers_content("application/json", {"type": "object"}, "OpenAPI 3.1")
@conditional
async def schema(request: web.Request) -> web.Response:
    body = await asyncio.to_thread(request.app[DOCUMENT])
    return web.Response(body=body, headers={"Content-Type": "application/json", "Cache-Control": PUBLIC_FOR_AN_HOUR})


@docs("site", "Browse and try the API", "HTML; it loads nothing from another host.")
@answers_content("text/html", TEXT, "A page")
async def browse(request: web.Request) -> web.Response:
    return _page(request, (ASSETS / "docs.html").read_text("utf-8"))


@docs("site", "Read the error catalogue", "HTML: every error code with its cause, its remedy and its details.")
@answers_content("text/html", TEXT, "A page")
async def error_catalogue(request: web.Request) -> web.Response:
    page = (ASSETS / "errors.html").read_text("utf-8")
    return _page(request, page.replace("{{entries}}", "\n".join(map(_entry, errors.catalogue()))))


def _entry(entry: errors.ErrorCode) -> str:
    details = html.escape(json.dumps(entry.details, indent=2), quote=False)
    return (
        f'<section id="{entry.code}"><h2><code>{entry.code}</code> <span>{entry.status}</span></h2>'
        f"<p>{_marked(entry.condition)}</p><p><b>Do:</b> {_marked(entry.remedy)}</p>"
        + (f"<p><b>Details</b>, for example:</p><pre><code>{details}</code></pre>" if entry.details else "")
        + "</section>"
    )


def _marked(text: str) -> str:
    """The text as HTML. Text between backticks becomes `<code>`."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


@docs(
    "site",
    "Read the guide for agents",
    "The guide for AI agents that use this API, in Markdown, with this server's own address.",
)
@answers_content("text/markdown", TEXT, "Markdown")
async def agents_guide(request: web.Request) -> web.Response:
    return _guide(request, "agents.md", "text/markdown")


@docs("site", "Read a manual of this service", "HTML: the manual with this name, such as `install` or `configure`.")
@answers_content("text/html", TEXT, "A page")
async def manual(request: web.Request) -> web.Response:
    folder, name = request.app[SERVICES].site.documents, request.match_info["name"]
    if folder is None or re.fullmatch(r"[a-z-]{1,40}", name) is None:
        raise errors.NoSuchPath
    try:
        return _page(request, await asyncio.to_thread(_manual_page, folder / f"{name}.md"))
    except FileNotFoundError:
        raise errors.NoSuchPath from None


@cache
def _manual_page(file: Path) -> str:
    from markdown_it import MarkdownIt  # imported late to keep the start fast
    from mdit_py_plugins.anchors import anchors_plugin

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    markdown.use(anchors_plugin, max_level=4, slug_func=slug, permalink=False)
    # Manuals link to each other as files, such as configure.md. Here the address of that manual is ../configure/.
    text = re.sub(r"\]\(([a-z-]+)\.md(#[^)]*)?\)", r"](../\1/\2)", file.read_text("utf-8"))
    title = html.escape(text.partition("\n")[0].lstrip("# "))
    page = (ASSETS / "manual.html").read_text("utf-8")
    return page.replace("{{title}}", title).replace("{{body}}", markdown.render(text))


async def llms(request: web.Request) -> web.Response:
    return _guide(request, "llms.txt", "text/plain")


@refuses(errors.NotFound)
async def asset(request: web.Request) -> web.StreamResponse:
    try:
        folder, content_type = FILES[request.match_info["name"]]
    except KeyError:
        raise errors.NoSuchPath from None
    headers = {"Content-Type": f"{content_type}; charset=utf-8", "Cache-Control": PUBLIC_FOR_AN_HOUR}
    return web.FileResponse(folder / request.match_info["name"], headers=headers)


def _guide(request: web.Request, name: str, content_type: str) -> web.Response:
    text = (GUIDES / name).read_text("utf-8").replace("{exports}", EXPORTS).replace("{formats}", LABELS)
    text = text.replace("{limits}", ", ".join(LimitClass))
    text = text.replace("{base_url}", f"{request.app[SERVICES].site.public_url}/api/v1")
    return web.Response(text=text, content_type=content_type, charset="utf-8")


def _page(request: web.Request, text: str) -> web.Response:
    return web.Response(
        text=text.replace("{{root}}", html.escape(request.app[SERVICES].site.root)),
        content_type="text/html",
        charset="utf-8",
        headers={"Content-Security-Policy": PAGE_POLICY, "Cache-Control": PUBLIC_FOR_AN_HOUR},
    )
