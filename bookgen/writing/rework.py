"""Plan some chapters of an outline again, so that they fit the other chapters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bookgen.errors import InvalidInput
from bookgen.models import has_separate_stories
from bookgen.providers.text import Message, TextRequest
from bookgen.threads import compute
from bookgen.writing import brief, chapter_plan, context, planning, structured
from bookgen.writing.chapters_in_view import ShownChapters, view_before
from bookgen.writing.material import Material, OutlineChapter
from bookgen.writing.outline_form import ReplyForm, read_numbered, refuse_nonsense, with_plans
from bookgen.writing.steps import Steps
from bookgen.writing.window import WINDOW, clip, fitted

REWORK = """\
The book's bible:

{bible}

All its chapters as they are planned now:

{planned}

What is written so far:

{told}

Plan these chapters anew: {numbers}. Each gets a new title and a new summary of {summaries}, {how}. The other \
chapters stay as they are.
{wishes}
{plans}{form}"""

IN_ONE_BOOK = "with other events or another approach than now, and still fits what comes before and after it"
IN_A_COLLECTION = "for another story than now, with people, a form and a turn that no other story of the book has"
IN_VIEW = "The text of its chapters is above."

WISHES = """
What the book's owner says about them:

{instructions}
"""


async def rework_chapters(
    material: Material, numbers: Sequence[int], instructions: str, steps: Steps, *, context_tokens: int = WINDOW
) -> dict[int, OutlineChapter]:
    """New titles, summaries and plans for the chapters with these numbers, which keep their lengths.

    If `context_tokens` is more than WINDOW, the prompt has the text of as many chapters as fit. Otherwise it has only
    digests. Raises InvalidInput if a chapter does not exist.
    """
    budgets = {chapter.chapter_number: chapter.target_word_count for chapter in material.chapters}
    wanted = sorted(set(numbers))
    if unknown := [number for number in wanted if number not in budgets]:
        raise InvalidInput(chapter_ids=[f"This book has no chapter {number}." for number in unknown])
    reworked: dict[int, OutlineChapter] = {}

    async def ask_on(context: int) -> None:
        window = min(context, WINDOW)
        view = await compute(view_before, material, len(material.chapters) + 1, context - window)
        while left := [number for number in wanted if number not in reworked]:
            batch = left[: planning.batch(material.book, window)]
            found = await _asked(_request(material, batch, instructions, reworked, window, view), batch, steps)
            for number, (title, summary, plan) in found.items():
                reworked[number] = OutlineChapter(title, summary, budgets[number], plan)

    await fitted(ask_on, max(context_tokens, WINDOW))
    return reworked


async def _asked(
    request: TextRequest, numbers: Sequence[int], steps: Steps
) -> dict[int, tuple[str, str, Mapping[str, Any]]]:
    """The title, summary and plan of each chapter in `numbers`, from the model's reply to `request`."""
    read = with_plans(partial(read_numbered, wanted=numbers), numbers)
    found, plans = await structured.ask(request, steps, read, lambda reply: refuse_nonsense(request, reply[0].values()))
    return {number: (*told, plans.get(number, {})) for number, told in found.items()}


def _request(
    material: Material,
    numbers: Sequence[int],
    instructions: str,
    reworked: Mapping[int, OutlineChapter],
    window: int,
    view: ShownChapters,
) -> TextRequest:
    book = material.book
    planned = [(chapter.chapter_number, reworked.get(chapter.chapter_number, chapter)) for chapter in material.chapters]
    plan = [(number, (each.title, each.summary)) for number, each in planned]
    digests = [digest for number, digest in sorted(material.digests.items()) if number not in view.numbers]
    said = clip(instructions, window // 8) if instructions.strip() else ""
    told = "\n".join(block.text for block in context.digest_blocks(material.chapters, digests, window=window))
    form = ReplyForm(numbers, planned=book if window >= WINDOW else None)
    before = [(each.chapter_number, each.plan) for each in material.chapters if each.chapter_number < numbers[0]]
    unpaid = [text for _, text in chapter_plan.unpaid(before)]
    task = REWORK.format(
        bible=planning.bible(book.bible, window),
        planned=planning.planned(plan, len(plan), window, near=numbers[0]),
        told=context.data(told or (IN_VIEW if view.chapters else "Nothing yet.")),
        how=IN_A_COLLECTION if has_separate_stories(book) else IN_ONE_BOOK,
        numbers=", ".join(map(str, numbers)),
        summaries=planning.summaries(book, window),
        plans=f"{chapter_plan.asked(book, unpaid)}\n\n" if form.planned else "",
        form=form.asked(),
        wishes=WISHES.format(instructions=context.data(said)) if said else "",
    )
    wanted = [
        {"number": number, "title": each.title, "summary": each.summary}
        for number, each in planned
        if number in numbers
    ]
    return TextRequest(
        stage="rework",
        system=(planning.editor(book, window), *view.prefix),
        messages=(Message("user", task),),
        max_tokens=planning.room(book, len(numbers), window, plan_words=chapter_plan.words_asked(book)),
        schema=form.schema(),
        account_id=book.account_id,
        brief=brief.of_book(book, chapters=wanted),
    )
