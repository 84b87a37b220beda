"""Paragraphs that are not in the language of the book."""

from __future__ import annotations

import re

from bookgen.models import Book
from bookgen.words import count_words
from bookgen.writing.announced import announces_language, is_bilingual, phrases
from bookgen.writing.flaw import Flaw, paragraphs, without_code
from bookgen.writing.forms import has_speech, not_prose
from bookgen.writing.language import primary
from bookgen.writing.remembering import by_paragraph

LEAST_LETTERS = 40  # fewer may be a name, a title or an exclamation
LEAST_WORDS = 12
LETTERS_OF_A_CHARACTER = 3  # Chinese, Japanese, Korean: one says as much as some letters
MIN_PASSAGE_WORDS = 25  # of a paragraph: less is a quotation

_SCRIPTS = {
    "latin": "A-Za-zÀ-ɏḀ-ỿ",
    "cyrillic": "Ѐ-ӿ",
    "greek": "Ͱ-Ͽἀ-῿",
    "hebrew": "֐-׿",
    "arabic": "؀-ۿݐ-ݿ",
    "devanagari": "ऀ-ॿ",
    "bengali": "ঀ-৿",
    "thai": "฀-๿",
    "lao": "຀-໿",
    "khmer": "ក-៿",
    "burmese": "က-႟",
    "hangul": "가-힯ᄀ-ᇿ",
    "han": "㐀-䶿一-鿿",
    "kana": "぀-ヿ",
}
_SCRIPT = {name: re.compile(f"[{letters}]+") for name, letters in _SCRIPTS.items()}
_OF_LANGUAGE = {
    **dict.fromkeys(("ru", "uk", "bg"), ("cyrillic",)),
    "el": ("greek",),
    "he": ("hebrew",),
    **dict.fromkeys(("ar", "fa"), ("arabic",)),
    "hi": ("devanagari",),
    "bn": ("bengali",),
    "th": ("thai",),
    "lo": ("lao",),
    "km": ("khmer",),
    "my": ("burmese",),
    "ko": ("hangul", "han"),
    "zh": ("han",),
    "ja": ("han", "kana"),
}

# Letters of one alphabet that only one of two languages has: its own, the other's.
_TELLING = {"ru": (re.compile("[ыэъё]", re.I), re.compile("[іїєґ]", re.I))}
_TELLING["uk"] = _TELLING["ru"][::-1]
FEWEST_TELLING = 3

_COMMON = {
    "en": "the and of to in was that he she it with for had his her on at as but not they you were this a i is an me",
    "de": "der die das und ist nicht ein eine zu den mit sich auf für er sie es war dem im hatte wie auch aus",
    "fr": "le la les de des et un une est dans que qui pas pour il elle sur ne se avec était ce au plus son",
    "es": "el la los las de y que en un una no se por con para su al lo como más pero había era del",
    "it": "il la di e che un una non per in con si è del della gli le ma come era aveva più sono al",
    "pt": "o a os as de e que um uma não se por com para em do da no na mais mas como era seu",
    "nl": "de het een en van ik dat niet in is op te zijn met voor hij ze was maar aan er had ook",
    "sv": "och att det som en på är av för den till inte med han hon ett var jag om hade sig men från",
    "pl": "i w nie na się z do to że jest o jak a był była po co od ale za czy przez jej jego",
    "cs": "a se v na je že to s z do o i jako ale byl byla po za jeho by si ve tak když",
    "tr": "bir ve bu da de için ile ne o çok gibi ama daha değil kadar olan sonra var ben ki mi onun",
    "da": "og at det en den til er som på de med han af for ikke der var mig sig men et har om",
    "vi": "và của là có không một những được trong cho người với như đã này khi đó ông bà tôi cũng",
}
_LANGUAGES_OF: dict[str, list[str]] = {}  # which languages a common word is one of
for _tag, _words in _COMMON.items():
    for _word in _words.split():
        _LANGUAGES_OF.setdefault(_word, []).append(_tag)
