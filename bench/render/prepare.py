"""What the measured programs read: the book in each one's own language, and the fonts."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from bench.render import corpus, fonts, peers
from bookgen.render.layout.compose import lay_out
from bookgen.render.manuscript import manuscript
from bookgen.render.settings import ExportSettings


def main(name: str, folder: str) -> None:
    place = Path(folder)
    fonts.instances(place / "fonts")
    book, chapters = corpus.book(next(each for each in corpus.ALL if each.name == name))
    text = manuscript(book, chapters, author=book.author_name, watermark=False)
    (place / "book.pickle").write_bytes(pickle.dumps((book, chapters)))
    (place / "manuscript.pickle").write_bytes(pickle.dumps(text))
    (place / "pagination.pickle").write_bytes(pickle.dumps(lay_out(text, ExportSettings()).pagination))
    (place / "book.typ").write_text(peers.typst_source(text), encoding="utf-8")
    (place / "book.html").write_text(peers.html_source(text), encoding="utf-8")
    markdown = "\n\n".join(f"# {chapter.title}\n\n{chapter.content}" for chapter in chapters)
    (place / "book.md").write_text(f'---\ntitle: "{book.title}"\nlang: en-US\n---\n\n{markdown}', encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
