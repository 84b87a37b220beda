"""Judge print wraps of every trim, paper and page count: `python -m tests.render.wraps [STEP]`.

With STEP 1 every page count from 24 to the maximum is tested; each book has a different title, language and cover. Two
readers that share no code must agree on the boxes. Every tenth sheet is drawn and its barcode scanned.
"""

from __future__ import annotations

import io
import itertools
import sys
from collections import Counter
from collections.abc import Iterator

import pikepdf
import pypdfium2
import zxingcpp

from bookgen.errors import InvalidInput
from bookgen.render.model import Manuscript
from bookgen.render.pdf.wrap import write_wrap
from bookgen.render.settings import ExportSettings
from bookgen.render.trim import INCH, TRIMS
from tests.render.conftest import make_manuscript
from tests.render.cover.books import book as seeded

ISBN = "978-3-16-148410-0"
PAGE = {"white": 0.002252, "cream": 0.0025}  # inches, from the printer's own page
PAGES = range(24, 829)
BLEED = 0.125
BLURB = "A keeper writes down every ship. " * 9
MAX_INK = 2.4
NO_INKS = {"rg", "RG", "cs", "CS", "sc", "scn", "SC", "SCN", "g", "G", "sh", "gs", "BI"}
DRAWN = 10  # of this many sheets one is drawn


def faults(data: bytes, trim: str, paper: str, pages: int, drawn: bool) -> Iterator[str]:
    width = 2 * TRIMS[trim].width / INCH + (pages + pages % 2) * PAGE[paper] + 2 * BLEED
    height = TRIMS[trim].height / INCH + 2 * BLEED
    wanted = {"media": (0.0, 0.0, width, height), "trim": (BLEED, BLEED, width - BLEED, height - BLEED)}
    wanted["bleed"] = wanted["media"]
    with pikepdf.open(io.BytesIO(data)) as pdf, pypdfium2.PdfDocument(data) as other:
        (page,) = pdf.pages
        read = {"media": page.mediabox, "bleed": page.bleedbox, "trim": page.trimbox}
        again = {"media": other[0].get_mediabox(), "bleed": other[0].get_bleedbox(), "trim": other[0].get_trimbox()}
        for name, box in wanted.items():
            if any(abs(float(is_) / INCH - be) > 0.01 for is_, be in zip(read[name], box, strict=True)):
                yield f"the {name} box is off"
            if any(abs(float(one) - two) > 0.01 for one, two in zip(read[name], again[name], strict=True)):
                yield f"two readers differ about the {name} box"
        yield from _inks(page)
        if drawn and [code.text for code in _codes(other)] != [ISBN.replace("-", "")]:
            yield "the barcode is not read back"


def _inks(page: pikepdf.Page) -> Iterator[str]:
    written = [(list(operands), str(operator)) for operands, operator in pikepdf.parse_content_stream(page)]
    if NO_INKS & {operator for _, operator in written}:
        yield "there is a colour that is none of a press"
    if max(sum(map(float, operands)) for operands, operator in written if operator in ("k", "K")) > MAX_INK:
        yield "there is too much ink"
    if any(image.ColorSpace != "/DeviceCMYK" for image in page.get_images().values()):
        yield "a picture is not in inks"


def _codes(document: pypdfium2.PdfDocument) -> list[zxingcpp.Barcode]:
    return zxingcpp.read_barcodes(document[0].render(scale=200 / 72).to_pil().convert("RGB"))


def _manuscript(number: int, trim: str) -> Manuscript:
    _, copy, genre = seeded(number)
    told = {"title": copy.title, "subtitle": copy.subtitle, "genre": genre, "author_name": copy.author or "A. Author"}
    return make_manuscript("A line.", language=copy.language, trim=trim, blurb=BLURB, **told)


def main(step: int) -> int:
    found: Counter[str] = Counter()
    count = 0
    for trim, paper in itertools.product(TRIMS, PAGE):
        for pages in PAGES[::step]:
            try:
                data = write_wrap(_manuscript(count, trim), pages, ExportSettings(paper=paper, isbn=ISBN))
            except InvalidInput:
                break  # too thick to bind
            for fault in faults(data, trim, paper, pages, drawn=count % DRAWN == 0):
                found[fault] += 1
                print(f"{trim} {paper} {pages} pages, book {count}: {fault}", flush=True)
            count += 1
    print(f"{count} wraps, {count // DRAWN} drawn: {found.total()} faults {dict(found)}")
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
