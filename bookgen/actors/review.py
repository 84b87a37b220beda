"""Runs an editor's reading of a whole book and the author's answer to it. The model plays both parts.

The results are the rows of a report, and new texts for the chapters that the model changes as the author.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import asyncpg
import structlog

from bookgen.actors.material import note_rest
from bookgen.actors.resources import Resources
from bookgen.actors.steps import StoredSteps
from bookgen.billing.checks import max_check_bytes
from bookgen.errors import ProofreadingFailed, must_exist
from bookgen.models import BookKind, Chapter, RevisionMode, RevisionOrigin, SuggestionStatus
from bookgen.store import books, chapters, facts, illustrations, revisions, suggestions
from bookgen.store import material as store
from bookgen.store.suggestions import NewSuggestion
from bookgen.threads import compute
from bookgen.words import count_words
from bookgen.writing.facts import settled
from bookgen.writing.facts.findings import editor_findings, fingerprints_of
from bookgen.writing.fingerprint import content_hash
from bookgen.writing.material import Material
from bookgen.writing.proofreading.correction import Correction
from bookgen.writing.proofreading.placing import fingerprint
from bookgen.writing.refusal import ModelRefused
from bookgen.writing.review import applying
from bookgen.writing.review.calls import compare_book, read_book, revise_book
from bookgen.writing.review.entries import AuthorsAnswer, ReportEntry, entries, without_edits_of
from bookgen.writing.review.findings import BookReview, with_findings
from bookgen.writing.structured import UnusableReply

log = structlog.get_logger()

MAX_BYTES = 8_000_000  # of a book's text, which is more than a million words
TOO_LONG = "The book is too long for an editor's reading, which covers at most {most:,} bytes of text."


@dataclass(frozen=True, slots=True)
class RevisedText:
    """A chapter as it was read, its new text, and the earlier findings of automatic checks that still hold.

    `hashes`: the hash of the text as it was read, then the hash of the new text.
    """

    chapter: Chapter
    content: str
    words: int
    hashes: tuple[str, str]
    findings: Sequence[Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class EditedBook:
    """The result of an editor's reading. `rows`: the rows of its report.

    - `unanswered`: the rows without the model's edits, used if a person has changed the book in the meantime.
    - `revised`: the chapters whose new text is to be saved.
    - `proposed`: chapters with a new text that lost the comparison with the draft.
    - `declined`: the fingerprints of the contradictions that the model declined to correct, with a reason.
    """

    material: Material
    rows: Sequence[NewSuggestion]
    unanswered: Sequence[NewSuggestion]
    revised: Sequence[RevisedText] = ()
    proposed: Sequence[RevisedText] = ()
    declined: Sequence[str] = ()

    @property
    def chapter_ids(self) -> list[int]:
        return [chapter.id for chapter in self.material.chapters if chapter.content.strip()]

    async def save_texts(self, connection: asyncpg.Connection) -> Sequence[NewSuggestion]:
        """Save the new texts in the caller's transaction. If one of the chapters has changed, save none of them.

        Returns the rows of the report. The previous texts and the rejected texts are kept in the chapters' history.
        Declined contradictions are not reported again as long as their passages are unchanged.
        """
        book = self.material.book
        concerned = {each.chapter.id: each.chapter for each in (*self.revised, *self.proposed)}
        for chapter in sorted(concerned.values(), key=lambda each: each.chapter_number):
            version = await chapters.lock_version(connection, book.account_id, chapter.id)
            if version != chapter.content_version:
                return self.unanswered
        for proposed in self.proposed:
            await self._keep_aside(connection, proposed)
        for revised in self.revised:
            await self._save_text(connection, revised)
        await suggestions.dismiss_all(connection, book.id, self.declined)
        return self.rows

    async def _keep_aside(self, connection: asyncpg.Connection, proposed: RevisedText) -> None:
        """Keep a rejected text in the chapter's history, under the model that wrote the draft."""
        chapter = proposed.chapter
        told = chapter.id, RevisionOrigin.NOT_PREFERRED, proposed.content, proposed.words, chapter.writer
        await revisions.add(connection, *told, written_at=chapter.written_at)

    async def _save_text(self, connection: asyncpg.Connection, revised: RevisedText) -> None:
        """Save a new text and its findings, and keep the chapter's digest.

        The digest (the summary for later chapters) stays valid, because edits change only a few words. They also add
        little text (`review.room`), so the limit on the account's storage is not checked.
        """
        chapter, account_id = revised.chapter, self.material.book.account_id
        changes = {"content": revised.content}
        await chapters.save(connection, account_id, chapter.id, changes, revised.words, RevisionOrigin.REVIEW)
        await chapters.add_findings(connection, chapter.id, revised.findings)
        await store.carry_digest(connection, chapter.id, *revised.hashes)


