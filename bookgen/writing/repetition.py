"""What a chapter says that the book has said before: sentences, phrases, openings and endings."""

from __future__ import annotations

import sys
import threading
import zlib
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from bookgen.writing import sentences
from bookgen.writing.fingerprint import content_hash
from bookgen.writing.flaw import Flaw, paragraphs
from bookgen.writing.remembering import by_sentence
from bookgen.writing.units import by_character, units

SENTENCE_WORDS = 6  # a shorter sentence may well come twice
PHRASE_WORDS = 8
PHRASES_OF_A_PARAGRAPH = 0.3  # of its phrases: said before in other sentences
ALIKE = 0.6  # of the words of two openings
EDGE_WORDS = 14
SAME_UNITS = 5
MOST_AVOIDED = 14
BYTES_OF_A_HASH = 32


@dataclass(frozen=True, slots=True)
class Profile:
    """A chapter as the gate remembers it. Hashes are of the text alone, the same in every process."""

    sentences: frozenset[int]
    phrases: frozenset[int]
    opening: tuple[str, ...]
    ending: tuple[str, ...]

    @property
    def bytes(self) -> int:
        return sum(sys.getsizeof(each) + len(each) * BYTES_OF_A_HASH for each in (self.sentences, self.phrases))


class ProfileCache:
    """The profiles asked for last, of at most so many bytes, by the hash of their text: no text is kept for them."""

    def __init__(self, most_bytes: int) -> None:
        self.bytes = 0
        self._most_bytes = most_bytes
        self._profiles: OrderedDict[str, Profile] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, content: str) -> Profile:
        key = content_hash(content)
        with self._lock:
            if known := self._profiles.get(key):
                self._profiles.move_to_end(key)
                return known
        made = profile(content)
        with self._lock:
            if key not in self._profiles:
                self._profiles[key] = made
                self.bytes += made.bytes
            while self.bytes > self._most_bytes:
                self.bytes -= self._profiles.popitem(last=False)[1].bytes
        return made


PROFILES = ProfileCache(64 << 20)


def profile(content: str) -> Profile:
    said = sentences.split(content)
    hashes = [_hashes(sentence) for sentence in said]
    return Profile(
        frozenset(whole for whole, _ in hashes if whole is not None),
        frozenset(phrase for _, phrases in hashes for phrase in phrases),
        units(said[0])[:EDGE_WORDS] if said else (),
        units(said[-1])[-EDGE_WORDS:] if said else (),
    )


@by_sentence
def _hashes(sentence: str) -> tuple[int | None, tuple[int, ...]]:
    """That of a sentence, None when it may well come twice, and those of its phrases."""
    said = units(sentence)
    factor = 2 if by_character(said) else 1
    encoded = [unit.encode() for unit in said]
    row = b" ".join(encoded)
    starts = list(accumulate((len(unit) + 1 for unit in encoded), initial=0))
    spans = zip(starts, starts[factor * PHRASE_WORDS :], strict=False)
    phrases = (zlib.crc32(row[start : end - 1]) for start, end in spans)
    # A quarter stands for all: the same quarter in every chapter.
    quarter = tuple(phrase for phrase in phrases if phrase % 4 == 0)
    return zlib.crc32(row) if len(said) >= factor * SENTENCE_WORDS else None, quarter


def repeated(content: str, earlier: Sequence[str]) -> list[Flaw]:
    """The paragraphs of `content` that repeat sentences or phrases of the book before, or of the chapter itself."""
    known = [PROFILES.of(each) for each in earlier]
    known_sentences = frozenset().union(*(each.sentences for each in known))
    known_phrases = frozenset().union(*(each.phrases for each in known))
    flaws: list[Flaw] = []
    own: set[int] = set()
    for index, paragraph in enumerate(paragraphs(content)):
        said = [(sentence, *_hashes(sentence)) for sentence in sentences.split(paragraph)]
        again = [sentence for sentence, whole, _ in said if whole in known_sentences]
        within = [sentence for sentence, whole, _ in said if whole in own]
        phrases = [phrase for _, _, each in said for phrase in each]
        if again:
            flaws.append(Flaw("repeated_sentence", index, again[0], "An earlier chapter has the same sentence."))
        elif within:
            flaws.append(Flaw("repeated_sentence", index, within[0], "The chapter has the same sentence twice."))
        elif _mostly_known(phrases, known_phrases):
            flaws.append(Flaw("repeated_phrases", index, paragraph[:200], "Earlier chapters say it in these phrases."))
        own.update(whole for _, whole, _ in said if whole is not None)
    return flaws


def _mostly_known(phrases: Sequence[int], known: frozenset[int]) -> bool:
    return len(phrases) >= 4 and sum(phrase in known for phrase in phrases) >= len(phrases) * PHRASES_OF_A_PARAGRAPH


def same_edges(content: str, earlier: Sequence[str]) -> list[Flaw]:
    """An opening or an ending like that of an earlier chapter."""
    own = PROFILES.of(content)
    flaws = []
    last = len(paragraphs(content)) - 1
    profiles = [PROFILES.of(each) for each in earlier]
    if any(alike(own.opening, each.opening) for each in profiles):
        flaws.append(Flaw("same_opening", 0, " ".join(own.opening), "Another chapter begins like this."))
    if last > 0 and any(alike(own.ending[::-1], each.ending[::-1]) for each in profiles):
        flaws.append(Flaw("same_ending", last, " ".join(own.ending), "Another chapter ends like this."))
    return flaws


def alike(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two texts begin with the same units, or have most units of their beginnings in common."""
    unspaced = by_character(one)
    same = 2 * SAME_UNITS if unspaced else SAME_UNITS
    if min(len(one), len(other)) < same:
        return False
    # Single characters are too few to be counted as words are.
    common = 0 if unspaced else sum((Counter(one) & Counter(other)).values())
    return one[:same] == other[:same] or common >= ALIKE * max(len(one), len(other))


def to_avoid(earlier: Sequence[str]) -> list[str]:
    """What the next chapter should not say again: sentences that came twice, then how chapters began and ended.

    In the order in which they were first written, so that the same book gives the same words.
    """
    seen: dict[int, int] = {}
    texts: dict[int, str] = {}
    for content in earlier:
        for key in PROFILES.of(content).sentences:
            seen[key] = seen.get(key, 0) + 1
    worn = {key for key, count in seen.items() if count > 1}
    if worn:
        for content in earlier:
            for sentence in sentences.split(content):
                whole, _ = _hashes(sentence)
                if whole is not None and whole in worn:
                    texts.setdefault(whole, sentence)
    recent = earlier[-5:]
    edges = [sentences.first(content) for content in recent] + [sentences.last(content) for content in recent]
    most_worn = sorted(texts, key=lambda key: -seen[key])[:MOST_AVOIDED]
    return list(dict.fromkeys([texts[key] for key in most_worn] + [edge for edge in edges if edge]))
