"""Makes the pictures of children's books: one per spread (two facing pages), and a character sheet per book.

The character sheet shows the characters, as a reference for the other pictures. An image model paints the pictures, or
bookgen's own code draws them. Either way, a worker process re-encodes them.
"""

from __future__ import annotations

from collections.abc import Sequence

from bookgen.errors import InvalidInput, RenderTimeout, UpstreamAIError
from bookgen.models import Book, Chapter, SourceType, Usage
from bookgen.providers.images import SQUARE, WIDE, ImageModel, ImageRequest, PaidPicture, Spent
from bookgen.providers.text import CallBudget, HaltSwitch, Outage, paid_for
from bookgen.render.cover.job import FinishedPicture, ReceivedJob
from bookgen.render.pool import RenderPool
from bookgen.render.scenes.job import SceneJob, SheetJob
from bookgen.services.picture_marks import PictureMarks
from bookgen.writing.material import Scene
from bookgen.writing.picture_book import pictures

STAGE = "illustration"
OFFLINE = "offline"
UNUSABLE = "The image provider did not return a usable picture."


class Painter:
    """Paints with the image model `images`. If `images` is None, bookgen draws the pictures.

    Every failure is an UpstreamAIError whose `spent` lists the calls that cost money. If a call is cancelled,
    `spent_before` reads this list from the CancelledError.
    """

    def __init__(self, images: ImageModel | None, pool: RenderPool, marks: PictureMarks) -> None:
        self._images, self._pool, self._marks = images, pool, marks

    @property
    def outage(self) -> Outage | None:
        """The current outage of the image model; None if it is available."""
        return self._images.outage if self._images else None

    async def sheet(self, book: Book, budget: CallBudget | None, halt: HaltSwitch) -> PaidPicture:
        """Make the book's character sheet: a picture of its characters, which is a reference for the other pictures."""
        job = SheetJob(_seed(book), pictures.cast(book))
        request = ImageRequest(STAGE, pictures.sheet(book), WIDE, book.account_id, None, halt=halt, budget=budget)
        return await self._make(job, request)

    async def spread(
        self,
        book: Book,
        chapter: Chapter,
        scene: Scene,
        sheet: bytes | None,
        budget: CallBudget | None,
        halt: HaltSwitch | None = None,
        *,
        patience: float | None = None,
    ) -> PaidPicture:
        """Make a spread's picture. `sheet`: the image file of the book's character sheet, which the picture follows.

        `patience`: how many seconds to wait for a busy or unavailable provider; None: as long as it takes.
        """
        story_text = f"{scene.picture}\n{chapter.title}\n{chapter.summary}\n{book.theme}"
        job = SceneJob(_seed(book), pictures.cast(book), story_text, chapter.chapter_number)
        request = ImageRequest(
            STAGE,
            pictures.prompt(book, scene.picture),
            SQUARE,
            book.account_id,
            patience,
            chapter.chapter_number,
            references=(sheet,) if sheet else (),
            halt=halt,
            budget=budget,
        )
        return await self._make(job, request)

    async def _make(self, job: SceneJob | SheetJob, request: ImageRequest) -> PaidPicture:
        if self._images is None:
            drawn: FinishedPicture = await self._run_job(job, request, ())
            return await self._marked(drawn, SourceType.DRAWN, (Spent(OFFLINE, Usage(calls=1, images=1)),))
        reply = await self._images.paint(request)
        try:
            with paid_for(reply.spent):
                received = await self._run_job(ReceivedJob(reply.data), request, reply.spent)
                return await self._marked(received, SourceType.MODEL, reply.spent)
        except InvalidInput as error:
            raise UpstreamAIError(
                UNUSABLE, stage=STAGE, retryable=True, chapter_number=request.chapter_number, spent=reply.spent
            ) from error

    async def _run_job(
        self, job: SceneJob | SheetJob | ReceivedJob, request: ImageRequest, paid: Sequence[Spent]
    ) -> FinishedPicture:
        """Run the job in a worker process, waiting for a free one. Raises UpstreamAIError if the job takes too long.

        `paid`: the model calls for this picture that cost money. The error lists them as `spent`.
        """
        try:
            finished: FinishedPicture = await self._pool.run_patiently(request.account_id, job)
        except RenderTimeout as error:
            number = request.chapter_number
            message = "The picture could not be processed. Resume the run to try again."
            raise UpstreamAIError(
                message, stage=STAGE, retryable=True, chapter_number=number, spent=tuple(paid)
            ) from error
        return finished

    async def _marked(self, finished: FinishedPicture, source: SourceType, paid: tuple[Spent, ...]) -> PaidPicture:
        picture = await self._marks.marked(finished.picture, source)
        return PaidPicture(picture.data, picture.width, picture.height, source, paid)


def _seed(book: Book) -> str:
    return f"{book.id} {book.title}"
