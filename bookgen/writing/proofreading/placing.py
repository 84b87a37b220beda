"""Finds the places of suggestions in a changed text, applies suggestions, and shifts the offsets of the others."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from bookgen.models import Suggestion
from bookgen.writing.proofreading import anchors
from bookgen.writing.proofreading.code_changes import may_change
from bookgen.writing.proofreading.correction import Correction, around
from bookgen.writing.proofreading.structure import ReadingBudget, keeps_structure

AUTHORS = ("editor", "author")  # the sources of suggestions that may change code, because a person accepts each of them


@dataclass(slots=True)
class Placement:
    """A chapter's suggestions, sorted by whether they fit the text `content`.

    `pending`: suggestions whose passage is in the text. `applied`: the ids of suggestions that were applied. `stale`:
    the ids of suggestions that no longer fit.
    """

    content: str
    pending: list[Suggestion] = field(default_factory=list)
    applied: list[int] = field(default_factory=list)
    stale: list[int] = field(default_factory=list)


def placed(suggestions: Sequence[Suggestion], content: str, content_version: int) -> Placement:
    """Find the place of each suggestion in `content`, whose version is `content_version`.

    A suggestion becomes stale if its passage is gone, or if several passages are equal and it is unclear which is
    meant.
    """
    result = Placement(content)
    for each in suggestions:
        start: int | None = each.start_offset
        if each.content_version != content_version:
            start = anchors.find_again(content, each.start_offset, each.original_text, each.prefix, each.suffix)
        if start is None:
            result.stale.append(each.id)
        else:
            result.pending.append(_at(each, start, content))
    return result


def applied(before: Placement, chosen: Collection[int]) -> Placement:
    """Apply the suggestions with the ids `chosen`, starting with the last in the text.

    A suggestion that overlaps an applied one, or inserts at the same place, becomes stale. So does a chosen suggestion
    that would change the Markdown structure. Checking the structure takes time, so there is a limit. Chosen suggestions
    beyond that limit stay pending.
    """
    budget, content = ReadingBudget(), before.content
    edits: list[Suggestion] = []
    refused: set[int] = set()
    for each in sorted(before.pending, key=lambda suggestion: -suggestion.start_offset):
        if each.id not in chosen or each.suggested_text is None or (edits and not _is_before(each, edits[-1])):
            continue
        start, end = each.start_offset, each.end_offset
        if not budget.pays_for(content, start, end):
            continue
        allowed = may_change if each.source in AUTHORS else keeps_structure
        if allowed(content, start, end, each.suggested_text):
            content = content[:start] + each.suggested_text + content[end:]
            edits.append(each)
        else:
            refused.add(each.id)
    return _after_edits(before, content, edits, refused)


def _is_before(suggestion: Suggestion, edit: Suggestion) -> bool:
    """Whether the suggestion ends before the edit begins. False for two insertions at the same place."""
    span, edited = (suggestion.start_offset, suggestion.end_offset), (edit.start_offset, edit.end_offset)
    return span[1] <= edited[0] and span != edited


def _after_edits(before: Placement, content: str, edits: Sequence[Suggestion], refused: Collection[int]) -> Placement:
    """The state of all suggestions after `edits` have turned the text into `content`.

    `before`: the state before the edits. `edits`: the suggestions that were applied, the last in the text first.
    `refused`: the ids of suggestions that become stale.
    """
    after = Placement(content, applied=[*before.applied, *(edit.id for edit in edits)], stale=[*before.stale, *refused])
    gone = {edit.id for edit in edits}.union(refused)
    following, shift = list(edits), 0
    for each in sorted(before.pending, key=lambda suggestion: suggestion.start_offset):
        if each.id in gone:
            continue
        while following and following[-1].end_offset <= each.start_offset and not _is_before(each, following[-1]):
            edit = following.pop()
            shift += len(edit.suggested_text or "") - len(edit.original_text)
        if following and not _is_before(each, following[-1]):
            after.stale.append(each.id)
        else:
            after.pending.append(_at(each, each.start_offset + shift, content))
    return after


def _at(suggestion: Suggestion, start: int, content: str) -> Suggestion:
    end = start + len(suggestion.original_text)
    prefix, suffix = around(content, start, end)
    return replace(suggestion, start_offset=start, end_offset=end, prefix=prefix, suffix=suffix)


def found_again(correction: Correction, content: str) -> Correction | None:
    """The correction at the new place of its passage; None if the passage is gone or its place is in doubt."""
    original = correction.original
    start = anchors.find_again(content, correction.start, original, correction.prefix, correction.suffix)
    if start is None:
        return None
    return Correction.at(content, start, start + len(original), correction.replacement, correction.reason)


def fingerprint(correction: Correction) -> str:
    """An identifier by which a dismissed correction is recognised.

    It stays the same if the passage moves together with the text around it.
    """
    around = (correction.prefix[-12:], correction.suffix[:12])
    said = "\0".join((correction.reason.type, correction.original, correction.replacement, *around))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
