"""Recognise a model's words to its user, and refusals, by several signs together.

No single sign is proof: a narrator may say "I have written this chapter". The result is therefore only a finding, or a
reason to ask again when a reply is far too short. The signs of each language are in `task_words.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bookgen.writing.language import primary
from bookgen.writing.not_prose import has_speech

EDGE_PARAGRAPHS = 2  # at the start and end of a chapter, where most remarks of a model are
MAX_CHARACTERS = 420  # of a paragraph: a model's remarks to its user are short
MAX_NOTE_CHARACTERS = 80  # of a note such as "Chapter 2 (900 words)" without an addressee
MIN_SIGNS = 6
MIN_SIGNS_IN_LETTER = 11  # letters between characters mention requests too
OPENING_CHARACTERS = 300  # at the start of a reply, in which a refusal is looked for
SAID_CHARACTERS = 40  # after speech, in which the speaker may be named
OFFER = 3  # the weight of a cue that asks the user for something
BRACKETS = 4  # the weight of brackets around a paragraph

_MIXED_IN = ("zh", "ja", "ko")  # languages that a model may lapse into, whatever the book's language
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_FILE = Path(__file__).with_name("task_words.toml")
_SENTENCE = re.compile(r"(?<=[.!?:;…。！？：；—–])\s*|\n+")
_EDGE = "*_~#=- \t\n"
_BRACKETS = {"(": ")", "[": "]", "（": "）", "【": "】", "{": "}"}
# Quotation marks around a few words without a full stop mark a title, not speech.
_TITLE = re.compile(r"[\"“„«‹「『][^\"”“»›」』.!?,…\n]{1,60}[\"”“»›」』]|(?<=\s)['‘][^'’.!?,\n]{1,40}['’](?!\w)")
_FULL_STOPS = ("!", ".", ":", "！", "。")
_RULES = ("---", "***", "___", "* * *")
# The speaker is before or after the verb of saying. "I" and "you" may be the model and its user.
_AFTER_SPEECH = (
    r"[,?!…]\s(?:(?!(?:you|i|as|ich|wie|je|ik|jag|jeg|som|я|как|ja|jak)\b)\w[’\w]* ){0,4}"
    r"(?<!\byou )(?<!\bi )(?<!я )"
)
_NUMBER = (
    r"(?:\d+|[ivxlc]+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|eins|zwei|drei|vier|fünf|sechs|"
    r"un|une|deux|trois|quatre|cinq|uno|una|dos|tres|cuatro|cinco|due|tre|quattro|cinque|um|dois|três|quatro|een|twee|"
    r"drie|ett|två|en|to|jeden|dwa|trzy|první|один|два|три|первая|вторая|третья)(?!\w)"
)


@dataclass(frozen=True, slots=True)
class _Signs:
    """The patterns that recognise a model's words to its user in one language.

    The patterns in `cues` and `chapter` have weights. A cue is something a model says to its user, such as an offer.
    Cues are searched at the start of each sentence. If `anywhere`, they are searched in the whole text, as needed for
    languages whose verb comes last.
    """

    opener: re.Pattern[str]
    cues: tuple[tuple[int, re.Pattern[str]], ...]
    chapter: tuple[tuple[int, re.Pattern[str]], ...]
    task: re.Pattern[str]
    certain: re.Pattern[str]
    request: re.Pattern[str]
    user: re.Pattern[str]
    refuses: re.Pattern[str]
    said: re.Pattern[str]
    anywhere: bool


def refuses(text: str, tag: str) -> bool:
    """Whether the beginning of a reply says that the model will not write the requested text."""
    opening = _plain(text[:OPENING_CHARACTERS])
    return any(
        not signs.said.search(opening, found.start(), found.end() + SAID_CHARACTERS)
        for signs in _signs_in(opening, tag)
        for found in signs.refuses.finditer(opening)
    )


def is_reported(text: str, tag: str) -> bool:
    """Whether the text says that a character speaks, even without quotation marks: "Shall I go on? the rain asked".

    `tag`: the language.
    """
    plain = _plain(text)
    return any(signs.said.search(plain) for signs in _signs_in(plain, tag))


def speaks_of_task(blocks: Sequence[str], index: int, tag: str, *, in_letter: bool = False) -> bool:
    """Whether paragraph `index` of a chapter seems to be the model speaking to its user."""
    block = blocks[index].strip()
    if len(block) > MAX_CHARACTERS or has_speech(_TITLE.sub("", block)) or is_reported(block, tag):
        return False
    is_edge = index < EDGE_PARAGRAPHS or index >= len(blocks) - EDGE_PARAGRAPHS
    place = int(is_edge) + int(index > 0 and blocks[index - 1].strip() in _RULES)
    least = MIN_SIGNS_IN_LETTER if in_letter and not block.strip(_EDGE).startswith("[") else MIN_SIGNS
    return any(place + _weight(block, signs, is_edge=is_edge) >= least for signs in _signs_in(block, tag))


def _weight(block: str, signs: _Signs, *, is_edge: bool) -> int:
    """The weight of all signs in a paragraph; 0 if it does not mention the task or does not address a user.

    `is_edge`: the paragraph is near the start or the end of the chapter.
    """
    text = _plain(block.strip(_EDGE))
    answer = signs.opener.sub("", text) or text
    chapter = sum(weight for weight, word in signs.chapter if word.search(answer))
    task, certain = 2 * bool(signs.task.search(answer)), 4 * bool(signs.certain.search(answer))
    request = 2 * bool(signs.request.search(answer))
    if not chapter + task + certain + request:
        return 0
    sentences = [text] if signs.anywhere else [answer, *_SENTENCE.split(answer)]
    cue = max((weight for weight, cue in signs.cues if any(map(cue.search, sentences))), default=0)
    cue = max(cue, int(answer != text and text[: -len(answer)].rstrip().endswith(_FULL_STOPS)))  # "Sure!"
    wrapped = _wrapping(block)
    # A paragraph in italics is probably the author's, and a long one may mention the word count of a letter.
    speaks = cue or wrapped == BRACKETS or (certain and len(text) <= MAX_NOTE_CHARACTERS)
    if not speaks or (cue < OFFER and not chapter + task + certain):
        return 0
    opens = is_edge and text.endswith((":", "："))
    return (
        cue + wrapped + chapter + task + certain + request + bool(signs.user.search(answer)) + (answer != text) + opens
    )


def _wrapping(block: str) -> int:
    """The weight of brackets, dashes or italics around a whole paragraph; 0 if there are none."""
    bare = block.strip(_EDGE)
    if _BRACKETS.get(bare[:1]) == bare[-1:]:
        return BRACKETS
    is_slanted = block[:1] in "*_~" and block[-1:] in "*_~"
    return 2 * (is_slanted or (block.startswith("--") and block.endswith("--")))


def _plain(text: str) -> str:
    return text.replace("İ", "i").lower().replace("'", "’")


def _signs_in(text: str, tag: str) -> list[_Signs]:
    """The signs of English, of the book's language, and of other languages that the text may contain.

    If the text has characters of Chinese, Japanese or Korean, the signs of these languages are included.
    """
    mixed = _MIXED_IN if _UNSPACED.search(text) else ()
    every = _by_language()
    return [every[code] for code in dict.fromkeys(("en", primary(tag), *mixed)) if code in every]


@cache
def _by_language() -> Mapping[str, _Signs]:
    read = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return {code: _compiled(words) for code, words in read.items()}


def _compiled(words: Mapping[str, Sequence[str]]) -> _Signs:
    anywhere = bool(words.get("anywhere"))
    start = "" if anywhere else r"^\W*"
    edge = "" if anywhere else r"(?!\w)"

    def of(kind: str) -> str:
        return "|".join(words[kind]).replace("N", _NUMBER)

    def within(kind: str) -> re.Pattern[str]:
        return re.compile(of(kind) if anywhere else rf"(?<!\w)(?:{of(kind)})(?!\w)")

    cues = {"hopes": 1, "presents": 2, "works": 2, "reviews": 2, "offers": OFFER, "refuses": OFFER}
    chapters = {"chapter": 2, "present": 1, "exact": 2}
    stop = r"\s*[!.,:：，。！、…—–-]+\s*"
    return _Signs(
        re.compile(rf"^\W*(?:(?:{of('opener')})(?:{stop}))+"),
        tuple((weight, re.compile(rf"{start}(?:{of(kind)}){edge}")) for kind, weight in cues.items()),
        tuple((weight, within(kind)) for kind, weight in chapters.items() if kind in words),
        within("task"),
        within("certain"),
        within("request"),
        within("user"),
        re.compile(of("refuses") if anywhere else rf"(?<!\w)(?:{of('refuses')})"),
        re.compile(of("said") if anywhere else rf"{_AFTER_SPEECH}(?:{of('said')})(?!\w)|\b(?:{of('with')})\b"),
        anywhere,
    )
