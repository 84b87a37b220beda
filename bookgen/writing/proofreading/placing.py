"""Suggestions in a text that changes: found again, applied, and moved by what is applied beside them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from bookgen.models import Suggestion
from bookgen.writing.proofreading import anchors
from bookgen.writing.proofreading.correction import Correction, around
from bookgen.writing.proofreading.structure import ReadingBudget, keeps_structure


@dataclass(slots=True)
class Placement:
    """A chapter's suggestions in `content`: those that stand in it, and the ids of those applied and stale."""

    content: str
    standing: list[Suggestion] = field(default_factory=list)
    applied: list[int] = field(default_factory=list)
    stale: list[int] = field(default_factory=list)


def placed(suggestions: Sequence[Suggestion], content: str, content_version: int) -> Placement:
    """Where each suggestion stands in the content that has this version; one that is not found is stale."""
    result = Placement(content)
    for each in suggestions:
        start: int | None = each.start_offset
        if each.content_version != content_version:
            start = anchors.find_again(content, each.start_offset, each.original_text, each.prefix, each.suffix)
        if start is None:
            result.stale.append(each.id)
        else:
            result.standing.append(_at(each, start, content))
    return result


def applied(before: Placement, chosen: Collection[int]) -> Placement:
    """The text with the chosen suggestions applied.

    What touches an applied one is stale, and so is a chosen one that would change more than words. Those for which
    too much would have to be read are left as they stand, for another time.
    """
    budget = ReadingBudget()
    after = Placement(before.content, list(before.standing), list(before.applied), list(before.stale))
    for each in sorted(before.standing, key=lambda suggestion: -suggestion.start_offset):
        if each.id not in chosen or each not in after.standing:
            continue
        if not budget.pays_for(after.content, each.start_offset, each.end_offset):
            continue
        after.standing.remove(each)
        if keeps_structure(after.content, each.start_offset, each.end_offset, each.suggested_text):
            _apply(after, each)
        else:
            after.stale.append(each.id)
    after.standing = [_at(each, each.start_offset, after.content) for each in after.standing]
    return after


def _apply(placement: Placement, chosen: Suggestion) -> None:
    start, end, text = chosen.start_offset, chosen.end_offset, chosen.suggested_text
    placement.content = placement.content[:start] + text + placement.content[end:]
    placement.applied.append(chosen.id)
    standing = []
    for each in placement.standing:
        span = anchors.moved(each.start_offset, each.end_offset, start, end, len(text))
        if span is None:
            placement.stale.append(each.id)
        else:
            standing.append(replace(each, start_offset=span[0], end_offset=span[1]))
    placement.standing = standing


def _at(suggestion: Suggestion, start: int, content: str) -> Suggestion:
    end = start + len(suggestion.original_text)
    prefix, suffix = around(content, start, end)
    return replace(suggestion, start_offset=start, end_offset=end, prefix=prefix, suffix=suffix)


def found_again(correction: Correction, content: str) -> Correction | None:
    """The correction where its passage stands in a content that has changed since; None where that is in doubt."""
    original = correction.original
    start = anchors.find_again(content, correction.start, original, correction.prefix, correction.suffix)
    if start is None:
        return None
    return Correction.at(content, start, start + len(original), correction.replacement, correction.reason)


def fingerprint(correction: Correction) -> str:
    """What a correction says, wherever its chapter has moved to: a dismissed one is known again by it."""
    around = (correction.prefix[-12:], correction.suffix[:12])
    said = "\0".join((correction.reason.type, correction.original, correction.replacement, *around))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
