"""Contradictory facts of a book, found by rules that are certain. What needs judgement is left to the editor's reading.

The rules compare facts by their events and names; they read no prose, so they work in every language. They assume that
chapters are in the order of the story, except where a chapter looks back or has an earlier date.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from bookgen.models import Fact, FactEvent, FactStatus
from bookgen.writing.facts.wording import key, lies_in, says_the_same

MAX_CONTRADICTIONS = 60  # of a book

_DATE = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?")
_EAST_ASIAN = re.compile(r"[\u3400-\u9fff\uac00-\ud7af]{3,6}")
# Optional first words of a thing or a clause in a note: "the ring", "that the dam is cracked".
_OPENINGS = frozenset(
    {
        *("the", "a", "an", "that"),  # English
        *("der", "die", "das", "den", "dem", "ein", "eine", "einen", "dass"),  # German
        *("le", "la", "les", "l", "un", "une", "que", "qu"),  # French
        *("el", "los", "las", "una", "il", "lo", "gli", "i", "uno", "che"),  # Spanish and Italian
        *("o", "os", "as", "um", "uma"),  # Portuguese
        *("de", "het", "een", "dat", "że", "že", "что", "що"),  # Dutch and Slavic languages
        *("att", "at", "den", "det", "en", "ett", "et"),  # Swedish, Danish and Norwegian
        *("că", "hogy", "az", "että", "rằng", "ότι", "ο", "η", "το"),  # Romanian, Hungarian, Finnish, Vietnamese, Greek
    }
)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two facts that cannot both be true. A reader notices the contradiction at the `later` one."""

    rule: str
    earlier: Fact
    later: Fact
    why: str


@dataclass(frozen=True, slots=True)
class StoryFact:
    """A fact prepared for the rules, with `subject` and `value` in a form that can be compared.

    `date`: the date in the story at this point, empty if unknown. `is_back`: the fact is, or may be, from a flashback.
    """

    fact: Fact
    subject: str
    value: str
    date: str = ""
    is_back: bool = False

    @property
    def event(self) -> FactEvent | None:
        return self.fact.event


def contradictions(
    facts: Sequence[Fact], names: Iterable[str] = (), *, nouns_are_capitalised: bool = False
) -> list[Contradiction]:
    """The contradictions between the facts of a book, at most MAX_CONTRADICTIONS.

    `facts`: in the order of the book. `names`: the names of the people who appear in the book. A part of a name, such
    as a surname, means the same person if no other name has that part.

    Facts that the author has marked as wrong are ignored. A contradiction is not reported if the author has given one
    of its facts the status `intended`: the story contradicts that fact on purpose.
    """
    people = list(names)
    openings = _OPENINGS - {word for name in people for word in key(name).split()}
    story = _story([fact for fact in facts if fact.status is not FactStatus.WRONG], short_forms(people), openings)
    found: dict[tuple[str, int, str], Contradiction] = {}
    holders = {key(name) for name in people}
    places = partial(_places_left, nouns_are_capitalised=nouns_are_capitalised)
    rules = (_dead_who_act, places, partial(_objects, holders=holders), _knowledge, _births, _causes)
    for rule in rules:
        for each in rule(story):
            if FactStatus.INTENDED not in (each.earlier.status, each.later.status):
                found.setdefault((each.rule, each.later.chapter_number, each.earlier.quote), each)
    ordered = sorted(found.values(), key=lambda each: each.later.chapter_number)
    return ordered[:MAX_CONTRADICTIONS]


def short_forms(names: Iterable[str]) -> dict[str, str]:
    """Map each part of a name that belongs to no other name, such as a surname, to the whole name.

    The parts are the name's words. A word with hyphens ("Hans-Otto") is also a part as a whole. The parts of an East
    Asian name are its beginnings and ends of at least two characters.
    """
    whole: set[str] = set()
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for name in names:
        whole.add(key(name))
        for word in (*key(name).split(), *map(key, name.split()), *_ends_of(key(name))):
            owners[word].add(key(name))
    return {word: next(iter(own)) for word, own in owners.items() if len(own) == 1 and word not in whole}


def _ends_of(name: str) -> Iterator[str]:
    """The beginnings and ends of a name without spaces.

    Among them are the surname 佐藤 of 佐藤健, and the first name 민준 of 김민준.
    """
    if _EAST_ASIAN.fullmatch(name):
        yield from (part for size in range(2, len(name)) for part in (name[:size], name[-size:]))


def _story(facts: Sequence[Fact], short_forms: Mapping[str, str], openings: frozenset[str]) -> list[StoryFact]:
    story: list[StoryFact] = []
    date, is_back, chapter = "", False, 0
    for fact in facts:
        if fact.chapter_number != chapter:
            date, is_back, chapter = "", False, fact.chapter_number
        if fact.event is FactEvent.NOW:
            date = _date(fact.value) or date
        is_back = is_back or fact.event is FactEvent.BACK
        subject, value = (_comparable(key(each), short_forms, openings) for each in (fact.subject, fact.value))
        story.append(StoryFact(fact, subject, value, date, is_back))
    if _is_chronological(story):
        return story
    return [replace(each, is_back=each.is_back or not each.date) for each in story]


