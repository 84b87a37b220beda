"""A spread (two facing pages of a picture book): its short text, and the description of its picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bookgen.models import Book, Chapter
from bookgen.providers.text import Block, Message, TextReply, TextRequest
from bookgen.threads import compute
from bookgen.words import count_words
from bookgen.writing import brief, context, echo, nonsense, reply_cleanup, structured
from bookgen.writing.language import language
from bookgen.writing.material import ChapterDraft, Finding, Material, Outline, Scene
from bookgen.writing.picture_book.ages import AgeLimits
from bookgen.writing.picture_book.plan import author, draft_spreads, limits_for
from bookgen.writing.picture_book.readability import difficulties
from bookgen.writing.printable import printable
from bookgen.writing.reply_cleanup import Cleaned
from bookgen.writing.steps import Steps

MAX_TOKENS, MIN_TOKENS = 1_500, 500  # MIN_TOKENS: in a small context window
MAX_ALT_CHARACTERS, MAX_PICTURE_CHARACTERS = 300, 1_200

STORY = """\
{author}

# What is settled about it

{bible}

# All its spreads, in order

{spreads}"""

TASK = """\
The text of the spreads before it, word for word:

{told}

Write spread {number} of {count}: {title}. {summary}
{position}{wish}

- text: about {words}, for children aged {ages}, to be read aloud. No sentence longer than {longest}. Words that \
children of this age know; at most one new one, explained by what happens. {manner} A new line for each thought, at \
most {lines} lines. No heading, no emphasis, nothing but the text.
- picture: what the picture shows, in English, for a painter: which of the people (by name), doing what, where, at \
which time of day, in which mood, seen from where. No text in the picture.
- alt: the picture in one or two sentences in {language}, for somebody who cannot see it. It says what can be seen, \
not that it is a picture.

Answer with one JSON object of this form, with your words in place of each "…":
{{"text": "…", "picture": "…", "alt": "…"}}"""

WISH = """

There is an earlier version of this spread. The book's owner wants it written again, with this wish; keep the rest:
{wish}

The earlier version:
{former}"""

_FORM = structured.object_of(dict.fromkeys(("text", "picture", "alt"), structured.TEXT))


_Spread = tuple[Cleaned, Scene]  # the text, and the scene of the picture


async def write_spread(material: Material, chapter: Chapter, steps: Steps) -> ChapterDraft:
    """Write the text of a spread and describe its picture. The draft lists what is too hard for the readers' age.

    If the book has no plan yet, it is planned first, and the draft contains the plan to be stored.
    """
    plan = None
    if material.book.bible == material.book.authored_bible:
        plan = await draft_spreads(material.book, steps, material.chapters)
        material, chapter = planned(material, plan), planned_chapter(chapter, plan)
    request = _request(material, chapter)
    credited = _CreditedSteps(steps)
    (cleaned, scene), is_sample = await _ask(material.book, chapter, request, credited, echo.instructions(request))
    found = [] if is_sample else await compute(_difficulties, cleaned.text, material)
    return ChapterDraft(
        cleaned.text,
        count_words(cleaned.text),
        None,
        tuple(found),
        plan=plan,
        scene=scene,
        changes=cleaned.changes,
        writer=credited.writer,
    )


class _CreditedSteps:
    """A wrapper around `Steps` that remembers which model answered last (`writer`)."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self.writer = ""

    async def reply(self, request: TextRequest, *, attempt: int = 0) -> TextReply:
        reply = await self._steps.reply(request, attempt=attempt)
        self.writer = reply.model
        return reply

    async def has(self, request: TextRequest) -> bool:
        return await self._steps.has(request)

    def for_concurrent_calls(self) -> Steps:
        return self._steps.for_concurrent_calls()


def planned(material: Material, plan: Outline) -> Material:
    chapters = tuple(planned_chapter(chapter, plan) for chapter in material.chapters)
    return replace(material, book=replace(material.book, bible=plan.bible), chapters=chapters)


