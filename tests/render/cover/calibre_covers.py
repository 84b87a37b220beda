"""Covers by calibre's own generator: run by `calibre-debug` with a JSON list of books on standard input.

A book is `{"title", "subtitle", "author"}`; the subtitle goes where calibre puts a series. The output is a JSON list of
`{"seconds", "faults"}`: the CPU time of a cover, and which of our rules its text boxes break.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

from calibre.ebooks import covers  # type: ignore[import-not-found]

THUMBNAIL = 160
MIN_CAPITAL = 9  # pixels in the thumbnail


def judged(book: dict[str, str]) -> dict[str, Any]:
    laid_out: list[Any] = []

    def lay_out(*arguments: Any) -> Any:
        laid_out[:] = layout_text(*arguments)
        return tuple(laid_out)

    layout_text, covers.layout_text = covers.layout_text, lay_out
    started = time.process_time()
    try:
        image = covers.create_cover(book["title"], [book["author"]], book["subtitle"] or None, as_qimage=True)
    finally:
        covers.layout_text = layout_text
    seconds = time.process_time() - started
    return {"seconds": seconds, "faults": list(faults(laid_out, image.width(), image.height()))}


def faults(blocks: list[Any], width: int, height: int) -> Iterator[str]:
    below = 0
    for role, block in zip(("title", "subtitle", "author"), blocks, strict=True):
        if not block.layouts:
            continue
        if any(is_cut(layout) for layout in block.layouts if hasattr(layout, "lineCount")):
            yield f"the {role} is cut"
        if block.position.y < below or block.position.y + block.height > height:
            yield f"the {role} overlaps another text or runs off the page"
        below = block.position.y + block.height
        if role == "title" and capital_height(block) * THUMBNAIL / width < MIN_CAPITAL:
            yield "the title is too small in a thumbnail"


def is_cut(layout: Any) -> bool:
    return sum(layout.lineAt(number).textLength() for number in range(layout.lineCount())) < len(layout.text())


def capital_height(block: Any) -> int:
    return int(covers.QFontMetrics(block.layouts[0].font()).capHeight())


if __name__ == "__main__":
    print(json.dumps([judged(book) for book in json.load(sys.stdin)]))
