"""Whatever a model answers, a chapter ends after a limited number of calls, in a text or in a typed error."""

from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from bookgen.errors import UpstreamAIError
from bookgen.providers.text import StopReason
from bookgen.words import count_words
from bookgen.writing import budget, tightening
from bookgen.writing.chapter import write_chapter
from bookgen.writing.outline import draft_outline
from bookgen.writing.repair import MAX_REPAIRS
from tests.writing.scripted import Scripted, a_book, obedient, prose, says, sentence, some_material

DIGEST_CALLS = 4

replies = st.one_of(
    st.text(max_size=300),
    st.sampled_from(["", "{}", "null", "TODO", "Here is the chapter:", "...", "# Chapter 1", sentence(1), "```\n```"]),
    st.integers(1, 1_500).map(lambda words: prose(words, words)),
    st.integers(1, 900).map(lambda words: prose(words, 1)[: words * 3]),
)
stops = st.sampled_from([StopReason.END, StopReason.END, StopReason.LENGTH])


@settings(max_examples=120, deadline=None)
@given(script=st.lists(st.tuples(replies, stops), min_size=1, max_size=12), words=st.integers(0, 6_000))
async def test_a_chapter_has_limited_calls_and_length(script, words):
    def answer(request, brief, call):
        text, stop = script[call % len(script)]
        return says(text, stop)

    steps = Scripted(answer)
    with suppress(UpstreamAIError):
        draft = await write_chapter(some_material(1, words=words), 1, steps)
        assert draft.content.strip()
        longest = max(count_words(text) for text, _ in script)
        assert draft.word_count <= tightening.RUNAWAY_SHARE * words + tightening.RUNAWAY_SLACK_WORDS + 2 * longest
    in_parts = budget.Lengths(budget.PART_WORDS, budget.MAX_PART_WORDS, budget.MAX_REPLY_TOKENS)
    assert len(steps.calls) <= budget.max_calls(max(words, 1), in_parts) + 1 + MAX_REPAIRS + DIGEST_CALLS


@settings(max_examples=60, deadline=None)
@given(script=st.lists(st.tuples(replies, stops), min_size=1, max_size=6), chapters=st.integers(1, 100))
async def test_an_outline_is_exact_or_an_error_after_a_limited_number_of_calls(script, chapters):
    def answer(request, brief, call):
        if call % 2:
            return obedient(request, brief, call)
        text, stop = script[call % len(script)]
        return says(text, stop)

    steps = Scripted(answer)
    with suppress(UpstreamAIError):
        outline = await draft_outline(a_book(chapter_count=chapters, bible={}), steps)
        assert len(outline.chapters) == chapters
        assert sum(chapter.target_word_count for chapter in outline.chapters) == 20_000
    assert len(steps.calls) <= 3 * chapters + 8