_WORD = re.compile(r"[^\W\d_]+")
MUCH, LITTLE = 0.16, 0.07  # of a paragraph's words: common words of the other language, of the book's own


def foreign(content: str, book: Book) -> list[Flaw]:
    """The passages of the narrator in another language; one flaw of the whole chapter when most of it is.

    A language that the author or the outline announces is no flaw, nor are quotations, speech, letters and verse.
    """
    tag = book.content_language
    detail = f"It is not in the book's language ({tag})."
    if mostly_foreign(content, tag) and not is_bilingual(book):
        first = next(block for block in paragraphs(without_code(content)) if not _is_in(primary(tag), block))
        return [Flaw("wrong_language", None, first[:200], f"Most of the chapter: {detail}")]
    if announces_language(book):
        return []
    return [Flaw("wrong_language", index, block[:200], detail) for index, block in _passages(content, book)]


def _passages(content: str, book: Book) -> list[tuple[int, str]]:
    """The paragraphs in another language that stand between paragraphs of the book's own."""
    code = primary(book.content_language)
    blocks = paragraphs(without_code(content))
    exempt, known = not_prose(blocks), phrases(book)
    return [
        (index, block)
        for index, block in enumerate(blocks)
        if not _is_in(code, block)
        and index not in exempt
        and not has_speech(block)
        and not _is_quoted(block)
        and not any(phrase in block.casefold() for phrase in known)
    ]


def _is_quoted(block: str) -> bool:
    """Whether the paragraph is set in italics or brackets as a whole, or too short to be told."""
    bare = block.strip()
    if bare[:1] in ("*", "_", "(", "["):
        return True
    return count_words(bare) < MIN_PASSAGE_WORDS


def mostly_foreign(text: str, tag: str) -> bool:
    """Whether more of `text` than not is in another language than `tag`, block quotations aside."""
    blocks = [block for block in paragraphs(without_code(text)) if not block.lstrip().startswith(">")]
    strange = sum(len(block) for block in blocks if not _is_in(primary(tag), block))
    return strange > sum(map(len, blocks)) / 2


@by_paragraph
def _is_in(code: str, paragraph: str) -> bool:
    letters = _in_all(_WORD, paragraph)
    weight = LETTERS_OF_A_CHARACTER if code in ("zh", "ja", "ko") else 1
    if letters < LEAST_LETTERS // weight:
        return True
    scripts = _OF_LANGUAGE.get(code, ("latin",))
    own = sum(_in_all(_SCRIPT[script], paragraph) for script in scripts)
    if own * weight < (letters - own + own * weight) * 0.4:
        return False
    kana = _in_all(_SCRIPT["kana"], paragraph) if code in ("ja", "zh") else 0
    if code == "ja" and kana < own * 0.05:
        return False
    if code == "zh" and kana > own * 0.2:
        return False
    if code in _TELLING:
        ours, theirs = (len(letters.findall(paragraph)) for letters in _TELLING[code])
        return theirs < max(FEWEST_TELLING, ours)
    return scripts != ("latin",) or _latin_fits(code, paragraph)


def _in_all(runs: re.Pattern[str], text: str) -> int:
    """The characters of all that `runs` finds."""
    return sum(map(len, runs.findall(text)))


def _latin_fits(code: str, paragraph: str) -> bool:
    words = _WORD.findall(paragraph.casefold())
    if len(words) < LEAST_WORDS:
        return True
    common = dict.fromkeys(_COMMON, 0)
    for word in words:
        for tag in _LANGUAGES_OF.get(word, ()):
            common[tag] += 1
    share = {tag: count / len(words) for tag, count in common.items()}
    own = share.get(code, 0.0)
    other = max((value for tag, value in share.items() if tag != code), default=0.0)
    if code not in share:
        # A language whose common words are not known here: only English is told from it for certain.
        return share["en"] < 2 * MUCH
    return own >= LITTLE or other < MUCH
