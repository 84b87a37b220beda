"""The entries of the report on an editor's reading: the changes that were made, and the open findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bookgen.models import Chapter
from bookgen.writing.material import Material
from bookgen.writing.proofreading.correction import Correction, Reason
from bookgen.writing.review.applying import DropReason, EditOutcome, RevisedBook
from bookgen.writing.review.comparison import ChangeResult, ComparisonResult
from bookgen.writing.review.findings import SOURCE, BookReview, EditorFinding, TextSpan, as_correction
from bookgen.writing.review.kinds import SUGGESTION_TYPES
from bookgen.writing.review.revision import BookRevision

DECLINED = "Left as it is: {reason}"
REFUSED = "A change was tried, and not made: {reason}."
REASONS: Mapping[DropReason, str] = {
    DropReason.NOT_FOUND: "the chapter does not have the passage that it replaces",
    DropReason.AMBIGUOUS: "the chapter has the passage that it replaces several times",
    DropReason.OVERLAPS: "another change is at the same place",
    DropReason.TOO_LONG: "it replaces too long a passage",
    DropReason.TOO_MUCH_ADDED: "it adds too many words to the chapter",
    DropReason.TOO_MUCH_CHANGED: "too much of the chapter would be changed",
    DropReason.BREAKS_MARKUP: "it would break the Markdown around it, such as a table, a link or a block of code",
    DropReason.BREAKS_SENTENCE: "it would leave a sentence or a quotation unfinished",
    DropReason.DROPS_SENTENCE: "it would leave out a whole sentence",
    DropReason.OTHER_LANGUAGE: "it is in another language",
    DropReason.WORSE_BY_CHECKS: "the automatic checks find more in the new text",
}
COMPARED: Mapping[ComparisonResult, str] = {
    ComparisonResult.DRAFT: "A blind comparison preferred the draft to the revision, so the draft stays. {why}",
    ComparisonResult.UNDECIDED: "Two blind comparisons did not both prefer the revision, so the draft stays.",
    ComparisonResult.NOT_COMPARED: "The revision could not be compared with the draft, so the draft stays.",
}
IN_HISTORY = "The revision is in the chapter's history."
OTHER_PLACE = "Chapter {chapter}: “{quote}”"


@dataclass(frozen=True, slots=True)
class ReportEntry:
    """One entry of a report: a change that was made, or an open finding.

    `chapter`: the chapter with the text that the editor read. `is_applied`: the change is in the book.
    `has_replacement`: False if the entry proposes no text, so that the author has to fix the finding.
    """

    chapter: Chapter
    correction: Correction
    has_replacement: bool
    is_applied: bool = False


@dataclass(frozen=True, slots=True)
class AuthorsAnswer:
    """The answer to an editor's findings by the model that acts as the author, and what became of it.

    `revision`: the edits, and the reasons to decline findings. `revised`: the new texts, and the outcome of each edit.

    The other fields are empty unless a comparison with the draft has rejected edits. `comparisons`: the result for each
    finding number. `rejected_texts`: by chapter number, the texts with the rejected edits.
    """

    revision: BookRevision
    revised: RevisedBook
    comparisons: Mapping[int, ChangeResult] = field(default_factory=dict)
    rejected_texts: Mapping[int, str] = field(default_factory=dict)

    def declined(self, review: BookReview) -> list[EditorFinding]:
        """The findings that the model declined with a reason and for which no edit was applied."""
        changed = {outcome.edit.finding for outcome in self.revised.outcomes if outcome.is_kept}
        numbers = {number for number, reason in self.revision.declined.items() if reason} - changed
        return [finding for number, finding in enumerate(review.findings, 1) if number in numbers]


def without_edits_of(revision: BookRevision, chapters: set[int]) -> BookRevision:
    """The revision without the edits of these chapters, and without other edits that answer the same findings."""
    touched = {edit.finding for edit in revision.edits if edit.chapter in chapters}
    return replace(revision, edits=tuple(edit for edit in revision.edits if edit.finding not in touched))


def entries(material: Material, review: BookReview, answer: AuthorsAnswer | None = None) -> list[ReportEntry]:
    """The entries of a report, in the order of the findings.

    Each applied edit is an entry. A finding is also an open entry, unless it was answered by edits and all of them were
    applied.
    """
    chapters = {chapter.chapter_number: chapter for chapter in material.chapters}
    listed: list[ReportEntry] = []
    for number, finding in enumerate(review.findings, 1):
        outcomes = _outcomes(answer, number)
        listed += _changes(finding, outcomes, chapters)
        if not outcomes or not all(outcome.is_kept for outcome in outcomes):
            refused = [REASONS[each.dropped] for each in outcomes if each.dropped and each.dropped in REASONS]
            why = [*_why_open(answer, number), *(REFUSED.format(reason=each) for each in dict.fromkeys(refused))]
            listed.append(_open(finding, why, chapters))
    return listed


def _why_open(answer: AuthorsAnswer | None, number: int) -> list[str]:
    """Why the finding is still open: the model's reason to decline it, and the result of a comparison."""
    if answer is None:
        return []
    declined = answer.revision.declined.get(number)
    comparison = answer.comparisons.get(number)
    reasons = [DECLINED.format(reason=declined)] if declined else []
    if comparison and not comparison.is_kept:
        reasons.append(f"{COMPARED[comparison.result].format(why=comparison.why).strip()} {IN_HISTORY}")
    return reasons


def _outcomes(answer: AuthorsAnswer | None, number: int) -> Sequence[EditOutcome]:
    """The results of the edits that answer this finding, without those that change nothing."""
    outcomes = answer.revised.outcomes if answer else ()
    return [each for each in outcomes if each.edit.finding == number and each.dropped is not DropReason.NO_CHANGE]


def _changes(
    finding: EditorFinding, outcomes: Sequence[EditOutcome], chapters: Mapping[int, Chapter]
) -> Iterator[ReportEntry]:
    """The applied edits as entries."""
    reason = Reason(SUGGESTION_TYPES[finding.kind], finding.severity, finding.why, SOURCE)
    for outcome in outcomes:
        if outcome.place:
            chapter = chapters[outcome.place.chapter]
            start, end = outcome.place.start, outcome.place.end
            correction = Correction.at(chapter.content, start, end, outcome.edit.replacement, reason)
            yield ReportEntry(chapter, correction, has_replacement=True, is_applied=True)


def _open(finding: EditorFinding, why_open: Sequence[str], chapters: Mapping[int, Chapter]) -> ReportEntry:
    """The finding as an open entry for the author, with its other passages and why it is still open."""
    chapter = chapters[finding.place.chapter]
    correction = as_correction(finding, chapter.content)
    more = [OTHER_PLACE.format(chapter=each.chapter, quote=_text(each, chapters)) for each in finding.others]
    explanation = "\n".join([correction.reason.explanation, *more, *why_open])
    correction = replace(correction, reason=replace(correction.reason, explanation=explanation))
    return ReportEntry(chapter, correction, has_replacement=finding.replacement is not None)


def _text(place: TextSpan, chapters: Mapping[int, Chapter]) -> str:
    return chapters[place.chapter].content[place.start : place.end]
