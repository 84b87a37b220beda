"""The whole API as one table. What is not here does not exist."""

from __future__ import annotations

from bookgen.http import auth, operation, passwords, profile
from bookgen.http.routing import Route
from bookgen.limits import LimitClass

READ, WRITE, EXPENSIVE, PUBLIC, AUTH = LimitClass

# Relative to /api/v1 and to its alias /api.
ROUTES: tuple[Route, ...] = (
    Route("POST", "/auth/register/", auth.register, AUTH, public=True),
    Route("POST", "/auth/login/", auth.login, AUTH, public=True),
    Route("POST", "/auth/token/refresh/", auth.refresh, AUTH, public=True),
    Route("POST", "/auth/google/", auth.google, AUTH, public=True),
    Route("POST", "/auth/magic-login/{uid}/{token}/", auth.magic_login, AUTH, public=True),
    Route("POST", "/auth/logout/", auth.logout, PUBLIC, public=True),
    Route("POST", "/auth/forgot-password/", passwords.forgot, AUTH, public=True),
    Route("POST", "/auth/reset-password/{uid}/{token}/", passwords.reset, AUTH, public=True),
    Route("GET", "/auth/verify-email/{uid}/{token}/", passwords.verify_email, PUBLIC, public=True),
    Route("GET", "/auth/profile/", profile.read, READ, cookie=True),
    Route("PATCH", "/auth/profile/", profile.update, WRITE),
    Route("POST", "/auth/change-password/", passwords.change, WRITE),
)

# Outside the API, at the root.
OUTSIDE: tuple[Route, ...] = (
    Route("GET", "/healthz", operation.alive, None, public=True, quiet=True),
    Route("GET", "/readyz", operation.ready, None, public=True, quiet=True),
    Route("GET", "/metrics", operation.metrics, None, public=True, quiet=True),
)
