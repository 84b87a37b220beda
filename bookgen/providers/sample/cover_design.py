"""A sample design of a cover, chosen by rules from the genre and the words of the book."""

from __future__ import annotations

import re
from typing import Any

from bookgen.providers.sample.brief import Brief

# Word beginnings in the languages of the sample stories. Of motifs that are mentioned equally often, the first is used.
_MOTIFS = {
    "scales": r"weigh|scales?\b|waage|wiege|balance|bascule|pes[ao]|b[áa]scula|balanza",
    "lighthouse": r"lighthouse|leuchtt[uü]rm|phare|faro\b",
    "bell": r"bells?\b|glocke|cloche|campana",
    "key": r"keys?\b|schl[üu]ssel|cl[ée]s?\b|clefs?\b|llaves?\b",
    "clock": r"clocks?\b|watchmaker|uhr(?:en|macher)?\b|horloge|pendule|reloj",
    "compass": r"compass|kompa[sß]|boussole|br[úu]jula",
    "knife": r"kni(?:fe|ves)|messer|couteau|cuchillo",
    "lantern": r"lanterns?|lamps?\b|laterne|lampe|lanterne|farol|l[áa]mpara",
    "letter": r"letters?\b|briefe?\b|lettres?\b|cartas?\b",
    "boat": r"boats?\b|ships?\b|ferry|f[äa]hre|schiff|boot|bateau|navire|barc[ao]",
    "bridge": r"bridges?\b|br[üu]cke|ponts?\b|puentes?\b",
    "house": r"houses?\b|h[äa]us(?:er)?\b|maisons?\b|casas?\b",
    "loaf": r"bread|loaf|loaves|bakery|brot|b[äa]cker|pain\b|boulang|panader|\bpan\b",
    "tree": r"trees?\b|orchard|b[äa]um|obstgarten|arbres?\b|verger|[áa]rbol|huerto",
    "door": r"doors?\b|t[üu]r(?:en)?\b|portes?\b|puertas?\b",
    "book": r"ledger|books?\b|b[üu]ch(?:er)?\b|livres?\b|libros?\b",
}
_BY_PALETTE = {
    "fantasy": (("arches", "rosette", "constellation"), ("plum", "pine", "midnight"), "wild"),
    "science": (("constellation", "contours", "swiss"), ("midnight", "graphite", "cobalt"), "tense"),
    "mystery": (("skyline", "arches", "horizon"), ("graphite", "midnight", "ocean"), "tense"),
    "romance": (("botanical", "scallops", "horizon"), ("blush", "sand", "plum"), "warm"),
    "history": (("rosette", "clothbound", "horizon"), ("oxblood", "pine", "paper"), "solemn"),
    "horror": (("arches", "skyline", "horizon"), ("graphite", "oxblood", "plum"), "tense"),
    "children": (("rays", "pebbles", "scallops"), ("sky", "lemon", "cobalt"), "playful"),
    "default": (("horizon", "scallops", "clothbound"), ("ocean", "sand", "mist"), "calm"),
}
_NONFICTION = (("swiss", "tiles", "contours"), ("paper", "mist", "mustard"), "clear")


def design(brief: Brief) -> dict[str, Any]:
    """Return the fields of a CoverIdea: families and palettes (the best first), a motif (may be empty) and a mood."""
    families, palettes, mood = _NONFICTION if brief.nonfiction else _BY_PALETTE[brief.palette]
    motif = _motif(f"{brief.title}\n{brief.text('portrait')}".casefold())
    if motif:
        families = ("emblem", *families[:2])
    return {"families": list(families), "palettes": list(palettes), "motif": motif, "mood": mood}


def _motif(told: str) -> str:
    """Return the motif that the text `told` mentions most often; empty if it mentions none."""
    mentions = {name: len(re.findall(rf"\b(?:{words})", told)) for name, words in _MOTIFS.items()}
    best = max(mentions, key=lambda name: mentions[name])
    return best if mentions[best] else ""
