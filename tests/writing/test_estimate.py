"""What a book will take is said before it is written, and an unknown price is said to be unknown."""

import pytest

from bookgen.models import Usage
from bookgen.words import count_words
from bookgen.writing.estimate import estimate
from tests.writing.authored import PROTOCOLS, authored, write_book
from tests.writing.scripted import obedient, some_material


def price(model: str, usage: Usage) -> int | None:
    """Anthropic's usual proportions, in micro-units."""
    cached = usage.cache_write_tokens * 2.5 + usage.cache_read_tokens * 0.2
    return round(usage.input_tokens * 2 + usage.output_tokens * 10 + cached)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("chapters", "words"), [(4, 900), (9, 2_400), (3, 5_000)])
async def test_the_estimate_is_near_what_the_book_takes(protocol, chapters, words):
    material = some_material(chapters, words=words)
    foreseen = estimate(material.book, material.chapters, "any", price)

    async with authored(obedient, protocol) as (_, steps):
        drafts, _ = await write_book(material, steps)

    assert foreseen.cost_micros == pytest.approx(price("any", steps.usage), rel=0.2)
    assert foreseen.calls == pytest.approx(len(steps.replies), rel=0.3, abs=2)
    assert sum(count_words(draft.content) for draft in drafts) == pytest.approx(chapters * words, rel=0.05)


def test_an_unknown_price_is_none_and_not_nought():
    material = some_material(3)

    foreseen = estimate(material.book, material.chapters, "unheard-of", lambda model, usage: None)

    assert foreseen.cost_micros is None
    assert foreseen.seconds > 60


def test_a_price_that_depends_on_a_call_s_size_is_asked_for_single_calls():
    sizes = []

    def asked(model, usage):
        sizes.append(usage.input_tokens + usage.cache_write_tokens + usage.cache_read_tokens)
        return 1

    material = some_material(40)
    foreseen = estimate(material.book, material.chapters, "m", asked)

    assert max(sizes) < 32_000
    assert foreseen.cost_micros == foreseen.calls


def test_a_longer_book_takes_longer_and_costs_more():
    small, large = (estimate(m.book, m.chapters, "m", price) for m in (some_material(3), some_material(30)))

    assert large.seconds > 8 * small.seconds
    assert large.cost_micros > 8 * small.cost_micros


def test_the_offline_model_is_quick():
    material = some_material(30)

    assert estimate(material.book, material.chapters, "offline", lambda *_: 0).seconds < 60