def _comparable(text: str, short_forms: Mapping[str, str], openings: frozenset[str]) -> str:
    """The subject or value of a fact, `text`, in the form in which facts are compared.

    A short form of a name becomes the whole name. Any other text loses the articles at its start (`openings`).
    """
    if text in short_forms:
        return short_forms[text]
    words = text.split()
    while len(words) > 1 and words[0] in openings:
        words.pop(0)
    return " ".join(words)


def _is_chronological(story: Sequence[StoryFact]) -> bool:
    """Whether no dated fact has an earlier date than the dated fact before it."""
    dates = [each.date for each in story if each.date]
    return not any(_before(later, earlier) for earlier, later in pairwise(dates))


def _date(text: str) -> str:
    found = _DATE.match(text.strip())
    return found[0] if found else ""


def _before(one: str, other: str) -> bool:
    """Whether a date is surely before another: 1962 is not before 1962-05."""
    shared = min(len(one), len(other))
    return one[:shared] < other[:shared]


def _follows(later: StoryFact, earlier: StoryFact) -> bool:
    """Whether the fact `later`, which comes later in the book, is certainly also later in the story."""
    if later.is_back or earlier.is_back:
        return False
    return not (later.date and earlier.date and _before(later.date, earlier.date))


def _is_after(each: StoryFact, other: StoryFact) -> bool:
    """Whether `each` is in a later chapter than `other`, and certainly also later in the story."""
    return each.fact.chapter_number > other.fact.chapter_number and _follows(each, other)


def _by_subject(story: Sequence[StoryFact], *events: FactEvent) -> dict[str, list[StoryFact]]:
    """The facts that have one of the `events`, by subject, each list in the order of the book."""
    found: defaultdict[str, list[StoryFact]] = defaultdict(list)
    for each in story:
        if each.event in events:
            found[each.subject].append(each)
    return found


def _dead_who_act(story: Sequence[StoryFact]) -> Iterator[Contradiction]:
    for life in _by_subject(story, FactEvent.DIES, FactEvent.ACTS, FactEvent.RETURNS).values():
        death: StoryFact | None = None
        for each in life:
            if each.event is FactEvent.DIES:
                death = death or each
            elif each.event is FactEvent.RETURNS:
                death = None
            elif death and _is_after(each, death) and not _returns_in(life, each):
                why = f"{death.fact.subject} is already dead, but acts here."
                yield Contradiction("dead_acts", death.fact, each.fact, why)


def _returns_in(life: Sequence[StoryFact], act: StoryFact) -> bool:
    """Whether a fact in the same chapter as `act` says that the person or object has returned.

    `life`: the facts about this person or object.
    """
    return any(each.event is FactEvent.RETURNS and each.fact.chapter_number == act.fact.chapter_number for each in life)


def _places_left(story: Sequence[StoryFact], *, nouns_are_capitalised: bool) -> Iterator[Contradiction]:
    """Find people in a place that they left for good and have not entered again."""
    for moves in _by_subject(story, FactEvent.LEAVES, FactEvent.ENTERS, FactEvent.IS_IN).values():
        left: dict[str, StoryFact] = {}
        entered = {(each.value, each.fact.chapter_number) for each in moves if each.event is FactEvent.ENTERS}
        for each in moves:
            if each.event is FactEvent.LEAVES:
                left[each.value] = each
            elif each.event is FactEvent.ENTERS:
                left.pop(each.value, None)
            elif (leaving := _departure_from(left, each, nouns_are_capitalised)) and _is_after(each, leaving):
                if (each.value, each.fact.chapter_number) in entered:
                    continue
                why = f"{each.fact.subject} had left {leaving.fact.value} for good, but is there again here."
                yield Contradiction("place_left", leaving.fact, each.fact, why)


def _departure_from(left: Mapping[str, StoryFact], each: StoryFact, nouns_are_capitalised: bool) -> StoryFact | None:
    """The fact that says that the person left the place of `each`, or a place that contains it; None if there is none.

    `left`: by place, the facts that say that this person left the place for good. "Trieste" contains "a café in
    Trieste".
    """
    if each.value in left:
        return left[each.value]
    return next(
        (
            leaving
            for leaving in left.values()
            if lies_in(each.fact.value, leaving.fact.value, nouns_are_capitalised=nouns_are_capitalised)
        ),
        None,
    )


