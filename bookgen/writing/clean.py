"""A reply stripped to the prose in it, and fitted to the text that it goes on from."""

from __future__ import annotations

import re

from bookgen.models import Chapter
from bookgen.writing import sentences
from bookgen.writing.units import UNIT, units

_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"\A```[A-Za-z]*[ \t]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_TAG_LINE = re.compile(
    r"^[ \t]*</?(?:brief|book_data|chapter|text|part|continuation)>[ \t]*\n?", re.MULTILINE | re.IGNORECASE
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\ufeff\ufffe\uffff\ud800-\udfff]")
_PREAMBLE = re.compile(
    r"\A(?:sure|certainly|of course|absolutely|okay|here(?:'s| is| are)|below is|continuing|as requested|"
    r"hier (?:ist|sind|folgt)|natürlich|gerne|voici|bien sûr|aquí (?:está|tienes)|claro|ecco|certo|aqui está|"
    r"natuurlijk|oto|вот|конечно|"
    r"当然|好的|以下是|这是|もちろん|以下は|はい)\b[^\n]{0,200}\n+",
    re.IGNORECASE,
)
_PREAMBLE_MARK = re.compile(
    r"chapter|part|continu|text|draft|word|kapitel|teil|fortsetzung|chapitre|suite|cap[ií]tul|"
    r"continuaci|capitolo|parte|hoofdstuk|rozdzia|глав|章|部分|续|続",
    re.IGNORECASE,
)
_POSTSCRIPT = re.compile(
    r"(?:\n|\A)[ \t]*[\[(*_#-]*\s*(?:end of (?:the )?(?:chapter|part)|the end of chapter|to be continued|word count|"
    r"words?:|let me know|would you like|i hope (?:this|you)|shall i|feel free|ende des kapitels|fortsetzung folgt|"
    r"fin du chapitre|à suivre|fin del capítulo|continuará|fine del capitolo|continua|part \d+ of \d+|"
    r"(?:本章|本部分)?(?:完|结束)|(?:待续|つづく|続く))[^\n]{0,160}\s*\Z",
    re.IGNORECASE,
)
_HEADING_WORDS = re.compile(
    r"^(?:#{1,6}\s*|\*\*|__)?\s*(?:chapter|kapitel|chapitre|cap[ií]tulo|capitolo|hoofdstuk|rozdział|"
    r"глава|part|teil|partie|parte|第\s*[\d一二三四五六七八九十百]+\s*[章部])\b[^\n]{0,120}$",
    re.IGNORECASE,
)


def prose(reply: str, chapter: Chapter, *, opening: bool) -> str:
    """The prose of a reply. `opening` says that the chapter begins with it: there its own title is not prose."""
    text = _THINKING.sub("", reply).replace("\r\n", "\n").strip()
    if fenced := _FENCE.match(text):
        text = fenced[1].strip()
    text = _CONTROL.sub("", _TAG_LINE.sub("", text)).strip()
    text = _without_preamble(text)
    text = _without_title(text, chapter, opening=opening)
    while stripped := _POSTSCRIPT.search(text):
        text = text[: stripped.start()].rstrip()
    return text.strip()


def _without_preamble(text: str) -> str:
    found = _PREAMBLE.match(text)
    if found and (found[0].rstrip().endswith((":", "：")) or _PREAMBLE_MARK.search(found[0])):
        return text[found.end() :].lstrip("-* \n") if text[found.end() :].startswith("---") else text[found.end() :]
    return text


def _without_title(text: str, chapter: Chapter, *, opening: bool) -> str:
    for _ in range(2):
        first, _, rest = text.partition("\n")
        bare = first.strip(" #*_:").casefold()
        is_title = bare == chapter.title.strip().casefold() or (
            bool(_HEADING_WORDS.match(first.strip())) and not sentences.is_finished(first.strip(" *_"))
        )
        if not rest.strip() or not is_title:
            break
        if not (opening or first.lstrip().startswith(("#", "**"))):
            break
        text = rest.strip()
    return text


LONGEST_OVERLAP = 8_000  # characters
SHORTEST_OVERLAP = 4  # units: fewer may be said twice


def without_overlap(before: str, piece: str) -> str:
    """`piece` without its beginning where that repeats the end of `before`; empty when all of it does."""
    tail = units(before[-LONGEST_OVERLAP:])
    found = list(UNIT.finditer(piece[:LONGEST_OVERLAP]))
    head = [match[0].casefold() for match in found]
    if len(head) >= SHORTEST_OVERLAP and len(piece) <= LONGEST_OVERLAP and _contains(tail, head):
        return ""
    for count in range(min(len(tail), len(head)), SHORTEST_OVERLAP - 1, -1):
        if tail[-count:] == head[:count]:
            rest = piece[found[count - 1].end() :]
            return rest[len(rest) - len(rest.lstrip(_STOPS)) :].lstrip()
    return piece


_STOPS = ".!?…。！？｡؟।॥\"'”’»)]】」』*_"


def _contains(whole: list[str], part: list[str]) -> bool:
    starts = (start for start, unit in enumerate(whole) if unit == part[0])
    return any(whole[start : start + len(part)] == part for start in starts)


def join(before: str, piece: str, *, same_paragraph: bool) -> str:
    """`piece` after `before`: in its last paragraph when that was cut in the middle, else in a new one."""
    if not before or not piece:
        return before or piece
    if not same_paragraph or re.match(r"#{1,6}\s|[-*+]\s|\d+[.)]\s|[|>]|\*\*\*", piece):
        return f"{before}\n\n{piece}"
    unspaced = re.search(r"[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]$", before)
    return f"{before}{piece}" if unspaced else f"{before} {piece}"
