"""Prepares the input of the measured programs: the book in each one's format, and the fonts."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from bench.render import corpus, fonts, peers
from bookgen.render.layout.compose import Composer
from bookgen.render.manuscript import manuscript
from bookgen.render.settings import ExportSettings


def main(name: str, folder: str) -> None:
    place = Path(folder)
    fonts.instances(place / "fonts")
    chosen = next(each for each in corpus.ALL if each.name == name)
    book, chapters = corpus.book(chosen)
    illustrations = corpus.illustrations(chosen)
    text = manuscript(book, chapters, author=book.author_name, watermark=False, illustrations=illustrations)
    for each in illustrations:
        (place / peers.FIGURE).write_bytes(each.picture.data)
    (place / "book.pickle").write_bytes(pickle.dumps((book, chapters, illustrations)))
    (place / "manuscript.pickle").write_bytes(pickle.dumps(text))
    (place / "pagination.pickle").write_bytes(pickle.dumps(Composer(text, ExportSettings()).layout().pagination))
    (place / "book.typ").write_text(peers.typst_source(text), encoding="utf-8")
    (place / "book.html").write_text(peers.html_source(text), encoding="utf-8")
    figures = {each.chapter_id: f"![{each.caption}]({place / peers.FIGURE})" for each in illustrations}
    markdown = "\n\n".join(f"# {each.title}\n\n{_with(each.content, figures.get(each.id))}" for each in chapters)
    (place / "book.md").write_text(f'---\ntitle: "{book.title}"\nlang: en-US\n---\n\n{markdown}', encoding="utf-8")


def _with(content: str, figure: str | None) -> str:
    blocks = content.split("\n\n")
    return "\n\n".join([*blocks[: corpus.FIGURE_AT], figure, *blocks[corpus.FIGURE_AT :]]) if figure else content


if __name__ == "__main__":
    main(*sys.argv[1:])