def _objects(story: Sequence[StoryFact], *, holders: Set[str]) -> Iterator[Contradiction]:
    """Find objects that appear again after they are gone, or that change place without having been moved.

    The place of an object may also be the person who has it. Two persons are certainly different places. `holders`:
    names of people. The subject of a fact about an act, a death or a birth counts as a person too.
    """
    people = holders | {
        each.subject for each in story if each.event in (FactEvent.ACTS, FactEvent.DIES, FactEvent.BORN)
    }
    apart = _places_apart(story)
    events = (FactEvent.AT, FactEvent.MOVED, FactEvent.GONE, FactEvent.RETURNS)
    for course in _by_subject(story, *events).values():
        gone: StoryFact | None = None
        last: StoryFact | None = None
        moved_in = {each.fact.chapter_number for each in course if each.event is not FactEvent.AT}
        for each in course:
            is_there = each.event in (FactEvent.AT, FactEvent.MOVED)
            if gone and is_there and _is_after(each, gone) and not _returns_in(course, each):
                why = f"{gone.fact.subject} no longer exists, but appears again here."
                yield Contradiction("gone_object", gone.fact, each.fact, why)
            elif each.event is FactEvent.AT and last and last.value != each.value and _follows(each, last):
                both = {last.value, each.value}
                is_apart = both <= people or frozenset(both) in apart
                if is_apart and each.fact.chapter_number not in moved_in:
                    why = f"{each.fact.subject} was elsewhere before ({last.fact.value}), and no passage moves it."
                    yield Contradiction("two_places", last.fact, each.fact, why)
            match each.event:
                case FactEvent.GONE:
                    gone, last = gone or each, None
                case FactEvent.RETURNS:
                    gone, last = None, None
                case FactEvent.AT | FactEvent.MOVED:
                    last = each


def _places_apart(story: Sequence[StoryFact]) -> set[frozenset[str]]:
    """Pairs of places that are certainly outside each other, since someone has left one and then entered the other."""
    pairs: set[frozenset[str]] = set()
    for moves in _by_subject(story, FactEvent.LEAVES, FactEvent.ENTERS).values():
        for one, other in pairwise(moves):
            if one.event is FactEvent.LEAVES and other.event is FactEvent.ENTERS and one.value != other.value:
                pairs.add(frozenset((one.value, other.value)))
    return pairs


def _knowledge(story: Sequence[StoryFact]) -> Iterator[Contradiction]:
    """Find people who know something for sure before they learn it."""
    for known in _by_subject(story, FactEvent.LEARNS, FactEvent.KNOWS).values():
        first: dict[str, StoryFact] = {}
        for each in known:
            what = next((other for other in first if says_the_same(other, each.value)), each.value)
            before = first.setdefault(what, each)
            if each.event is FactEvent.LEARNS and before.event is FactEvent.KNOWS and _is_after(each, before):
                why = f"{each.fact.subject} learns this here, but knew it before: {each.fact.value}."
                yield Contradiction("known_before", before.fact, each.fact, why)


def _births(story: Sequence[StoryFact]) -> Iterator[Contradiction]:
    """Find people who are born on two dates, or who act or die before they are born."""
    for life in _by_subject(story, FactEvent.BORN, FactEvent.ACTS, FactEvent.DIES).values():
        births = [each for each in life if each.event is FactEvent.BORN and _date(each.fact.value)]
        for birth in births[:1]:
            born = _date(birth.fact.value)
            for each in life:
                if each.event is FactEvent.BORN:
                    date = _date(each.fact.value)
                    if date and (_before(date, born) or _before(born, date)):
                        why = f"{birth.fact.subject} is born on two dates: {birth.fact.value} and {each.fact.value}."
                        yield Contradiction("two_births", birth.fact, each.fact, why)
                    continue
                date = _date(each.fact.value) if each.event is FactEvent.DIES else each.date
                if date and not each.is_back and _before(date, born):
                    why = f"This happens before {birth.fact.subject} is born ({birth.fact.value})."
                    yield Contradiction("before_birth", birth.fact, each.fact, why)


def _causes(story: Sequence[StoryFact]) -> Iterator[Contradiction]:
    """Find events that are dated before the event that caused them. Events with several dates are skipped."""
    dated = {
        event: facts[0]
        for event, facts in _by_subject(story, FactEvent.ON).items()
        if facts and len({_date(each.fact.value) for each in facts}) == 1 and _date(facts[0].fact.value)
    }
    for effects in _by_subject(story, FactEvent.AFTER).values():
        for each in effects:
            effect, cause = dated.get(each.subject), dated.get(each.value) or _event_with_words(each.value, dated)
            if effect and cause and _before(_date(effect.fact.value), _date(cause.fact.value)):
                why = (
                    f"{each.fact.subject} ({effect.fact.value}) is dated before its cause, {each.fact.value} "
                    f"({cause.fact.value})."
                )
                first, second = sorted((effect, cause), key=story.index)
                yield Contradiction("before_cause", first.fact, second.fact, why)


def _event_with_words(value: str, dated: Mapping[str, StoryFact]) -> StoryFact | None:
    """The fact of the event in `dated` whose name has all words of `value`; None if no event or several events match.

    For example, "the fall" stands for "the fall of the dam". `dated`: facts by the event's name.
    """
    words = set(value.split())
    found = [fact for event, fact in dated.items() if words < set(event.split())]
    return found[0] if len(found) == 1 else None