def planned_chapter(chapter: Chapter, plan: Outline) -> Chapter:
    """The chapter with the title and summary from the plan; unchanged if the chapter already has a summary."""
    if chapter.summary.strip() or chapter.chapter_number > len(plan.chapters):
        return chapter
    given = plan.chapters[chapter.chapter_number - 1]
    return replace(chapter, title=given.title, summary=given.summary)


async def _ask(
    book: Book, chapter: Chapter, request: TextRequest, steps: Steps, instructed: str
) -> tuple[_Spread, bool]:
    """The spread from the model's reply, and whether it is sample text of the offline model, which is not checked.

    `instructed`: the service's own words in the request, which must not be in the reply.
    """
    is_sample = True

    def read(reply: Mapping[str, object]) -> _Spread:
        text = reply_cleanup.prose(_lines(reply.get("text")), chapter, opening=True)
        if not text.text:
            raise structured.Malformed('it has no text under "text"')
        picture = structured.text_of(reply, "picture", longest=MAX_PICTURE_CHARACTERS)
        return text, Scene(picture, structured.text_of(reply, "alt", longest=MAX_ALT_CHARACTERS))

    def check(spread: _Spread) -> None:
        nonlocal is_sample
        is_sample = False
        text = spread[0].text
        if problem := nonsense.problem_with(text, book, echo.echoed(text, instructed)):
            raise structured.Malformed(problem)

    return await structured.ask(request, steps, read, check), is_sample


def _lines(value: object) -> str:
    """The lines of a text, or the items of a list, as separate paragraphs of one text."""
    told = "\n".join(map(str, value)) if isinstance(value, list) else str(value or "")
    lines = (" ".join(printable(line).split()) for line in told.splitlines())
    return "\n\n".join(line for line in lines if line)


def _difficulties(text: str, material: Material) -> list[Finding]:
    """Findings about what is too hard for the readers' age. Words from the book's own plan count as known."""
    book = material.book
    plan = (context.bible(book.bible), context.book_data(book), context.outline(material.chapters))
    return difficulties(text, limits_for(book), book.content_language, plan)


def _request(material: Material, chapter: Chapter) -> TextRequest:
    book, limits, tongue = material.book, limits_for(material.book), language(material.book.content_language)
    number, count = chapter.chapter_number, len(material.chapters)
    told = "\n\n".join(f"{each.chapter_number}. {each.content}" for each in material.written_before(number))
    task = TASK.format(
        told=context.data(told or "Nothing yet."),
        number=number,
        count=count,
        title=chapter.title,
        summary=chapter.summary,
        position=_position(material, number),
        wish=_wish(material, chapter),
        words=tongue.length(chapter.target_word_count or limits.words),
        ages=book.age_range,
        longest=tongue.length(limits.longest),
        manner=limits.manner,
        lines=limits.lines,
        language=tongue.name,
    )
    return TextRequest(
        stage="chapter",
        system=(Block(_story(material), cache=True),),
        messages=(Message("user", task),),
        max_tokens=MAX_TOKENS,
        least_tokens=MIN_TOKENS,
        schema=_FORM,
        chapter_number=number,
        account_id=book.account_id,
        brief=_brief(book, chapter, limits, count),
    )


def _brief(book: Book, chapter: Chapter, limits: AgeLimits, count: int) -> dict[str, object]:
    words = chapter.target_word_count or limits.words
    titles = {"chapter_title": chapter.title, "chapter_summary": chapter.summary}
    return brief.of_book(book, **titles, spreads=count, words=words) | brief.of_childrens(book)


def _story(material: Material) -> str:
    return STORY.format(
        author=author(material.book),
        bible=context.data(context.bible(material.book.bible)),
        spreads=context.data(context.outline(material.chapters)),
    )


def _wish(material: Material, chapter: Chapter) -> str:
    """The author's wish for a spread that is written again; empty if there is none."""
    if not (material.wish and chapter.content.strip()):
        return ""
    return WISH.format(wish=context.data(material.wish), former=context.data(chapter.content))


def _position(material: Material, number: int) -> str:
    following = material.after(number)
    if following is None:
        return "It ends the book."
    opening = "It opens the book. " if number == 1 else ""
    return f"{opening}After it comes: {following.title}. {following.summary}"
