"""What every part of the layout sets its text with: one book's words, lines and page."""

from __future__ import annotations

from dataclasses import dataclass

from bookgen.render.languages import Language
from bookgen.render.layout.geometry import Geometry
from bookgen.render.layout.lines import Align, Line, LineBreaker, Shape
from bookgen.render.layout.words import WordMaker
from bookgen.render.model import Run, Runs
from bookgen.render.settings import ExportSettings


@dataclass(frozen=True, slots=True)
class Setter:
    geometry: Geometry
    settings: ExportSettings
    language: Language
    maker: WordMaker
    breaker: LineBreaker

    @property
    def indent(self) -> float:
        return self.language.indent * self.geometry.size

    @property
    def body_align(self) -> Align:
        return Align.JUSTIFY if self.settings.justify else Align.START

    def lines(
        self, text: str | Runs, size: float, measure: float, align: Align = Align.CENTER, **kind: bool
    ) -> list[Line]:
        runs = (Run(text),) if isinstance(text, str) else text
        return self.breaker.lines(self.maker.words(runs, **kind), Shape(measure, size, align=align))

    def line(self, text: str, size: float, measure: float, align: Align = Align.CENTER, **kind: bool) -> Line:
        """One line; a text that is too long loses its last words to an ellipsis."""
        words = text.split()
        lines = self.lines(text, size, measure, align, **kind)
        while len(lines) > 1 and len(words) > 1:
            words.pop()
            lines = self.lines(" ".join(words).rstrip(" ,;:—–-") + "…", size, measure, align, **kind)
        return lines[0]
