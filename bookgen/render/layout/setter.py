"""The tools that all parts of the layout share to set one book's text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bookgen.render.layout.geometry import Geometry
from bookgen.render.layout.lines import Align, Line, LineBreaker, Shape
from bookgen.render.layout.words import WordMaker
from bookgen.render.locales import Locale
from bookgen.render.model import Span, Spans
from bookgen.render.settings import ExportSettings

DISPLAY_LEAD = 1.2  # the line height of titles, as a multiple of the type size


@dataclass(frozen=True, slots=True)
class Setter:
    geometry: Geometry
    settings: ExportSettings
    language: Locale
    maker: WordMaker
    breaker: LineBreaker

    @property
    def indent(self) -> float:
        return self.language.indent * self.geometry.size

    @property
    def body_align(self) -> Align:
        return Align.JUSTIFY if self.settings.justify else Align.START

    def lines(
        self, text: str | Spans, size: float, measure: float, align: Align = Align.CENTER, **kind: bool
    ) -> list[Line]:
        spans = (Span(text),) if isinstance(text, str) else text
        return self.breaker.lines(self.maker.words(spans, **kind), Shape(measure, size, align=align))

    def fitted(
        self, text: str, sizes: Sequence[float], measure: float, height: float, **kind: bool
    ) -> tuple[float, list[Line]]:
        """Set the text centred, at the first of `sizes` at which it fits, else at the last. Returns size and lines."""
        for size in sizes:
            lines = self.lines(text, size, measure, Align.CENTER, **kind)
            if len(lines) * size * DISPLAY_LEAD <= height and all(line.expansion == 100.0 for line in lines):
                break
        return size, lines

    def line(self, text: str, size: float, measure: float, align: Align = Align.CENTER, **kind: bool) -> Line:
        """Set the text in one line. If it is too long, an ellipsis replaces its last words."""
        words = text.split()
        lines = self.lines(text, size, measure, align, **kind)
        while len(lines) > 1 and len(words) > 1:
            words.pop()
            lines = self.lines(" ".join(words).rstrip(" ,;:—–-") + "…", size, measure, align, **kind)
        return lines[0]
