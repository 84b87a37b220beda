"""A cover and two facing pages as a picture: python docs/pages.py FOLDER_OF_THE_PDF PICTURE.png"""

import sys
from pathlib import Path

import pypdfium2
from PIL import Image

HEIGHT = 900
GAP, MARGIN, PAPER = 6, 24, "#d8d8d4"


def main(source: Path, target: Path) -> None:
    pdf = pypdfium2.PdfDocument(max(source.glob("*.pdf"), key=lambda path: path.stat().st_mtime))
    cover, left, right = (_picture(pdf[number]) for number in (0, *_opening(pdf)))
    width = cover.width + left.width + right.width + GAP + 3 * MARGIN
    sheet = Image.new("RGB", (width, HEIGHT + 2 * MARGIN), PAPER)
    x = MARGIN
    for picture, gap in ((cover, MARGIN), (left, GAP), (right, MARGIN)):
        sheet.paste(picture, (x, MARGIN))
        x += picture.width + gap
    sheet.quantize(128).save(target, optimize=True)


def _opening(pdf: pypdfium2.PdfDocument) -> tuple[int, int]:
    """Two facing pages, one of which opens a chapter, with the most text on the other."""
    pages = [pdf[number].get_textpage().get_text_range().strip() for number in range(len(pdf))]
    spreads = [(left, left + 1) for left in range(7, len(pages) - 1, 2)]

    def text_beside_opening(spread: tuple[int, int]) -> int:
        opens = [pages[number].upper().startswith("CHAPTER ") for number in spread]
        return len(pages[spread[opens[0]]]) if any(opens) else 0

    return max(spreads, key=text_beside_opening)


def _picture(page: pypdfium2.PdfPage) -> Image.Image:
    return page.render(scale=HEIGHT / page.get_height()).to_pil().convert("RGB")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
