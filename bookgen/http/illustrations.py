"""Illustrations of chapters: generate, list, change and delete."""

from __future__ import annotations

from aiohttp import web

from bookgen import errors
from bookgen.http import illustrations_schemas as shapes
from bookgen.http.edge import replies
from bookgen.http.edge.conditional import tag_of_response
from bookgen.http.edge.contract import (
    asks_model,
    conditional,
    docs,
    grows,
    guarded_by,
    json_schema,
    refuses,
    repeatable,
    response_schema,
)
from bookgen.http.edge.keys import ACCOUNT_ID, BODY, SERVICES
from bookgen.http.edge.routing import path_id
from bookgen.store import chapters, illustrations


@docs(
    "illustrations",
    "Generate an illustration for a chapter",
    "Synchronous. Counts as one image on success. The illustration is placed in the middle of the chapter.",
)
@json_schema(shapes.IllustrationRequestSchema)
@response_schema(shapes.IllustrationSchema)
@refuses(errors.PlanUpgradeRequired, errors.QuotaExceeded, errors.UpstreamAIError)
@grows
@repeatable
@asks_model
async def generate_image(request: web.Request) -> web.Response:
    made = await request.app[SERVICES].artwork.illustrate(request[ACCOUNT_ID], path_id(request), **request[BODY])
    response = replies.json(shapes.shown_illustration(made, request.app[SERVICES].site.public_url))
    response.headers["ETag"] = tag_of_response(response)
    return response


@docs(
    "illustrations",
    "List a chapter's illustrations, in the order of the text",
    "Each illustration has a caption, an alt text and the URL of the picture.",
)
@response_schema(shapes.IllustrationSchema(many=True))
@conditional
async def list_illustrations(request: web.Request) -> web.Response:
    db, chapter_id = request.app[SERVICES].database.http, path_id(request)
    errors.must_exist(await chapters.find(db, request[ACCOUNT_ID], chapter_id))
    public_url = request.app[SERVICES].site.public_url
    found = await illustrations.of_chapter(db, chapter_id)
    return replies.json([shapes.shown_illustration(each, public_url) for each in found])


async def _read(request: web.Request) -> web.Response:
    found = await illustrations.find(request.app[SERVICES].database.http, request[ACCOUNT_ID], path_id(request))
    return replies.json(shapes.shown_illustration(errors.must_exist(found), request.app[SERVICES].site.public_url))


@docs(
    "illustrations",
    "Change an illustration's caption, alt text or position",
    "Fields that you do not send stay unchanged. The alt text can be replaced but not removed. In `If-Match`, send the "
    "`ETag` of the response that created or last changed the illustration.",
)
@json_schema(shapes.IllustrationChangesSchema)
@response_schema(shapes.IllustrationSchema)
@refuses(errors.Conflict)
@grows
@guarded_by(_read)
async def change_illustration(request: web.Request) -> web.Response:
    db, account_id, changes = request.app[SERVICES].database.http, request[ACCOUNT_ID], request[BODY]
    changed = await illustrations.change(db, account_id, path_id(request), changes)
    return replies.json(shapes.shown_illustration(errors.must_exist(changed), request.app[SERVICES].site.public_url))


@docs(
    "illustrations",
    "Delete an illustration and its picture",
    "The picture's URL stops working. The image still counts against the quota.",
)
@response_schema(None, 204)
@refuses(errors.Conflict)
@guarded_by(_read)
async def delete_illustration(request: web.Request) -> web.Response:
    if not await illustrations.delete(request.app[SERVICES].database.http, request[ACCOUNT_ID], path_id(request)):
        raise errors.no_such("illustration")
    return replies.nothing()
