"""A reply stripped to the prose in it. A line goes only when it can be nothing but a word to the user."""

from __future__ import annotations

import re

from bookgen.models import Chapter
from bookgen.writing import sentences
from bookgen.writing.printable import printable, without_thoughts

LONGEST_LINE = 240  # characters: a longer line is no heading and no word to the user

_FENCE = re.compile(r"\A```(markdown|md|text|plaintext)?[ \t]*\n(.*?)\n?```\Z", re.DOTALL | re.IGNORECASE)
_TAG_LINE = re.compile(
    r"^[ \t]*</?(?:book_data|chapter|text|part|continuation)>[ \t]*\n?", re.MULTILINE | re.IGNORECASE
)
_EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")
_OPENER = re.compile(
    r"(?:sure|certainly|of course|absolutely|okay|here(?:['’]s| is| are)|below is|continuing|as requested|"
    r"hier (?:ist|sind|folgt)|natürlich|gerne|voici|bien sûr|aquí (?:está|tienes)|claro|ecco|certo|aqui está|"
    r"natuurlijk|oto|вот|конечно)\b|当然|好的|以下是|这是|もちろん|以下は|はい",
    re.IGNORECASE,
)
_PIECE = (
    r"\b(?:chapter|part|section|kapitel|teil|abschnitt|chapitre|partie|cap[ií]tulo|capitolo|parte|hoofdstuk|deel|"
    r"rozdział|część|глава|часть)"
)
_OF_THE_TASK = re.compile(
    rf"{_PIECE}\b|\b(?:continuation|draft|rewrite|revision|fortsetzung|suite|continuación|continuazione|продолжение)\b|"
    r"本章|第.{1,4}[章部节節]|部分|续写|続き",
    re.IGNORECASE,
)
_BEYOND_DOUBT = re.compile(
    rf"{_PIECE}\s+\d+\b|\b(?:continuation|requested|as you asked|rewritten|fortsetzung)\b", re.IGNORECASE
)
_NUMBER = r"(?:\s+[\w-]+){0,2}[.!]?"
_POSTSCRIPT = re.compile(
    rf"(?:the )?end of (?:the |this )?(?:chapter|part|section){_NUMBER}|to be continued[.…! ]*|part \d+ of \d+\.?|"
    r"(?:total |approximate )?word count\b.{0,60}|words?\s*[:=]\s*~?\d.{0,40}|[~≈]?\d[\d,.]* words\.?|"
    r"(?:please )?let me know (?:if|how|what)\b.*\b(?:chapter|part|section|changes|adjust\w*|revisions?|edits?|tweaks?|"
    r"like me to|feedback)\b.*|"
    r"(?:would you like me to|do you want me to|shall i|should i) .*\b(?:chapter|part|section|scene|passage|story)\b.*|"
    r"i hope (?:this|you) .*\b(?:chapter|part|section|passage|version|draft|rewrite|meets|expectations)\b.*|"
    r"feel free to (?:ask|request|let me know)\b.*|"
    rf"ende (?:des|von) (?:kapitels?|teils?|abschnitts?){_NUMBER}|fortsetzung folgt[.…! ]*|"
    rf"fin (?:du chapitre|de la partie|de la section){_NUMBER}|à suivre[.…! ]*|"
    rf"fin del? (?:capítulo|la parte){_NUMBER}|continuará[.…! ]*|"
    rf"fine (?:del capitolo|della parte){_NUMBER}|continua[.…! ]*|"
    r"(?:本章|本部分|第.{1,4}[章部节節])(?:完|结束|結束|终|終)[。.]?|完|(?:未完)?待续|つづく|続く",
    re.IGNORECASE,
)
_DECORATION = " \t[](){}*_#【】（）"
_RULES = ("---", "***", "___")
_HEADING_WORDS = re.compile(
    r"(?:#{1,6}|\*\*|__)?[ \t]*(?:"
    r"(?:chapter|kapitel|chapitre|cap[ií]tulo|capitolo|hoofdstuk|rozdział|глава|part|teil|partie|parte)[ \t]+"
    r"(?:\d+\b.*|[\w-]+[*_ \t]*(?:[:.–—-].*)?)|"
    r"第\s*[\d一二三四五六七八九十百]+\s*[章部].*)",
    re.IGNORECASE,
)


def prose(reply: str, chapter: Chapter, *, opening: bool) -> str:
    """The prose of a reply. `opening` says that the chapter begins with it: there its own title is not prose."""
    text = without_thoughts(reply).replace("\r\n", "\n").strip()
    fenced = _FENCE.match(text)
    if fenced and (fenced[1] or "```" not in fenced[2]):
        text = fenced[2].strip()
    text = _EMPTY_LINES.sub("\n\n", printable(_TAG_LINE.sub("", text))).strip()
    text = _without_preamble(text)
    text = _without_title(text, chapter, opening=opening)
    return _without_postscript(text)


def _without_preamble(text: str) -> str:
    line, _, rest = text.partition("\n")
    line = line.rstrip(" *_")
    if not rest or len(line) > LONGEST_LINE or not _OPENER.match(line):
        return text
    presents = line.endswith((":", "：")) and _OF_THE_TASK.search(line)
    if not presents and not _BEYOND_DOUBT.search(line):
        return text
    rest = rest.lstrip()
    return rest.lstrip("-* \n") if rest.startswith("---") else rest


def _without_title(text: str, chapter: Chapter, *, opening: bool) -> str:
    for _ in range(2):
        first, _, rest = text.partition("\n")
        if not rest or len(first) > LONGEST_LINE or not (opening or first.lstrip().startswith(("#", "**"))):
            break
        bare = first.strip(" #*_:").casefold()
        is_heading = _HEADING_WORDS.fullmatch(first.strip()) and not sentences.is_finished(first.strip(" *_"))
        if bare != chapter.title.strip().casefold() and not is_heading:
            break
        text = rest.strip()
    return text


def _without_postscript(text: str) -> str:
    whole = text
    while True:
        before, _, line = text.rpartition("\n")
        said = line.strip(_DECORATION)
        is_hanging_rule = text != whole and line.strip() in _RULES
        if not is_hanging_rule and (len(line) > LONGEST_LINE or not _POSTSCRIPT.fullmatch(said)):
            return text
        text = before.rstrip()
