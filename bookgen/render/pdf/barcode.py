"""An ISBN as the bars that a shop reads: EAN-13 in black alone, at its nominal size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from reportlab.graphics.barcode.eanbc import Ean13BarcodeWidget


class Bar(NamedTuple):
    """In points from the symbol's lower left corner, its quiet zones included."""

    x: float
    y: float
    width: float
    height: float


class Digits(NamedTuple):
    """Digits in the middle of which x is, on the baseline y."""

    x: float
    y: float
    text: str


class Barcode:
    def __init__(self, isbn: str) -> None:
        """`isbn` is a valid one of ten or thirteen digits, hyphens or not."""
        digits = "".join(each for each in isbn if each.isdigit() or each in "xX")
        symbol: Any = Ean13BarcodeWidget(digits[:12] if len(digits) == 13 else f"978{digits[:9]}")
        self._parts = symbol.draw().contents
        self.width, self.height = self._parts[0].width, self._parts[0].height
        self.size: float = symbol.fontSize

    def bars(self) -> Iterator[Bar]:
        _, *parts = self._parts  # the ground
        yield from (Bar(part.x, part.y, part.width, part.height) for part in parts if hasattr(part, "width"))

    def digits(self) -> Iterator[Digits]:
        """The first digit stands before the bars, the others in two groups below them."""
        yield from (Digits(part.x, part.y, part.text) for part in self._parts if hasattr(part, "text"))
