"""The changes that a revision makes, each in both versions, and the text around them for the model that compares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bookgen.models import Chapter
from bookgen.words import tokens
from bookgen.writing.material import Material
from bookgen.writing.review.applying import RevisedBook
from bookgen.writing.review.findings import EditorFinding, TextSpan
from bookgen.writing.review.parts import HEADING_TOKENS, Portion, text_tokens
from bookgen.writing.window import WINDOW, scaled

CONTEXT_TOKENS = 300  # on each side of a passage, if the whole chapters do not fit
LABEL_TOKENS = 12  # of the label of a version


@dataclass(frozen=True, slots=True)
class Replacement:
    """A passage of the draft (the text before the revision), its place there, and its revised text."""

    place: TextSpan
    draft: str
    revised: str


@dataclass(frozen=True, slots=True)
class ComparedChange:
    """All edits that answer one finding. They are kept or rejected together.

    `finding`: the number of the finding. `others`: the passages that the finding quotes, which the model may need to
    see.
    """

    finding: int
    replacements: tuple[Replacement, ...]
    others: tuple[TextSpan, ...]

    @property
    def places(self) -> tuple[TextSpan, ...]:
        return (*(each.place for each in self.replacements), *self.others)

    @property
    def version_tokens(self) -> int:
        """The tokens of both versions of the change in a prompt."""
        return sum(tokens(each.draft) + tokens(each.revised) + 2 * LABEL_TOKENS for each in self.replacements)


@dataclass(frozen=True, slots=True)
class ComparedPart:
    """The changes that the model compares in two calls, one for each order of versions, and the text around them."""

    changes: tuple[ComparedChange, ...]
    portions: tuple[Portion, ...]

    @property
    def tokens(self) -> int:
        text = sum(tokens(portion.text) + HEADING_TOKENS for portion in self.portions)
        return text + sum(change.version_tokens for change in self.changes)


def changes_of(material: Material, findings: Sequence[EditorFinding], revised: RevisedBook) -> list[ComparedChange]:
    """The changes that a revision makes, by finding."""
    contents = {chapter.chapter_number: chapter.content for chapter in material.chapters}
    found: dict[int, list[Replacement]] = {}
    for outcome in revised.outcomes:
        if outcome.is_kept and (place := outcome.place):
            draft = contents[place.chapter][place.start : place.end]
            found.setdefault(outcome.edit.finding, []).append(Replacement(place, draft, outcome.edit.replacement))
    return [ComparedChange(number, tuple(found[number]), findings[number - 1].places) for number in sorted(found)]


def compared_parts(
    material: Material, changes: Sequence[ComparedChange], most: int, window: int = WINDOW
) -> list[ComparedPart]:
    """Divide the changes into parts, one for each pair of calls.

    If everything fits, there is one part with the complete text of the chapters concerned. Otherwise there are several
    parts, with only the text around the passages. `most`: how many changes a part may have. `window`: tokens of a call.
    """
    chapters = {chapter.chapter_number: chapter for chapter in material.chapters}
    whole = ComparedPart(tuple(changes), tuple(_whole(chapters, changes)))
    room = text_tokens(window)
    if len(changes) <= most and whole.tokens <= room:
        return [whole] if changes else []
    parts: list[ComparedPart] = []
    for change in changes:
        grown = _excerpted(chapters, (*parts[-1].changes, change), window) if parts else None
        if grown and len(grown.changes) <= most and grown.tokens <= room:
            parts[-1] = grown
        else:
            parts.append(_excerpted(chapters, (change,), window))
    return parts


def _whole(chapters: Mapping[int, Chapter], changes: Iterable[ComparedChange]) -> Iterator[Portion]:
    for number in sorted({place.chapter for change in changes for place in change.places}):
        yield Portion(chapters[number], 0, len(chapters[number].content))


def _excerpted(chapters: Mapping[int, Chapter], changes: tuple[ComparedChange, ...], window: int) -> ComparedPart:
    """The changes as a part, with the text around each of their passages. Overlapping pieces of text are joined."""
    most = scaled(CONTEXT_TOKENS, window)
    portions: list[Portion] = []
    places = {place for change in changes for place in change.places}
    for place in sorted(places, key=lambda each: (each.chapter, each.start, each.end)):
        portion = _around(chapters[place.chapter], place, most)
        last = portions[-1] if portions else None
        if last and last.chapter is portion.chapter and portion.start <= last.end:
            portions[-1] = Portion(last.chapter, last.start, max(last.end, portion.end))
        else:
            portions.append(portion)
    return ComparedPart(changes, tuple(portions))


def _around(chapter: Chapter, place: TextSpan, most: int) -> Portion:
    """The place with about `most` tokens on each side, cut at a paragraph break or, if there is none, at a space."""
    content = chapter.content
    characters = len(content) * most // max(tokens(content), 1)
    start, end = max(place.start - characters, 0), min(place.end + characters, len(content))
    if start:
        start = _after(content, start, place.start)
    if end < len(content):
        end = _before(content, place.end, end)
    return Portion(chapter, start, end)


def _after(content: str, start: int, end: int) -> int:
    """The offset after the first paragraph break in `content[start:end]`, or after the first space, or `start`."""
    for mark in ("\n\n", " "):
        if (found := content.find(mark, start, end)) >= 0:
            return found + len(mark)
    return start


def _before(content: str, start: int, end: int) -> int:
    """The offset of the last paragraph break in `content[start:end]`, or of the last space, or `end`."""
    for mark in ("\n\n", " "):
        if (found := content.rfind(mark, start, end)) >= 0:
            return found
    return end