async def edit_book(
    resources: Resources,
    account_id: int,
    book_id: int,
    steps: StoredSteps,
    *,
    mode: RevisionMode = RevisionMode.REPORT,
) -> EditedBook:
    """Have the model read the book as its editor and, if the mode says so, answer the findings as its author.

    Contradictions between facts of the story are among the findings.

    Raises NotFound if the book is gone, ProofreadingFailed if it is too long, ModelRefused or UnusableReply if there
    is no usable reading, UpstreamAIError if a call fails, and CallsHalted after `steps.halt` is set.
    """
    await note_rest(resources, account_id, book_id, steps)
    material = await _load(resources, account_id, book_id)
    noted = await resources.health.through_outages(lambda: facts.of_book(resources.pool, book_id))
    dismissed = await resources.health.through_outages(lambda: suggestions.dismissed(resources.pool, book_id))
    review = await read_book(material, steps, resources.context_tokens)
    review = with_findings(review, await compute(editor_findings, material.book, noted, material.chapters, dismissed))
    answer = await _answer_findings(material, review, steps, resources.context_tokens) if mode.revises else None
    if answer and mode is RevisionMode.COMPARE:
        answer = await _drop_losing_edits(material, review, answer, steps, resources.context_tokens)
    await steps.settle()
    unanswered = await compute(_rows, material, review, None)
    if answer is None:
        return EditedBook(material, unanswered, unanswered)
    notes = await resources.health.through_outages(lambda: chapters.findings(resources.pool, book_id))
    revised = await compute(_revised_texts, material, answer.revised.texts, notes)
    proposed = await compute(_revised_texts, material, answer.rejected_texts, ())
    declined = await compute(fingerprints_of, answer.declined(review), material.book, noted, material.chapters)
    rows = await compute(_rows, material, review, answer)
    return EditedBook(material, rows, unanswered, revised, proposed, declined)


async def _load(resources: Resources, account_id: int, book_id: int) -> Material:
    """Return the book with the full text of its chapters.

    Raises ProofreadingFailed if the book is longer than the account's plan or an editor's reading allows.
    """
    pool, through_outages = resources.pool, resources.health.through_outages
    book = must_exist(await through_outages(lambda: books.find(pool, account_id, book_id)))
    plan = await through_outages(lambda: resources.quota.plan(pool, account_id))
    most = min(max_check_bytes(plan, book) or MAX_BYTES, MAX_BYTES)
    has_text = await through_outages(lambda: chapters.have_text(pool, book_id))
    if await through_outages(lambda: chapters.bytes_of(pool, list(has_text))) > most:
        raise ProofreadingFailed(TOO_LONG.format(most=most))
    _, digests = await through_outages(lambda: store.chapters(pool, book_id))
    texts = await through_outages(lambda: chapters.of_book(pool, book_id))
    pictures = await _pictures(resources, texts) if book.kind is BookKind.CHILDRENS else {}
    return Material(book, tuple(texts), digests, pictures=pictures)


async def _pictures(resources: Resources, texts: Sequence[Chapter]) -> dict[int, str]:
    """Return what the pictures of a children's book show, by chapter number."""
    numbers = {chapter.id: chapter.chapter_number for chapter in texts}
    pool, book_id = resources.pool, texts[0].book_id if texts else 0
    shown = await resources.health.through_outages(lambda: illustrations.of_book(pool, book_id))
    told: dict[int, str] = {}
    for each in shown:
        number = numbers.get(each.chapter_id, 0)
        told[number] = f"{told.get(number, '')} {each.alt_text}".strip()
    return {number: text for number, text in told.items() if text}


