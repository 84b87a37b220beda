"""The words with which a model describes the design of a cover. `render.cover` can draw each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

EMBLEM = "emblem"  # the only family that draws the motif

# Styles of drawing.
FAMILIES = {
    "horizon": "hills or mountains behind one another under a low sun",
    "tiles": "a wall of geometric tiles",
    "rosette": "an engraved golden rosette in a ruled frame",
    "contours": "the contour lines of a map around a summit",
    "rays": "a sun that rises with wide rays",
    "scallops": "a printed pattern of scalloped waves",
    "botanical": "stems with leaves and berries",
    "swiss": "a few large, plain shapes in balance",
    "constellation": "a planet and its moons among the stars",
    "skyline": "a town at night with a light in some of its windows",
    "clothbound": "a patterned cloth binding with a label",
    "arches": "somebody before a row of arches that leads to a light",
    "pebbles": "stones balanced on one another over still water",
    "poster": "only the title, very large, with a few bars",
    EMBLEM: "the motif, large, on a disc",
}

PALETTES = {
    "midnight": "dark blue with amber and brick",
    "pine": "dark green with gold and rust",
    "plum": "dark purple with coral and rose",
    "oxblood": "dark red with gold",
    "graphite": "near black with red and yellow",
    "ocean": "dark sea green with orange and teal",
    "cobalt": "strong blue with yellow and coral",
    "paper": "cream with red and dark teal",
    "sand": "pale brown with rust and teal",
    "mist": "pale grey with red and teal",
    "blush": "pale pink with red and slate",
    "lemon": "yellow with red, blue and green",
    "sky": "pale blue with red and dark blue",
    "mustard": "dark yellow with brown and dark blue",
}

MOODS = {
    "calm": "quiet, patient, reflective",
    "tense": "danger, pursuit, suspicion",
    "playful": "funny, light, for fun",
    "solemn": "grief, memory, history, duty",
    "warm": "love, home, friendship, food",
    "wild": "nature, adventure, journeys",
    "clear": "instruction, explanation, work",
}

MOTIFS = (
    "anchor", "apple", "bell", "bird", "boat", "book", "bottle", "bridge", "candle", "clock", "compass", "crown", "cup",
    "dam", "door", "feather", "fish", "flame", "flower", "gear", "hammer", "heart", "hourglass", "house", "key",
    "knife", "lantern", "letter", "lighthouse", "loaf", "moon", "mountain", "pencil", "scales", "star", "sun", "sword",
    "tree", "umbrella", "wave",
)  # fmt: skip

# What is drawn for a motif whose name could mean something else.
MOTIF_PICTURES = {
    "boat": "a small sailing boat",
    "book": "open",
    "bridge": "of stone, with two arches",
    "clock": "a round face with two hands",
    "compass": "with a needle",
    "cup": "with a hot drink",
    "dam": "a wall across a valley",
    "gear": "a cogwheel",
    "letter": "a sealed envelope",
    "loaf": "of bread",
    "moon": "a crescent",
    "scales": "a balance with two pans",
    "star": "with five points",
    "wave": "three lines of waves",
}


@dataclass(frozen=True, slots=True)
class CoverIdea:
    """A model's idea for a cover: families (styles of drawing) and palettes, the best first, a motif and a mood.

    Any field may be empty. The family EMBLEM draws the motif, so it is included only if there is a motif.
    """

    families: tuple[str, ...] = ()
    palettes: tuple[str, ...] = ()
    motif: str = ""
    mood: str = ""

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> CoverIdea:
        """Read a stored idea. Words that are not in the vocabulary of this version are left out."""
        families = known(stored.get("families"), FAMILIES)
        palettes = known(stored.get("palettes"), PALETTES)
        (motif,) = known(stored.get("motif"), MOTIFS)[:1] or ("",)
        (mood,) = known(stored.get("mood"), MOODS)[:1] or ("",)
        if motif and EMBLEM not in families:
            families = (*families, EMBLEM)
        if not motif:
            families = tuple(each for each in families if each != EMBLEM)
        return cls(families, palettes, motif, mood)


def known(words: object, vocabulary: Mapping[str, str] | tuple[str, ...]) -> tuple[str, ...]:
    """Those of the words that are in the vocabulary, in lower case and without duplicates.

    `words`: a word or a list of words. Anything else is ignored.
    """
    listed = words if isinstance(words, list | tuple) else [words]
    spelt = (each.strip().lower() for each in listed if isinstance(each, str))
    return tuple(dict.fromkeys(each for each in spelt if each in vocabulary))
