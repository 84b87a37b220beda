"""Find paragraphs that are not in the language of the book."""

from __future__ import annotations

import re

from bookgen.models import Book
from bookgen.words import count_words
from bookgen.writing.author_wishes import announces_language, is_bilingual, phrases
from bookgen.writing.blocks import paragraphs
from bookgen.writing.bounded_cache import by_paragraph
from bookgen.writing.common_words import Thresholds, is_in_another
from bookgen.writing.flaw import Flaw, without_code
from bookgen.writing.language import primary
from bookgen.writing.not_prose import has_speech, not_prose

MIN_LETTERS = 40  # fewer may be a name, a title or an exclamation
MIN_WORDS = 12
LETTERS_OF_A_CHARACTER = 3  # in Chinese, Japanese and Korean, a character counts as several letters
MIN_OWN_SHARE = 0.4  # of the letters must be in the language's script
MAX_KANA_SHARE = 0.3  # of a Chinese text that quotes Japanese
MIN_TELLING_SHARE = 0.05  # kana in Japanese, hangul in Korean; the rest may be Chinese characters
MIN_PASSAGE_WORDS = 25  # of a paragraph; a shorter passage is a quotation

_SCRIPTS = {
    "latin": "A-Za-zÀ-ɏḀ-ỿ",
    "cyrillic": "Ѐ-ӿ",
    "greek": "Ͱ-Ͽἀ-῿",
    "hebrew": "֐-׿",
    "arabic": "؀-ۿݐ-ݿ",
    "devanagari": "ऀ-ॿ",
    "bengali": "ঀ-৿",
    "tamil": "஀-௿",
    "thai": "฀-๿",
    "lao": "຀-໿",
    "khmer": "ក-៿",
    "burmese": "က-႟",
    "hangul": "가-힯ᄀ-ᇿ",
    "han": "㐀-䶿一-鿿",
    "kana": "぀-ヿ",
}
_DENSE = ("hangul", "han", "kana")
_SCRIPT = {name: re.compile(f"[{letters}]+") for name, letters in _SCRIPTS.items()}
_OF_LANGUAGE = {
    **dict.fromkeys(("ru", "uk", "bg"), ("cyrillic",)),
    "el": ("greek",),
    "he": ("hebrew",),
    **dict.fromkeys(("ar", "fa", "ur"), ("arabic",)),
    "hi": ("devanagari",),
    "bn": ("bengali",),
    "ta": ("tamil",),
    "th": ("thai",),
    "lo": ("lao",),
    "km": ("khmer",),
    "my": ("burmese",),
    "ko": ("hangul", "han"),
    "zh": ("han",),
    "ja": ("han", "kana"),
}

# For two languages with one alphabet: letters that only the first has, and those that only the second has.
_TELLING = {"ru": (re.compile("[ыэъё]", re.I), re.compile("[іїєґ]", re.I))}
_TELLING["uk"] = _TELLING["ru"][::-1]
MIN_TELLING_WORDS = 3

_WORD = re.compile(r"[^\W\d_]+")
_WITH_LISTS = (("latin",), ("cyrillic",), ("arabic",))  # scripts of several languages, told apart by their words
# A chapter has many words, so a smaller share is sufficient.
PARAGRAPH_THRESHOLDS = Thresholds(min_share=0.12, times=3)
CHAPTER_THRESHOLDS = Thresholds(min_share=0.05, times=2)
MIN_CHAPTER_WORDS = 60  # a shorter text is judged by its paragraphs


def foreign(content: str, book: Book) -> list[Flaw]:
    """A finding for each narrative paragraph that is not in the book's language.

    If most of the chapter is in another language, the result is a single finding for the whole chapter instead, unless
    the book is meant to have two languages. If the author or the story bible mentions another language, only the whole
    chapter is checked, not each paragraph. Quotations, speech, letters to somebody and verse may be in any language.
    """
    tag = book.content_language
    detail = f"It is not in the book's language ({tag})."
    if mostly_foreign(content, tag) and not is_bilingual(book):
        blocks = paragraphs(without_code(content))
        first = next((block for block in blocks if not _is_in(primary(tag), block)), blocks[0])
        return [Flaw("wrong_language", None, first[:200], f"Most of the text is not in the book's language ({tag}).")]
    if announces_language(book):
        return []
    return [Flaw("wrong_language", index, block[:200], detail) for index, block in _passages(content, book)]


def _passages(content: str, book: Book) -> list[tuple[int, str]]:
    """The narrative paragraphs in another language than the book's, with their indexes."""
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
    """Whether a paragraph is treated as a quotation: it begins with italics or a bracket, or is short."""
    bare = block.strip()
    if bare[:1] in ("*", "_", "(", "["):
        return True
    return count_words(bare) < MIN_PASSAGE_WORDS


def mostly_foreign(text: str, tag: str) -> bool:
    """Whether more than half of `text` is in another language than `tag`, not counting block quotations.

    Many paragraphs are too short to be judged alone. Therefore the paragraphs that seem to be in the right language are
    also judged together, as one text.
    """
    code = primary(tag)
    blocks = [block for block in paragraphs(without_code(text)) if not block.lstrip().startswith(">")]
    own = [block for block in blocks if _is_in(code, block)]
    if sum(map(len, own)) < sum(map(len, blocks)) / 2:
        return True
    together = "\n\n".join(own)
    return not _is_in_script(code, together) or _reads_as_another(code, together, MIN_CHAPTER_WORDS, CHAPTER_THRESHOLDS)


@by_paragraph
def _is_in(code: str, paragraph: str) -> bool:
    if not _is_in_script(code, paragraph):
        return False
    if code in _TELLING:
        ours, theirs = (len(letters.findall(paragraph)) for letters in _TELLING[code])
        return theirs < max(MIN_TELLING_WORDS, ours)
    return not _reads_as_another(code, paragraph, MIN_WORDS, PARAGRAPH_THRESHOLDS)


def _is_in_script(code: str, text: str) -> bool:
    """Whether enough of the letters belong to the script of `code`. Also True if `text` has too few letters to tell."""
    scripts = _OF_LANGUAGE.get(code, ("latin",))
    counted = (*scripts, *_DENSE) if not text.isascii() else ("latin",)
    found = {script: _in_all(_SCRIPT[script], text) for script in counted}
    dense = sum(found.get(script, 0) for script in _DENSE)
    letters = _in_all(_WORD, text) + dense * (LETTERS_OF_A_CHARACTER - 1)
    if letters < MIN_LETTERS:
        return True
    own = sum(found.get(script, 0) * (LETTERS_OF_A_CHARACTER if script in _DENSE else 1) for script in scripts)
    if own < letters * MIN_OWN_SHARE:
        return False
    if code == "zh":
        return found["kana"] <= dense * MAX_KANA_SHARE
    telling = {"ja": "kana", "ko": "hangul"}.get(code)
    return telling is None or found[telling] >= dense * MIN_TELLING_SHARE


def _reads_as_another(code: str, text: str, min_words: int, thresholds: Thresholds) -> bool:
    if _OF_LANGUAGE.get(code, ("latin",)) not in _WITH_LISTS:
        return False
    words = _WORD.findall(text.casefold())
    return len(words) >= min_words and is_in_another(code, words, thresholds)


def _in_all(runs: re.Pattern[str], text: str) -> int:
    """The total length of all matches of `runs`."""
    return sum(map(len, runs.findall(text)))
