"""The OpenAPI document of a service, built once for all tests of a process: it takes a fifth of a second."""

from bookgen.http.docs.openapi import build
from bookgen.http.routes import ROUTES

DOCUMENT = build(ROUTES, "http://books.example")
