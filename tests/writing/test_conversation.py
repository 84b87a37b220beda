"""The turns of a chapter stay whole while they fit. Then the oldest text is dropped first."""

from bookgen.providers.text import Message
from bookgen.writing.conversation import is_whole, marked, within
from bookgen.writing.window import tokens
from tests.writing.scripted import prose


def turns(stretches, words=600):
    made = [Message("user", "Write chapter 1.")]
    for number in range(stretches):
        made += [Message("assistant", prose(words, number * 100)), Message("user", f"Go on, {number}.")]
    return made[:-1]


def test_turns_that_fit_are_unchanged():
    given = turns(3)

    assert within(given, 10_000) == tuple(given)
    assert is_whole(given)


def test_the_oldest_text_is_dropped_first_and_the_newest_stays():
    given = turns(6)
    kept = within(given, 3_500)

    assert sum(tokens(turn.text) for turn in kept) <= 3_500
    assert kept[0] == given[0]
    assert kept[-1] == given[-1]
    assert not is_whole(kept)


def test_shortened_turns_leave_room_to_grow():
    given = [*within(turns(6), 5_000), Message("user", "Go on.")]
    grown = [*given, *turns(2)[1:]]

    assert list(within(grown, 5_000)) == grown


def test_a_single_very_long_turn_keeps_its_end():
    given = turns(1, words=9_000)
    kept = within(given, 4_000)

    assert kept[-1].text.endswith(given[-1].text[-2_000:])
    assert sum(tokens(turn.text) for turn in kept) <= 4_000


def test_roles_still_alternate_after_shortening():
    kept = within(turns(40), 2_000)

    assert [turn.role for turn in kept] == ["user", "assistant"] * (len(kept) // 2)


def test_the_cache_mark_is_where_the_previous_call_ended():
    given = marked(turns(3))

    assert [place for place, turn in enumerate(given) if turn.cache] == [4]
