"""Finds who wrote the words of a chapter, by comparing the current text with the texts that the model wrote for it.

A word is the model's if it is part of RUN consecutive words that also occur, in this order, in a text that the model
wrote for the chapter. All other words are a person's. They are called *edited* in a paragraph that also has words of
the model, and *human* in other paragraphs. Proofreading corrections and rewrites for an editor's report count as the
model's, unless a person has changed the text too.

Only the newest 20 revisions of a chapter are kept. If none of them is known to be the model's alone, the text is
compared with the oldest revision whose writer is a model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bookgen.models import SAMPLE_WRITER, Chapter, RevisionOrigin
from bookgen.store.provenance import FormerText
from bookgen.words import split, weight

# The origins of revisions whose change nobody wrote by hand.
NO_AUTHORS = (RevisionOrigin.PROOFREADING, RevisionOrigin.REVIEW, RevisionOrigin.NOT_PREFERRED)
RUN = 5  # words: fewer are often the same by chance
_PARAGRAPHS = re.compile(r"\n\s*\n")

Runs = frozenset[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Share:
    """How many words of a text were written by whom. `sample`: sample text, which neither model nor person wrote."""

    model: int = 0
    edited: int = 0
    human: int = 0
    sample: int = 0

    def __add__(self, other: Share) -> Share:
        return Share(
            self.model + other.model,
            self.edited + other.edited,
            self.human + other.human,
            self.sample + other.sample,
        )

    @property
    def by_people(self) -> int:
        return self.edited + self.human


class Weights(NamedTuple):
    """The same numbers as in Share, not yet rounded to whole words."""

    model: float = 0.0
    edited: float = 0.0
    human: float = 0.0
    sample: float = 0.0


@dataclass(frozen=True, slots=True)
class Sources:
    """What a chapter's text is compared with. `whole`: the model wrote all of it, so there is nothing to compare."""

    whole: bool
    revisions: tuple[FormerText, ...] = ()


def sources(chapter: Chapter, former: Sequence[FormerText]) -> Sources:
    """Choose what the chapter's text is compared with. `former`: the chapter's revisions, oldest first."""
    if chapter.writer and _is_as_written(chapter, former):
        return Sources(whole=True)
    alone = tuple(each for at, each in enumerate(former) if _was_as_written(each, former[:at]))
    named = [each for each in former if each.writer]
    if not alone and chapter.writer:
        return Sources(whole=False, revisions=tuple(named[:1]))
    return Sources(whole=False, revisions=alone)


def share(chapter: Chapter, compared: Sources, texts: Mapping[int, str]) -> Share:
    """Count the chapter's words by who wrote them. Slow for a long text.

    `texts`: the texts of `compared.revisions`, by their ids.
    """
    if not chapter.content.strip():
        return Share()
    if compared.whole:
        words = chapter.word_count
        return Share(sample=words) if chapter.is_sample else Share(model=words)
    by_model = [texts.get(each.id, "") for each in compared.revisions if each.writer != SAMPLE_WRITER]
    samples = [texts.get(each.id, "") for each in compared.revisions if each.writer == SAMPLE_WRITER]
    counted = _counted([split(each) for each in _PARAGRAPHS.split(chapter.content)], by_model, samples)
    return _scaled(counted, chapter.word_count)


def _is_as_written(chapter: Chapter, former: Sequence[FormerText]) -> bool:
    """Whether no person has changed the text since the model wrote it. `former`: the revisions, oldest first."""
    changes = [each for each in former if each.origin not in NO_AUTHORS]
    if chapter.written_at is None:  # written before this time was recorded, or copied with its book
        return not changes
    return not changes or changes[-1].created_at <= chapter.written_at


def _was_as_written(revision: FormerText, before: Sequence[FormerText]) -> bool:
    changes = [each for each in before if each.origin not in NO_AUTHORS]
    if not revision.writer or revision.written_at is None:
        return False
    return not changes or changes[-1].created_at <= revision.written_at


def _counted(paragraphs: Sequence[Sequence[str]], by_model: Iterable[str], samples: Iterable[str]) -> Weights:
    """Count the words of a chapter by who wrote them, without rounding.

    `paragraphs`: the chapter's paragraphs, each as a list of words. `by_model`: texts that a model wrote for the
    chapter. `samples`: sample texts for the chapter.
    """
    words = [word for paragraph in paragraphs for word in paragraph]
    weights = [weight(word) for word in words]
    run = min(RUN, max(1, len(words)))
    of_model = _covered(words, _runs(by_model, run), run)
    of_sample = _covered(words, _runs(samples, run), run)
    total, at = Weights(), 0
    for paragraph in paragraphs:
        places = range(at, at + len(paragraph))
        model = sum(weights[each] for each in places if of_model[each])
        sample = sum(weights[each] for each in places if of_sample[each] and not of_model[each])
        rest = sum(weights[each] for each in places if not (of_model[each] or of_sample[each]))
        edited, human = (rest, 0.0) if model or sample else (0.0, rest)
        total = Weights(total.model + model, total.edited + edited, total.human + human, total.sample + sample)
        at = places.stop
    return total


def _runs(texts: Iterable[str], run: int) -> Runs:
    found: set[tuple[str, ...]] = set()
    for text in texts:
        words = split(text)
        found.update(tuple(words[at : at + run]) for at in range(len(words) - run + 1))
    return frozenset(found)


def _covered(words: Sequence[str], runs: Runs, run: int) -> list[bool]:
    """For each of `words`, whether it is part of `run` consecutive words that `runs` contains."""
    covered = [False] * len(words)
    for at in range(len(words) - run + 1):
        if tuple(words[at : at + run]) in runs:
            covered[at : at + run] = [True] * run
    return covered


def _scaled(counted: Weights, words: int) -> Share:
    """The counts scaled and rounded so that they add up to `words`, the chapter's word count."""
    total = sum(counted)
    if not total:
        return Share()
    model, edited = round(words * counted.model / total), round(words * counted.edited / total)
    sample = min(round(words * counted.sample / total), words - model)
    edited = min(edited, words - model - sample)
    return Share(model, edited, words - model - edited - sample, sample)
