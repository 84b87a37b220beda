"""Checks the findings of an editor's reading. Findings whose quotation is not in the text are dropped and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from bookgen.models import Severity
from bookgen.words import measure
from bookgen.writing.material import Material
from bookgen.writing.proofreading.code_changes import may_change
from bookgen.writing.proofreading.correction import Correction, Reason
from bookgen.writing.proofreading.structure import ReadingBudget
from bookgen.writing.review.kinds import SUGGESTION_TYPES, FindingKind, kinds_for
from bookgen.writing.review.quotes import find_quote
from bookgen.writing.review.reading import SEVERITIES, WORDS_PER_FINDING, FindingClaim, QuotedPassage, written

MIN_QUOTE_CHARACTERS, MAX_QUOTE_CHARACTERS = 4, 600
MAX_REPLACEMENT_CHARACTERS = 600
MIN_KEPT, MAX_KEPT = 24, 200  # bounds of the limit of findings per book
SOURCE = "editor"

_RANK = {severity: rank for rank, severity in enumerate(SEVERITIES)}


class RejectionReason(StrEnum):
    """Why a finding, or a part of one, is dropped."""

    UNKNOWN_KIND = "unknown_kind"
    UNKNOWN_CHAPTER = "unknown_chapter"
    NO_REASON = "no_reason"
    QUOTE_NOT_FOUND = "quote_not_found"
    OTHER_NOT_FOUND = "other_quote_not_found"  # a contradiction of which only the first passage is in the text
    OTHER_PASSAGE = "other_passage"  # only this passage is dropped
    REPLACEMENT = "replacement"  # only the replacement is dropped
    DUPLICATE = "duplicate"
    TOO_MANY = "too_many"


@dataclass(frozen=True, slots=True)
class TextSpan:
    """The place of a passage: `content[start:end]` of the chapter with the number `chapter`."""

    chapter: int
    start: int
    end: int

    def overlaps(self, other: TextSpan) -> bool:
        return self.chapter == other.chapter and self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class EditorFinding:
    """A finding of an editor. `quote`: the text at `place`. `others`: the places of the finding's further passages.

    `replacement`: a text to put at `place`; None if there is none.
    """

    kind: FindingKind
    severity: Severity
    place: TextSpan
    quote: str
    others: tuple[TextSpan, ...]
    why: str
    remedy: str
    replacement: str | None

    @property
    def places(self) -> tuple[TextSpan, ...]:
        return (self.place, *self.others)

    def covers(self, places: Sequence[TextSpan]) -> bool:
        """Whether each of the places overlaps a passage of the finding."""
        return all(any(each.overlaps(place) for each in self.places) for place in places)


@dataclass(frozen=True, slots=True)
class BookReview:
    """The checked findings of a reading, the worst first, and how many were dropped for each reason."""

    findings: tuple[EditorFinding, ...]
    dropped: Mapping[RejectionReason, int]


def review_of(claims: Sequence[FindingClaim], material: Material) -> BookReview:
    """The claims (unchecked findings) as findings, without duplicates. Claims that misquote the text are dropped.

    Slow for a long book: call it outside the event loop.
    """
    contents = {chapter.chapter_number: chapter.content for chapter in written(material)}
    kinds = frozenset(kinds_for(material.book))
    dropped: Counter[RejectionReason] = Counter()
    found: list[EditorFinding] = []
    for claim in claims:
        checked = _checked(claim, contents, kinds, dropped)
        if isinstance(checked, RejectionReason):
            dropped[checked] += 1
        elif not _merged_into(found, checked):
            found.append(checked)
        else:
            dropped[RejectionReason.DUPLICATE] += 1
    found.sort(key=lambda finding: _RANK[finding.severity])
    most = max_kept(contents.values())
    dropped[RejectionReason.TOO_MANY] += max(len(found) - most, 0)
    kept = _without_competing_replacements(found[:most], dropped)
    return BookReview(tuple(kept), {reason: count for reason, count in dropped.items() if count})


def with_findings(review: BookReview, more: Sequence[EditorFinding]) -> BookReview:
    """The review and the findings in `more`, which are not checked.

    A finding in `more` that says the same as an editor's finding is merged into it.
    """
    found = list(review.findings)
    new = [finding for finding in more if not _merged_into(found, finding)]
    return replace(review, findings=tuple(sorted([*found, *new], key=lambda finding: _RANK[finding.severity])))


def max_kept(contents: Iterable[str]) -> int:
    """The largest number of findings to keep for a book with these chapter texts."""
    words = sum(map(measure, contents))
    return min(MIN_KEPT + int(words / WORDS_PER_FINDING), MAX_KEPT)


def _checked(
    claim: FindingClaim, contents: Mapping[int, str], kinds: frozenset[FindingKind], dropped: Counter[RejectionReason]
) -> EditorFinding | RejectionReason:
    """The claim as a finding, or why it is rejected. If only a part of it is dropped, this is counted in `dropped`."""
    if claim.kind not in kinds:
        return RejectionReason.UNKNOWN_KIND
    if claim.passage.chapter not in contents:
        return RejectionReason.UNKNOWN_CHAPTER
    if not claim.why:
        return RejectionReason.NO_REASON
    place = _place(claim.passage, contents)
    if place is None:
        return RejectionReason.QUOTE_NOT_FOUND
    others = _other_places(claim.others, place, contents)
    if claim.kind == FindingKind.CONTRADICTION and claim.others and not others:
        return RejectionReason.OTHER_NOT_FOUND
    dropped[RejectionReason.OTHER_PASSAGE] += len(claim.others) - len(others)
    content = contents[place.chapter]
    replacement = _replacement(claim.replacement, place, content)
    dropped[RejectionReason.REPLACEMENT] += bool(claim.replacement) and replacement is None
    return EditorFinding(
        kind=FindingKind(claim.kind),
        severity=Severity(claim.severity) if claim.severity in SEVERITIES else Severity.MINOR,
        place=place,
        quote=content[place.start : place.end],
        others=tuple(others),
        why=claim.why,
        remedy=claim.remedy,
        replacement=replacement,
    )


def _place(passage: QuotedPassage, contents: Mapping[int, str], after: int = 0) -> TextSpan | None:
    """The first place of the passage in its chapter at or after the offset `after`; None if there is no such place."""
    content = contents.get(passage.chapter)
    if content is None or not MIN_QUOTE_CHARACTERS <= len(passage.quote.strip()) <= MAX_QUOTE_CHARACTERS:
        return None
    found = find_quote(content, passage.quote, after)
    return TextSpan(passage.chapter, *found) if found else None


def _other_places(passages: Sequence[QuotedPassage], place: TextSpan, contents: Mapping[int, str]) -> list[TextSpan]:
    """The places of the passages. No place overlaps `place` or another result.

    If a match overlaps, the next match is used, so two passages with the same words get two places. A passage without a
    place is left out.
    """
    found: list[TextSpan] = []
    for passage in passages:
        other = _place(passage, contents)
        while other and any(other.overlaps(each) for each in (place, *found)):
            other = _place(passage, contents, other.end)
        if other:
            found.append(other)
    return found


def _replacement(proposed: str, place: TextSpan, content: str) -> str | None:
    """The proposed text if it may replace the quote at `place`; otherwise None.

    It is None if the text is empty, too long or the same as the quote, if the quote occurs again later in the chapter,
    or if the replacement would change the Markdown structure.
    """
    quote = content[place.start : place.end]
    if not proposed or proposed == quote or len(proposed) > MAX_REPLACEMENT_CHARACTERS:
        return None
    if content.find(quote, place.start + 1) >= 0 or not ReadingBudget().pays_for(content, place.start, place.end):
        return None
    return proposed if may_change(content, place.start, place.end, proposed) else None


def _merged_into(found: list[EditorFinding], finding: EditorFinding) -> bool:
    """Merge the finding into the finding in `found` that says the same. Returns False if there is none.

    The merged finding has the passages of both and the worse severity. If they quote different passages first, they may
    be two faults, so it has both explanations and both remedies.
    """
    for index, known in enumerate(found):
        if _say_the_same(known, finding):
            new = [each for each in finding.places if not any(each.overlaps(other) for other in known.places)]
            severity = min(known.severity, finding.severity, key=_RANK.__getitem__)
            merged = replace(known, others=(*known.others, *new), severity=severity)
            if not known.place.overlaps(finding.place):
                merged = replace(merged, why=_both(known.why, finding.why), remedy=_both(known.remedy, finding.remedy))
            found[index] = merged
            return True
    return False


def _both(one: str, other: str) -> str:
    return one if other in one else f"{one} {other}".strip()


def _say_the_same(one: EditorFinding, other: EditorFinding) -> bool:
    """Whether both findings are of the same kind and about the same passages."""
    if one.kind is not other.kind:
        return False
    shared = sum(any(each.overlaps(place) for place in other.places) for each in one.places)
    return shared >= 2 or (one.place.overlaps(other.place) and not (one.others and other.others))


def _without_competing_replacements(
    findings: Sequence[EditorFinding], dropped: Counter[RejectionReason]
) -> list[EditorFinding]:
    """All findings. If two replacements overlap, only the finding that comes first keeps its replacement."""
    kept: list[EditorFinding] = []
    for finding in findings:
        competes = finding.replacement is not None and any(
            finding.place.overlaps(other.place) for other in kept if other.replacement is not None
        )
        dropped[RejectionReason.REPLACEMENT] += competes
        kept.append(replace(finding, replacement=None) if competes else finding)
    return kept


def as_correction(finding: EditorFinding, content: str) -> Correction:
    """The finding as a correction. If the finding has no replacement, the correction leaves the quote unchanged."""
    explanation = " ".join(filter(None, (finding.why, finding.remedy)))
    reason = Reason(SUGGESTION_TYPES[finding.kind], finding.severity, explanation, SOURCE)
    replacement = finding.quote if finding.replacement is None else finding.replacement
    return Correction.at(content, finding.place.start, finding.place.end, replacement, reason)
