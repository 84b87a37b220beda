"""Draft the outline: a story bible (premise, voice, people, places, terms), and the requested number of chapters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from bookgen.models import Book, has_code, has_separate_stories, is_mystery, is_non_fiction, is_play, story_kind
from bookgen.providers.text import Message, PromptTooLong, TextRequest
from bookgen.writing import brief, chapter_plan, drawn_names, planning, structured
from bookgen.writing.budget import spread
from bookgen.writing.language import language
from bookgen.writing.material import Outline, OutlineChapter
from bookgen.writing.outline_form import (
    ReplyForm,
    read_chapters,
    read_first,
    refuse_nonsense,
    rescue_chapters,
    rescue_first,
    with_plans,
)
from bookgen.writing.steps import Steps
from bookgen.writing.structured import CutShort, StuckReply
from bookgen.writing.window import SMALL, WINDOW, smaller

BIBLE = """\
bible, which every chapter will be written from:
{whole}
{entries}"""
WHOLE = """\
- premise: what the book is about and why a reader keeps reading, in two or three sentences.
- voice: {voice}, in two or three sentences.
- arc: how the whole book moves, in {arcs} sentences, each for about an equal share of the book, from beginning to \
end."""
VOICE = "point of view, tense, tone and what the language is like"
VOICE_OF_A_PLAY = "the tone, how people talk, how much the directions say, and the form of the headings of scenes"
WHOLE_COLLECTION = """\
- premise: what the stories have in common and why a reader goes on to the next one, in two or three sentences.
- voice: what the tone and the language of all stories have in common, in one or two sentences. Point of view, tense \
and form are those of each story.
- arc: why the stories stand in this order, in up to {arcs} sentences."""
SOLUTION = """\
- outcome: what really happened: who did it, how and why, the hours of the deed, the clues and skills that prove it, \
each with the number of the chapter that first shows it, and what every false trail turns out to be, in up to \
{length}. The reader learns it only at the end.
"""
ENTRIES = """\
- people: the main ones (in non-fiction: those who are named, if any), each with what must never change: age, looks, \
relations, work, what they want; in up to {length} each. Of real people only what the book's data gives.
- places: those that the book returns to, each with what must never change.
- terms: words and names that must always be spelt and used the same way."""
NON_FICTION_ENTRIES = """\
- people: those who are named, if any, each with what must never change. The author is a real person, too: no \
life, memory, mistake, acquaintance, date or measurement of theirs that the book's data does not give, here or in the \
chapters.
- places: those that the book returns to, if any, each with what must never change.
- terms: words and names that must always be spelt and used the same way. Where it matters, also the country whose \
rules and customs the book describes, the units, and the form of steps, tables and warnings."""
PLAY_ENTRIES = """\
- people: everybody who speaks, each under the name that stands before their speeches, with what must never change: \
age, relations, work, how they talk, what they want; in up to {length} each. If there are fewer actors than people, \
also who plays whom. Of real people only what the book's data gives.
- places: the sets, each with its doors and what stands where. Nothing in them goes beyond the stage and the number of \
sets of the book's data.
- terms: words, names and props that must always be called the same."""
COLLECTION_ENTRIES = """\
- people: the main ones of each story, one to three for each, with what must never change: age, looks, relations, \
work, what they want; in up to {length} each. No two stories share a person or a surname. Each description begins with \
the number of its story in square brackets, such as [2]. Of real people only what the book's data gives.
- places: the main place of each story, with its number in the same way.
- terms: words and names that must always be spelt and used the same way, with the number of their story. Those of \
the whole book have no number."""
CODE_TERMS = (
    " The languages and their versions, the names of files, and the form of listings and of what they print too."
)
KIND = """
- kind: fiction, non_fiction, memoir, verse or children, whichever it is."""

SETTLED = """
Its author has settled this. It stays word for word, and the plan follows it:

{settled}
"""

FIRST = f"""\
Plan this book: {{count}}, {{total}} in all.
{{settled}}{{given}}{{premises}}
Write its {BIBLE}{{kind}}

Then plan {{chapters}}: each with a title and a summary of {{summaries}}.

{{plans}}{{form}}"""

BIBLE_ALONE = f"""\
We plan this book in steps: {{count}}, {{total}} in all.
{{settled}}{{given}}
The chapters come later. Now send its {BIBLE}{{kind}}

Be brief: {{length}} for all of it, two or three entries in each list.

{{form}}"""

NEXT = """\
The book has {count}. Its bible:

{bible}

{planned}