async def _answer_findings(
    material: Material, review: BookReview, steps: StoredSteps, context_tokens: int
) -> AuthorsAnswer | None:
    """Have the model answer the findings as the author. Returns None if there are no findings or no answer is usable.

    A chapter that a person wrote is not changed: its findings are only listed.
    """
    if not review.findings:
        return None
    try:
        revision = await revise_book(material, review, steps, context_tokens)
    except (ModelRefused, UnusableReply) as error:
        log.warning(
            "findings_not_answered",
            book_id=material.book.id,
            reason=str(error),
            what="The report lists the editor's findings, but the text was not changed.",
        )
        return None
    by_hand = {chapter.chapter_number for chapter in material.chapters if not chapter.writer}
    revision = without_edits_of(revision, by_hand)
    return AuthorsAnswer(revision, await applying.apply(material, review.findings, revision))


async def _drop_losing_edits(
    material: Material, review: BookReview, answer: AuthorsAnswer, steps: StoredSteps, context_tokens: int
) -> AuthorsAnswer:
    """Have the model compare the draft with the edited texts blindly. Return the answer without the edits that lose."""
    results = await compare_book(material, review, answer.revised, steps, context_tokens)
    rejected = {number for number, each in results.items() if not each.is_kept}
    if not rejected:
        return answer
    left = await applying.without(material, review.findings, answer.revised, rejected)
    contents = {chapter.chapter_number: chapter.content for chapter in material.chapters}
    texts = answer.revised.texts
    rejected_texts = {
        number: texts[number] for number in texts if texts[number] != left.texts.get(number, contents[number])
    }
    log.info("changes_rejected", book_id=material.book.id, rejected=len(rejected), of=len(results))
    return replace(answer, revised=left, comparisons=results, rejected_texts=rejected_texts)


def _revised_texts(
    material: Material, texts: Mapping[int, str], notes: Sequence[Mapping[str, object]]
) -> list[RevisedText]:
    """Return the chapters that have a new text, in order.

    `texts`: the new texts by chapter number. `notes`: earlier findings. A finding still holds if its excerpt is in the
    new text.
    """
    return [
        RevisedText(
            chapter,
            content := texts[chapter.chapter_number],
            count_words(content),
            (content_hash(chapter.content), content_hash(content)),
            [
                {name: value for name, value in note.items() if name != "chapter_number"}
                for note in notes
                if note["chapter_number"] == chapter.chapter_number
                and "before" not in note
                and note["kind"] != settled.KIND  # the store keeps these itself
                and str(note["excerpt"]) in content
            ],
        )
        for chapter in material.chapters
        if chapter.chapter_number in texts
    ]


def _rows(material: Material, review: BookReview, answer: AuthorsAnswer | None) -> list[NewSuggestion]:
    return [_row(entry) for entry in entries(material, review, answer)]


def _row(entry: ReportEntry) -> NewSuggestion:
    suggestion = suggestion_of(entry.chapter, entry.correction)
    status = SuggestionStatus.APPLIED if entry.is_applied else SuggestionStatus.PENDING
    text = entry.correction.replacement if entry.has_replacement else None
    return replace(suggestion, suggested_text=text, status=status)


def suggestion_of(chapter: Chapter, correction: Correction) -> NewSuggestion:
    """Return the correction as a row of a report. `chapter`: the chapter with the text that was read."""
    return NewSuggestion(
        chapter_id=chapter.id,
        type=correction.reason.type,
        severity=correction.reason.severity,
        original_text=correction.original,
        suggested_text=correction.replacement,
        explanation=correction.reason.explanation,
        source=correction.reason.source,
        start_offset=correction.start,
        end_offset=correction.end,
        prefix=correction.prefix,
        suffix=correction.suffix,
        content_version=chapter.content_version,
        fingerprint=fingerprint(correction),
    )
