"""The author's declaration: who wrote a book's words, who made its pictures, and which models worked on it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

from bookgen.errors import must_exist
from bookgen.models import SAMPLE_WRITER, Chapter, SourceType
from bookgen.services.provenance import Share, Sources, share, sources
from bookgen.store import books, chapters, provenance
from bookgen.store.database import DB
from bookgen.store.provenance import FormerText, PictureOrigin
from bookgen.threads import compute

BY_MODEL = (SourceType.MODEL, SourceType.PARTLY_MODEL)


@dataclass(frozen=True, slots=True)
class Declaration:
    """Who made a book. `words`: by the number of each chapter with text, how many of its words were written by whom.

    `translator`: the model that translated the text, if any.
    """

    words: Mapping[int, Share]
    pictures: Sequence[PictureOrigin]
    models: Sequence[str]
    translator: str | None

    @property
    def text(self) -> Share:
        return reduce(add, self.words.values(), Share())

    @property
    def painted(self) -> int:
        """The number of pictures that an image model made, wholly or partly."""
        return sum(each.source in BY_MODEL for each in self.pictures)

    @property
    def drawn(self) -> int:
        """The number of pictures that bookgen's own code drew."""
        return sum(each.source is SourceType.DRAWN for each in self.pictures)

    @property
    def statement(self) -> str:
        """The declaration as sentences about text, images and translations, as publishing platforms ask for it."""
        translation = f"{self.translator} translated the text." if self.translator else "none."
        return f"Text: {_of_text(self.text)} Images: {_of_images(self)} Translations: {translation}"


async def declare(db: DB, account_id: int, book_id: int) -> Declaration:
    """The declaration of the account's book. Raises NotFound."""
    must_exist(await books.find(db, account_id, book_id))
    outline = await chapters.of_book(db, book_id)
    written = [each for each in outline if each.content.strip()]
    words = await words_of(db, account_id, book_id, written)
    called = await provenance.models(db, account_id, book_id)
    translator = next((each.name for each in called if each.translated), None)
    named = {each.name for each in called} | {each.writer for each in written}
    return Declaration(
        words=words,
        pictures=await provenance.pictures(db, account_id, book_id),
        models=sorted(named - {"", SAMPLE_WRITER}),
        translator=translator,
    )


async def words_of(db: DB, account_id: int, book_id: int, written: Sequence[Chapter]) -> dict[int, Share]:
    """How many words of each chapter in `written` were written by whom, by the chapter's number.

    Old texts are read only for chapters that an author has edited.
    """
    former: dict[int, list[FormerText]] = defaultdict(list)
    for each in await provenance.revisions(db, account_id, book_id):
        former[each.chapter_id].append(each)
    found = {}
    for chapter in written:
        compared = sources(chapter, former[chapter.id])
        wanted = [each.id for each in compared.revisions]
        texts = await provenance.texts(db, account_id, book_id, wanted) if wanted else {}
        found[chapter.chapter_number] = await _share(chapter, compared, texts)
    return found


async def _share(chapter: Chapter, compared: Sources, texts: Mapping[int, str]) -> Share:
    if compared.whole or not compared.revisions:
        return share(chapter, compared, texts) if compared.whole else Share(human=chapter.word_count)
    return await compute(share, chapter, compared, texts)


def source_of(words: Share, pictures: Iterable[SourceType]) -> SourceType | None:
    """The declared origin of a file with these words and pictures.

    None if neither a model nor sample text contributed to the file.
    """
    if words.model and not words.by_people:
        return SourceType.MODEL
    if words.model or any(each in BY_MODEL for each in pictures):
        return SourceType.PARTLY_MODEL
    return SourceType.DRAWN if words.sample else None


def origin_of(words: Share) -> str:
    """Who wrote a chapter: `model`, `human`, `sample`, or `edited` if people changed a text of a model or a sample."""
    if words.by_people:
        return "edited" if words.model or words.sample else "human"
    return "model" if words.model else "sample"


def _of_text(words: Share) -> str:
    total = words.model + words.by_people + words.sample
    if not total:
        return "none."
    sample = f" {words.sample:,} of the words are sample text, which no language model wrote." if words.sample else ""
    if not words.model:
        return f"not AI-generated; people wrote {words.by_people:,} of {total:,} words.{sample}"
    people = f"people wrote {words.human:,} and changed or added {words.edited:,} in the models' paragraphs"
    return f"AI-generated. Models wrote {words.model:,} of {total:,} words; {people}.{sample}"


def _of_images(declaration: Declaration) -> str:
    painted, drawn = declaration.painted, declaration.drawn
    if not declaration.pictures:
        return "none."
    own = f" {drawn:,} drawn by bookgen without an image model." if drawn else ""
    if not painted:
        return f"not AI-generated.{own}"
    return f"AI-generated ({painted:,} of {len(declaration.pictures):,}).{own}"
