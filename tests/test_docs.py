"""The settings and commands in the README and the documentation match the code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bookgen.commands.cli import COMMANDS
from bookgen.settings import Config, names

ROOT = Path(__file__).parent.parent
IN_README = (
    "BOOKGEN_HOST",
    "BOOKGEN_PORT",
    "BOOKGEN_DATA_DIR",
    "BOOKGEN_DATABASE_URL",
    "BOOKGEN_MODEL",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "BOOKGEN_BOOK_COST_CAP",
)


def settings() -> Iterator[tuple[str, str, str, str]]:
    """The name, default, values and meaning of each setting, as the documentation writes them."""
    for field, name in names().items():
        info = Config.model_fields[field]
        takes = info.json_schema_extra["takes"] if isinstance(info.json_schema_extra, dict) else ""
        default = (
            ""
            if info.default in (None, "", ())
            else f"`{info.default:g}`"
            if isinstance(info.default, float)
            else f"`{info.default}`"
        )
        yield f"`{name}`", default, str(takes), str(info.description)


def rows(path: Path) -> list[tuple[str, ...]]:
    """The rows of the table whose first cell is a setting."""
    lines = [line for line in path.read_text().splitlines() if re.match(r"\| `[A-Z0-9_]+`( |,)", line)]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]


def test_the_page_of_settings_matches_the_config() -> None:
    assert rows(ROOT / "docs/configure.md") == list(settings())


def test_the_settings_in_the_readme_match_the_config() -> None:
    chosen = [(name, default, meaning) for name, default, _, meaning in settings() if name.strip("`") in IN_README]

    assert rows(ROOT / "README.md") == chosen


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))], ids=lambda path: path.name)
def test_every_link_in_the_documentation_leads_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\((?!https?://|#)([^)#]+)", path.read_text())

    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_every_command_is_described_on_the_page_for_operators() -> None:
    text = (ROOT / "docs/operate.md").read_text()

    assert [name for name in COMMANDS if f"`bookgen {name}" not in text] == []
