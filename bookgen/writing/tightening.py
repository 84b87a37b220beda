"""If a chapter gets far too long, asks the model once for a tighter version of the last piece of text that it wrote."""

from __future__ import annotations

from dataclasses import replace

from bookgen import threads
from bookgen.providers.text import Message, PromptTooLong, TextRequest
from bookgen.words import count_words
from bookgen.writing.budget import Goal, Part
from bookgen.writing.draft import WorkingDraft
from bookgen.writing.language import language
from bookgen.writing.material import Finding, TextChange
from bookgen.writing.part_reply import Stretch, read_stretch
from bookgen.writing.refusal import ModelRefused, raise_if_refused
from bookgen.writing.steps import Steps
from bookgen.writing.window import clip

RUNAWAY_SHARE = 1.6  # of the wanted length: a longer chapter is requested again in a tighter version
RUNAWAY_SLACK_WORDS = 60  # so that a few extra sentences do not make a tiny chapter count as too long
TIGHTER_SHARE = 0.9  # of a first version that is too long; a longer second version does not count as tighter

TIGHTER = """\
That is far longer than this stretch should be. Write the same stretch once more, told more tightly, in about \
{part_length}: keep what happens in it, what is said and how it ends; leave out what is only filler. Send the whole \
stretch, from its first sentence to its last."""


def is_runaway(goal: Goal, words: int) -> bool:
    """Whether a chapter of prose is far longer than both its budget and the requested length."""
    return not goal.in_lines and words > max(goal.ask, goal.aim) * RUNAWAY_SHARE + RUNAWAY_SLACK_WORDS


async def tightened(draft: WorkingDraft, stretch: Stretch, request: TextRequest, part: Part, steps: Steps) -> Stretch:
    """A shorter second version of a piece of text that is far too long; the first version if the second is no better.

    `request`: the request that `stretch` answered.
    """
    draft.was_tightened = True
    asked = _request(draft, part, request, stretch.text)
    second = Stretch("")
    try:
        reply = await steps.reply(asked)
        raise_if_refused(reply, asked)
        second = await threads.compute(read_stretch, draft, reply, asked, part)
    except (ModelRefused, PromptTooLong):
        pass
    first_words, words = count_words(stretch.text), count_words(second.text)
    is_tighter = part.ask / 2 <= words <= first_words * TIGHTER_SHARE
    is_better = is_tighter and not second.cut
    counted = language(draft.book.content_language).counted
    detail = f"The model wrote {first_words:,} {counted} where {part.ask:,} were asked for."
    if not is_better:
        draft.findings.append(Finding("runaway", clip(stretch.text, 40), f"{detail} The text is kept as it is."))
        return stretch
    tighter = f"{detail} A second try was shorter and replaced the first."
    change = TextChange("runaway", tighter, stretch.text, second.text)
    return replace(second, changes=(*second.changes, change))


def _request(draft: WorkingDraft, part: Part, request: TextRequest, stretch: str) -> TextRequest:
    """The request for a second, tighter version of the `stretch` that answered `request`."""
    prompt = TIGHTER.format(part_length=language(draft.book.content_language).rough_length(part.ask))
    return replace(
        request, messages=(*request.messages, Message("assistant", stretch), Message("user", prompt, cache=True))
    )
