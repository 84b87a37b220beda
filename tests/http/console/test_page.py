"""How the page is served: its content security policy, URLs, caching and size."""

from __future__ import annotations

import gzip
import re
from pathlib import PurePosixPath

import pytest

from bookgen.http.console.pages import PRELOADED
from bookgen.http.console.static import CONTENT_TYPES, assets
from tests.http.conftest import Api, OpenApi
from tests.http.console.conftest import OpenPage

MAX_BYTES = 60_000


def folder() -> str:
    return f"/console/{assets().version}"


def imports(name: str, pattern: str) -> set[str]:
    """The modules that a module imports, as names of our files."""
    source, here = assets().files[name].plain.decode(), PurePosixPath(name).parent
    found = re.findall(pattern, source, re.MULTILINE)
    return {str(PurePosixPath(*_flat((here / one).parts))) for one in found}


def _flat(parts: tuple[str, ...]) -> list[str]:
    flat: list[str] = []
    for part in parts:
        if part == "..":
            flat.pop()
        elif part != ".":
            flat.append(part)
    return flat


STATIC = r"""^(?:import|export) [^;'"]*from ["'](\.[^"']+)["']"""
DYNAMIC = r"""import\(["'](\.[^"']+)["']\)"""


async def test_the_page_runs_no_inline_code_and_contacts_no_other_host(visitor: Api) -> None:
    reply = await visitor.get("/", prefix="")

    policy = reply.headers["Content-Security-Policy"]
    assert reply.status == 200
    assert "unsafe" not in policy
    assert "http" not in policy
    assert not re.search(rb"<script(?![^>]* src=)|<style| on[a-z]+=| style=|https?://", reply.raw)


async def test_the_page_is_revalidated_and_its_files_are_cached_for_ever(visitor: Api) -> None:
    page = await visitor.get("/", prefix="")
    names = re.findall(r'(?:href|src)="(/console/[^"]+)"', page.raw.decode())
    files = [await visitor.get(name, prefix="") for name in names]

    assert page.headers["Cache-Control"] == "no-cache"
    assert {file.status for file in files} == {200}
    assert {file.headers["Cache-Control"] for file in files} == {"public, max-age=31536000, immutable"}


async def test_a_file_of_another_version_is_not_found(visitor: Api) -> None:
    assert (await visitor.get(f"{folder()}/app.js", prefix="")).status == 200
    assert (await visitor.get("/console/0123456789abcdef/app.js", prefix="")).code == "NOT_FOUND"
    assert (await visitor.get(f"{folder()}/../page.py", prefix="")).code == "NOT_FOUND"


async def test_a_file_is_compressed_if_the_client_accepts_it(visitor: Api) -> None:
    plain = await visitor.get(f"{folder()}/app.js", prefix="", headers={"Accept-Encoding": "identity"})
    packed = await visitor.get(f"{folder()}/app.js", prefix="", headers={"Accept-Encoding": "gzip"})

    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert plain.raw == packed.raw == assets().files["app.js"].plain  # the client has decompressed it


async def test_an_unknown_address_returns_a_page_to_browsers_and_json_to_programs(visitor: Api) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    shown = await visitor.get("/nope", prefix="", headers=browser)
    answers = [await visitor.get("/nope", prefix=""), await visitor.get("/nope/", headers=browser)]

    assert (shown.status, shown.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert b"There is nothing at this address." in shown.raw
    assert [answer.code for answer in answers] == ["NOT_FOUND"] * 2


async def test_the_operator_can_turn_the_page_off(open_api: OpenApi) -> None:
    api = await open_api(console="off")

    assert (await api.get("/", prefix="")).code == "NOT_FOUND"
    assert (await api.get("/verify-email/MQ/token/", prefix="")).status == 200


async def test_the_page_works_under_a_path_prefix(open_api: OpenApi) -> None:
    api = await open_api(public_url="https://example.org/books")

    page = (await api.get("/", prefix="")).raw.decode()

    assert f'src="/books{folder()}/app.js"' in page


def test_a_first_visit_loads_at_most_sixty_kilobytes() -> None:
    files = [*(f"{module}.js" for module in PRELOADED), "console.css", "icon.svg"]

    assert sum(len(assets().files[name].compressed) for name in files) <= MAX_BYTES


def test_the_modules_of_a_first_visit_are_preloaded() -> None:
    preloaded = {f"{module}.js" for module in PRELOADED}

    assert {found for name in preloaded for found in imports(name, STATIC)} <= preloaded


@pytest.mark.parametrize("name", [name for name in assets().files if name.endswith(".js")])
def test_every_import_of_a_module_exists(name: str) -> None:
    assert imports(name, STATIC) | imports(name, DYNAMIC) <= assets().files.keys()


def test_every_file_has_its_content_type() -> None:
    for name, asset in assets().files.items():
        assert asset.content_type == CONTENT_TYPES[PurePosixPath(name).suffix]
        assert gzip.decompress(asset.compressed) == asset.plain


async def test_a_view_is_titled_with_the_name_of_the_service(open_api: OpenApi, open_page: OpenPage) -> None:
    page = await open_page(await open_api(site={"site_name": "The Press"}))

    await page.until("document.title === 'Welcome · The Press'")
    await page.open("nowhere")
    await page.until("document.title === 'Page not found · The Press'")