Plan {chapters} in the same way: each with a title and a summary of {summaries}. {position}

{plans}{form}"""

PLANNED = """\
What is planned so far, {before}:

{planned}"""
NOTHING_PLANNED = "No chapter is planned yet."

BRIEF_BIBLE = 160  # words, if it has a separate reply
PERSON_WORDS, PERSON_OF_STORY_WORDS, OUTCOME_WORDS = 60, 40, 250  # of an entry, and of what happened in a mystery


async def draft_outline(book: Book, steps: Steps) -> Outline:
    """Draft an outline of exactly `book.chapter_count` chapters, in as few replies as the model's window allows.

    If a reply breaks off, its complete chapters are kept, and the other chapters are requested in smaller pieces.
    """
    plan = _Plan(book, await drawn_names.names_prompt(book))
    while len(plan.chapters) < book.chapter_count:
        try:
            await plan.request_next_piece(steps)
        except PromptTooLong as refused:
            plan.window = smaller(plan.window, refused)
        except CutShort:
            if not plan.ask_for_less():
                raise
        except StuckReply:
            if not plan.form_shown:
                raise
            plan.form_shown = False
    budgets = spread(max(book.target_word_count, book.chapter_count), book.chapter_count)  # no budget is 0
    chapters = [
        OutlineChapter(title, text, words, plan.plans.get(number, {}))
        for number, ((title, text), words) in enumerate(zip(plan.chapters, budgets, strict=True), 1)
    ]
    return Outline(plan.bible, tuple(chapters))


def _settled(book: Book, window: int) -> str:
    """The part of the first prompt with the author's own entries of the bible; empty if there are none."""
    if not book.authored_bible:
        return ""
    return SETTLED.format(settled=planning.bible(book.authored_bible, window))


