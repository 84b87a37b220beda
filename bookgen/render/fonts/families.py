"""The typefaces that come with the package, and the fallback chain that covers other scripts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_OWN = Path(__file__).parent / "files"


@dataclass(frozen=True, slots=True)
class Source:
    """The font files of a typeface family: regular, italic, bold and bold italic. Styles may share a file.

    The files are in the Python package `package`, or in `folder` if that is empty. `index` selects a face of a font
    collection. For a variable font, `axes` returns the axis values of a style.
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
    weights: tuple[float, float] = (400.0, 700.0)  # regular and bold

    def path(self, *, bold: bool, italic: bool) -> Path:
        file = ((self.regular, self.italic), (self.bold, self.bold_italic))[bold][italic]
        return (package_folder(self.package) / "files" if self.package else self.folder) / file

    @property
    def release(self) -> str:
        """The version of the font: its package's version.

        Without a package, it is the font's name with the size of its file.
        """
        if self.package:
            from importlib.metadata import version  # slow to import, and only needed here

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
    """A variable typeface: one file, or two with italics. The package and the files are named after `name`.

    `axes`: the axes as in the file's name. `optical`: the optical size of body text, in points; None if the font has no
    such axis. `weights`: the weights for regular and bold.
    """
    upright = f"{_stem(name)}[{axes}].ttf"
    slanted = f"{_stem(name)}-Italic[{axes}].ttf" if italic else upright
    return Source(name, upright, slanted, upright, slanted, _package(name), optical=optical, weights=weights)


def static(name: str, styles: tuple[str, str, str, str] = ("Regular", "Italic", "Bold", "BoldItalic")) -> Source:
    """A typeface with one file per style."""
    regular, italic, bold, both = (f"{_stem(name)}-{style}.ttf" for style in styles)
    return Source(name, regular, italic, bold, both, _package(name), variable=False)


def _own(name: str, bold: str = "Regular") -> Source:
    """An upright typeface whose files are part of bookgen. `bold`: the style name of the file used for bold."""
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

# For these languages the face of their script sets the whole book, including digits and punctuation.
BY_LANGUAGE = {"ar": ARABIC, "fa": ARABIC, "ur": ARABIC, "he": HEBREW, "yi": HEBREW, "hi": DEVANAGARI, "mr": DEVANAGARI}


def own_script(tag: str) -> Source | None:
    """The typeface for a language with its own script, by BCP 47 tag. None for other languages."""
    return BY_LANGUAGE.get(tag.split("-")[0].lower())


EMOJI = _own("Noto Emoji")

# Tried in this order for characters that the body face lacks.
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
