"""Strip what surrounds the book's text in a reply: a code fence, an announcement, the chapter's title, a postscript.

A line is removed only if it cannot be text of the book (`task_talk`). Every removal is recorded as a `TextChange`,
except that of white space: several empty lines in a row, and full-width spaces that indent a paragraph.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bookgen.models import Chapter
from bookgen.writing import sentences
from bookgen.writing.blocks import outside_fences, stripped
from bookgen.writing.material import TextChange, anchor
from bookgen.writing.printable import printable, without_thoughts
from bookgen.writing.task_talk import MAX_LINE_CHARACTERS, announces, closes

_FENCE = re.compile(r"\A```(markdown|md|text|plaintext)?[ \t]*\n(.*?)\n?```\Z", re.DOTALL | re.IGNORECASE)
_INNER_FENCE = re.compile(r"^[ \t]*```[ \t]*([^\s`]*)", re.MULTILINE)
_TAG_LINE = re.compile(
    r"^[ \t]*</?(?:book_data|chapter|text|part|continuation)>[ \t]*\n?", re.MULTILINE | re.IGNORECASE
)
_EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")
_FULL_WIDTH_SPACE = "\u3000"
_CODE_FENCES = ("```", "~~~")
_RULES = ("---", "***", "___")
_CHAPTER_HEADING = re.compile(
    r"(?:#{1,6}|\*\*|__)?[ \t]*(?:"
    r"(?:chapter|kapitel|chapitre|cap[ií]tulo|capitolo|hoofdstuk|rozdział|глава)[ \t]+"
    r"(?:\d+\b.*|[\w-]+[*_ \t]*(?:[:.–—-].*)?)|"
    r"第\s*[\d一二三四五六七八九十百]+\s*章.*)",
    re.IGNORECASE,
)
# The number of a part, in Markdown and without a title: models that write in parts number them.
_PART_NUMBER = re.compile(
    r"(?:#{1,6}[ \t]*|\*\*|__)(?:part|teil|partie|parte|часть)[ \t]+[\w-]+(?: of \w+)?[*_ \t]*", re.IGNORECASE
)

ANNOUNCEMENT = "The model announced its text. The announcement was removed."
TITLE = "The model put a title above its text. It was removed, because the book prints its own titles."
POSTSCRIPT = "The model wrote about its task after the text. This was removed."


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A text from which something may have been removed, and a record of every removal (`changes`)."""

    text: str
    changes: tuple[TextChange, ...] = ()


def prose(reply: str, chapter: Chapter, *, opening: bool, verse: bool = False) -> Cleaned:
    """The book's text in a reply. If `opening`, it begins the chapter, so its first line may be the chapter's title.

    `verse`: the book is verse, whose lines keep their indents.
    """
    text = stripped(without_thoughts(reply).replace("\r\n", "\n"))
    fenced = _FENCE.match(text)
    if fenced and _surrounds(fenced[1] or "", fenced[2]):
        text = stripped(fenced[2])
    text = stripped(outside_fences(printable(text), _without_tags_and_gaps))
    if not verse:
        text = outside_fences(text, _without_indents)
    changes: list[TextChange] = []
    text = _without_announcement(text, changes)
    text = _without_title(text, chapter, changes, opening=opening)
    return Cleaned(_without_postscript(text, changes), tuple(changes))


def _without_indents(text: str) -> str:
    """The text without full-width spaces in front of its paragraphs, which the layout indents.

    The lines of a paragraph with several lines, such as a song, stay as they are.
    """
    lines = text.split("\n")
    for index, line in enumerate(lines):
        if not any(each.strip() for each in (*lines[max(index - 1, 0) : index], *lines[index + 1 : index + 2])):
            lines[index] = line.lstrip(_FULL_WIDTH_SPACE)
    return "\n".join(lines)


def _surrounds(info: str, inner: str) -> bool:
    """Whether the whole reply is inside one fence, and does not only begin and end with code of the book.

    `info`: the word after the first mark. `inner`: what is between the first and the last mark.
    """
    words = _INNER_FENCE.findall(inner)
    if not words:
        return True
    return bool(info) and (bool(words[0]) or (info.lower() in ("markdown", "md") and not any(words)))


def _without_tags_and_gaps(text: str) -> str:
    return _EMPTY_LINES.sub("\n\n", _TAG_LINE.sub("", text))


def _without_announcement(text: str, changes: list[TextChange]) -> str:
    line, _, rest = text.partition("\n")
    rest = stripped(rest)
    if not rest or not announces(line):
        return text
    changes.append(TextChange("meta_text", ANNOUNCEMENT, line.strip()))
    return rest.lstrip("-* \n") if rest.startswith("---") else rest


def _without_title(text: str, chapter: Chapter, changes: list[TextChange], *, opening: bool) -> str:
    for _ in range(2):
        line, _, rest = text.partition("\n")
        if not rest or len(line) > MAX_LINE_CHARACTERS or not (opening or line.lstrip().startswith(("#", "**"))):
            break
        if not _is_title(line.strip(), rest, chapter):
            break
        changes.append(TextChange("duplicate_heading", TITLE, line.strip()))
        text = stripped(rest)
    return text


def _is_title(line: str, rest: str, chapter: Chapter) -> bool:
    """Whether the line is the chapter's title or number.

    A title without Markdown must be followed by an empty line, since a poem may begin with the words of its title.
    `rest`: the text after the line.
    """
    if line.strip(" #*_:").casefold() == chapter.title.strip().casefold():
        return line.startswith(("#", "**")) or not rest.partition("\n")[0].strip()
    if _PART_NUMBER.fullmatch(line):
        return not any(_PART_NUMBER.fullmatch(each.strip()) for each in rest.splitlines())
    return bool(_CHAPTER_HEADING.fullmatch(line)) and not sentences.is_finished(line.strip(" *_"))


def _without_postscript(text: str, changes: list[TextChange]) -> str:
    kept = text
    while True:
        before, _, line = kept.rpartition("\n")
        is_hanging_rule = kept != text and line.strip() in _RULES
        if not before.strip() or not (is_hanging_rule or closes(line)):
            break
        kept = before.rstrip()
    if kept != text:
        changes.append(TextChange("meta_text", POSTSCRIPT, text[len(kept) :].strip(), follows=anchor(kept)))
    return kept
