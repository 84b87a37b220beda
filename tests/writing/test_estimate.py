"""The cost and time of a book are estimated before it is written, and an unknown price is reported as unknown."""

import json
import re
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from bookgen.models import BookKind, RevisionMode, Usage
from bookgen.providers.prices import prices
from bookgen.providers.text import ShownSpeed
from bookgen.words import count_words
from bookgen.writing.blurb import draft_blurb
from bookgen.writing.estimate import DESIGN_REPLY, DESIGN_TASK, Basis, Estimates, estimate, seconds_of_words
from bookgen.writing.language import language
from bookgen.writing.notes import note_rest
from bookgen.writing.proofreading.edits import WINDOW_WORDS
from bookgen.writing.review import applying
from bookgen.writing.review.calls import compare_book, read_book, revise_book
from bookgen.writing.window import WINDOW
from tests.writing.authored import PROTOCOLS, authored, write_book
from tests.writing.review.recorded import answer, written_book
from tests.writing.scripted import a_book, obedient, some_material


def price(model: str, usage: Usage) -> int | None:
    """Anthropic's usual price ratios, in millionths."""
    cached = usage.cache_write_tokens * 2.5 + usage.cache_read_tokens * 0.2
    return round(usage.input_tokens * 2 + usage.output_tokens * 10 + cached)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("room", [0, 9_000, 168_000])
@pytest.mark.parametrize(("chapters", "words"), [(4, 900), (9, 2_400), (3, 5_000)])
async def test_the_estimate_is_close_to_the_actual_cost(protocol, room, chapters, words):
    material, context = some_material(chapters, words=words), WINDOW + room
    foreseen = estimate(Basis.of(material.book, material.chapters), "any", price, context_tokens=context)

    async with authored(obedient, protocol) as (_, steps):
        drafts, written = await write_book(material, steps, context)
        await draft_blurb(written, steps)
        noted = [digest async for digest in note_rest(written, steps)]

    assert [digest.chapter_number for digest in noted] == [chapters]
    assert foreseen.cost_micros == pytest.approx(price("any", steps.usage), rel=0.2)
    assert foreseen.calls == pytest.approx(len(steps.replies), rel=0.3, abs=1)
    assert sum(count_words(draft.content) for draft in drafts) == pytest.approx(chapters * words, rel=0.05)


def test_a_book_with_a_blurb_takes_two_calls_less():
    material = some_material(4)
    with_blurb = replace(material.book, blurb="A lamp goes out at Sund.")

    drafted = estimate(Basis.of(material.book, material.chapters), "any", price)
    given = estimate(Basis.of(with_blurb, material.chapters), "any", price)

    assert drafted.calls == given.calls + 2, "the blurb, and the note of the last chapter"
    assert drafted.cost_micros > given.cost_micros


def test_an_unknown_price_gives_none_and_not_zero():
    material = some_material(3)

    foreseen = estimate(Basis.of(material.book, material.chapters), "unheard-of", lambda model, usage: None)

    assert foreseen.cost_micros is None
    assert foreseen.seconds > 60


def test_the_price_is_computed_per_call_because_it_may_depend_on_the_size():
    sizes = []

    def asked(model, usage):
        sizes.append(usage.input_tokens + usage.cache_write_tokens + usage.cache_read_tokens)
        return 1

    material = some_material(40)
    foreseen = estimate(Basis.of(material.book, material.chapters), "m", asked)

    assert max(sizes) < 32_000
    assert foreseen.cost_micros == foreseen.calls


def test_a_longer_book_takes_longer_and_costs_more():
    small, large = (estimate(Basis.of(m.book, m.chapters), "m", price) for m in (some_material(3), some_material(30)))

    assert large.seconds > 8 * small.seconds
    assert large.cost_micros > 8 * small.cost_micros


def test_a_book_in_view_costs_the_repeated_reading_of_its_text():
    material = some_material(30)
    basis = Basis.of(material.book, material.chapters)

    by_digests = estimate(basis, "m", price)
    in_view = estimate(basis, "m", price, context_tokens=1_000_000)

    text = sum(language("en").usual_tokens(each.target_word_count) for each in material.chapters)
    assert in_view.calls == by_digests.calls
    assert in_view.usage.cache_read_tokens > 15 * text
    assert text < in_view.usage.cache_write_tokens < 1.5 * text
    assert by_digests.cost_micros < in_view.cost_micros < 2 * by_digests.cost_micros


