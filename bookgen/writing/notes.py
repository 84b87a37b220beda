"""Make the digests of finished chapters, while a later chapter is written or after the book is finished."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from bookgen.errors import UpstreamAIError
from bookgen.models import Book, BookKind, Chapter, Digest, has_separate_stories, is_collection
from bookgen.providers.text import CallsHalted
from bookgen.threads import compute
from bookgen.writing import continuity
from bookgen.writing.chapters_in_view import is_read_alone, size
from bookgen.writing.continuity import stored_digest
from bookgen.writing.draft import WorkingDraft
from bookgen.writing.material import Material
from bookgen.writing.steps import Steps

MAX_NOTED = 8  # digests made during one chapter; if a pasted book needs more, the next chapters make them
PATIENCE_SECONDS = 60.0  # to wait for a busy or absent provider
# How long a finished chapter waits for these digests. A slow model needs minutes, and a cancelled call is paid for.
SECONDS = 180.0


def is_noted_later(draft: WorkingDraft, content: str) -> bool:
    """Whether the digest of this chapter is made while the next chapter is written.

    That is the case if the next chapter is still to be written and its prompt has room for `content`, this chapter's
    text.
    """
    following = draft.material.after(draft.chapter.chapter_number)
    if following is None or size(content) > draft.room:
        return False
    return not following.content.strip() or following.rewrite_run is not None


@asynccontextmanager
async def noting(draft: WorkingDraft, steps: Steps, on_digest: Callable[[Digest], None]) -> AsyncIterator[None]:
    """While the `async with` block writes a chapter, make the missing digests of the earlier chapters in its prompt.

    `on_digest` receives each digest. The calls start at the first word of the chapter's reply, because only then is the
    prompt in the provider's cache. If a digest fails, it is requested again while the next chapter is written.
    """
    if not (unnoted := _unnoted(draft)):
        yield
        return
    task = asyncio.create_task(_note(unnoted, draft, steps.for_concurrent_calls(), on_digest))
    try:
        yield
        await asyncio.wait([task], timeout=SECONDS)
    finally:
        task.cancel()
        await asyncio.wait([task])
    if not task.cancelled():
        task.result()


async def note_rest(material: Material, steps: Steps) -> AsyncIterator[Digest]:
    """Yield new digests for written chapters without a current digest, at most for the last MAX_NOTED of them.

    These are mostly the last chapter and chapters that the author has changed. Books without any text by a model, books
    of verse, collections of stories and children's books get no digests. A digest that fails is skipped. Raises
    CallsHalted if calls are halted.
    """
    known = {each.chapter_number: digest for each in material.chapters if (digest := stored_digest(material, each))}
    for chapter in _rest(material, known):
        number = chapter.chapter_number
        threads = continuity.open_threads([known[each] for each in sorted(known) if each < number])
        try:
            digest = await continuity.digest_of(
                material.book, chapter, chapter.content, threads, steps, patience=PATIENCE_SECONDS
            )
        except CallsHalted:
            raise
        except UpstreamAIError:
            continue
        if digest is not None:
            known[number] = digest
            yield digest


def _rest(material: Material, known: Mapping[int, Digest]) -> list[Chapter]:
    written = [chapter for chapter in material.chapters if chapter.content.strip()]
    if not _is_noted(material.book) or not any(chapter.writer for chapter in written):
        return []
    return [chapter for chapter in written if chapter.chapter_number not in known][-MAX_NOTED:]


def _is_noted(book: Book) -> bool:
    """Whether chapters get digests when the book is finished or their text is in view.

    Poems and picture books do not need them. A separate story gets its digest when it is written, for the next ones.
    """
    return book.kind is not BookKind.CHILDRENS and not is_collection(book) and not has_separate_stories(book)


def _unnoted(draft: WorkingDraft) -> list[Chapter]:
    material = draft.material
    if not _is_noted(material.book):
        return []
    return [each for each in draft.view.chapters if stored_digest(material, each) is None][-MAX_NOTED:]


async def _note(
    chapters: list[Chapter], draft: WorkingDraft, steps: Steps, on_digest: Callable[[Digest], None]
) -> None:
    await draft.begun.wait()
    known = {digest.chapter_number: digest for digest in draft.digests}
    for chapter in chapters:
        number = chapter.chapter_number
        threads = continuity.open_threads([known[each] for each in sorted(known) if each < number])
        try:
            digest = await _asked(chapter, threads, draft, steps)
        except CallsHalted:
            return
        except UpstreamAIError:
            continue
        if digest is not None:
            known[number] = digest
            on_digest(digest)


async def _asked(chapter: Chapter, threads: Sequence[str], draft: WorkingDraft, steps: Steps) -> Digest | None:
    """The digest of `chapter`, requested with the cached prompt of `draft` or, if cheaper, with only its text."""
    sizes = {
        each.chapter_number: block.tokens for each, block in zip(draft.view.chapters, draft.view.blocks, strict=True)
    }
    if is_read_alone(sizes.get(chapter.chapter_number, 0), draft.view.size):
        return await continuity.digest_of(draft.book, chapter, chapter.content, threads, steps)
    system = await compute(draft.system)
    return await continuity.digest_after(
        draft.book, chapter, chapter.content, threads, system, (), steps, PATIENCE_SECONDS
    )
