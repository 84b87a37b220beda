"""Makes covers and illustrations, and records their cost. An image model paints them, or bookgen's own code does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

from bookgen.billing.cost_caps import CostBudget, CostCaps, Purpose
from bookgen.cover_options import CoverIdea
from bookgen.errors import InvalidInput, RenderingFailed, UpstreamAIError
from bookgen.models import Book, BookKind, Chapter, SourceType, Usage
from bookgen.providers.images import LANDSCAPE, PORTRAIT, ImageModel, ImageReply, ImageRequest, Spent
from bookgen.providers.text import HaltSwitch, spent_before
from bookgen.render.cover.job import (
    UNKNOWN,
    Copy,
    CoverDesign,
    CoverJob,
    FinishedCover,
    FinishedPicture,
    PictureJob,
    ReceivedJob,
    Subject,
)
from bookgen.render.model import Picture
from bookgen.render.pool import RenderPool
from bookgen.services.picture_marks import PictureMarks
from bookgen.services.spread_pictures import OFFLINE, UNUSABLE, Painter
from bookgen.store import model_calls
from bookgen.store.database import Database
from bookgen.store.outages import through_outages
from bookgen.threads import compute
from bookgen.writing import cover_art
from bookgen.writing.material import Material, Scene
from bookgen.writing.picture_book import pictures

COVER, ILLUSTRATION = "cover", "illustration"
HERO = "hero"  # the family of designs for picture books
PATIENCE = 60.0  # how many seconds a request waits for a busy or unavailable provider

COVER_PROMPT = """\
Cover artwork for a book, portrait, without any text, letters, numbers, logos or borders.
Keep the upper or the lower third calm: the title is printed there later.
Title: {title}
Genre: {genre}
For: {audience}
About: {about}
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

T = TypeVar("T")


@dataclass(slots=True)
class PictureOrder:
    """What is needed to make the pictures of one request. `paid`: the calls whose cost is not recorded yet.

    `run_id`: the run (the writing of the book) that needs the pictures, if any. Only for covers: `material` is the book
    with its chapters, and `idea` is the proposed design. `planned`: the families (styles of drawing) of that design
    that no cover of the book has yet.
    """

    account_id: int
    book: Book
    stage: str
    chapter_number: int | None = None
    sheet: bytes | None = None  # the character sheet of a children's book
    run_id: UUID | None = None
    halt: HaltSwitch | None = None
    material: Material | None = None
    idea: CoverIdea | None = None
    planned: tuple[str, ...] = ()
    paid: list[Spent] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MadeCover:
    """A finished cover, ready to be stored, with its design if bookgen drew it."""

    picture: Picture
    thumbnail: Picture
    style: str
    source: SourceType
    design: CoverDesign | None = None


@dataclass(frozen=True, slots=True)
class MadePicture:
    """A finished picture, ready to be stored. `shows`: a description, if bookgen drew the picture."""

    picture: Picture
    source: SourceType
    shows: str = ""


