"""Artwork: covers and illustrations, from the allowance that pays for them to the rows that keep them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, cast
from uuid import UUID

from bookgen.billing.cost_caps import CostBudget, CostCaps, Purpose
from bookgen.billing.images import held_images, hold_images
from bookgen.billing.plans import require_chapter_images
from bookgen.billing.quota import Quota
from bookgen.billing.storage import require_room, require_stored
from bookgen.errors import InvalidInput, RenderingFailed, RenderTimeout, UpstreamAIError, must_exist
from bookgen.models import Book, BookKind, Chapter, Cover, Illustration, Usage
from bookgen.providers.images import LANDSCAPE, PORTRAIT, ImageModel, ImageReply, ImageRequest, Spent
from bookgen.providers.text import Halt, spent_before
from bookgen.render.cover.job import (
    Copy,
    CoverDesign,
    CoverJob,
    FinishedCover,
    FinishedPicture,
    PictureJob,
    ReceivedJob,
)
from bookgen.render.model import Picture
from bookgen.render.pool import RenderPool
from bookgen.services.painting import MOST_WAITS, UNUSABLE, Painter
from bookgen.store import accounts, books, chapters, covers, illustrations, media, model_calls
from bookgen.store.database import DB, Database
from bookgen.store.outages import through_outages
from bookgen.writing.material import Scene
from bookgen.writing.picture_book import pictures

COVER, ILLUSTRATION = "cover", "illustration"
OFFLINE = "offline"
PATIENCE = 60.0  # seconds that a caller who waits gives a busy or absent provider
MOST_ALT = 300  # characters
PICTURE_BYTES = 1_000_000  # what a painted one takes, with its thumbnail; few take more

COVER_PROMPT = """\
Cover artwork for a book, portrait, without any text, letters, numbers, logos or borders.
Keep the upper or the lower third calm: the title is printed there later.
Title: {title}
Genre: {genre}
For: {audience}
About: {description}
Style: {style}
{prompt}"""

FIGURES = """
The figures look like this:
{figures}"""

ILLUSTRATION_PROMPT = """\
An illustration for a chapter of a book, landscape, without any text, letters or borders.
The book: {title}. Genre: {genre}
The chapter: {chapter}. {summary}
{prompt}"""


@dataclass(frozen=True, slots=True)
class _Made:
    """A picture, and its design where it was drawn here."""

    file: Any
    design: CoverDesign | None = None


@dataclass(slots=True)
class _Work:
    """One request's pictures, and what was paid for them and is not entered yet. `run_id`: of the run that asks."""

    account_id: int
    book: Book
    stage: str
    chapter: Chapter | None = None
    sheet: bytes | None = None  # the character sheet of a children's book
    run_id: UUID | None = None
    halt: Halt | None = None
    paid: list[Spent] = field(default_factory=list)

    @property
    def chapter_number(self) -> int | None:
        return self.chapter.chapter_number if self.chapter else None


