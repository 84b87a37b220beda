"""The whole API as one table. What is not here does not exist."""

from __future__ import annotations

from bookgen.http import operation
from bookgen.http.routing import Route
from bookgen.limits import LimitClass

READ, WRITE, EXPENSIVE, PUBLIC, AUTH = LimitClass

# Relative to /api/v1 and to its alias /api.
ROUTES: tuple[Route, ...] = ()

# Outside the API, at the root.
OUTSIDE: tuple[Route, ...] = (
    Route("GET", "/healthz", operation.alive, None, public=True, quiet=True),
    Route("GET", "/readyz", operation.ready, None, public=True, quiet=True),
    Route("GET", "/metrics", operation.metrics, None, public=True, quiet=True),
)
