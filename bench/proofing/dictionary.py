"""Can a word list alone tell slips from words? `python -m bench.proofing.dictionary FOLDER [LANGUAGES]`.

A word counts as a slip if it is not in wordfreq's list, occurs at most twice in its novel, and differs by one letter
from a common word. The bench reads three novels of the development half in each language, with planted slips. The
precision is given for one slip per thousand words.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from wordfreq import get_frequency_dict, top_n_list, zipf_frequency

from bench.proofing.corpus import FOLDERS, Half, novels
from bookgen.writing.proofreading.correction import within

NOVELS = 3
COMMON = 4.0  # on the Zipf scale
MIN_LETTERS = 5
PLANTED = 0.004  # of the words
SLIPS = 10  # per ten thousand words, for which the precision is given

_WORD = re.compile(rf"(?<![\w'’-])[^\W\d_]{{{MIN_LETTERS},}}(?![\w'’-])")


class Dictionary:
    def __init__(self, tag: str) -> None:
        self._known = get_frequency_dict(tag, "best")
        self._common: defaultdict[str, list[str]] = defaultdict(list)
        for word in top_n_list(tag, 20_000):
            if len(word) >= MIN_LETTERS and zipf_frequency(word, tag) >= COMMON:
                for shorter in _shorter(word):
                    self._common[shorter].append(word)

    def meant(self, word: str, times: Mapping[str, int]) -> set[str]:
        """The common words that a slip may stand for; none if it counts as a word."""
        if not word.islower() or word in self._known or times.get(word, 0) > 2:
            return set()
        near = {each for shorter in _shorter(word) for each in self._common.get(shorter, ())}
        return {each for each in near if within(word, each, 1)}


def _shorter(word: str) -> Iterator[str]:
    yield word
    yield from (word[:place] + word[place + 1 :] for place in range(len(word)))


def _misspelt(word: str, chance: random.Random) -> str:
    place = chance.randint(1, len(word) - 3)
    swapped = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    return chance.choice([swapped, word[:place] + word[place + 1 :], word[:place] + word[place] + word[place:]])


def measured(folder: Path, tag: str) -> str:
    dictionary, chance = Dictionary(tag), random.Random(tag)
    words = false = planted = found = 0
    for novel in islice(novels(folder, tag, Half.DEVELOPMENT), NOVELS):
        words += novel.words
        for text in novel.text.texts.values():
            for word in _WORD.findall(text.prose):
                if dictionary.meant(word, novel.text.words):
                    false += 1
                elif word.islower() and chance.random() < PLANTED and (slip := _misspelt(word, chance)) != word:
                    planted += 1
                    found += dictionary.meant(slip, novel.text.words) == {word}
    recall, rate = found / max(planted, 1), false / words * 10_000
    precision = SLIPS * recall / max(SLIPS * recall + rate, 0.1)
    return f"{tag} {words:8,} words, {rate:6.1f} false in 10,000; recall {recall:4.0%}, precision {precision:4.0%}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures word lists as proofreaders.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("languages", nargs="*", default=sorted(FOLDERS))
    given = parser.parse_args()
    for tag in given.languages:
        print(measured(given.folder, tag), flush=True)


if __name__ == "__main__":
    main()
