"""Code in a book is set as it was typed, and can be copied from the files and run."""

from __future__ import annotations

import io
from itertools import pairwise

import docx
import pytest

from bookgen.render.layout.rows import Fill, TextMark
from tests.render.conftest import Make, Rendered, render
from tests.render.measuring import body
from tests.render.reading import PdfText
from tests.render.test_docx import of_style
from tests.render.test_epub import text_of
from tests.render.test_sent_markdown import chapter

PROGRAM = 'def bell(times):\n    for number in range(times):\n        print("Dong.  ", end="")\n\n\nbell(3)'
LONG = 'ROOMS = {"beach": "The beach. Wet sand, black water.", "stairs": "The stairs. They smell of oil and rope."}'


def fenced(code: str) -> str:
    return f"```python\n{code}\n```"


def code_of(book: Rendered) -> str:
    """The code of the PDF as a reader copies it. A line that continues has no break."""
    (shown,) = [node for node in PdfText(book.pdf).tree.walk() if node.role == "Code"]
    return shown.text


def columns(book: Rendered) -> list[tuple[float, TextMark]]:
    return [(y, mark) for page in book.layout.pages for y, mark in body(page) if mark.element.role == "Code"]


def hooks(book: Rendered) -> int:
    """How many marks of a wrapped line the pages have."""
    marks = [placed.mark for page in book.layout.pages for placed in page.placed]
    return sum(isinstance(mark, Fill) for mark in marks) // 2


def test_every_space_of_code_is_a_normal_space_in_the_pdf(make: Make) -> None:
    text = code_of(render(make(fenced(PROGRAM))))

    assert "\u00a0" not in text
    assert 'def bell(times):     for number in range(times):         print("Dong.  ", end="")' in text


def test_the_other_files_have_code_letter_for_letter(make: Make) -> None:
    book = render(make(fenced(PROGRAM + "\nname = input('Who? ') ")))
    document = docx.Document(io.BytesIO(book.docx))

    assert "\n".join(each.text for each in of_style(document, "Book Code")) == PROGRAM + "\nname = input('Who? ') "
    assert f"<code>{PROGRAM}\nname = input('Who? ') </code>" in chapter(book)


def test_long_lines_make_the_code_of_a_chapter_smaller(make: Make) -> None:
    short, long = (render(make(f"{fenced(PROGRAM)}\n\nThen:\n\n{fenced(each)}")) for each in ("x = 1", "x" * 61))

    (usual,), (smaller,) = ({mark.size for _, mark in columns(book)} for book in (short, long))
    assert usual > smaller
    assert hooks(short) == hooks(long) == 0


def test_a_line_that_is_still_too_long_is_wrapped_at_a_space_with_a_mark(make: Make) -> None:
    book = render(make(fenced(f"if True:\n    {LONG}")))
    head, first, *rest = [mark for _, mark in columns(book)]

    assert head.line.text == "if\u00a0True:"
    assert first.line.text.startswith("\u00a0\u00a0\u00a0\u00a0ROOMS")
    assert rest
    assert all(mark.line.text[0] != "\u00a0" for mark in rest)
    assert hooks(book) == len(rest)
    assert code_of(book).split() == f"if True:\n    {LONG}".split()


def test_code_is_closer_than_text_as_its_type_is_smaller_and_ends_on_the_grid(make: Make) -> None:
    book = render(make(f"Above.\n\n{fenced(chr(10).join(['y' * 70] * 12))}\n\nBelow.\n\nLast."))
    heights = {mark.line.text: y for page in book.layout.pages for y, mark in body(page)}
    lead = heights["Below."] - heights["Last."]
    rows = [y for y, _ in columns(book)]

    assert all(above - below < lead * 0.95 for above, below in pairwise(rows))
    assert (heights["Above."] - heights["Below."]) / lead == pytest.approx(
        round((heights["Above."] - heights["Below."]) / lead), abs=0.02
    )


def test_a_wrapped_line_goes_on_further_in_than_it_begins(make: Make) -> None:
    book = render(make(fenced(f"if True:\n        {LONG}")))
    _, first, *rest = [mark for _, mark in columns(book)]
    begins = first.x + first.line.x + first.size * 0.86 * 0.6 * 8  # eight spaces

    assert all(mark.x + mark.line.x > begins for mark in rest)


def test_code_of_eighty_columns_fits_without_its_indent(make: Make) -> None:
    wide, narrow = (render(make(f"Text.\n\n{fenced('=' * length)}")) for length in (80, 60))
    (one,), (other,) = (columns(book) for book in (wide, narrow))

    assert hooks(wide) == 0
    assert one[1].x + one[1].line.x == 0.0 < other[1].x + other[1].line.x


@pytest.mark.parametrize("above", range(20, 40))
def test_short_code_is_not_divided_and_keeps_what_it_prints(above: int, make: Make) -> None:
    lines = "\n".join(f"print({number})" for number in range(9))
    book = render(make("\n\n".join([*["A line."] * above, fenced(lines), fenced("0\n1\n2"), "Below."])))
    pages = {id(page) for page in book.layout.pages for _, mark in body(page) if mark.element.role == "Code"}

    assert len(pages) == 1


def test_inline_code_keeps_its_spaces_in_every_format(make: Make) -> None:
    book = render(make('Type `"  UP "` and `a  = b` now.'))
    text = " ".join(node.text for node in PdfText(book.pdf).tree.walk())

    assert '"  UP "' in text
    assert "a  = b" in text
    assert '<code dir="ltr">"  UP "</code>' in chapter(book)
    assert "pre, code { white-space: pre-wrap" in text_of(book.epub, "EPUB/style.css")


def test_two_blocks_of_code_have_space_between_them_in_word(make: Make) -> None:
    book = render(make(f"{fenced('print(1)')}\n\n{fenced('1')}"))
    program, output = of_style(docx.Document(io.BytesIO(book.docx)), "Book Code")

    assert program.paragraph_format.space_after > 0
    assert output.paragraph_format.space_before > 0
