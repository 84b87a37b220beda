"""What a row of the route table is."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from bookgen.errors import NotFound
from bookgen.limits import LimitClass

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

LARGEST_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Route:
    """One endpoint.

    `limit` None: not counted. `public`: no token. `cookie`: the session cookie is accepted as well.
    `quiet`: polled so often that its successes are counted but not logged. `gate`: what the plan decides.
    `once`: a GET that uses something up, so that none who only looks whether it is there may ask by HEAD.
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
        """The path for aiohttp's router: what names an id is digits, everything else one segment."""
        return re.sub(r"{(\w+)}", lambda name: f"{{{name[1]}:{_shape(name[1])}}}", self.path)


def _shape(name: str) -> str:
    return "[0-9]+" if is_id(name) else "[^/]+"


def is_id(name: str) -> bool:
    return name == "id" or name.endswith("_id")


def path_id(request: web.Request, name: str = "id") -> int:
    """An id of the path. One that no row can have is simply not found."""
    text = request.match_info[name]
    if len(text) > 19 or (number := int(text)) > LARGEST_ID:
        raise NotFound
    return number
