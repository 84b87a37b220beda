"""The import rules of `docs/architecture.md`."""

import ast
import graphlib
import re
from functools import cache
from pathlib import Path

import pytest

from tests.syntax import statements

PACKAGE = Path(__file__).parent.parent / "bookgen"

NOUNS = {"models", "errors", "words", "person_names", "cover_options", "threads", "processes", "durable"}
PROTOCOLS = {"providers.text", "providers.images"}
OUTSIDE = {"providers.google", "providers.mail"}
# Choices offered to callers: data next to the code that uses it.
CHOICES = {"render.formats", "render.settings", "render.trim"}
SERVICE = {"billing", "files", "metrics", "store", "writing", "render"} | PROTOCOLS | NOUNS
SERVICES = {"accounts", "services", "support"}
MAY_IMPORT = {
    "words": set(),
    "person_names": set(),
    "cover_options": set(),
    "threads": set(),
    "processes": set(),
    "durable": set(),
    "error_base": set(),
    "errors": {"error_base"},
    "models": {"errors", "words"},
    "env_file": {"errors"},
    "setting_types": {"rate_limits"},
    "parallelism": set(),
    "settings": {"rate_limits", "setting_types", "parallelism"},
    "config": {"env_file", "errors", "setting_types", "settings"},
    "rate_limits": NOUNS,
    "logs": NOUNS,
    "metrics": NOUNS,
    "providers": {"metrics"} | NOUNS,
    "render": NOUNS,
    "store": NOUNS,
    "files": {"metrics", "store"} | NOUNS,
    "writing": PROTOCOLS | NOUNS,
    "billing": {"store", "metrics"} | NOUNS,
    "accounts": {"billing", "metrics", "store"} | OUTSIDE | NOUNS,
    "support": {"billing", "store", "writing"} | PROTOCOLS | NOUNS,
    "services.corrections": {"services.editing"} | SERVICE,
    "services.proofreading": {"services.corrections", "services.editing"} | SERVICE,
    "services.exports": {"services.render_jobs"} | SERVICE,
    "services.render_jobs": {"services.declaration", "services.provenance"} | SERVICE,
    "services.declaration": {"services.provenance"} | SERVICE,
    "services.provenance": {"store"} | NOUNS,
    "services.backup_schedule": {"metrics", "store"} | NOUNS,
    "services.artwork": {"services.cover_design", "services.picture_making"} | SERVICE,
    "services.cover_design": SERVICE,
    "services.picture_making": {"services.spread_pictures", "services.picture_marks"} | SERVICE,
    "services.childrens": SERVICE,
    "services.bible": SERVICE,
    "services.facts": {"store"} | NOUNS,
    "services.spread_pictures": {"services.picture_marks"} | SERVICE,
    "services.picture_marks": {"services.credentials", "render"} | NOUNS,
    "services.credentials": NOUNS,
    "services.editing": {"billing", "services.revised_outline", "store"} | NOUNS,
    "services.copying": {"billing", "files", "store"} | NOUNS,
    "services.revised_outline": NOUNS,
    "fault_points": set(),
    "actors": {"fault_points", "writing", "billing", "files", "metrics", "store"} | PROTOCOLS | NOUNS,
    "http": {"actors", "billing", "files", "metrics", "rate_limits", "store", "logs"} | SERVICES | CHOICES | NOUNS,
    "client": {"errors", "words"},
}
# The composition root and the commands may import everything.
OPEN = {"app", "commands", "__main__", "__init__"}
ROOMS = sorted(path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists())
# A package judged as a whole, or one of the services, which may import different packages.
PARTS = [room for room in ROOMS if room not in OPEN | {"services"}]
PARTS += [f"services.{path.stem}" for path in (PACKAGE / "services").glob("[!_]*.py")]


@pytest.mark.parametrize("room", PARTS)
def test_a_package_imports_only_packages_below_it(room: str) -> None:
    allowed = MAY_IMPORT[room] | {room}

    strangers = {
        f"{file.relative_to(PACKAGE)}: {name}"
        for file in files(room)
        for name in imported(file)
        if not any(name == door or name.startswith(f"{door}.") for door in allowed)
    }

    assert not strangers


def test_there_are_no_import_cycles() -> None:
    below = {_name(file): {name for name in imported(file) if name != _name(file)} for file in PACKAGE.rglob("*.py")}

    graphlib.TopologicalSorter(below).prepare()  # CycleError names the cycle


def test_the_imports_of_actors_have_at_most_nine_floors() -> None:
    below = {_name(file): {name for name in imported(file) if name.startswith("actors.")} for file in files("actors")}
    floors: dict[str, int] = {}
    for name in graphlib.TopologicalSorter(below).static_order():
        floors[name] = 1 + max((floors[lower] for lower in below.get(name, ())), default=0)

    assert max(floors.values()) <= 9, floors


