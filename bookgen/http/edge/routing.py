"""The class for the rows of the route table, and ids in paths."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from bookgen.errors import no_such
from bookgen.rate_limits import LimitClass

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

LARGEST_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Route:
    """An endpoint. `limit`: the class of its rate limit; None for no limit. `public`: no token is needed.

    `cookie`: the session cookie is accepted too. `quiet`: requests are so frequent that successes are not logged, only
    counted. `gate`: the features and limits of the caller's plan that the endpoint requires, as text for the OpenAPI
    document only. `once`: a GET that works only once, such as a mailed link, so HEAD is not allowed.
    """

    method: str
    path: str
    handler: Handler
    limit: LimitClass | None
    public: bool = False
    cookie: bool = False
    quiet: bool = False
    gate: str | None = None
    once: bool = False

    @property
    def pattern(self) -> str:
        """The path for aiohttp's router. An id matches digits; any other name matches one segment of the path."""
        return re.sub(r"{(\w+)}", lambda name: f"{{{name[1]}:{_shape(name[1])}}}", self.path)


def _shape(name: str) -> str:
    return "[0-9]+" if is_id(name) else "[^/]+"


def is_id(name: str) -> bool:
    return name == "id" or name.endswith("_id")


def path_id(request: web.Request, name: str = "id", *, kind: str = "object") -> int:
    """The id in the request's path. `name`: its name in the route. Raises NotFound if the number is too large.

    `kind`: what the error message calls the object, such as "book".
    """
    text = request.match_info[name]
    if len(text) > 19 or (number := int(text)) > LARGEST_ID:
        raise no_such(kind)
    return number
