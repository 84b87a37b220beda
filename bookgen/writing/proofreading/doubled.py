"""Finds words typed twice by mistake ("the the"), limited to words that no sentence doubles on purpose."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bookgen.models import Severity, SuggestionType
from bookgen.writing.proofreading.book import BookText, ChapterText
from bookgen.writing.proofreading.correction import Correction, Reason

# Articles, prepositions and conjunctions, except words that are doubled in good prose ("had had", "die die").
NEVER_TWICE = {
    "en": "the a an of and at from by as or but if into onto than then they we our your his its their my",
    "de": "und von zu mit aus bei nach ein eine einen einem einer eines oder aber dass für durch gegen ohne wenn als",
    "fr": "le la les un une des du de et à au aux dans par pour sur avec sans mais ou donc que qui ce cette son sa ses",
    "es": "el la los las un una de del y en a con por para pero o que se su sus al como sin sobre este esta",
    "it": "il lo la gli le un una di del della e in a da con per ma che al alla come sono questo questa nel nella",
    "pt": "o os as um uma de do da dos das e em no na nos com por para mas ou seu sua ao à como sem sobre",
    "nl": "de het een van en op te met voor aan maar of dat uit bij naar om door over als niet ook",
    "sv": "och att en ett i på av för med till från om men eller som vid under efter utan inte",
    "da": "og at en et i på af for med til fra om men eller som ved under efter uden ikke",
    "nb": "og å en et i på av for med til fra om men eller som ved under etter uten ikke",
    "pl": "i w z na do od po za ale lub albo że aby oraz przy przez dla o u jest są",
    "cs": "a v s z na do od po za ale nebo že aby při přes pro o u je jsou",
    "ru": "и в с на к по за от до из у о но или что чтобы при через для без под над как",
    "uk": "і та в у з на до по за від але або що щоб при через для без під над як",
    "el": "ο η το οι τα του της των και σε στο στη με για από αλλά ή ότι που να θα",
    "tr": "ve ile için ama fakat veya da de ki bu şu gibi",
    "ar": "في من إلى على عن مع أو ثم أن التي الذي هذا هذه",
    "he": "של על את עם אל כי או גם אם אשר",
    "hi": "का की के को में से पर और कि यह ने है",
}
# Pairs of words that differ only in the capital of the first: "you in".
_TWO_WORDS = {"sv": "I i", "da": "I i", "nb": "I i"}
_PATTERN = {
    tag: re.compile(rf"(?<![\w'’-])(?P<word>{'|'.join(words.split())})\s+(?P=word)(?![\w'’\u00ad-])", re.IGNORECASE)
    for tag, words in NEVER_TWICE.items()
}

_SPACED_LETTERS = re.compile(r"\s\w\s\w\b")
_REASON = Reason(SuggestionType.GRAMMAR, Severity.MAJOR, "Repeated word.", "doubled_word")


def corrections(book: BookText) -> Iterator[tuple[int, Correction]]:
    """Corrections that remove the second of two equal words, each with the id of its chapter."""
    pattern = _PATTERN.get(book.primary)
    if pattern is None:
        return
    for chapter_id, text in book.texts.items():
        for match in pattern.finditer(text.prose):
            if "\n" not in match[0] and _is_repeated(text, match):
                yield chapter_id, text.correction(*match.span(), match["word"], _REASON)


def _is_repeated(text: ChapterText, match: re.Match[str]) -> bool:
    """Whether a word is typed twice, and the two are not initials, different words or letters of a s p a c e d word."""
    first, second = match[0].split()
    if second != first.lower() or f"{first} {second}" == _TWO_WORDS.get(text.primary):
        return False
    return not (len(second) == 1 and _SPACED_LETTERS.match(text.prose, match.end()))
