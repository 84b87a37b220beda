"""Counts words in any script.

Scripts without spaces between words are counted by characters (`CHARACTERS_PER_WORD`), as word processors do. In all
other scripts, a word is a run of letters, marks and digits; apostrophes, hyphens and full stops may join its parts.
"""

import re
import unicodedata
from collections.abc import Iterator

# How many characters make one word. In Chinese and Japanese it is one; in the others, as many as match an English word.
CHARACTERS_PER_WORD = {"han_kana": 1.0, "thai_lao_khmer_myanmar": 4.5}

_HAN_KANA = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_SEA = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_HAN_KANA_CHARACTER = re.compile(f"[{_HAN_KANA}]")
_SEA_CHARACTER = re.compile(f"[{_SEA}]")
_UNSPACED = re.compile(f"[{_HAN_KANA}{_SEA}]")
# Vowel signs, points and joiners. Python's \w does not match them, but Hindi, Arabic and Hebrew words contain them.
_BLOCKS = "".join(map(chr, (*range(0x300, 0x3400), *range(0xA000, 0xAC00), *range(0xFB00, 0xFE30))))
MARKS = "\u200c\u200d" + "".join(
    character
    for character in re.findall(r"\W", _BLOCKS)
    if unicodedata.category(character).startswith("M") and not _UNSPACED.match(character)
)
_LETTERS = rf"[^\W_{_HAN_KANA}{_SEA}]"
_JOINT = r"['’\-‐.׳״]|(?<=[\u05d0-\u05ea])\"(?=[\u05d0-\u05ea])"
_SPACED_WORD = re.compile(rf"{_LETTERS}+(?:[{MARKS}]+{_LETTERS}*|(?:{_JOINT})(?=\w){_LETTERS}+)*")
# For text in which all scripts have spaces between words: finds the same words in a fraction of the time.
_WORD_OF_OTHERS = re.compile(rf"[^\W_]+(?:[{MARKS}]+[^\W_]*|(?:{_JOINT})(?=\w)[^\W_]+)*")
# Typographic marks and their ASCII equivalents for counting. Text with no other non-ASCII characters counts as ASCII.
_PRINTED = {"’": "'", "‘": " ", "“": " ", "”": " ", "–": " ", "—": " ", "…": " "}
_WORD_OR_CHARACTER = re.compile(rf"{_SPACED_WORD.pattern}|[{_HAN_KANA}{_SEA}]")
_KINDS = bytes(
    ord("a") if byte < 128 and chr(byte).isalnum() else ord("-") if chr(byte) in "'.-" else ord(" ")
    for byte in range(256)
)
PIECE = 32_768
MAX_WORD_CHARACTERS = 32_768  # anything longer is not a word, but an attempt to make the search slow
_BETWEEN_WORDS = re.compile(rf"[\s\[\](){{}}<>|*#!?,;:]|[{_HAN_KANA}](?=[{_HAN_KANA}])")
_BREAK_TAG = re.compile(r"<[bh]r[ \t]{0,9}/?>", re.I)
_MAYBE_UNSPACED = re.compile("[\u0e00-\u17ff\u3005-\U0003ffff]")


def count_words(text: str) -> int:
    """The number of words in `text` (plain or Markdown), in any script."""
    return round(measure(text))


def measure(text: str) -> float:
    """The length of `text` in words, not rounded, so that the lengths of pieces can be added up.

    A long text is measured piece by piece, because a regular expression search blocks all threads until its end. The
    tags `<br>` and `<hr>`, which Markdown allows, do not count.
    """
    if "<" in text:
        text = _BREAK_TAG.sub(" ", text)
    return sum(map(_measured, _pieces(text))) if len(text) > PIECE else _measured(text)


def split(text: str) -> list[str]:
    """The words of `text`, in order. In scripts without spaces, every character is an item of the list."""
    return [word for piece in _pieces(text) for word in _WORD_OR_CHARACTER.findall(piece)]


def weight(word: str) -> float:
    """How many words `word`, an item of the list from `split`, counts as."""
    southeast = len(word) == 1 and _SEA_CHARACTER.match(word)
    return 1 / CHARACTERS_PER_WORD["thai_lao_khmer_myanmar"] if southeast else 1.0


def _pieces(text: str) -> Iterator[str]:
    """Cut the text into pieces of about PIECE characters, between words. Only a word that is too long is cut inside."""
    start = 0
    while start < len(text):
        cut = _BETWEEN_WORDS.search(text, start + PIECE, start + PIECE + MAX_WORD_CHARACTERS)
        end = cut.end() if cut else start + PIECE + MAX_WORD_CHARACTERS
        yield text[start:end]
        start = end


def _measured(text: str) -> float:
    plain = text
    if not text.isascii():
        for mark, meaning in _PRINTED.items():
            plain = plain.replace(mark, meaning)
    if plain.isascii():
        return float(_ascii_words(plain))
    if not _MAYBE_UNSPACED.search(text):
        return float(len(_WORD_OF_OTHERS.findall(text)))
    han_kana = len(_HAN_KANA_CHARACTER.findall(text))
    southeast = len(_SEA_CHARACTER.findall(text))
    return (
        len(_SPACED_WORD.findall(text))
        + han_kana / CHARACTERS_PER_WORD["han_kana"]
        + southeast / CHARACTERS_PER_WORD["thai_lao_khmer_myanmar"]
    )


def _ascii_words(text: str) -> int:
    """The number of words in ASCII text. Counting the bytes that start a word is four times as fast as a regex."""
    kinds = b" " + text.encode().translate(_KINDS)
    return kinds.count(b" a") + kinds.count(b" -a") + kinds.count(b"--a")


_WIDE = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_OTHER = re.compile(r"[\u0080-\u0dff\u1e00-\u1fff]")


def tokens(text: str) -> int:
    """An upper estimate of the model tokens in `text`.

    It assumes about 4 characters per token in English, 2 in other alphabets, and 1 in scripts without spaces.
    """
    if text.isascii():
        return round(len(text) / 4)
    wide = len(_WIDE.findall(text))
    other = len(_OTHER.findall(text))
    return round(wide * 1.1 + other / 2 + (len(text) - wide - other) / 4)