@pytest.mark.parametrize(
    ("part", "below"),
    [
        ("edge/*.py", "edge"),
        ("docs/*.py", "edge|docs"),
        ("outside/*.py", "edge|outside"),
        ("*_schemas.py", r"edge|\w+_schemas"),
        ("demo/*.py", r"edge|\w+_schemas"),
        ("answers/*.py", r"edge|\w+_schemas"),
    ],
)
def test_imports_inside_http_point_one_way(part: str, below: str) -> None:
    strangers = {
        f"{file.name}: {name}"
        for file in (PACKAGE / "http").glob(part)
        for name in imported(file)
        if name.startswith("http") and not re.match(rf"http\.({below})\b", name)
    }

    assert not strangers


def test_the_schema_of_a_request_or_answer_is_next_to_its_handlers() -> None:
    elsewhere = {
        f"{file.relative_to(PACKAGE)}: {node.name}"
        for file in files("http")
        for node in statements(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id.endswith(("Schema", "Body")) for base in node.bases)
        and not file.stem.endswith("_schemas")
    }

    assert elsewhere == {"http/edge/schemas.py: Body", "http/edge/schemas.py: Query"}


@pytest.mark.parametrize(
    ("package", "only"), [("stripe", "billing/gateway.py"), ("anthropic", "providers/anthropic.py")]
)
def test_an_outside_package_is_imported_in_one_place(package: str, only: str) -> None:
    importers = {str(file.relative_to(PACKAGE)) for file in PACKAGE.rglob("*.py") if package in outside_packages(file)}

    assert importers <= {only}


def test_no_file_is_longer_than_400_lines() -> None:
    lengths = {str(file.relative_to(PACKAGE)): len(file.read_text().splitlines()) for file in PACKAGE.rglob("*.py")}

    assert {name: length for name, length in lengths.items() if length > 400} == {}


def test_no_function_is_longer_than_70_lines() -> None:
    long = {
        f"{file.relative_to(PACKAGE)}: {node.name}"
        for file in PACKAGE.rglob("*.py")
        for node in statements(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (node.end_lineno or 0) - node.lineno + 1 > 70
    }

    assert long == set()


def files(room: str) -> list[Path]:
    folder = PACKAGE / room.replace(".", "/")
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]


def _name(file: Path) -> str:
    """The module's dotted name below `bookgen`."""
    return ".".join(file.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


@cache
def import_nodes(file: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """The imports of the file. The rest of its tree is dropped, because garbage collection would traverse it in every
    test.
    """
    return tuple(
        node for node in statements(ast.parse(file.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)
    )


@cache
def imported(file: Path) -> frozenset[str]:
    """What `file` imports of ours, as dotted names below `bookgen`."""
    found: set[str] = set()
    for node in import_nodes(file):
        match node:
            case ast.ImportFrom(module="bookgen", names=names):
                found |= {alias.name for alias in names if not alias.name.startswith("__")}
            case ast.ImportFrom(module=str(module)) if module.startswith("bookgen."):
                package = module.removeprefix("bookgen.")
                found |= {_module(package, alias.name) for alias in node.names}
            case ast.Import(names=names):
                found |= {alias.name.removeprefix("bookgen.") for alias in names if alias.name.startswith("bookgen.")}
    return frozenset(found)


def _module(package: str, name: str) -> str:
    """The module of `from bookgen.store import books` is `store.books`; for a class it is the module of the class."""
    path = PACKAGE / package.replace(".", "/") / name
    return f"{package}.{name}" if path.is_dir() or path.with_suffix(".py").exists() else package


def outside_packages(file: Path) -> set[str]:
    names: set[str] = set()
    for node in import_nodes(file):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif node.level == 0:
            names.add(str(node.module).partition(".")[0])
    return names


MIRROR = "bookgen/client/errors.py"  # repeats the classes of bookgen/errors.py for callers
CLASS = re.compile(r"^[ \t]*class (\w+)[(:\[]", re.M)  # parsing the whole tree takes a hundred times as long
ASKED_FOR = {"Meta"}  # the name of an inner class in marshmallow and Django


def test_no_protocol_is_checked_with_isinstance() -> None:
    # A base class with defaults describes a provider. A check against a Protocol takes longer than the call.
    assert not [file for file in PACKAGE.rglob("*.py") if "runtime_checkable" in file.read_text()]


def test_a_class_name_means_one_thing_in_the_whole_tree() -> None:
    places: dict[str, list[str]] = {}
    for file in (file for folder in ("bookgen", "tests", "bench") for file in (PACKAGE.parent / folder).rglob("*.py")):
        path = str(file.relative_to(PACKAGE.parent))
        for name in set(CLASS.findall(file.read_text())) - ASKED_FOR if path != MIRROR else ():
            places.setdefault(name, []).append(path)

    assert {name: found for name, found in places.items() if len(found) > 1} == {}


PIPE_TO_LOOP = re.compile(r"connect_" + "(read|write)_pipe")


def test_no_pipe_is_given_to_the_event_loop() -> None:
    """uvloop closes the descriptor of a pipe twice, and so at times one that a thread has just opened."""
    sources = [*PACKAGE.rglob("*.py"), *Path(__file__).parent.rglob("*.py")]

    assert [str(path) for path in sources if PIPE_TO_LOOP.search(path.read_text())] == []
