"""Find repetitions in a book: sentences, phrases, openings and endings that it has used before."""

from __future__ import annotations

import re
import sys
import threading
import zlib
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from bookgen.writing import sentences
from bookgen.writing.blocks import joined, masked_fences, paragraphs, spaced_paragraphs
from bookgen.writing.bounded_cache import by_sentence
from bookgen.writing.fingerprint import content_hash
from bookgen.writing.flaw import Flaw
from bookgen.writing.material import TextChange, anchor
from bookgen.writing.not_prose import is_quoted, is_verse, not_prose
from bookgen.writing.reply_cleanup import Cleaned
from bookgen.writing.text_units import by_character, units

SENTENCE_WORDS = 6  # shorter sentences may be repeated on purpose
PHRASE_WORDS = 8
PHRASES_OF_A_PARAGRAPH = 0.3  # of its phrases: a paragraph with this many known phrases is a repetition
ALIKE = 0.6  # of the words of two openings must be the same
EDGE_WORDS = 14
SAME_UNITS = 5
MAX_AVOIDED = 14
BYTES_OF_A_HASH = 32
EDGE_SENTENCES = 2
EDGE_PARAGRAPHS = 2
NEAR_PARAGRAPHS = 2
REFRAIN_CHAPTERS = 2  # earlier chapters with the same text; with this one they are three
DOUBLE_WORDS = 25  # a paragraph this long is not repeated on purpose
# A paragraph that may be repeated in a practical book: a heading, a list, a table, a warning or a label in bold.
_LABELLED = re.compile(r"\s*(?:>\s*)*(?:\*\*|__|#{1,6}\s|[-*+]\s|\d{1,3}[.)]\s|\|)")
DOUBLE_REMOVED = "The chapter has this paragraph twice, word for word. The second one was removed."


@dataclass(frozen=True, slots=True)
class Profile:
    """The sentences and phrases of a chapter as hashes, to find repetitions. Hashes are the same in every process.

    `opening` and `ending`: the units (words or characters) at the chapter's start and end. `edges`: hashes of the
    chapter's first and last sentences, which a later chapter may repeat on purpose.
    """

    sentences: frozenset[int]
    phrases: frozenset[int]
    opening: tuple[str, ...]
    ending: tuple[str, ...]
    edges: frozenset[int] = frozenset()

    @property
    def bytes(self) -> int:
        sets = (self.sentences, self.phrases, self.edges)
        return sum(sys.getsizeof(each) + len(each) * BYTES_OF_A_HASH for each in sets)


class ProfileCache:
    """A least-recently-used cache of profiles, bounded in bytes, keyed by the hash of the text."""

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
        frozenset(whole for whole, _ in (*hashes[:EDGE_SENTENCES], *hashes[-EDGE_SENTENCES:]) if whole is not None),
    )


@by_sentence
def _hashes(sentence: str) -> tuple[int | None, tuple[int, ...]]:
    """The hash of a sentence (None if it is too short to count) and the hashes of its phrases."""
    said = units(sentence)
    factor = 2 if by_character(said) else 1
    encoded = [unit.encode() for unit in said]
    row = b" ".join(encoded)
    starts = list(accumulate((len(unit) + 1 for unit in encoded), initial=0))
    spans = zip(starts, starts[factor * PHRASE_WORDS :], strict=False)
    phrases = (zlib.crc32(row[start : end - 1]) for start, end in spans)
    # A sample of a quarter is enough, if it is the same quarter in every chapter.
    quarter = tuple(phrase for phrase in phrases if phrase % 4 == 0)
    return zlib.crc32(row) if len(said) >= factor * SENTENCE_WORDS else None, quarter


def repeated(content: str, earlier: Sequence[str]) -> list[Flaw]:
    """A finding for each paragraph that repeats sentences or phrases of earlier chapters or of this chapter.

    Repetition that is probably intended is not reported:

    - in quotations, verse, letters to somebody, lists and tables, and in paragraphs that begin in bold, such as
      warnings
    - of a sentence of the same chapter, soon after it or from the chapter's beginning at its end
    - of the first or last sentences of an earlier chapter
    - of a refrain that several chapters share
    """
    known = [PROFILES.of(each) for each in earlier]
    chapters_with: Counter[int] = Counter(whole for each in known for whole in each.sentences)
    known_phrases = frozenset().union(*(each.phrases for each in known))
    taken_up = frozenset().union(*(each.edges for each in known))
    blocks = paragraphs(content)
    exempt = not_prose(blocks)
    own: dict[int, int] = {}  # the index of the last paragraph with each sentence
    flaws: list[Flaw] = []
    told: set[int] = set()
    for index, paragraph in enumerate(blocks):
        if index in exempt or _LABELLED.match(paragraph):
            continue
        said = [(sentence, *_hashes(sentence)) for sentence in sentences.split(paragraph)]
        new = [(sentence, whole) for sentence, whole, _ in said if whole is not None and whole not in told]
        again = [each for each in new if 0 < chapters_with[each[1]] < REFRAIN_CHAPTERS and each[1] not in taken_up]
        within = [each for each in new if each[1] in own and not _on_purpose(own[each[1]], index, len(blocks))]
        phrases = [phrase for _, _, each in said for phrase in each]
        if again:
            flaws.append(Flaw("repeated_sentence", index, again[0][0], "An earlier chapter has the same sentence."))
        elif within:
            flaws.append(Flaw("repeated_sentence", index, within[0][0], "The chapter has the same sentence twice."))
        elif not any(chapters_with[whole] for _, whole in new) and _mostly_known(phrases, known_phrases):
            flaws.append(Flaw("repeated_phrases", index, paragraph[:200], "Earlier chapters have the same phrases."))
        told.update(whole for _, whole in (*again, *within))
        own.update((whole, index) for _, whole, _ in said if whole is not None)
    return flaws