def _whole(book: Book) -> str:
    """The fields of the bible that are about the whole book."""
    whole = WHOLE_COLLECTION if has_separate_stories(book) else WHOLE
    voice = VOICE_OF_A_PLAY if is_play(book) else VOICE
    return whole.format(voice=voice, arcs=min(max(book.chapter_count // 5, 3), 8))


def _entries(book: Book, *, outcome: bool) -> str:
    """The part of the first prompt about the lists of the bible and, if `outcome`, about a mystery's outcome."""
    lang = language(book.content_language)
    if has_separate_stories(book):
        return COLLECTION_ENTRIES.format(length=lang.note_length(PERSON_OF_STORY_WORDS))
    of_story = PLAY_ENTRIES if is_play(book) else ENTRIES
    entries = NON_FICTION_ENTRIES if is_non_fiction(book) else of_story.format(length=lang.note_length(PERSON_WORDS))
    solution = SOLUTION.format(length=lang.note_length(OUTCOME_WORDS)) if outcome else ""
    return f"{solution}{entries}{CODE_TERMS if has_code(book) else ''}"


def _has_solution(book: Book) -> bool:
    """Whether the bible says what really happened. It is about one crime, so a collection has none."""
    return is_mystery(book) and not has_separate_stories(book)


@dataclass(slots=True)
class _Plan:
    """An outline while it is drafted.

    `given`: names and places drawn at random, for the first prompt. `most`: the number of chapters to request per
    reply. `apart`: the bible is requested in a separate call. `form_shown`: the prompt has an example of the reply.
    """

    book: Book
    given: str = ""
    window: int = WINDOW
    most: int = planning.BATCH
    apart: bool = False
    form_shown: bool = True
    bible: Mapping[str, Any] = field(default_factory=dict)
    chapters: list[tuple[str, str]] = field(default_factory=list)
    plans: dict[int, Mapping[str, Any]] = field(default_factory=dict)

    async def request_next_piece(self, steps: Steps) -> None:
        """Request the next piece (the bible, chapters, or both), and add it to the outline."""
        first, last = len(self.chapters) + 1, self._last()
        numbers = range(first, last + 1)
        if self.bible:
            request = self._next_request(first, last)
            read = partial(read_chapters, first=first, last=last)
            rescue = partial(rescue_chapters, first=first, last=last)
            found, plans = await structured.ask(
                request,
                steps,
                with_plans(read, numbers),
                lambda reply: refuse_nonsense(request, reply[0]),
                rescue=with_plans(rescue, numbers),
            )
        else:
            request = self._first_request(last)
            (self.bible, found), plans = await structured.ask(
                request,
                steps,
                with_plans(partial(read_first, last=last), numbers),
                lambda reply: refuse_nonsense(request, reply[0][1]),
                rescue=with_plans(partial(rescue_first, last=last), numbers),
            )
            self.bible = {**self.bible, **self.book.authored_bible}
        self.chapters += found
        self.plans |= {number: plan for number, plan in plans.items() if number <= len(self.chapters)}

    def ask_for_less(self) -> bool:
        """Make the next piece smaller after a reply was cut off. Returns False if it cannot be made any smaller."""
        pieces = self._last() - len(self.chapters)
        if not self.bible:
            less, self.apart = pieces > 0, True
            return less
        self.most = pieces // 2
        return self.most > 0

    def _last(self) -> int:
        """The number of the last chapter that the next piece plans; 0 if the piece is the bible alone."""
        if not self.bible and (self.apart or self.window < SMALL):
            return 0
        return min(len(self.chapters) + min(self.most, planning.batch(self.book, self.window)), self.book.chapter_count)

    def _first_request(self, last: int) -> TextRequest:
        book, lang = self.book, language(self.book.content_language)
        planned = self._book_to_plan(last)
        form = ReplyForm(
            range(1, last + 1),
            bible=True,
            kind=not story_kind(book),
            outcome=_has_solution(book) and last > 0 and not book.authored_bible.get("outcome"),
            premises=bool(planned) and drawn_names.asks_for_premises(book),
            planned=planned,
        )
        task = (FIRST if last else BIBLE_ALONE).format(
            count=planning.count_of(book.chapter_count),
            settled=_settled(book, self.window),
            given=self.given if self.window >= SMALL else "",
            premises=drawn_names.premises(book) if form.premises else "",
            summaries=planning.summaries(book, self.window),
            total=lang.length(book.target_word_count),
            whole=_whole(book),
            entries=_entries(book, outcome=form.outcome),
            kind=KIND if form.kind else "",
            chapters=planning.range_of(1, last),
            plans=self._ask_for_plans(form),
            length=lang.note_length(BRIEF_BIBLE),
            form=form.asked() if self.form_shown else form.asked_in_words(),
        )
        return self._request(task, form, with_bible=True)

    def _next_request(self, first: int, last: int) -> TextRequest:
        book = self.book
        form = ReplyForm(range(first, last + 1), planned=self._book_to_plan(last))
        task = NEXT.format(
            count=planning.count_of(book.chapter_count),
            summaries=planning.summaries(book, self.window),
            bible=planning.bible(self.bible, self.window),
            planned=self._planned(),
            chapters=planning.range_of(first, last),
            position="They end the book." if last == book.chapter_count else "The book goes on after them.",
            plans=self._ask_for_plans(form),
            form=form.asked() if self.form_shown else form.asked_in_words(),
        )
        return self._request(task, form, with_bible=self.window >= WINDOW)

    def _book_to_plan(self, last: int) -> Book | None:
        """The book whose kind decides the form of the chapter plans; None if no plans are requested.

        It is the book with its new bible, if there is one yet. No plans are requested if the next piece has no chapters
        (`last` is 0), if the context window is too small, or if an earlier reply copied the example or repeated itself
        endlessly.
        """
        if not last or self.window < WINDOW or not self.form_shown:
            return None
        return replace(self.book, bible=self.bible) if self.bible else self.book

    def _ask_for_plans(self, form: ReplyForm) -> str:
        if form.planned is None:
            return ""
        open_threads = [text for _, text in chapter_plan.unpaid(sorted(self.plans.items()))]
        return f"{chapter_plan.asked(form.planned, open_threads)}\n\n"

    def _planned(self) -> str:
        if not self.chapters:
            return NOTHING_PLANNED
        last = len(self.chapters)
        lines = planning.planned(enumerate(self.chapters, 1), self.book.chapter_count, self.window, near=last)
        return PLANNED.format(before=planning.range_of(1, last), planned=lines)

    def _request(self, task: str, form: ReplyForm, *, with_bible: bool) -> TextRequest:
        book, numbers = self.book, form.numbers
        plan_words = chapter_plan.words_asked(form.planned) if form.planned else 0
        premise_words = drawn_names.PREMISES_WORDS if form.premises else 0
        return TextRequest(
            stage="outline",
            system=(planning.editor(book, self.window),),
            messages=(Message("user", task),),
            max_tokens=planning.room(
                book,
                len(numbers),
                self.window,
                with_bible=with_bible,
                plan_words=plan_words,
                premise_words=premise_words,
            ),
            schema=form.schema(),
            account_id=book.account_id,
            brief=brief.of_outline(book, len(self.chapters) + 1, numbers[-1] if numbers else 0),
        )
