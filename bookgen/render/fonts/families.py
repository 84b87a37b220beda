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


def _variable(
    name: str, package: str, stem: str, axes: str, optical: float | None = None, italic: bool = True
) -> Source:
    upright = f"{stem}[{axes}].ttf"
    slanted = f"{stem}-Italic[{axes}].ttf" if italic else upright
    return Source(name, upright, slanted, upright, slanted, package, optical=optical)


def _static(name: str, package: str, stem: str) -> Source:
    regular, italic, bold, both = (f"{stem}-{style}.ttf" for style in ("Regular", "Italic", "Bold", "BoldItalic"))
    return Source(name, regular, italic, bold, both, package, variable=False)


def _own(name: str, regular: str, bold: str) -> Source:
    return Source(name, regular, regular, bold, bold, variable=False)


SERIF = _variable("Source Serif 4", "fontpkg_source_serif_4", "SourceSerif4", "opsz,wght", 11.0)
SANS = _variable("Source Sans 3", "fontpkg_source_sans_3", "SourceSans3", "wght")
DYSLEXIC = _static("Atkinson Hyperlegible", "fontpkg_atkinson_hyperlegible", "AtkinsonHyperlegible")
MONO = _variable("Source Code Pro", "fontpkg_source_code_pro", "SourceCodePro", "wght")
BY_SETTING = {"serif": SERIF, "sans": SANS, "dyslexic": DYSLEXIC}

ARABIC = _static("Amiri", "fontpkg_amiri", "Amiri")
HEBREW = _variable("Frank Ruhl Libre", "fontpkg_frank_ruhl_libre", "FrankRuhlLibre", "wght", italic=False)
DEVANAGARI = _own("Noto Serif Devanagari", "NotoSerifDevanagari-Regular.ttf", "NotoSerifDevanagari-Bold.ttf")

# Languages whose own script's face sets the whole book, its digits and marks with it.
BY_LANGUAGE = {"ar": ARABIC, "fa": ARABIC, "ur": ARABIC, "he": HEBREW, "yi": HEBREW, "hi": DEVANAGARI, "mr": DEVANAGARI}

EMOJI = _own("Noto Emoji", "NotoEmoji-Regular.ttf", "NotoEmoji-Regular.ttf")

# Asked in this order for what the body face lacks.
FALLBACKS = (
    SERIF,
    _variable("EB Garamond", "fontpkg_eb_garamond", "EBGaramond", "wght"),
    _variable("Noto Serif", "fontpkg_noto_serif", "NotoSerif", "wdth,wght"),
    ARABIC,
    HEBREW,
    DEVANAGARI,
    MONO,
    _own("Noto Sans Math", "NotoSansMath-Regular.ttf", "NotoSansMath-Regular.ttf"),
    EMOJI,
    _own("Noto Sans Symbols", "NotoSansSymbols-Regular.ttf", "NotoSansSymbols-Regular.ttf"),
    _own("Noto Sans Symbols 2", "NotoSansSymbols2-Regular.ttf", "NotoSansSymbols2-Regular.ttf"),
)
