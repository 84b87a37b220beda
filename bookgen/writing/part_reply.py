"""Read one reply of a chapter: the text of the book in it, and whether it broke off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bookgen.providers.text import StopReason, TextReply, TextRequest
from bookgen.words import count_words
from bookgen.writing import echo, nonsense, reply_cleanup, seam, sentences
from bookgen.writing.budget import Part
from bookgen.writing.draft import WorkingDraft
from bookgen.writing.language import language
from bookgen.writing.material import TextChange
from bookgen.writing.task_words import refuses

MIN_JUDGED_ASK_WORDS = 150  # for a shorter request, a single sentence may be a complete reply
MIN_REPLY_SHARE, MAX_REFUSAL_SHARE = (
    0.1,
    0.3,
)  # of the requested words: a text below the first is not a chapter, one below the second may be a refusal
MIN_ENDED_SHARE = 0.75  # of a last part: a text of this length is complete even without a final full stop
REFUSES = "it refuses"
MAX_SIGNATURE_CHARS = 40  # a signature, a date, a line of a song
OPEN_ENDINGS = ("—", "–", "-", "…")  # authors use these to break off on purpose
OVERLAP_REMOVED = "The model repeated the last words of its text before it continued. The repetition was removed."


@dataclass(frozen=True, slots=True)
class Stretch:
    """The usable text of one reply. `cut`: the reply broke off; `in_paragraph`: it broke off inside a paragraph.

    `problem` says why the text is empty or incomplete. `refused`: the model refused to write it. `changes` records what
    was removed from the reply.
    """

    text: str
    cut: bool = False
    in_paragraph: bool = False
    problem: str = ""
    refused: bool = False
    changes: tuple[TextChange, ...] = ()


def read_stretch(draft: WorkingDraft, reply: TextReply, request: TextRequest, part: Part) -> Stretch:
    """The text of a reply to `request`, without what certainly does not belong in the book.

    A reply that was cut off loses its unfinished last sentence.
    """
    cleaned = reply_cleanup.prose(reply.text, draft.chapter, opening=not draft.text, verse=draft.goal.in_lines)
    piece, changes = cleaned.text, cleaned.changes
    instructed = echo.instructions(request)
    sent_back = echo.echoed(piece, instructed)
    if not reply.is_sample and (problem := _problem(draft, reply, piece, part, sent_back)):
        return Stretch("", problem=problem, refused=problem.startswith(REFUSES))
    if sent_back:
        without = echo.without_echo(piece, instructed)
        piece, changes = without.text, (*changes, *without.changes)
    cut = _broke_off(reply, piece, part)
    whole = sentences.complete(piece) if cut else piece
    kept = seam.without_overlap(draft.text, whole)
    if kept and kept != whole:
        changes = (*changes, TextChange("overlap", OVERLAP_REMOVED, whole[: -len(kept)].strip()))
    broken_off = piece[len(whole) :]
    in_paragraph = cut and bool(broken_off.strip()) and "\n\n" not in broken_off[: -len(broken_off.lstrip())]
    problem = "it repeats one passage without end" if reply.stop is StopReason.LOOP else ""
    return Stretch(kept, cut, in_paragraph, problem, changes=changes)


def _problem(draft: WorkingDraft, reply: TextReply, piece: str, part: Part, sent_back: Sequence[str]) -> str:
    """Why a reply cannot be text of the chapter; empty if it can.

    If the chapter has no text yet, a reply that is far too short is rejected, since it is probably an excuse. If the
    chapter has text, a short reply is accepted, since a few words may be all that was missing. `sent_back`: the
    sentences of `piece` that are the service's own instructions.
    """
    if problem := nonsense.problem_with(piece, draft.book, sent_back):
        return problem
    words, opening = count_words(piece), " ".join(piece[:80].split())
    if not words or reply.stop is not StopReason.END:
        return ""
    if words < part.ask * MAX_REFUSAL_SHARE and refuses(piece, draft.book.content_language):
        return f"{REFUSES} (“{opening}”)"
    if words < part.ask * MIN_REPLY_SHARE and part.ask >= MIN_JUDGED_ASK_WORDS and not draft.text:
        tongue = language(draft.book.content_language)
        return f"it has {tongue.number(words)} of {tongue.length(part.ask)} (“{opening}”)"
    return ""


def _broke_off(reply: TextReply, piece: str, part: Part) -> bool:
    """Whether a reply was cut off, judged by its end if the provider does not report it.

    A last part of about the requested length counts as complete even without a full stop at its end.
    """
    if reply.stop in (StopReason.LENGTH, StopReason.LOOP):
        return True
    if _has_an_end(piece):
        return False
    if not part.is_last:
        return True
    return count_words(piece) < part.ask * MIN_ENDED_SHARE and _last_line_length(piece) > sentences.MAX_VERSE_CHARACTERS


def stops_short(text: str) -> bool:
    """Whether a text may have been cut off: its last line has no full stop and is too long for a signature."""
    return not _has_an_end(text) and _last_line_length(text) > MAX_SIGNATURE_CHARS


def _has_an_end(text: str) -> bool:
    text = text.rstrip()
    return sentences.is_finished(text) or text.endswith(OPEN_ENDINGS)


def _last_line_length(text: str) -> int:
    return len(text.rstrip().rsplit("\n", 1)[-1])
