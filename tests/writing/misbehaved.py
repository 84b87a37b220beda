"""Ways in which models deviate from their instructions, for tests and for the bench."""

from __future__ import annotations

import random
from collections.abc import Callable

from bookgen.providers.text import StopReason
from bookgen.writing.sentences import split
from tests.fakes.model_garbage import GARBAGE
from tests.writing.scripted import Answer, next_number, obedient, prose, says, sentence


def writes(share: Callable[[], float]) -> Answer:
    """A model that writes `share()` of the requested words."""

    def answer(request, brief, call):
        if brief["stage"] != "chapter":
            return obedient(request, brief, call)
        return prose(max(int(brief["words"] * share()), 5), next_number(request, brief), brief["language"])

    return answer


def cuts(rng: random.Random, *, admitted: float = 0.4, hidden: float = 0.05, repeats: float = 0.3) -> Answer:
    """A model whose replies are cut at random and which often repeats sentences when it continues."""

    def answer(request, brief, call):
        if brief["stage"] != "chapter":
            return obedient(request, brief, call)
        first = next_number(request, brief)
        if len(request.messages) > 1 and rng.random() < repeats:
            first = max(first - rng.randint(1, 3), brief["chapter_number"] * 10_000)
        text = prose(brief["words"], first, brief["language"])
        chance = rng.random()
        if chance < admitted + hidden:
            text = text[: rng.randint(len(text) // 10, len(text) - 1)]
        if admitted <= chance < admitted + hidden:
            # Cut but flagged as finished: inside a sentence, otherwise nobody could tell and nothing is lost.
            text = text.rstrip(".。")
        return says(text, StopReason.LENGTH if chance < admitted else StopReason.END)

    return answer


def garbles(rng: random.Random, share: Callable[[int], float]) -> Answer:
    """A model whose JSON is malformed with the chance `share(turns)`."""

    def answer(request, brief, call):
        text = obedient(request, brief, call)
        bad = text.startswith("{") and rng.random() < share(len(request.messages))
        return rng.choice(list(GARBAGE.values()))(text) if bad else text

    return answer


PETS = [sentence(number).replace(str(number), "seven") for number in range(900, 920)]


def repeats(rng: random.Random, share: float = 0.25) -> Answer:
    """A model with twenty favourite sentences, which it avoids only if told to."""

    def answer(request, brief, call):
        text = obedient(request, brief, call)
        if brief["stage"] != "chapter":
            return text
        told = request.messages[0].text.partition("The first and last sentences of the chapters before it")[2]
        pets = [pet for pet in PETS if pet not in told]
        return " ".join(rng.choice(pets) if pets and rng.random() < share else each for each in split(text))

    return answer


def doubled(texts: list[str]) -> int:
    """How many sentences, in total, occur in more than one chapter."""
    seen: dict[str, set[int]] = {}
    for number, text in enumerate(texts):
        for each in split(text):
            seen.setdefault(each, set()).add(number)
    return sum(len(chapters) - 1 for chapters in seen.values())
