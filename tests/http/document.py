"""The OpenAPI document of a service, built once per test process because it takes a fifth of a second."""

from bookgen.http.docs.openapi import build
from bookgen.http.routes import ROUTES

DOCUMENT = build(ROUTES, "http://books.example")
