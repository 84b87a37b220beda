"""Rewrite one passage of a chapter as its author asks. The new text is a suggestion; the chapter does not change."""

from __future__ import annotations

from dataclasses import dataclass

from bookgen.errors import UpstreamAIError
from bookgen.models import Chapter, Severity, SuggestionType, is_verse
from bookgen.providers.text import Message, StopReason, TextReply, TextRequest
from bookgen.threads import compute
from bookgen.words import count_words, tokens
from bookgen.writing import brief, context, reply_cleanup
from bookgen.writing.chapters_in_view import view_before
from bookgen.writing.draft import WorkingDraft
from bookgen.writing.fence import fenced
from bookgen.writing.language import language
from bookgen.writing.material import Material
from bookgen.writing.proofreading.correction import Correction, Reason
from bookgen.writing.refusal import raise_if_refused
from bookgen.writing.steps import Steps
from bookgen.writing.window import WINDOW, clip, fitted

STAGE = "passage"
SOURCE = "author"
TIMES = 2  # the maximum length of the new text, as a multiple of the passage's
AROUND_SHARE = 1 / 5  # of the window: the chapter's text before the passage, and as much after it

REWRITE = """\
The author wants one passage of chapter {number}, “{title}”, put differently.

What comes before it in the chapter:
{before}

The passage:
{passage}

What comes after it:
{after}

The author's wish:
{wish}

Write the passage anew, in {language}, so that it fits in the same place: it continues from the words before it \
and leads to the words after it. Keep what the wish does not touch: events, names, facts, the voice. Unless the wish \
asks for another length, it has about {length}. Send the new passage alone, without marks or quotation marks around \
it."""

NO_WISH = "Put it better: clearer and more exact, at about the same length."
NOTHING_BEFORE, NOTHING_AFTER = "Nothing: the chapter begins with it.", "Nothing: the chapter ends with it."


@dataclass(frozen=True, slots=True)
class ChosenPassage:
    """The passage `chapter.content[start:end]`, and how its author wants it rewritten. Offsets count characters."""

    chapter: Chapter
    start: int
    end: int
    wish: str = ""

    @property
    def text(self) -> str:
        return self.chapter.content[self.start : self.end]


class UnusablePassage(UpstreamAIError):
    """The model's text cannot replace the passage."""

    def __init__(self, chapter_number: int, problem: str) -> None:
        super().__init__(
            f"The model's text for the passage cannot be used: {problem}. Try again, or put the wish differently.",
            stage=STAGE,
            chapter_number=chapter_number,
            retryable=True,
        )


async def rewrite_passage(
    material: Material, passage: ChosenPassage, steps: Steps, *, context_tokens: int = WINDOW
) -> Correction:
    """The passage in other words, as a correction of its chapter.

    Raises UpstreamAIError if no reply is usable. If `context_tokens` is more than WINDOW, the prompt has the text of
    earlier chapters.
    """

    async def ask_on(context_tokens: int) -> TextReply:
        window = min(context_tokens, WINDOW)
        request = await compute(passage_request, material, passage, window, context_tokens - window)
        reply = await steps.reply(request)
        raise_if_refused(reply, request)
        return reply

    reply = await fitted(ask_on, max(context_tokens, WINDOW))
    text = _text_of(reply, passage, verse=is_verse(material.book))
    what = passage.wish.strip() or NO_WISH
    reason = Reason(SuggestionType.STYLE, Severity.INFO, f"Rewritten as you asked: {what}", SOURCE)
    return Correction.at(passage.chapter.content, passage.start, passage.end, text, reason)


def _text_of(reply: TextReply, passage: ChosenPassage, *, verse: bool) -> str:
    """The new text, with the white space at the edges of the old passage.

    Raises UnusablePassage if the reply breaks off, is empty or repeats the passage unchanged.
    """
    number, former = passage.chapter.chapter_number, passage.text
    if reply.stop is not StopReason.END:
        raise UnusablePassage(number, "it breaks off")
    text = reply_cleanup.prose(
        reply.text, passage.chapter, opening=not passage.chapter.content[: passage.start].strip(), verse=verse
    ).text.strip()
    if not text:
        raise UnusablePassage(number, "it is empty")
    if text == former.strip():
        raise UnusablePassage(number, "it is the same as before")
    leading = former[: len(former) - len(former.lstrip())]
    return leading + text + former[len(former.rstrip()) :]


def passage_request(material: Material, passage: ChosenPassage, window: int, room: int) -> TextRequest:
    """The request for the new passage.

    `window`: tokens of the context, without the text of earlier chapters; `room`: further tokens for that text.
    """
    book, chapter, lang = material.book, passage.chapter, language(material.book.content_language)
    digests = [digest for number, digest in sorted(material.digests.items()) if number < chapter.chapter_number]
    draft = WorkingDraft(material, chapter, digests, window=window)
    draft.view = view_before(material, chapter.chapter_number, room)
    words, most = max(count_words(passage.text), 5), round(window * AROUND_SHARE)
    before, after = chapter.content[: passage.start].strip(), chapter.content[passage.end :].strip()
    task = REWRITE.format(
        number=chapter.chapter_number,
        title=chapter.title,
        before=context.data(_last(before, most) or NOTHING_BEFORE),
        passage=fenced("passage", passage.text.strip()),
        after=context.data(clip(after, most) or NOTHING_AFTER),
        wish=context.data(clip(passage.wish.strip(), window // 20) or NO_WISH),
        language=lang.name,
        length=lang.length(words),
    )
    return TextRequest(
        stage=STAGE,
        system=draft.system(),
        messages=(Message("user", task),),
        max_tokens=lang.tokens(words * TIMES) + 400,
        chapter_number=chapter.chapter_number,
        account_id=book.account_id,
        brief=brief.of_chapter(book, chapter, passage=passage.text.strip(), words=words),
    )


def _last(text: str, most: int) -> str:
    """The end of `text`, about `most` tokens long. It begins with a whole word."""
    count = tokens(text)
    if count <= most:
        return text
    return "… " + text[len(text) - len(text) * most // count :].partition(" ")[2]
