"""The files and folders named in the pages for engineers exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
ARCHITECTURE = (ROOT / "docs/architecture.md").read_text()
RECIPES = {
    part.partition("\n")[0]: re.findall(r"^\d+\. `([^`]+)`:", part.partition("\n## ")[0], re.MULTILINE)
    for part in CONTRIBUTING.split("\n### ")[1:]
}
STEPS = re.findall(
    r"^ +\d+\. (.+(?:\n {5}.+)*)", ARCHITECTURE.partition("## How it works, step by step")[2], re.MULTILINE
)
WORDS = re.findall(r"^\| ([\w ]+) \|", ARCHITECTURE.partition("## Words")[2].partition("\n## ")[0], re.MULTILINE)[1:]


def is_file(name: str) -> bool:
    return (ROOT / "bookgen" / name).is_file() or (ROOT / name).is_file()


def test_the_most_common_additions_have_a_recipe() -> None:
    assert RECIPES.keys() >= {
        "An endpoint", "A column", "An export format", "A provider", "An error", "A limit class", "A setting",
        "A console view",
    }  # fmt: skip


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_lists_files_of_the_product_and_of_the_tests(recipe: str) -> None:
    folders = {path.partition("/")[0] for path in RECIPES[recipe]}

    assert "bookgen" in folders
    assert folders & {"tests", "docs"}


@pytest.mark.parametrize(("recipe", "path"), [(recipe, path) for recipe in RECIPES for path in RECIPES[recipe]])
def test_every_file_in_a_recipe_matches_existing_files_of_its_kind(recipe: str, path: str) -> None:
    """Capitals are placeholders: the repository must have other files of the same form."""
    assert list(ROOT.glob(re.sub(r"[A-Z]{4,}", "*", path)))


def test_the_contributing_page_is_short_apart_from_its_recipes() -> None:
    before, _, recipes = CONTRIBUTING.partition("## Recipes")

    assert len((before + recipes.partition("\n## ")[2]).splitlines()) <= 70


def test_the_glossary_is_short() -> None:
    assert 10 <= len(WORDS) <= 16


@pytest.mark.parametrize("step", STEPS, ids=lambda step: re.sub(r"\W+", "_", step[:40]))
def test_every_step_in_the_architecture_page_names_an_existing_file(step: str) -> None:
    named = re.findall(r"`([\w/]+\.py)`", step)

    assert named
    assert [name for name in named if not is_file(name)] == []


def test_every_file_named_in_the_architecture_page_exists() -> None:
    named = re.findall(r"`([\w/.]+\.(?:py|sql|toml|md))`", ARCHITECTURE)

    assert len(named) > 40
    assert [name for name in named if not is_file(name)] == []


@pytest.mark.parametrize("page", [CONTRIBUTING, ARCHITECTURE], ids=["contributing", "architecture"])
def test_every_folder_named_in_the_docs_exists(page: str) -> None:
    folders = re.findall(r"`([a-z_/]+/)`", page)

    assert [name for name in folders if not (ROOT / "bookgen" / name).is_dir() and not (ROOT / name).is_dir()] == []
