"""Settled facts that a chapter contradicts, as far as rules can tell: eyes, hair, age, years, hands, deaths.

English only: the rules read English phrases. Each rule asks for the name in the same sentence and for a value of
the same kind, so that a doubt is silence and not an alarm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bookgen.models import Digest
from bookgen.writing import context, sentences
from bookgen.writing.flaw import Flaw, paragraphs

_COLOURS = (
    "black|brown|hazel|grey|gray|blue|green|amber|violet|red|auburn|blonde|blond|golden|white|silver|copper|ginger|dark|"
    "chestnut|raven|fair|sandy"
)
_SAME_COLOUR = {
    "gray": "grey",
    "silver": "grey",
    "blonde": "blond",
    "golden": "blond",
    "fair": "blond",
    "sandy": "blond",
}
_UNITS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_TEENS = ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_NUMBER_WORDS = {word: number for number, word in enumerate([*_UNITS, *_TEENS], 1)} | {
    f"{ten}{join}{unit}": 10 * tens + number
    for tens, ten in enumerate(_TENS, 2)
    for number, unit in enumerate(["", *_UNITS])
    for join in (["-", " "] if unit else [""])
}
_AGE = r"\d{1,3}|" + "|".join(sorted(_NUMBER_WORDS, key=len, reverse=True))

_EYES = re.compile(
    rf"\b({_COLOURS})(?:[- ]eyed|(?:,? \w+)? eyes)\b"
    rf"|\beyes (?:were|are|of) (?:\w+ )?({_COLOURS})\b",
    re.IGNORECASE,
)
_HAIR = re.compile(
    rf"\b({_COLOURS})(?:[- ]haired|(?:,? \w+)? hair)\b"
    rf"|\bhair (?:was|is) (?:\w+ )?({_COLOURS})\b"
    rf"|\b({_COLOURS})head\b",
    re.IGNORECASE,
)
_AGED = re.compile(
    rf"\b(?:aged |age of |is |was |turned |now |, |: ?|^)({_AGE})"
    r"(?:[- ]years?[- ]old|(?= (?:now|today|this year))|(?=[,.;)]|$))",
    re.IGNORECASE,
)
_BORN = re.compile(r"\b(?:born|birth)\b[^.;]{0,40}?\b(1\d{3}|20\d{2})\b", re.IGNORECASE)
_BUILT = re.compile(
    r"\b(?:built|founded|opened|burned(?: down)?|sank|established|erected)\b[^.;]{0,30}?\b(1\d{3}|20\d{2})\b",
    re.IGNORECASE,
)
_HAND = re.compile(r"\b(left|right)[- ]handed\b", re.IGNORECASE)
_DEAD = (
    r"(?:is dead|was dead|dead since|has died|died|was killed|drowned|was murdered|was buried (?:at|on|under|beside)|"
    r"dies)"
)
_ALIVE = re.compile(
    r"\b(?:said|says|asked|answered|laughed|smiled|walked|ran|nodded|whispered|shouted|entered|arrived|replied|"
    r"poured|sat down|stood up|opened|closed|called out|turned to|looked up)\b",
    re.IGNORECASE,
)
# A sentence about another time, a supposition, a picture or a memory contradicts nothing.
_ELSEWHEN = re.compile(
    r"\b(?:would have|as if|as though|might|could have|used to|once|when (?:he|she|they|\w+) (?:was|were|had)|"
    r"remember\w*|years? (?:ago|before|earlier|later)|ghost|dream\w*|portrait|photograph|picture|memory|letter|diary|"
    r"if|not|never|no|dyed|wig|pretend\w*|lied|thought|imagin\w*|had (?:said|asked|laughed|smiled|walked|told)|"
    r"had been)\b",
    re.IGNORECASE,
)
# Who else a description may be about: his mother's eyes are not his.
_SOMEBODY_ELSE = re.compile(
    r"\b(?:(?:his|her|their|whose)(?! (?:\w+ )?(?:eyes|hair)\b)|mother|father|parents?|brothers?|sisters?|sons?|"
    r"daughters?|child|children|boys?|girls?|wom[ae]n|m[ae]n|husband|wife|widow\w*|friends?|uncle|aunt|cousin|twins?|"
    r"lover|neighbou?rs?|dogs?|cats?|horses?|believes?|thinks?|says|claims?|dreams?)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;.:()]+(?:\s+|$)")
_NAME = re.compile(r"\b[A-Z]\w+(?: [A-Z]\w+)*")
_WORDS_THAT_BEGIN_SENTENCES = (
    *("the", "a", "an", "in", "on", "at", "he", "she", "they", "it", "his", "her", "their", "i", "but", "and"),
    *("when", "then", "if", "by", "for", "with", "after", "before", "that", "this", "there", "so", "now", "as"),
)
_NO_NAMES = frozenset(word.capitalize() for word in _WORDS_THAT_BEGIN_SENTENCES)


@dataclass(frozen=True, slots=True)
class Claim:
    name: str
    kind: str
    value: str


def contradictions(content: str, bible: Mapping[str, Any], digests: Sequence[Digest]) -> list[Flaw]:
    """Where `content` says otherwise of a named person or thing than the bible or an earlier chapter."""
    settled = _settled(bible, digests)
    if not settled:
        return []
    names = frozenset(name for name, _ in settled)
    flaws = []
    for index, paragraph in enumerate(paragraphs(content)):
        for sentence in sentences.split(paragraph):
            for claim in _claims(sentence, names):
                known = settled.get((claim.name, claim.kind))
                if known is not None and _contradicts(claim, known):
                    detail = f"It is settled that {claim.name}: {claim.kind} {known}; here it is {claim.value}."
                    place = None if _has_aged(claim, known) else index
                    flaws.append(Flaw("contradiction", place, sentence, detail))
    return flaws


def _settled(bible: Mapping[str, Any], digests: Sequence[Digest]) -> dict[tuple[str, str], str]:
    """The first value of each kind for each name: what comes first is settled."""
    settled: dict[tuple[str, str], str] = {}
    for name, description in _entries(bible):
        for claim in _said_of(name, description):
            settled.setdefault((name, claim.kind), claim.value)
    listed = {name for name, _ in _entries(bible)}
    for digest in digests:
        for fact in digest.facts:
            for name in _subjects(fact, listed):
                for claim in _said_of(name, fact):
                    settled.setdefault((name, claim.kind), claim.value)
    return settled


def _said_of(name: str, description: str) -> Iterator[Claim]:
    """What a description or a fact says of `name`, clause by clause; a clause about somebody else says nothing."""
    for clause in _CLAUSE.split(description):
        if not _SOMEBODY_ELSE.search(clause):
            yield from _values(name, clause, described=True)


def _entries(bible: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for entry in context.entries(bible, "people", "places", "terms"):
        if entry.get("name"):
            yield str(entry["name"]).strip(), str(entry.get("description", ""))


def _subjects(fact: str, listed: Iterable[str]) -> list[str]:
    """Whom a fact is about: its one name. With more names a rule cannot tell whose the value is."""
    names = [name for name in _NAME.findall(fact) if name not in _NO_NAMES]
    subjects = {next((known for known in listed if _same(known, name)), name) for name in names}
    return list(subjects) if len(subjects) == 1 else []


def _same(known: str, name: str) -> bool:
    return known == name or name in known.split() or known in name.split()


def _claims(sentence: str, names: Iterable[str]) -> Iterator[Claim]:
    """What a sentence of the chapter says of the one name in it."""
    present = [name for name in names if _mentions(sentence, name)]
    others = [
        name
        for name in _NAME.findall(sentence)
        if name not in _NO_NAMES and not any(_same(known, name) for known in present)
    ]
    if len(present) != 1 or (others and not sentence.startswith(tuple(others))) or len(others) > 1:
        return
    if not _ELSEWHEN.search(sentence):
        yield from _values(present[0], sentence, described=False)


def _mentions(sentence: str, name: str) -> bool:
    return any(
        re.search(rf"\b{re.escape(part)}\b", sentence)
        for part in {name, *name.split()}
        if part in sentence and part[:1].isupper() and part not in _NO_NAMES
    )


def _values(name: str, text: str, *, described: bool) -> Iterator[Claim]:
    """The values that `text` gives for `name`. A description is about it throughout, a sentence may not be."""
    for kind, pattern in (("eyes", _EYES), ("hair", _HAIR)):
        found = pattern.search(text)
        if found and (described or _owns(name, text[: found.end()], kind)):
            colour = next(group for group in found.groups() if group).lower()
            yield Claim(name, kind, _SAME_COLOUR.get(colour, colour))
    if (found := _AGED.search(text)) and (described or _age_of_name(name, text)):
        number = found[1].lower()
        yield Claim(name, "age", str(_NUMBER_WORDS.get(number) or int(number)))
    for kind, pattern in (("born in", _BORN), ("made in", _BUILT)):
        if found := pattern.search(text):
            yield Claim(name, kind, found[1])
    if found := _HAND.search(text):
        yield Claim(name, "hand", found[1].lower())
    if described and re.match(rf"(?:(?:the )?{_called(name)} |he |she |who )?{_DEAD}\b", text, re.IGNORECASE):
        yield Claim(name, "fate", "dead")
    if not described and re.search(rf"\b{_called(name)} (?:{_ALIVE.pattern})", text):
        yield Claim(name, "fate", "alive")


def _called(name: str) -> str:
    """A pattern of what somebody is called by: the whole name or any word of it."""
    return "(?:" + "|".join(map(re.escape, [name, *name.split()])) + r")(?: [A-Z]\w+)?"


def _owns(name: str, text: str, kind: str) -> bool:
    """Whether the eyes or the hair that `text` ends with are said to be those of `name`."""
    first = _called(name)
    looks = {"eyes": "eye(?:s|d)", "hair": "hair(?:ed)?"}[kind]
    owner = rf"(?:{first}['’]s|\b[Hh]er|\b[Hh]is|{first} (?:had|has|was|is)|{first},)"
    return bool(re.search(rf"{owner} (?:\w+,? ){{0,2}}(?:\w+-)?{looks}(?: (?:were|was|are|is) \w+)?(?: \w+)?$", text))


def _age_of_name(name: str, text: str) -> bool:
    about = rf"\b{_called(name)}(?:,| was| is| turned|, now)? (?:now |aged |just )?(?:{_AGE})\b"
    return bool(re.search(about, text, re.IGNORECASE))


def _has_aged(claim: Claim, known: str) -> bool:
    """Years may have passed, which no rule can tell: it is worth a word to the author and no repair."""
    return claim.kind == "age" and int(claim.value) > int(known)


def _contradicts(claim: Claim, known: str) -> bool:
    if claim.kind == "age":
        return abs(int(claim.value) - int(known)) > 1  # a birthday passes
    if claim.kind in ("eyes", "hair") and "dark" in (claim.value, known):
        return {claim.value, known} & {"blond", "white", "blue", "red", "copper", "ginger", "green"} != set()
    return claim.value != known
