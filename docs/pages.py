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
    """The facing pages with most text in the middle of the book whose right one opens a chapter, or any two."""
    pages = [pdf[number].get_textpage().get_text_range() for number in range(len(pdf))]
    openings = [
        n for n in range(len(pdf) // 4, len(pdf)) if n % 2 == 0 and len(pages[n - 1]) > 900 > 300 < len(pages[n])
    ]
    short = [n for n in openings if len(pages[n]) < 0.8 * len(pages[n - 1])]
    right = (short or openings or [len(pdf) // 4 * 2])[0]
    return right - 1, right


def _picture(page: pypdfium2.PdfPage) -> Image.Image:
    return page.render(scale=HEIGHT / page.get_height()).to_pil().convert("RGB")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
