"""A settled cast, sentences that contradict it, and prose that only seems to."""

from __future__ import annotations

import itertools

from bookgen.models import Digest

BIBLE = {
    "people": [
        {"name": "Mara Lindqvist", "description": "Thirty-four years old, grey eyes, black hair, left-handed."},
        {"name": "Tobias", "description": "The ferryman, aged 61, white hair, born in 1931."},
        {"name": "Ines", "description": "Mara's sister, 29, green eyes, red hair."},
    ],
    "places": [{"name": "The Sund Lighthouse", "description": "Built in 1887 on the outer rock."}],
    "terms": [],
}
DIGESTS = [
    Digest(1, "x", "…", ("Captain Holt died in the storm.", "Oskar is right-handed.", "Petra has brown eyes.")),
    Digest(2, "y", "…", ("Nora Falk was born in 1952.", "The Assembly Hall burned down in 1911.", "Elias is 17.")),
]

_EYES = [
    "{name} lifted her {value} eyes to the window.",
    "{name}'s {value} eyes followed the boat.",
    "{name} had {value} eyes, and everybody remarked on it.".replace("remarked on it", "said so"),
    "The lamp lit {name}'s eyes; her eyes were {value}.",
]
_HAIR = ["{name} tied back her {value} hair.", "{name}, {value}-haired and tired, came down to the quay."]
_AGE = ["{name} was {value} years old that spring.", "{name}, {value}, ran the place alone.", "{name} turned {value}."]
_BORN = ["{name} was born in {value}, in the house by the quay."]
_HAND = ["{name} was {value}-handed and proud of it."]
_ACTS = ["{name} laughed and poured the tea.", "{name} walked in, shaking off the rain.", "{name} nodded."]


def planted() -> list[str]:
    """A hundred sentences of which each contradicts what is settled."""
    made = [
        *_filled(_EYES, ["Mara", "Mara Lindqvist"], ["green", "brown", "blue"]),
        *_filled(_EYES, ["Petra"], ["blue", "grey"]),
        *_filled(_EYES, ["Ines"], ["brown"]),
        *_filled(_HAIR, ["Mara", "Ines"], ["blond", "white", "auburn"]),
        *_filled(_AGE, ["Mara"], ["forty-one", "27", "nineteen"]),
        *_filled(_AGE, ["Tobias"], ["48", "seventy"]),
        *_filled(_AGE, ["Elias"], ["twelve", "25"]),
        *_filled(_BORN, ["Nora Falk", "Nora", "Tobias"], ["1949", "1960", "1938"]),
        *_filled(_HAND, ["Mara", "Oskar"], ["right", "left"])[::3],
        *_filled(_ACTS, ["Captain Holt", "Holt"], [""]),
        "The Sund Lighthouse was built in 1902 by convicts.",
        "The Sund Lighthouse, founded in 1850, leaned a little.",
        "The Assembly Hall burned down in 1923.",
        "The Assembly Hall burned in 1899, people said.",
        *_filled(_HAIR, ["Tobias"], ["black", "red"]),
    ]
    assert len(made) >= 90, len(made)
    return list(itertools.islice(itertools.cycle(made), 100))


def _filled(patterns: list[str], names: list[str], values: list[str]) -> list[str]:
    return [pattern.format(name=name, value=value) for pattern in patterns for name in names for value in values]


# True to what is settled, or about somebody else, another time, a picture or a doubt.
INNOCENT = [
    "Mara lifted her grey eyes to the window.",
    "Mara looked into the man's green eyes and said nothing.",
    "Mara wondered if Ines had dyed her hair black.",
    "When Mara was nineteen, she had walked to Sund alone.",
    "Mara remembered Tobias with black hair, as a young man.",
    "In the photograph Tobias has brown hair and a pipe.",
    "Tobias was born in 1931, and so was the ferry.",
    "Mara counted 27 gulls on the pier.",
    "Mara was twelve minutes late.",
    "Ines and Mara shared a room with blue eyes painted on the wall.",
    "The dog had brown eyes. Mara fed it anyway.",
    "Mara bought the red hair ribbon for the child.",
    "Captain Holt had died, and nobody laughed.",
    "Mara thought of Captain Holt, who had laughed at storms.",
    "Oskar, right-handed, took the oar.",
    "Elias was seventeen, and looked it.",
    "The Assembly Hall stood empty; it had burned down in 1911.",
    "They met near the Sund Lighthouse in 1954.",
    "Mara shook the hand of a blue-eyed stranger.",
    "Nora Falk wrote the letter in 1975.",
]