@pytest.mark.parametrize("model", [f"{provider}:{name}" for provider, name in prices().defaults.items()])
def test_a_book_of_100_000_words_in_view_costs_about_half_as_much_again_as_its_output(model):
    material = some_material(25, words=4_000)
    known, basis = prices().of(model), Basis.of(material.book, material.chapters)

    foreseen = estimate(basis, model, lambda _, usage: known.of(usage), context_tokens=prices().context_window(model))

    used = foreseen.usage
    assert foreseen.cost_micros <= 1.55 * known.of(Usage(calls=used.calls, output_tokens=used.output_tokens))
    whole = used.input_tokens + used.cache_write_tokens + used.cache_read_tokens
    assert used.cache_read_tokens >= 0.85 * whole


def test_the_estimate_of_a_childrens_book_includes_its_pictures():
    told = some_material(4, words=50)
    childrens = replace(told.book, kind=BookKind.CHILDRENS)

    drawn = estimate(Basis.of(childrens, told.chapters), "anthropic:any", price)
    painted = estimate(Basis.of(childrens, told.chapters), "anthropic:any", price, "openai:painter", 1_000)
    unpriced = estimate(Basis.of(childrens, told.chapters), "anthropic:any", lambda *_: None, "openai:painter", 1_000)

    assert painted.usage.images == 5
    assert painted.cost_micros > drawn.cost_micros + 5 * 1_000 * 10
    assert unpriced.cost_micros is None


def test_the_estimate_includes_the_cover_design_if_no_image_model_paints_it():
    told = some_material(4, words=50)
    basis = Basis.of(told.book, told.chapters)

    drawn = estimate(basis, "anthropic:any", price)
    painted = estimate(basis, "anthropic:any", price, "openai:painter", 1_000)

    assert (drawn.calls - painted.calls, painted.usage.images) == (1, 0)
    assert drawn.usage.input_tokens - painted.usage.input_tokens == DESIGN_TASK
    assert drawn.usage.output_tokens - painted.usage.output_tokens == DESIGN_REPLY


def test_the_estimate_includes_the_calls_of_the_editors_reading_that_the_mode_makes():
    material = some_material(5, words=1_000)
    basis = Basis.of(material.book, material.chapters)

    plain, off, report, apply, compare = (
        estimate(basis, "m", price, revision=mode) for mode in (RevisionMode.OFF, *RevisionMode)
    )

    assert plain == off
    assert [each.calls - off.calls for each in (report, apply, compare)] == [1, 2, 4]
    assert off.cost_micros < report.cost_micros < apply.cost_micros < compare.cost_micros
    assert compare.usage.cache_read_tokens - apply.usage.cache_read_tokens > 5 * 600
    assert estimate(basis, "offline", price, revision=RevisionMode.COMPARE).calls == off.calls


def test_the_estimate_includes_the_proofreading_of_each_window_of_a_chapter():
    material = some_material(5, words=2 * WINDOW_WORDS)
    basis = Basis.of(material.book, material.chapters)

    plain, proofread = (estimate(basis, "m", price, proofread=each) for each in (False, True))

    assert proofread.calls - plain.calls == 5 * 2
    assert proofread.usage.input_tokens - plain.usage.input_tokens > 5 * 2 * WINDOW_WORDS
    assert estimate(basis, "offline", price, proofread=True).calls == estimate(basis, "offline", price).calls


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", ["wrong-note", "name-day", "first-loaf"])
async def test_the_estimate_of_a_compared_revision_is_close_to_the_actual_cost(protocol, name):
    material, basis = written_book(name), basis_of(name)
    without, foreseen = (
        estimate(basis, "any", price, context_tokens=200_000, revision=mode)
        for mode in (RevisionMode.OFF, RevisionMode.COMPARE)
    )

    async with authored(partial(recorded_editor, name), protocol) as (_, steps):
        review = await read_book(material, steps, 200_000)
        revised = await applying.apply(material, review.findings, await revise_book(material, review, steps, 200_000))
        results = await compare_book(material, review, revised, steps, 200_000)

    assert len(steps.replies) == foreseen.calls - without.calls
    assert len({each.result for each in results.values()}) == 1
    cost = price("any", steps.usage)
    assert foreseen.cost_micros - without.cost_micros == pytest.approx(cost, rel=0.35)