def _on_purpose(first: int, again: int, paragraphs_in_all: int) -> bool:
    """Whether a repetition in paragraphs `first` and `again` is on purpose: close together, or at start and end."""
    return again - first <= NEAR_PARAGRAPHS or _is_echo(first, again, paragraphs_in_all)


def without_doubles(content: str) -> Cleaned:
    """`content` without long paragraphs that repeat an earlier paragraph word for word, and what was removed.

    A repetition that may be intended is kept: in verse, quotations and other text that is not running prose, and at the
    end of a chapter if the paragraph first occurs at its beginning.
    """
    spaced = spaced_paragraphs(content)
    blocks = [block for _, block in spaced]
    exempt = not_prose(blocks)
    doubles = {
        index for index, first in _doubles(blocks) if index not in exempt and not _is_echo(first, index, len(blocks))
    }
    kept: list[tuple[str, str]] = []
    changes: list[TextChange] = []
    for index, (space, block) in enumerate(spaced):
        if index not in doubles:
            kept.append((space, block))
            continue
        changes.append(TextChange("repeated_paragraph", DOUBLE_REMOVED, block, follows=anchor(joined(kept[-3:]))))
    return Cleaned(joined(kept), tuple(changes)) if changes else Cleaned(content)


def repeated_paragraphs(content: str) -> list[Flaw]:
    """A finding for each long paragraph that repeats an earlier paragraph of the chapter word for word.

    Verse, quotations and code are often repeated, so they are not reported.
    """
    blocks = paragraphs(masked_fences(content))
    twice = (index for index, _ in _doubles(blocks) if not (is_verse(blocks[index]) or is_quoted(blocks[index])))
    return [
        Flaw("repeated_paragraph", index, blocks[index], "The chapter has the same paragraph twice.") for index in twice
    ]


def _doubles(blocks: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The index of each repeated long paragraph, and the index of its first occurrence."""
    seen: dict[tuple[str, ...], int] = {}
    for index, block in enumerate(blocks):
        said = units(block)
        if len(said) < DOUBLE_WORDS * (2 if by_character(said) else 1):
            continue
        if said in seen:
            yield index, seen[said]
        seen.setdefault(said, index)


def _is_echo(first: int, again: int, paragraphs_in_all: int) -> bool:
    """Whether paragraph `first` is in the chapter's opening and paragraph `again` is at its end."""
    far = again - first > 2 * EDGE_PARAGRAPHS
    return far and first < EDGE_PARAGRAPHS and again >= paragraphs_in_all - EDGE_PARAGRAPHS


def _mostly_known(phrases: Sequence[int], known: frozenset[int]) -> bool:
    return len(phrases) >= 4 and sum(phrase in known for phrase in phrases) >= len(phrases) * PHRASES_OF_A_PARAGRAPH


def same_edges(content: str, earlier: Sequence[str]) -> list[Flaw]:
    """Findings if the chapter begins or ends like an earlier chapter.

    `earlier`: the texts of the earlier chapters. If several earlier chapters begin alike, that is intended and not
    reported. The same is true of endings.
    """
    own = PROFILES.of(content)
    flaws = []
    last = len(paragraphs(content)) - 1
    profiles = [PROFILES.of(each) for each in earlier]
    if 0 < sum(alike(own.opening, each.opening) for each in profiles) < REFRAIN_CHAPTERS:
        flaws.append(Flaw("same_opening", 0, " ".join(own.opening), "Another chapter begins like this."))
    endings = sum(alike(own.ending[::-1], each.ending[::-1]) for each in profiles)
    if last > 0 and 0 < endings < REFRAIN_CHAPTERS:
        flaws.append(Flaw("same_ending", last, " ".join(own.ending), "Another chapter ends like this."))
    return flaws


def alike(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two openings or endings, as units (words or characters), begin alike or have most units in common."""
    unspaced = by_character(one)
    same = 2 * SAME_UNITS if unspaced else SAME_UNITS
    if min(len(one), len(other)) < same:
        return False
    # Most texts share single characters, the units of scripts without spaces.
    common = 0 if unspaced else sum((Counter(one) & Counter(other)).values())
    return one[:same] == other[:same] or common >= ALIKE * max(len(one), len(other))


def to_avoid(earlier: Sequence[str]) -> list[str]:
    """What the next chapter should not repeat: sentences used twice, then openings and endings of chapters.

    Headings, lists, tables and paragraphs that begin in bold are ignored. Such paragraphs are often warnings, which are
    always worded alike. The order depends only on the texts, so that the same book gives the same prompt.
    """
    seen: dict[int, int] = {}
    texts: dict[int, str] = {}
    for content in earlier:
        for key in PROFILES.of(content).sentences:
            seen[key] = seen.get(key, 0) + 1
    worn = {key for key, count in seen.items() if count > 1}
    if worn:
        for content in earlier:
            for sentence in sentences.split(_without_labelled(content)):
                whole, _ = _hashes(sentence)
                if whole is not None and whole in worn:
                    texts.setdefault(whole, sentence)
    recent = [_without_labelled(sentences.without_notes(content)) for content in earlier[-5:]]
    edges = [sentences.first(content) for content in recent] + [sentences.last(content) for content in recent]
    most_worn = sorted(texts, key=lambda key: -seen[key])[:MAX_AVOIDED]
    return list(dict.fromkeys([texts[key] for key in most_worn] + [edge for edge in edges if edge]))


def _without_labelled(content: str) -> str:
    """The text without headings, lists, tables and paragraphs that begin in bold."""
    return "\n\n".join(block for block in paragraphs(content) if not _LABELLED.match(block))
