"""The faces that come with the package, and the chain that covers the world's scripts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_OWN = Path(__file__).parent / "files"


@dataclass(frozen=True, slots=True)
class Source:
    """A family's four files. `package` is a font package; without one the files are in `folder`.

    `index` counts the faces of a collection; a variable file is set to its place by `axes`.
    """

    name: str
    regular: str
    italic: str
    bold: str
    bold_italic: str
    package: str = ""
    folder: Path = _OWN
    optical: float | None = None
    variable: bool = True
    index: int = 0
    weights: tuple[float, float] = (400.0, 700.0)  # of its regular and its bold letters

    def path(self, *, bold: bool, italic: bool) -> Path:
        file = ((self.regular, self.italic), (self.bold, self.bold_italic))[bold][italic]
        return (package_folder(self.package) / "files" if self.package else self.folder) / file

    @property
    def release(self) -> str:
        """What changes when the shapes of the letters may have changed."""
        if self.package:
            from importlib.metadata import version  # reads mail headers: slow to load, and asked for only here

            return f"{self.package} {version(self.package)}"
        return f"{self.name} {self.path(bold=False, italic=False).stat().st_size}"

    def axes(self, *, bold: bool, display: bool = False) -> dict[str, float]:
        if not self.variable:
            return {}
        axes = {"wght": self.weights[bold]}
        if self.optical is not None:
            axes["opsz"] = 40.0 if display else self.optical
        return axes


@cache
def package_folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"No package {package!r}.", name=package)
    return Path(next(iter(spec.submodule_search_locations)))


def variable(
    name: str,
    axes: str = "wght",
    *,
    optical: float | None = None,
    italic: bool = True,
    weights: tuple[float, float] = (400.0, 700.0),
) -> Source:
    """A face of one file, or of two, with axes. Packages and their files are named after their faces."""
    upright = f"{_stem(name)}[{axes}].ttf"
    slanted = f"{_stem(name)}-Italic[{axes}].ttf" if italic else upright
    return Source(name, upright, slanted, upright, slanted, _package(name), optical=optical, weights=weights)


def static(name: str, styles: tuple[str, str, str, str] = ("Regular", "Italic", "Bold", "BoldItalic")) -> Source:
    """A face with a file for each style."""
    regular, italic, bold, both = (f"{_stem(name)}-{style}.ttf" for style in styles)
    return Source(name, regular, italic, bold, both, _package(name), variable=False)


def _own(name: str, bold: str = "Regular") -> Source:
    """A face that we carry ourselves."""
    files = [f"{_stem(name)}-{style}.ttf" for style in ("Regular", bold)]
    return Source(name, files[0], files[0], files[1], files[1], variable=False)


def _stem(name: str) -> str:
    return name.replace(" ", "")


def _package(name: str) -> str:
    return f"fontpkg_{name.lower().replace(' ', '_')}"


SERIF = variable("Source Serif 4", "opsz,wght", optical=11.0)
SANS = variable("Source Sans 3")
DYSLEXIC = static("Atkinson Hyperlegible")
MONO = variable("Source Code Pro")
BY_SETTING = {"serif": SERIF, "sans": SANS, "dyslexic": DYSLEXIC}

ARABIC = static("Amiri")
HEBREW = variable("Frank Ruhl Libre", italic=False)
DEVANAGARI = _own("Noto Serif Devanagari", "Bold")

# Languages whose own script's face sets the whole book, its digits and marks with it.
BY_LANGUAGE = {"ar": ARABIC, "fa": ARABIC, "ur": ARABIC, "he": HEBREW, "yi": HEBREW, "hi": DEVANAGARI, "mr": DEVANAGARI}


def own_script(tag: str) -> Source | None:
    """The face of the script that the language of a BCP 47 tag has beside Latin."""
    return BY_LANGUAGE.get(tag.split("-")[0].lower())


EMOJI = _own("Noto Emoji")

# Asked in this order for what the body face lacks.
FALLBACKS = (
    SERIF,
    variable("EB Garamond"),
    variable("Noto Serif", "wdth,wght"),
    ARABIC,
    HEBREW,
    DEVANAGARI,
    MONO,
    _own("Noto Sans Math"),
    EMOJI,
    _own("Noto Sans Symbols"),
    _own("Noto Sans Symbols 2"),
)