def basis_of(name):
    material = written_book(name)
    return Basis.of(material.book, material.chapters)


def recorded_editor(name, request, brief, call):
    """The recorded answers of an editor and of the author, and of a judge who always names the first text."""
    recorded = {"review": "reading", "revision": "revision"}.get(request.stage)
    if recorded:
        return json.dumps(answer(name, recorded))
    why = "It keeps to what the second chapter says about the door, and sounds like the sentences around it."
    numbers = re.findall(r"^Number (\d+)$", request.messages[-1].text, re.MULTILINE)
    return json.dumps({"verdicts": [{"number": int(each), "why": why, "better": "A"} for each in numbers]})


def test_the_estimate_for_the_offline_model_is_under_a_minute():
    material = some_material(30)

    assert estimate(Basis.of(material.book, material.chapters), "offline", lambda *_: 0).seconds < 60


class Counted(Estimates):
    """Counts how often an estimate was computed."""

    def __init__(self, most=2_000):
        self.worked_out = 0
        super().__init__("m", price, most=most)

    def work_out(self, basis):
        self.worked_out += 1
        return super().work_out(basis)


def test_an_estimate_is_recomputed_if_the_book_changed_in_something_it_depends_on():
    estimates = Counted()
    material = some_material(3)
    book, chapters = material.book, material.chapters
    first, *others = chapters
    known = estimates(book, chapters)()

    for number, (change, seen, anew) in enumerate(
        (
            ({}, chapters, False),
            ({}, [replace(first, content="A text.", word_count=2), *others], False),
            ({"description": "Twice as long. " * 40}, chapters, True),
            ({"content_language": "de"}, chapters, True),
            ({"kind": BookKind.CHILDRENS}, chapters, True),
            ({}, [replace(first, title="Another title, and a longer one"), *others], True),
            ({}, [replace(first, target_word_count=7), *others], True),
            ({}, chapters[:2], True),
        ),
        1,
    ):
        estimates.worked_out = 0
        changed = replace(book, updated_at=book.updated_at + timedelta(microseconds=number), **change)
        for _ in range(2):
            found = estimates(changed, seen)()
            assert found == estimate(Basis.of(changed, seen), "m", price, proofread=True)
            assert (found != known, estimates.worked_out) == (anew, anew)
        known = found


def test_the_number_of_cached_estimates_is_limited():
    estimates = Counted(most=2)

    for number in (1, 2, 1, 3, 1, 2):
        estimates(a_book(id=number), [])

    assert estimates.worked_out == 4


def test_the_time_of_the_next_words_includes_the_wait_for_the_first_of_each_call():
    """Some servers think first, or send a reply only when it is whole."""
    at_once = seconds_of_words("openai:local", ShownSpeed(10_000, 0.0), "en", 2_000, 2)
    later = seconds_of_words("openai:local", ShownSpeed(10_000, 0.0, seconds_to_first_word=45.0), "en", 2_000, 2)

    assert later == at_once + 90


def test_the_estimated_time_follows_the_speed_of_the_server():
    shown = []
    material = some_material(3, words=900)
    foreseen = Estimates("openai:local", price, speed=lambda: shown[-1] if shown else None)
    before = foreseen(material.book, material.chapters)()

    shown.append(ShownSpeed(tokens_a_second=3, seconds_a_token_read=0.01))
    at_three = foreseen(material.book, material.chapters)()
    shown.append(ShownSpeed(tokens_a_second=30, seconds_a_token_read=0.001))
    at_thirty = foreseen(material.book, material.chapters)()

    written = at_three.usage.output_tokens
    assert at_three.seconds >= written / 3 > 5 * before.seconds
    assert written / 30 <= at_thirty.seconds < at_three.seconds / 5
