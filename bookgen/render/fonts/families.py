"""The faces that come with the package, and the chain that covers the world's scripts."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Source:
    """Where a family's files are. `upright` and `italic` map a weight to (file, axis settings)."""

    name: str
    package: str
    regular: str
    italic: str
    bold: str
    bold_italic: str
    optical: float | None = None
    variable: bool = True

    def path(self, file: str) -> Path:
        spec = find_spec(self.package)
        folders = spec.submodule_search_locations if spec else None
        assert folders, self.package
        return Path(next(iter(folders))) / "files" / file

    @property
    def release(self) -> str:
        return f"{self.package} {version(self.package)}"

    def axes(self, *, bold: bool, display: bool = False) -> dict[str, float]:
        if not self.variable:
            return {}
        axes = {"wght": 700.0 if bold else 400.0}
        if self.optical is not None:
            axes["opsz"] = 40.0 if display else self.optical
        return axes


def _variable(
    name: str, package: str, stem: str, axes: str, optical: float | None = None, italic: bool = True
) -> Source:
    upright = f"{stem}[{axes}].ttf"
    slanted = f"{stem}-Italic[{axes}].ttf" if italic else upright
    return Source(name, package, upright, slanted, upright, slanted, optical)


def _static(name: str, package: str, stem: str) -> Source:
    return Source(
        name,
        package,
        f"{stem}-Regular.ttf",
        f"{stem}-Italic.ttf",
        f"{stem}-Bold.ttf",
        f"{stem}-BoldItalic.ttf",
        variable=False,
    )


SERIF = _variable("Source Serif 4", "fontpkg_source_serif_4", "SourceSerif4", "opsz,wght", 11.0)
SANS = _variable("Source Sans 3", "fontpkg_source_sans_3", "SourceSans3", "wght")
DYSLEXIC = _static("Atkinson Hyperlegible", "fontpkg_atkinson_hyperlegible", "AtkinsonHyperlegible")
MONO = _variable("Source Code Pro", "fontpkg_source_code_pro", "SourceCodePro", "wght")
BY_SETTING = {"serif": SERIF, "sans": SANS, "dyslexic": DYSLEXIC}

# Asked in this order for what the body face lacks.
FALLBACKS = (
    SERIF,
    _variable("EB Garamond", "fontpkg_eb_garamond", "EBGaramond", "wght"),
    _variable("Noto Serif", "fontpkg_noto_serif", "NotoSerif", "wdth,wght"),
    _static("Amiri", "fontpkg_amiri", "Amiri"),
    _variable("Frank Ruhl Libre", "fontpkg_frank_ruhl_libre", "FrankRuhlLibre", "wght", italic=False),
    MONO,
)