class PictureMaker:
    """Makes pictures with the model `images` or, if it is None, by drawing. Failed pictures' costs are recorded too."""

    def __init__(
        self,
        database: Database,
        pool: RenderPool,
        images: ImageModel | None,
        painter: Painter,
        *,
        price: Callable[[str, Usage], int | None],
        caps: CostCaps,
        marks: PictureMarks,
    ) -> None:
        self._database, self._pool, self._images, self._painter = database, pool, images, painter
        self._marks = marks
        self._price, self._caps = price, caps

    async def covers(
        self, order: PictureOrder, copy: Copy, variants: Iterable[int], style: str, prompt: str
    ) -> list[MadeCover]:
        """Make one cover for each number in `variants`. Different numbers give different drawings.

        Returns the covers that succeeded. Raises a failure if all failed. `copy`: the words on the cover. `style` and
        `prompt`: the user's wishes.
        """
        makers = [
            self._drawn_cover(order, copy, variant, order.planned[at : at + 1], f"{style} {prompt}")
            if self._images is None
            else self._painted_cover(self._images, order, copy, variant, style, prompt)
            for at, variant in enumerate(variants)
        ]
        return await self._all_made(order, makers)

    async def illustration(self, order: PictureOrder, chapter: Chapter, variant: int, prompt: str) -> MadePicture:
        (made,) = await self._all_made(order, [self._illustration(order, chapter, variant, prompt)])
        return made

    @property
    def draws(self) -> bool:
        """Whether bookgen draws the pictures itself, because there is no image model."""
        return self._images is None

    async def _drawn_cover(
        self, order: PictureOrder, copy: Copy, variant: int, planned: Sequence[str], style: str
    ) -> MadeCover:
        book, idea, subject = order.book, order.idea, UNKNOWN
        if book.kind is BookKind.CHILDRENS:
            chapters = order.material.chapters if order.material else ()
            opening = pictures.story_opening(book, chapters)
            planned, subject = (HERO,), Subject(figures=pictures.cast(book), told=opening)
        elif idea:
            subject = Subject.of(idea)
        seed = _seed(book)
        job = CoverJob(
            copy,
            seed,
            book.genre,
            variant,
            style,
            family="".join(planned),
            avoided=idea.families if idea else (),
            subject=subject,
        )
        drawn: FinishedCover = await self._run_job(order, job)
        design = CoverDesign(copy, seed, drawn.style, variant, subject)
        order.paid.append(Spent(OFFLINE, Usage(calls=1, images=1)))
        return await self._marked_cover(drawn, SourceType.DRAWN, design)

    async def _painted_cover(
        self, images: ImageModel, order: PictureOrder, copy: Copy, variant: int, style: str, prompt: str
    ) -> MadeCover:
        book = order.book
        asked = await compute(_cover_prompt, order, style, prompt)
        reply = await self._painted(images, order, asked, PORTRAIT)
        job = CoverJob(copy, f"{_seed(book)} {variant}", book.genre, variant, style, reply.data)
        # Only partly: no model made the title and the names on the cover.
        return await self._marked_cover(await self._finished(order, job, reply), SourceType.PARTLY_MODEL)

    async def _marked_cover(
        self, cover: FinishedCover, source: SourceType, design: CoverDesign | None = None
    ) -> MadeCover:
        picture, thumbnail = [await self._marks.marked(each, source) for each in (cover.picture, cover.thumbnail)]
        return MadeCover(picture, thumbnail, cover.style, source, design)

    async def _spread(self, order: PictureOrder, chapter: Chapter, prompt: str) -> MadePicture:
        """Make a picture for two facing pages of a children's book, with the book's characters."""
        scene = Scene(prompt or f"{chapter.title}. {chapter.summary}", "")
        try:
            picture = await self._painter.spread(
                order.book, chapter, scene, order.sheet, self._budget(order), patience=PATIENCE
            )
        except (UpstreamAIError, asyncio.CancelledError) as ended:
            order.paid += spent_before(ended)
            raise
        order.paid += picture.paid
        return MadePicture(Picture(picture.data, picture.width, picture.height), picture.source)

    async def _illustration(self, order: PictureOrder, chapter: Chapter, variant: int, prompt: str) -> MadePicture:
        book = order.book
        if book.kind is BookKind.CHILDRENS:
            return await self._spread(order, chapter, prompt)
        if self._images is None:
            job = PictureJob(f"{book.id} {book.title}", book.genre, variant)
            drawn: FinishedPicture = await self._run_job(order, job)
            order.paid.append(Spent(OFFLINE, Usage(calls=1, images=1)))
            return await self._marked(drawn, SourceType.DRAWN)
        asked = ILLUSTRATION_PROMPT.format(
            title=book.title, genre=book.genre, chapter=chapter.title, summary=chapter.summary, prompt=prompt
        )
        reply = await self._painted(self._images, order, asked, LANDSCAPE)
        received: FinishedPicture = await self._finished(order, ReceivedJob(reply.data), reply)
        return await self._marked(received, SourceType.MODEL)

    async def _marked(self, finished: FinishedPicture, source: SourceType) -> MadePicture:
        return MadePicture(await self._marks.marked(finished.picture, source), source, finished.shows)

    async def _run_job(
        self, order: PictureOrder, job: CoverJob | PictureJob | ReceivedJob, *, paid: bool = False
    ) -> Any:
        """Run the job in a worker process and return its result.

        If too many jobs are waiting, this raises RenderingFailed. But if the picture has already cost money (`paid`),
        or is for the writing of a book (`order.run_id`), it tries again.
        """
        if paid or order.run_id is not None:
            return await self._pool.run_patiently(order.account_id, job)
        async with self._pool.turn(order.account_id):
            return await self._pool.run(job)

    async def _painted(self, images: ImageModel, order: PictureOrder, prompt: str, size: str) -> ImageReply:
        try:
            patience = PATIENCE if order.run_id is None else None
            return await images.paint(
                ImageRequest(
                    order.stage,
                    prompt,
                    size,
                    order.account_id,
                    patience,
                    order.chapter_number,
                    references=(order.sheet,) if order.sheet else (),
                    halt=order.halt,
                    budget=self._budget(order),
                )
            )
        except (UpstreamAIError, asyncio.CancelledError) as ended:
            order.paid += spent_before(ended)
            raise

    async def _finished(self, order: PictureOrder, job: CoverJob | ReceivedJob, reply: ImageReply) -> Any:
        """Run `job`, which checks and re-encodes the provider's picture, in a worker process, and return its result.

        The job of a cover also prints the title and names over the picture. Raises UpstreamAIError if the picture
        cannot be used. `reply`: the provider's reply, whose cost is added to the order.
        """
        order.paid += reply.spent
        try:
            return await self._run_job(order, job, paid=True)
        except InvalidInput as error:
            if "image" not in error.details:
                raise
            number = order.chapter_number
            raise UpstreamAIError(UNUSABLE, stage=order.stage, retryable=True, chapter_number=number) from error

    async def _all_made(self, order: PictureOrder, makers: Sequence[Awaitable[T]]) -> list[T]:
        """Await all makers and return the pictures that succeeded.

        Raises an unexpected error, or the first failure if all failed.
        """
        try:
            outcomes = await asyncio.gather(*makers, return_exceptions=True)
        finally:
            if order.paid:
                await asyncio.shield(self._charge(order))
        made = [each for each in outcomes if not isinstance(each, BaseException)]
        failures = [each for each in outcomes if isinstance(each, BaseException)]
        foreseen = (UpstreamAIError, RenderingFailed)
        unforeseen = next((each for each in failures if not isinstance(each, foreseen)), None)
        if unforeseen is not None or not made:
            raise unforeseen or failures[0]
        return made

    def _budget(self, order: PictureOrder) -> CostBudget | None:
        if self._caps.none:
            return None
        purpose = Purpose(order.stage, order.account_id, order.book.id, order.chapter_number)
        return CostBudget(self._database.http, self._caps, self._price, purpose)

    async def _charge(self, order: PictureOrder) -> None:
        """Record the cost of all pictures, including failed ones.

        If they are for the writing of a book (`order.run_id`), wait until the database is available.
        """
        calls = tuple(
            model_calls.PaidCall(spent.model, spent.usage, self._price(spent.model, spent.usage), spent.call_id)
            for spent in order.paid
        )
        account_id, book_id, number = order.account_id, order.book.id, order.chapter_number
        entry = model_calls.LedgerEntry(account_id, book_id, order.run_id, order.stage, number, calls)
        seconds = 0 if order.run_id is None else None
        await through_outages(lambda: model_calls.charge(self._database.http, entry), seconds=seconds)


def _seed(book: Book) -> str:
    return f"{book.id} {book.title}"


def _cover_prompt(order: PictureOrder, style: str, prompt: str) -> str:
    """The prompt for a painted cover, from the book's text or, if there is none, from its title and description."""
    book, material = order.book, order.material
    childrens = book.kind is BookKind.CHILDRENS
    if material and cover_art.is_written(material.chapters):
        if childrens:
            return pictures.cover(book, material.chapters, cover_art.wish(style, prompt))
        return cover_art.painting(material, style, prompt)
    asked = COVER_PROMPT.format(
        title=book.title, genre=book.genre, audience=book.target_audience,
        about=book.blurb or book.description, style=style, prompt=prompt,
    )  # fmt: skip
    return asked + FIGURES.format(figures=pictures.figures(book)) if childrens else asked
