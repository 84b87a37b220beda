"""Exports: the book as a file, the preview, and the pages as HTML."""

from __future__ import annotations

import unicodedata
from urllib.parse import quote

from aiohttp import web

from bookgen import errors
from bookgen.http import exports_schemas as shapes
from bookgen.http.covers_schemas import selected_url, shown_cover
from bookgen.http.edge import replies
from bookgen.http.edge.contract import (
    conditional,
    docs,
    file_response,
    json_schema,
    querystring_schema,
    refuses,
    response_schema,
)
from bookgen.http.edge.disconnects import while_listening
from bookgen.http.edge.keys import ACCOUNT_ID, BODY, QUERY, SERVICES
from bookgen.http.edge.routing import Handler, path_id
from bookgen.render.formats import FORMATS, Format
from bookgen.render.settings import PAGES_OF_A_SCAN
from bookgen.render.trim import TRIMS
from bookgen.services.exports import BookPages, ExportedFile

_ABOUT = (
    "The response body is the file; errors are JSON. Settings that you do not send keep their defaults; without "
    "`settings` the book's `export_settings` apply. Chapters without text are left out, and `X-Missing-Chapters` lists "
    "their numbers. With `require_complete`, an incomplete book is refused instead."
)
MISSING_CHAPTERS = "X-Missing-Chapters"
_HEADERS = {
    MISSING_CHAPTERS: "Numbers of the chapters without text, separated by commas. Absent if all chapters have text."
}


def _exporter(format: Format) -> Handler:
    """The handler of the endpoint that exports a book in `format`."""
    settings = ", ".join(f"`{name}`" for name in sorted(format.settings))

    @docs("export", f"Export the book as {format.noun}", f"{_ABOUT} Settings that change the file: {settings}.")
    @json_schema(shapes.ExportRequestSchema)
    @file_response(format.content_type, "The file", _HEADERS)
    @refuses(errors.PlanUpgradeRequired, errors.Conflict)
    async def export(request: web.Request) -> web.Response:
        book_id, settings = path_id(request), request[BODY]["settings"]
        making = request.app[SERVICES].publisher.export(request[ACCOUNT_ID], book_id, format.name, settings)
        return _file(await while_listening(request, making))

    export.__name__ = format.path
    return export


EXPORTS = tuple(map(_exporter, FORMATS.values()))


@docs("export", "Export the first ten pages as a PDF with a PREVIEW watermark", _ABOUT)
@json_schema(shapes.ExportRequestSchema)
@file_response(FORMATS["pdf"].content_type, "The PDF", _HEADERS)
@refuses(errors.Conflict)
async def preview_pdf(request: web.Request) -> web.Response:
    settings = request[BODY]["settings"]
    making = request.app[SERVICES].publisher.preview(request[ACCOUNT_ID], path_id(request), settings)
    return _file(await while_listening(request, making))


@docs(
    "export",
    "Read the PDF's pages as HTML",
    "Returns all pages or some of them, laid out with the book's `export_settings`. Available on every plan.",
)
@querystring_schema(shapes.PreviewQuerySchema)
@response_schema(shapes.PreviewDataSchema)
@refuses(errors.Conflict, errors.InvalidInput)
@conditional
async def preview_data(request: web.Request) -> web.Response:
    page, size = request[QUERY]["page"], request[QUERY]["page_size"]
    first, count = ((page - 1) * size + 1, size) if page else (1, None)
    making = request.app[SERVICES].publisher.pages(request[ACCOUNT_ID], path_id(request), first, count)
    return _preview(request, await while_listening(request, making))


@docs(
    "export",
    "Read pages of the PDF as images",
    "The PDF is laid out with the `settings` that you send. Each page's `html` is an `img` element that shows the "
    f"whole page; its `alt` is the page's text. Each answer has at most {PAGES_OF_A_SCAN} pages. Available on every "
    "plan.",
)
@json_schema(shapes.PreviewRequestSchema)
@response_schema(shapes.PreviewDataSchema, 200)
@refuses(errors.Conflict)
async def preview_images(request: web.Request) -> web.Response:
    settings, page = request[BODY]["settings"], request[BODY]["page"]
    making = request.app[SERVICES].publisher.scans(request[ACCOUNT_ID], path_id(request), settings, page)
    return _preview(request, await while_listening(request, making))


def _preview(request: web.Request, found: BookPages) -> web.Response:
    public_url, trim = request.app[SERVICES].site.public_url, TRIMS[found.book.trim_size]
    head = {
        "book_id": found.book.id,
        "title": found.book.title,
        "trim_size": found.book.trim_size,
        "page_width_mm": trim.width_mm,
        "page_height_mm": trim.height_mm,
        "cover_image_url": selected_url(found.covers, public_url),
        "covers": [shown_cover(cover, public_url) for cover in found.covers],
    }
    # The pages are megabytes of JSON. Parsing them would block the event loop, so `head` is put before them as bytes.
    return replies.encoded(replies.dump(head)[:-1] + b"," + found.json[1:])


def _file(file: ExportedFile) -> web.Response:
    headers = {
        "Content-Type": file.content_type,
        "Content-Disposition": disposition(file.filename),
        "ETag": f'"{file.etag}"',
        "Cache-Control": "private, no-cache",
    }
    if file.missing_chapters:
        headers[MISSING_CHAPTERS] = ", ".join(map(str, file.missing_chapters))
    return web.Response(body=file.body, headers=headers)


def disposition(filename: str) -> str:
    """The value of the Content-Disposition header (RFC 6266) for a download.

    It has the file name twice: in ASCII for old clients, and in UTF-8.
    """
    plain = unicodedata.normalize("NFKD", filename).encode("ascii", "ignore").decode().replace('"', "").strip()
    stem, _, extension = plain.rpartition(".")
    plain = f"{stem.strip() or 'book'}.{extension}"
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"
