"""Recognise what the author of a book wants: other languages, refrains, certain names and phrases.

The wishes are found in the idea, the style notes and the story bible. The quality gate (`writing.quality`) does not
report text as a fault if the author wants it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from bookgen.models import Book
from bookgen.writing.language import primary

# Names of languages in the main languages of books, by their stems.
_NAMES = {
    "en": "english|englisch|anglais|inglés|inglese|inglês|engels|engelsk|английск|英语|英語",
    "de": "german|deutsch|allemand|alemán|tedesc|alemão|duits|tysk|немецк|德语|ドイツ語",
    "fr": "french|französisch|français|francés|frances[ei]|francês|frans\\b|fransk|французск|法语|フランス語",
    "es": "spanish|spanisch|espagnol|español|castellano|spagnol|espanhol|spaans|spansk|испанск|西班牙语",
    "it": "italian|italienisch|italien|итальянск|意大利语",
    "pt": "portug|португальск|葡萄牙语",
    "nl": "dutch|niederländ|holländ|néerlandais|neerland|holand|olandes",
    "ru": "russian|russisch|russe|ruso|russo|russisk|русск|俄语",
    "la": "latin|latein|latín|lateinisch|латын",
    "zh": "chinese|chinesisch|chinois|chino|cinese|chinês|mandarin|китайск",
    "ja": "japanese|japanisch|japonais|japonés|giapponese|japonês|японск",
    "": (
        "hebrew|hebrä|yiddish|jidd?isch|arabic|arabisch|polish|polnisch|turkish|türkisch|greek|griechisch|gaelic|irish|"
        "welsh|scots\\b|swedish|schwedisch|danish|dänisch|norwegian|norwegisch|finnish|finnisch|czech|tschechisch|"
        "hungarian|ungarisch|ukrainian|ukrainisch|korean|koreanisch|vietnam|hindi|sanskrit|swahili|tagalog|persian|"
        "farsi|romanian|rumänisch|catalan|katalanisch|basque|creole|kreol|dialect|dialekt|dialecto|patois"
    ),
}
_BILINGUAL = re.compile(
    r"\b(?:bilingu|multilingu|zweisprachig|mehrsprachig|plurilingu|tweetalig|двуязычн|"
    r"(?:two|both|several|three) languages|(?:zwei|beiden?|mehreren) sprachen|deux langues|dos (?:idiomas|lenguas)|"
    r"due lingue|dois idiomas|dual.language|parallel text)|双语|二か国語|バイリンガル",
    re.IGNORECASE,
)
_ARTICLES = r"The|An?|Der|Die|Das|Ein|Eine|Les?|La|Une?|El|Los|Las|Il|Lo|Gli|Os?|As?|Uma?|De|Het|Een"
_PHRASE = re.compile(rf"\b((?!(?:{_ARTICLES})\b)[A-ZÀ-Þ][^\W\d_]+ [A-ZÀ-Þ][^\W\d_]+)\b")
_QUOTED = re.compile(r"[“\"„«‘']([^“”\"„«»’\n]{6,80})[”\"“»’']")
_REFRAIN = re.compile(
    r"\b(?:refrain|chorus|litan|leitmotif|leitmotiv|kehrreim|estribillo|ritornello|refrão|anaphor|nursery rhyme|"
    r"repeat(?:s|ed|ing)? (?:the |a )?(?:line|sentence|phrase))",
    re.IGNORECASE,
)


def wishes(book: Book) -> str:
    """The book's title, idea, style notes and story bible as one text."""
    return "\n".join((book.title, book.description, book.style_notes, _bible(book)))


def _bible(book: Book) -> str:
    return "\n".join(_strings(book.bible))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for each in value.values() for text in _strings(each))
    elif isinstance(value, Sequence):
        yield from (text for each in value for text in _strings(each))


def is_bilingual(book: Book) -> bool:
    """Whether the book is meant to be in two languages."""
    return bool(_BILINGUAL.search(wishes(book)))


def announces_refrains(book: Book) -> bool:
    """Whether the author asked for a refrain."""
    return bool(_REFRAIN.search(f"{book.description}\n{book.style_notes}"))


def announces_language(book: Book) -> bool:
    """Whether the author or the story bible mentions another language than the book's, or several languages."""
    return is_bilingual(book) or bool(_other_languages(primary(book.content_language)).search(wishes(book)))


@lru_cache(maxsize=64)
def _other_languages(own: str) -> re.Pattern[str]:
    stems = "|".join(stems for tag, stems in _NAMES.items() if tag != own)
    return re.compile(rf"\b(?:{stems})", re.IGNORECASE)


def phrases(book: Book) -> tuple[str, ...]:
    """Names of two words and quoted phrases in the author's wishes and the story bible, in lower case."""
    text = wishes(book)
    return tuple({found.casefold() for found in (*_PHRASE.findall(text), *_QUOTED.findall(text))})