class Artwork:
    """`images` None: everything is drawn here."""

    def __init__(
        self,
        database: Database,
        quota: Quota,
        pool: RenderPool,
        images: ImageModel | None,
        painter: Painter,
        *,
        price: Callable[[str, Usage], int | None],
        caps: CostCaps,
    ) -> None:
        self._database, self._quota, self._pool = database, quota, pool
        self._images, self._painter, self._price, self._caps = images, painter, price, caps

    async def generate_covers(
        self, account_id: int, book_id: int, *, count: int, style: str, prompt: str
    ) -> list[Cover]:
        """New variants, at most `count`: one that cannot be made is given back, if another was."""
        db = self._database.http
        book = await self._book(account_id, book_id)
        await self._require_room(account_id, count)
        before = len(await covers.of_book(db, book_id))
        copy, work = await self._copy(book), _Work(account_id, book, COVER, sheet=await self._sheet(book))
        async with held_images(self._database, self._quota, account_id, count) as held:
            variants = range(before, before + count)
            made = await self._all_made(work, [self._cover(work, copy, each, style, prompt) for each in variants])
            async with db.acquire() as connection, held.bringing(connection, len(made)):
                await held.consume(connection, len(made))  # before other locks, as whatever writes chapters does
                must_exist(await books.lock(connection, account_id, book_id))
                kept = [await _keep_cover(connection, book_id, each, style, prompt) for each in made]
                await books.touch(connection, book_id)
                await require_stored(connection, self._quota, account_id)
                return kept

    async def paint_cover(
        self, account_id: int, book_id: int, run_id: UUID, halt: Halt
    ) -> Callable[[DB], Awaitable[None]] | None:
        """A cover for a run: what keeps and selects it, in the run's own transaction. None: one is selected already.

        The allowance is held under the run's id: by whoever comes after a crash, anew. NotFound, UpstreamAIError,
        QuotaExceeded, PlanUpgradeRequired.
        """
        db = self._database.http
        book = await self._book(account_id, book_id)
        if await covers.selected(db, book_id):
            return None
        await self._require_room(account_id)
        variant = len(await covers.of_book(db, book_id))
        work = _Work(account_id, book, COVER, sheet=await self._sheet(book), run_id=run_id, halt=halt)
        held = await hold_images(self._database, self._quota, account_id, 1, run_id)
        try:
            (made,) = await self._all_made(work, [self._cover(work, await self._copy(book), variant, "", "")])
        except BaseException:
            await held.give_back(db)
            raise

        async def keep(connection: DB) -> None:
            if await books.lock(connection, account_id, book_id) is None or await covers.selected(connection, book_id):
                await held.give_back(connection)  # its author was faster
                return
            cover = await _keep_cover(connection, book_id, made, "", "")
            await covers.select(connection, book_id, cover.id)
            await books.touch(connection, book_id)
            await held.consume(connection, 1)
            await require_stored(connection, self._quota, account_id)

        return keep

    async def select_cover(self, account_id: int, book_id: int, cover_id: int) -> None:
        async with self._database.http.acquire() as connection, connection.transaction():
            must_exist(await books.lock(connection, account_id, book_id))
            if not await covers.select(connection, book_id, cover_id):
                raise InvalidInput(cover_id=["This book has no such cover."])
            await books.touch(connection, book_id)

    async def illustrate(self, account_id: int, chapter_id: int, *, prompt: str, caption: str) -> Illustration:
        """A new picture in the middle of the chapter."""
        db = self._database.http
        chapter = must_exist(await chapters.find(db, account_id, chapter_id))
        book = await self._book(account_id, chapter.book_id)
        if book.kind is BookKind.PROSE:  # pictures are what a children's book was bought for
            require_chapter_images(await self._quota.plan(db, account_id), self._quota.upgrade_url)
        await self._require_room(account_id)
        work = _Work(account_id, book, ILLUSTRATION, chapter, await self._sheet(book))
        variant = chapter.chapter_number + len(await illustrations.of_chapter(db, chapter_id))
        async with held_images(self._database, self._quota, account_id, 1) as held:
            (made,) = await self._all_made(work, [self._picture(work, chapter, variant, prompt)])
            finished: FinishedPicture = made.file
            picture = finished.picture
            size = {"width": picture.width, "height": picture.height}
            async with db.acquire() as connection, held.bringing(connection, 1):
                await held.consume(connection, 1)
                must_exist(await chapters.lock(connection, account_id, chapter_id))
                kept = await illustrations.add(
                    connection,
                    chapter_id,
                    caption=caption,
                    alt_text=_alternative(finished, prompt, caption, chapter),
                    prompt=prompt,
                    image_key=await media.add(connection, book.id, picture.data, **size),
                    position=0 if book.kind is BookKind.CHILDRENS else (chapter.content.strip().count("\n\n") + 1) // 2,
                    **size,
                )
                await books.touch(connection, book.id)
                await require_stored(connection, self._quota, account_id)
                return kept

    async def _require_room(self, account_id: int, pictures: int = 1) -> None:
        """Refuses what would be painted and find no room then."""
        db, quota = self._database.http, self._quota
        await require_room(db, quota, await quota.standing(db, account_id), growth=pictures * PICTURE_BYTES)

    async def _cover(self, work: _Work, copy: Copy, variant: int, style: str, prompt: str) -> _Made:
        book = work.book
        seed = f"{book.id} {book.title}"
        if self._images is None:
            job = CoverJob(copy, seed, book.genre, variant, f"{style} {prompt}")
            drawn = cast(FinishedCover, await self._drawn(work, job))
            design = CoverDesign(copy, seed, drawn.style, variant)
            work.paid.append(Spent(OFFLINE, Usage(calls=1, images=1)))
            return _Made(drawn, design)
        asked = COVER_PROMPT.format(
            title=book.title, genre=book.genre, audience=book.target_audience,
            description=book.description, style=style, prompt=prompt,
        )  # fmt: skip
        if book.kind is BookKind.CHILDRENS:
            asked += FIGURES.format(figures=pictures.figures(book))
        reply = await self._painted(self._images, work, asked, PORTRAIT)
        job = CoverJob(copy, f"{seed} {variant}", book.genre, variant, style, reply.data)
        return await self._finished(work, job, reply)

    async def _spread(self, work: _Work, chapter: Chapter, prompt: str) -> _Made:
        """A picture of a children's book, whose figures are settled."""
        scene = Scene(prompt or f"{chapter.title}. {chapter.summary}", "")
        try:
            painted = await self._painter.spread(
                work.book, chapter, scene, work.sheet, self._budget(work), patience=PATIENCE
            )
        except (UpstreamAIError, asyncio.CancelledError) as ended:
            work.paid += spent_before(ended)
            raise
        work.paid += painted.paid
        return _Made(FinishedPicture(Picture(painted.data, painted.width, painted.height)))

    async def _picture(self, work: _Work, chapter: Chapter, variant: int, prompt: str) -> _Made:
        book = work.book
        if book.kind is BookKind.CHILDRENS:
            return await self._spread(work, chapter, prompt)
        seed = f"{book.id} {book.title}"
        if self._images is None:
            job = PictureJob(seed, book.genre, variant)
            drawn = await self._drawn(work, job)
            work.paid.append(Spent(OFFLINE, Usage(calls=1, images=1)))
            return _Made(drawn)
        asked = ILLUSTRATION_PROMPT.format(
            title=book.title, genre=book.genre, chapter=chapter.title, summary=chapter.summary, prompt=prompt
        )
        reply = await self._painted(self._images, work, asked, LANDSCAPE)
        return await self._finished(work, ReceivedJob(reply.data), reply)

    async def _drawn(
        self, work: _Work, job: CoverJob | PictureJob | ReceivedJob, *, paid: bool = False
    ) -> FinishedCover | FinishedPicture:
        """A run waits for a worker, and so does a picture that is paid for."""
        waited = 0
        while True:
            try:
                async with self._pool.turn(work.account_id):
                    return cast(FinishedCover | FinishedPicture, await self._pool.run(job))
            except RenderingFailed as busy:
                waited += 1
                if (work.run_id is None and not paid) or isinstance(busy, RenderTimeout):
                    raise
                if waited == MOST_WAITS:
                    raise RenderTimeout(str(busy)) from busy
                await asyncio.sleep(busy.retry_after)

    async def _painted(self, images: ImageModel, work: _Work, prompt: str, size: str) -> ImageReply:
        try:
            patience = PATIENCE if work.run_id is None else None
            return await images.paint(
                ImageRequest(
                    work.stage,
                    prompt,
                    size,
                    work.account_id,
                    patience,
                    work.chapter_number,
                    references=(work.sheet,) if work.sheet else (),
                    halt=work.halt,
                    budget=self._budget(work),
                )
            )
        except (UpstreamAIError, asyncio.CancelledError) as ended:
            work.paid += spent_before(ended)
            raise

    async def _finished(self, work: _Work, job: CoverJob | ReceivedJob, reply: ImageReply) -> _Made:
        """What came from outside, looked at and made anew in a worker process."""
        work.paid += reply.spent
        try:
            return _Made(await self._drawn(work, job, paid=True))
        except InvalidInput as error:
            if "image" not in error.details:
                raise
            number = work.chapter_number
            raise UpstreamAIError(UNUSABLE, stage=work.stage, retryable=True, chapter_number=number) from error

    async def _all_made(self, work: _Work, makers: Sequence[Awaitable[_Made]]) -> list[_Made]:
        """Those that could be made; the first failure if none could. Whatever ends it, what was paid is entered."""
        try:
            outcomes = await asyncio.gather(*makers, return_exceptions=True)
        finally:
            if work.paid:
                await asyncio.shield(self._charge(work))
        made = [each for each in outcomes if isinstance(each, _Made)]
        failures = [each for each in outcomes if isinstance(each, BaseException)]
        foreseen = (UpstreamAIError, RenderingFailed)
        unforeseen = next((each for each in failures if not isinstance(each, foreseen)), None)
        if unforeseen is not None or not made:
            raise unforeseen or failures[0]
        return made

    def _budget(self, work: _Work) -> CostBudget | None:
        if self._caps.none:
            return None
        purpose = Purpose(work.stage, work.account_id, work.book.id, work.chapter_number)
        return CostBudget(self._database.http, self._caps, self._price, purpose)

    async def _charge(self, work: _Work) -> None:
        """Enters what the pictures cost, and those that could not be made. A run waits for a database that is away."""
        calls = tuple(
            model_calls.PaidCall(spent.model, spent.usage, self._price(spent.model, spent.usage), spent.call_id)
            for spent in work.paid
        )
        asked = model_calls.Asked(work.account_id, work.book.id, work.run_id, work.stage, work.chapter_number, calls)
        seconds = 0 if work.run_id is None else None
        await through_outages(lambda: model_calls.charge(self._database.http, asked), seconds=seconds)

    async def _sheet(self, book: Book) -> bytes | None:
        return await books.character_sheet(self._database.http, book.id) if book.character_sheet_key else None

    async def _book(self, account_id: int, book_id: int) -> Book:
        return must_exist(await books.find(self._database.http, account_id, book_id))

    async def _copy(self, book: Book) -> Copy:
        author = book.author_name or await accounts.author_name(self._database.http, book.account_id)
        return Copy(book.title, book.subtitle, author, book.content_language)


async def _keep_cover(connection: DB, book_id: int, made: _Made, style: str, prompt: str) -> Cover:
    """`style` and `prompt` as they were asked for; without a style its name is that of the design."""
    finished: FinishedCover = made.file
    picture, small = finished.picture, finished.thumbnail
    return await covers.add(
        connection,
        book_id,
        style=style or finished.style,
        prompt=prompt,
        image_key=await media.add(connection, book_id, picture.data, picture.width, picture.height),
        thumbnail_key=await media.add(connection, book_id, small.data, small.width, small.height),
        width=picture.width,
        height=picture.height,
        design=asdict(made.design) if made.design else None,
    )


def _alternative(finished: FinishedPicture, prompt: str, caption: str, chapter: Chapter) -> str:
    """What somebody who cannot see the picture is told."""
    return (finished.shows or prompt or caption or chapter.summary or chapter.title)[:MOST_ALT]
