"""Artwork: covers and illustrations, including their allowance and storage."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from uuid import UUID

from bookgen.billing.images import held_images, hold_images
from bookgen.billing.plan_features import require_chapter_images
from bookgen.billing.quota import Quota
from bookgen.billing.storage import require_room, require_stored
from bookgen.errors import InvalidInput, must_exist
from bookgen.files.keeping import Files
from bookgen.models import Book, BookKind, Chapter, Cover, Illustration
from bookgen.providers.text import HaltSwitch
from bookgen.render.cover.job import Copy
from bookgen.services.cover_design import CoverDesigner
from bookgen.services.picture_making import COVER, ILLUSTRATION, MadeCover, MadePicture, PictureMaker, PictureOrder
from bookgen.store import accounts, books, chapters, covers, illustrations, media
from bookgen.store import material as texts
from bookgen.store.database import DB, Database
from bookgen.store.outages import through_outages
from bookgen.store.stored_files import NewFile
from bookgen.writing.cover_art import is_written
from bookgen.writing.material import Material

MAX_ALT_CHARACTERS = 300
PICTURE_BYTES = 1_000_000  # of a painted picture with its thumbnail; few are larger


@dataclass(frozen=True, slots=True)
class WrittenCover:
    """A cover whose files are stored, but whose database rows are not stored yet."""

    made: MadeCover
    picture: NewFile
    thumbnail: NewFile


class Artwork:
    def __init__(
        self, database: Database, quota: Quota, maker: PictureMaker, designer: CoverDesigner, files: Files
    ) -> None:
        self._database, self._quota, self._maker, self._designer = database, quota, maker, designer
        self._files = files

    async def generate_covers(
        self, account_id: int, book_id: int, *, count: int, style: str, prompt: str
    ) -> list[Cover]:
        """Make `count` new covers. Returns the successful ones; failed covers do not use the image allowance.

        `style` and `prompt`: the user's wishes. Raises the first failure if all fail.
        """
        db = self._database.http
        book = await self._book(account_id, book_id)
        await self._require_room(account_id, count)
        before, copy = await covers.of_book(db, book_id), await self._copy(book)
        async with held_images(self._database, self._quota, account_id, count) as held:
            order = await self._order(account_id, book, before)
            made = await self._maker.covers(order, copy, range(len(before), len(before) + count), style, prompt)
            written = [await self._written(each) for each in made]
            async with db.acquire() as connection, held.storing(connection, len(made)):
                await held.consume(connection, len(made))  # before all other locks, in the lock order of `editing`
                must_exist(await books.lock(connection, account_id, book_id))
                kept = [await _keep_cover(connection, book_id, each, style, prompt) for each in written]
                await books.touch(connection, book_id)
                await require_stored(connection, self._quota, account_id)
                return kept

    async def paint_cover(
        self, account_id: int, book_id: int, run_id: UUID, halt: HaltSwitch
    ) -> Callable[[DB], Awaitable[None]] | None:
        """Make a cover during the run that writes the book. Returns a function that stores and selects the cover.

        The run calls this function in its own transaction. Returns None if the book already has a selected cover. The
        image is reserved under the run's id, so a repetition after a crash reserves no second image.

        Raises NotFound; UpstreamAIError if no picture could be made; QuotaExceeded if no image is left; and
        PlanUpgradeRequired if the account has no storage left for the cover.
        """
        db = self._database.http
        book = await self._book(account_id, book_id)
        if await covers.selected(db, book_id):
            return None
        await self._require_room(account_id)
        before = await covers.of_book(db, book_id)
        held = await hold_images(self._database, self._quota, account_id, 1, run_id)
        try:
            order = await self._order(account_id, book, before, run_id, halt)
            (made,) = await self._maker.covers(order, await self._copy(book), [len(before)], "", "")
            # Retried here, because a retry of the whole call would have the cover painted and paid for again.
            written = await through_outages(lambda: self._written(made))
        except BaseException:
            await held.give_back(db)
            raise

        async def keep(connection: DB) -> None:
            if await books.lock(connection, account_id, book_id) is None or await covers.selected(connection, book_id):
                await held.give_back(connection)  # the author has selected a cover in the meantime
                return
            cover = await _keep_cover(connection, book_id, written, "", "")
            await covers.select(connection, book_id, cover.id)
            await books.touch(connection, book_id)
            await held.consume(connection, 1)
            await require_stored(connection, self._quota, account_id)

        return keep

    async def _order(
        self,
        account_id: int,
        book: Book,
        before: Sequence[Cover],
        run_id: UUID | None = None,
        halt: HaltSwitch | None = None,
    ) -> PictureOrder:
        """Collect what PictureMaker needs to make covers of the book. `before`: the covers that the book has already.

        If bookgen itself draws the covers of a prose book that has text, the text model proposes a design first.
        `run_id`: the run (the writing of the book) that needs the cover, if any. Raises CallsHalted if `halt` prevents
        this model call.
        """
        material = Material(book, *await texts.chapters(self._database.http, book.id))
        order = PictureOrder(
            account_id, book, COVER, sheet=await self._sheet(book), run_id=run_id, halt=halt, material=material
        )
        if self._maker.draws and book.kind is BookKind.PROSE and is_written(material.chapters):
            order.idea = await self._designer.idea(material, run_id, halt)
        if order.idea:
            used = {each.design["family"] for each in before if each.design}
            order.planned = tuple(family for family in order.idea.families if family not in used)
        return order

    async def select_cover(self, account_id: int, book_id: int, cover_id: int) -> None:
        async with self._database.http.acquire() as connection, connection.transaction():
            must_exist(await books.lock(connection, account_id, book_id))
            if not await covers.select(connection, book_id, cover_id):
                raise InvalidInput(
                    cover_id=["This cover does not belong to this book. Choose one of its `covers` (GET /books/{id}/)."]
                )
            await books.touch(connection, book_id)

    async def illustrate(self, account_id: int, chapter_id: int, *, prompt: str, caption: str) -> Illustration:
        """Make a picture and put it in the middle of the chapter; in a children's book, before the chapter's text."""
        db = self._database.http
        chapter = must_exist(await chapters.find(db, account_id, chapter_id))
        book = await self._book(account_id, chapter.book_id)
        if book.kind is BookKind.PROSE:  # pictures are part of a children's book on every plan
            require_chapter_images(await self._quota.plan(db, account_id), self._quota.upgrade_url)
        await self._require_room(account_id)
        order = PictureOrder(account_id, book, ILLUSTRATION, chapter.chapter_number, await self._sheet(book))
        variant = chapter.chapter_number + len(await illustrations.of_chapter(db, chapter_id))
        async with held_images(self._database, self._quota, account_id, 1) as held:
            made = await self._maker.illustration(order, chapter, variant, prompt)
            picture, new = made.picture, await self._files.keep(db, made.picture.data)
            size = {"width": picture.width, "height": picture.height}
            async with db.acquire() as connection, held.storing(connection, 1):
                await held.consume(connection, 1)
                must_exist(await chapters.lock(connection, account_id, chapter_id))
                kept = await illustrations.add(
                    connection,
                    chapter_id,
                    caption=caption,
                    alt_text=_alternative(made, prompt, caption, chapter),
                    prompt=prompt,
                    image_key=await media.add(connection, book.id, new, **size, source=made.source),
                    position=0 if book.kind is BookKind.CHILDRENS else (chapter.content.strip().count("\n\n") + 1) // 2,
                    **size,
                )
                await books.touch(connection, book.id)
                await require_stored(connection, self._quota, account_id)
                return kept

    async def _require_room(self, account_id: int, pictures: int = 1) -> None:
        """Raise PlanUpgradeRequired if the account has too little storage left for that many new pictures."""
        db, quota = self._database.http, self._quota
        await require_room(db, quota, await quota.standing(db, account_id), growth=pictures * PICTURE_BYTES)

    async def _sheet(self, book: Book) -> bytes | None:
        key = book.character_sheet_key
        return await self._files.picture(self._database.http, key) if key else None

    async def _book(self, account_id: int, book_id: int) -> Book:
        return must_exist(await books.find(self._database.http, account_id, book_id))

    async def _copy(self, book: Book) -> Copy:
        author = book.author_name or await accounts.author_name(self._database.http, book.account_id)
        return Copy(book.title, book.subtitle, author, book.content_language)

    async def _written(self, made: MadeCover) -> WrittenCover:
        """Write the cover's files. Call it before the transaction that adds the cover's database rows."""
        db = self._database.http
        picture, thumbnail = [await self._files.keep(db, each.data) for each in (made.picture, made.thumbnail)]
        return WrittenCover(made, picture, thumbnail)


async def _keep_cover(connection: DB, book_id: int, written: WrittenCover, style: str, prompt: str) -> Cover:
    """Store a cover with the `style` and `prompt` of the request. An empty style becomes the name of the design."""
    made = written.made
    picture, small = made.picture, made.thumbnail
    return await covers.add(
        connection,
        book_id,
        style=style or made.style,
        prompt=prompt,
        image_key=await media.add(connection, book_id, written.picture, picture.width, picture.height, made.source),
        thumbnail_key=await media.add(connection, book_id, written.thumbnail, small.width, small.height, made.source),
        width=picture.width,
        height=picture.height,
        design=asdict(made.design) if made.design else None,
    )


def _alternative(made: MadePicture, prompt: str, caption: str, chapter: Chapter) -> str:
    """The alt text of the picture."""
    return (made.shows or prompt or caption or chapter.summary or chapter.title)[:MAX_ALT_CHARACTERS]
