"""Applies the edits of a revision that stay within limits and add nothing that the quality gate would report."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from bookgen import threads
from bookgen.models import Chapter
from bookgen.words import count_words
from bookgen.writing import quality, sentences
from bookgen.writing.flaw import without_code
from bookgen.writing.foreign import mostly_foreign
from bookgen.writing.language import language
from bookgen.writing.material import Material
from bookgen.writing.proofreading.code_changes import fence_around, may_change, whole_lines
from bookgen.writing.proofreading.structure import ReadingBudget, paragraph
from bookgen.writing.review.edit_limits import MAX_ADDED_WORDS, MAX_CHANGED_SHARE, MAX_PASSAGE_WORDS, room_for
from bookgen.writing.review.findings import EditorFinding, TextSpan
from bookgen.writing.review.kinds import FindingKind
from bookgen.writing.review.revision import DELETABLE, BookRevision, PassageEdit


class DropReason(StrEnum):
    """Why an edit is not applied."""

    UNKNOWN_FINDING = "unknown_finding"
    UNKNOWN_CHAPTER = "unknown_chapter"
    NO_CHANGE = "no_change"
    NOT_FOUND = "not_found"
    AMBIGUOUS = "ambiguous"  # the passage occurs several times, and not exactly once at the finding
    OVERLAPS = "overlaps"  # it overlaps an edit that was applied before it
    TOO_LONG = "too_long"
    TOO_MUCH_ADDED = "too_much_added"
    TOO_MUCH_CHANGED = "too_much_changed"
    BREAKS_MARKUP = "breaks_markup"  # or it reaches beyond one paragraph
    BREAKS_SENTENCE = "breaks_sentence"
    DROPS_SENTENCE = "drops_sentence"
    OTHER_LANGUAGE = "other_language"
    WORSE_BY_CHECKS = "worse_by_checks"
    INCOMPLETE = "incomplete"  # another edit for the same finding was dropped
    NOT_PREFERRED = "not_preferred"  # a comparison did not prefer it to the draft


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """The result of an edit. `dropped`: why the edit is not applied; None if it is applied.

    `place`: the replaced span of the text before the revision. `drops_sentence`: the edit removes a complete sentence,
    which is allowed for some kinds of findings.
    """

    edit: PassageEdit
    dropped: DropReason | None
    place: TextSpan | None = None
    drops_sentence: bool = False

    @property
    def is_kept(self) -> bool:
        return self.dropped is None


@dataclass(frozen=True, slots=True)
class RevisedBook:
    """The new texts of the changed chapters, by chapter number, and the outcome of each edit."""

    texts: Mapping[int, str]
    outcomes: tuple[EditOutcome, ...]


async def apply(material: Material, findings: Sequence[EditorFinding], revision: BookRevision) -> RevisedBook:
    """Apply the edits that may be applied. Text outside the edited passages stays the same, byte for byte.

    The edits that answer one finding are applied together or not at all, since each may rely on the others. Only the
    edits for a repetition are independent.
    """
    edits, dropped = dict(enumerate(revision.edits)), dict[int, EditOutcome]()
    while True:
        texts, outcomes = await _applied(material, findings, edits)
        halves = _half_answers(outcomes, findings)
        if not halves:
            return RevisedBook(texts, tuple(outcome for _, outcome in sorted({**dropped, **outcomes}.items())))
        for index in halves:
            edit = edits.pop(index)
            dropped[index] = EditOutcome(edit, outcomes[index].dropped or DropReason.INCOMPLETE)


async def without(
    material: Material, findings: Sequence[EditorFinding], revised: RevisedBook, rejected: Collection[int]
) -> RevisedBook:
    """The revised book without the edits that answer the `rejected` findings, given by number.

    The other edits are checked again, since an edit may have been allowed only together with a rejected edit.
    """
    edits = tuple(each.edit for each in revised.outcomes if each.is_kept and each.edit.finding not in rejected)
    again = await apply(material, findings, BookRevision(edits, {}))
    left = iter(again.outcomes)
    outcomes = [
        each if not each.is_kept
        else EditOutcome(each.edit, DropReason.NOT_PREFERRED) if each.edit.finding in rejected
        else next(left)
        for each in revised.outcomes
    ]  # fmt: skip
    return RevisedBook(again.texts, tuple(outcomes))


def _half_answers(outcomes: Mapping[int, EditOutcome], findings: Sequence[EditorFinding]) -> list[int]:
    """The indexes of all edits for findings that have both applied and dropped edits.

    Findings about repetitions are ignored, since their edits are independent.
    """
    kept, lost = set[int](), set[int]()
    for outcome in outcomes.values():
        if outcome.dropped is not DropReason.NO_CHANGE:
            (kept if outcome.is_kept else lost).add(outcome.edit.finding)
    halves = {number for number in kept & lost if findings[number - 1].kind is not FindingKind.REPETITION}
    return [index for index, outcome in outcomes.items() if outcome.edit.finding in halves]


async def _applied(
    material: Material, findings: Sequence[EditorFinding], edits: Mapping[int, PassageEdit]
) -> tuple[dict[int, str], dict[int, EditOutcome]]:
    """The new texts by chapter number, and the outcome of each edit by its index."""
    texts: dict[int, str] = {}
    outcomes = {index: EditOutcome(edit, DropReason.UNKNOWN_CHAPTER) for index, edit in edits.items()}
    for chapter in material.chapters:
        here = {index: edit for index, edit in edits.items() if edit.chapter == chapter.chapter_number}
        if here and chapter.content.strip():
            revised = await _revise_chapter(material, chapter, findings, here)
            outcomes.update(revised.outcomes)
            if revised.content != chapter.content:
                texts[chapter.chapter_number] = revised.content
                material = _with_text(material, chapter, revised.content)
    return texts, outcomes


def _with_text(material: Material, chapter: Chapter, content: str) -> Material:
    changed = replace(chapter, content=content)
    chapters = tuple(changed if each.id == chapter.id else each for each in material.chapters)
    return replace(material, chapters=chapters)


@dataclass(slots=True)
class ChapterRevision:
    """The state of a chapter while edits are applied to it.

    `outcomes`: the result of each edit, by the edit's index. `changed`: each replaced span of the text before the
    revision, and by how many characters it has grown (negative: shrunk).
    """

    chapter: Chapter
    language: str
    content: str
    outcomes: dict[int, EditOutcome] = field(default_factory=dict)
    changed: list[tuple[TextSpan, int]] = field(default_factory=list)
    added_words: int = 0
    replaced_words: int = 0
    budget: ReadingBudget = field(default_factory=ReadingBudget)

    @classmethod
    def of(cls, chapter: Chapter, language: str) -> ChapterRevision:
        return cls(chapter, language, chapter.content)

    def copy(self) -> ChapterRevision:
        return replace(self, outcomes=dict(self.outcomes), changed=list(self.changed))


async def _revise_chapter(
    material: Material, chapter: Chapter, findings: Sequence[EditorFinding], edits: Mapping[int, PassageEdit]
) -> ChapterRevision:
    """The chapter with all edits that are within bounds, if the quality gate then reports nothing more than before.

    Otherwise, the edits are tried one at a time. An edit is dropped if the quality gate then reports more than before
    the revision.
    """
    empty = ChapterRevision.of(chapter, material.book.content_language)
    before = await _flaws(material, chapter, chapter.content)
    together = await threads.compute(_with_edits, empty, findings, edits)
    if together.content == chapter.content or not _is_worse(before, await _flaws(material, chapter, together.content)):
        return together
    kept = empty
    for index in _in_order(edits):
        tried = await threads.compute(_with_edits, kept, findings, {index: edits[index]})
        if tried.outcomes[index].is_kept and _is_worse(before, await _flaws(material, chapter, tried.content)):
            kept.outcomes[index] = EditOutcome(edits[index], DropReason.WORSE_BY_CHECKS)
        else:
            kept = tried
    return kept


async def _flaws(material: Material, chapter: Chapter, content: str) -> Counter[str]:
    """How many flaws of each kind the quality gate reports for the chapter with this text: at most eight per kind.

    The chapter's length is not counted: edits may make it longer within their own limit.
    """
    flaws = await quality.inspect(content, material, chapter)
    return Counter(flaw.kind for flaw in flaws if flaw.kind != "length")


def _is_worse(before: Counter[str], after: Counter[str]) -> bool:
    return any(count > before[kind] for kind, count in after.items())


def _in_order(edits: Mapping[int, PassageEdit]) -> list[int]:
    """The edits' indexes, sorted so that edits for the worst findings come first.

    If not all edits fit the limits, the edits for the worst findings are applied.
    """
    return sorted(edits, key=lambda index: (edits[index].finding, index))


def _with_edits(
    revised: ChapterRevision, findings: Sequence[EditorFinding], edits: Mapping[int, PassageEdit]
) -> ChapterRevision:
    """A copy of the chapter with the edits applied, except edits that exceed a bound."""
    revised = revised.copy()
    for index in _in_order(edits):
        revised.outcomes[index] = _tried(revised, edits[index], findings)
    return revised


def _tried(revised: ChapterRevision, edit: PassageEdit, findings: Sequence[EditorFinding]) -> EditOutcome:
    """Apply the edit to the chapter, unless it exceeds a bound. Returns the outcome."""
    if not 1 <= edit.finding <= len(findings):
        return EditOutcome(edit, DropReason.UNKNOWN_FINDING)
    if edit.passage == edit.replacement or not edit.passage.strip():
        return EditOutcome(edit, DropReason.NO_CHANGE)
    finding = findings[edit.finding - 1]
    place = _place(revised.chapter, edit, finding)
    if isinstance(place, DropReason):
        return EditOutcome(edit, place)
    if not edit.replacement:
        place = _with_space(revised.chapter.content, place)
    if any(place.overlaps(other) for other, _ in revised.changed):
        return EditOutcome(edit, DropReason.OVERLAPS)
    replaced, added = count_words(edit.passage), count_words(edit.replacement) - count_words(edit.passage)
    if dropped := _exceeds(revised, replaced, added):
        return EditOutcome(edit, dropped)
    shift = sum(growth for other, growth in revised.changed if other.end <= place.start)
    start, end = place.start + shift, place.end + shift
    if dropped := _breaks(revised, start, end, edit):
        return EditOutcome(edit, dropped)
    is_code = fence_around(revised.content, start, end) is not None
    leaves_out = not is_code and drops_sentence(revised.content, start, end, edit.replacement)
    if leaves_out and not (edit.drops_sentence and finding.kind in DELETABLE):
        return EditOutcome(edit, DropReason.DROPS_SENTENCE)
    revised.content = revised.content[:start] + edit.replacement + revised.content[end:]
    revised.changed.append((place, len(edit.replacement) - (end - start)))
    revised.added_words += added
    revised.replaced_words += replaced
    return EditOutcome(edit, None, place, leaves_out)


def _place(chapter: Chapter, edit: PassageEdit, finding: EditorFinding) -> TextSpan | DropReason:
    """The span of the passage in the text before the revision, or why the edit is dropped.

    If the passage occurs several times, exactly one occurrence must overlap the finding.
    """
    content, passage = chapter.content, edit.passage
    first = content.find(passage)
    if first < 0:
        return DropReason.NOT_FOUND
    if content.find(passage, first + 1) < 0:
        return TextSpan(edit.chapter, first, first + len(passage))
    places = [place for place in finding.places if place.chapter == edit.chapter]
    around = {start for place in places for start in _near(content, passage, place)}
    if len(around) != 1:
        return DropReason.AMBIGUOUS
    start = around.pop()
    return TextSpan(edit.chapter, start, start + len(passage))


def _near(content: str, passage: str, place: TextSpan) -> list[int]:
    """The first two offsets at which the passage occurs and overlaps `place`, a passage of the finding."""
    found: list[int] = []
    first, last = max(place.start - len(passage) + 1, 0), place.end + len(passage) - 1
    while len(found) < 2 and (start := content.find(passage, first, last)) >= 0:
        found.append(start)
        first = start + 1
    return found


def _with_space(content: str, place: TextSpan) -> TextSpan:
    """The span of a deletion, widened by one space if two spaces or a space at a paragraph's edge would be left.

    In a block of code, it is the whole line if nothing else would be left of it.
    """
    if fence_around(content, place.start, place.end):
        lines = whole_lines(content, place.start, place.end)
        return replace(place, start=lines[0], end=lines[1]) if lines else place
    before, after = content[place.start - 1 : place.start], content[place.end : place.end + 1]
    if before == " " and after in ("", " ", "\n"):
        return replace(place, start=place.start - 1)
    return replace(place, end=place.end + 1) if before in ("", "\n") and after == " " else place


def _exceeds(revised: ChapterRevision, replaced: int, added: int) -> DropReason | None:
    """Why an edit that replaces `replaced` words and adds `added` words exceeds a limit; None if it does not."""
    tongue = language(revised.language)
    if replaced > tongue.equivalent(MAX_PASSAGE_WORDS):
        return DropReason.TOO_LONG
    if added > 0 and revised.added_words + added > room_for(revised.chapter, tongue.equivalent(MAX_ADDED_WORDS)):
        return DropReason.TOO_MUCH_ADDED
    most = MAX_CHANGED_SHARE * count_words(revised.chapter.content)
    if revised.replaced_words and revised.replaced_words + replaced > most:
        return DropReason.TOO_MUCH_CHANGED
    return None


def _breaks(revised: ChapterRevision, start: int, end: int, edit: PassageEdit) -> DropReason | None:
    """Why the edit would damage the text around it or bring in another language; None if it would not."""
    content, replacement = revised.content, edit.replacement
    if not revised.budget.pays_for(content, start, end) or not may_change(content, start, end, replacement):
        return DropReason.BREAKS_MARKUP
    if fence_around(content, start, end):
        return None
    first, last = paragraph(content, start, end)
    after = content[first:start] + replacement + content[end:last]
    if not reads_whole(without_code(content[first:last]), without_code(after)):
        return DropReason.BREAKS_SENTENCE
    if mostly_foreign(replacement, revised.language) and not mostly_foreign(edit.passage, revised.language):
        return DropReason.OTHER_LANGUAGE
    return None


def drops_sentence(content: str, start: int, end: int, replacement: str) -> bool:
    """Whether `replacement` leaves out a complete sentence of `content[start:end]`.

    That is so if the paragraph then has fewer sentences, and it has lost at least as many words as the shortest
    sentence in the replaced passage. Joining two sentences loses fewer words.
    """
    first, last = paragraph(content, start, end)
    before = without_code(content[first:last])
    after = without_code(content[first:start] + replacement + content[end:last])
    ends = _ends(before)
    if len(_ends(after)) >= len(ends):
        return False
    lost = count_words(before) - count_words(after)
    starts = [0, *ends]
    touched = [
        count_words(before[begin:stop])
        for begin, stop in zip(starts, ends, strict=False)
        if begin < end - first and start - first < stop
    ]
    return bool(touched) and lost >= min(touched)


def _ends(text: str) -> list[int]:
    """The offsets just after each sentence that has words."""
    found, start = list[int](), 0
    for end in sentences.ends(text):
        if count_words(text[start:end]):
            found.append(end)
            start = end
    return found


# Two spaces, a space before a comma or a full stop, two marks in a row, a mark at the beginning.
_BROKEN = re.compile(
    r"(?<=\S)[ \t]{2,}(?=\S)|[ \t][,.](?![.\w])|[,;:.!?][ \t]?[,;:]|(?<!\.)\.[ \t]?\.(?!\.)|\A[,.;:!?]"
)


def reads_whole(before: str, after: str) -> bool:
    """Whether a changed paragraph is still complete: its last sentence ends and its quotations are closed.

    What was already incomplete before may stay so. The change may not add broken punctuation either.
    """
    before, after = before.strip(), after.strip()
    if sentences.is_finished(before) and not sentences.is_finished(after):
        return False
    if sentences.inside_quotation(after) and not sentences.inside_quotation(before):
        return False
    return len(_BROKEN.findall(after)) <= len(_BROKEN.findall(before))
