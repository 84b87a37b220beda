"""What is no part of a book: words of the model to its user, placeholders, headings that stand twice."""

from __future__ import annotations

import re

from bookgen.models import Chapter
from bookgen.writing.flaw import Flaw, paragraphs, without_code
from bookgen.writing.remembering import by_paragraph
from bookgen.writing.sentences import inside_quotation

# In small letters, as it is searched in: to heed no case at every letter takes twice as long.
_META = re.compile(
    r"\b(?:as an ai language model|as an ai,? i can(?:not|['’]t)|"
    r"i(?:['’]m| am) (?:unable|not able) to (?:write|continue|help with) th(?:is|at)|i can(?:not|['’]t) assist with|"
    r"here(?:['’]s| is) (?:the|your|a) (?:(?:next|revised|requested|full|rewritten) "
    r"(?:chapter|part|section|passage|draft)|continuation|rewrite|"
    r"(?:chapter|part|section|draft)\s*(?:\d|[:.!]?\s*$|you (?:asked|requested)))|"
    r"word count:|let me know if (?:you|this)\b[^\n]{0,60}\b(?:changes|chapter|adjust\w*|revis\w+|edits?)|"
    r"would you like me to (?:continue|write|revise|adjust|expand|rewrite|proceed)|"
    r"i hope this (?:chapter|part|passage|meets)|continu(?:ed|ing) from (?:the )?previous|"
    r"als ki-sprachmodell|hier ist (?:das|der) nächste (?:kapitel|teil|abschnitt)|"
    r"voici (?:la suite du|le chapitre suivant|la prochaine partie)|en tant qu['’]ia,? je|"
    r"aquí (?:está|tienes) (?:el siguiente capítulo|la siguiente parte|la continuación)|como modelo de lenguaje)|"
    r"作为(?:一个|一名)?(?:ai|人工智能)(?:语言)?(?:模型|助手)|以下是(?:本章|第.{1,4}章|下一部分)|本章完|"
    r"ai言語モデルとして|以下は第.{1,4}章"
)
# What nobody but the model would write in a paragraph of its own.
_META_ALONE = re.compile(
    r"[^\w\"“„«»‘'「『—]*(?:(?:the )?end of (?:the )?(?:chapter|part)(?: [\w-]+)?|ende des (?:kapitels|teils)(?: \w+)?|"
    r"fin du chapitre(?: \w+)?|fin del capítulo(?: \w+)?|本章完|word count:.{0,40}|as an ai language model.*|"
    r"let me know if you(?:['’]d| would) like.*|would you like me to (?:continue|write|revise).*)\W*",
    re.IGNORECASE | re.DOTALL,
)
_LONGEST_ALONE = 160  # characters
_PLACEHOLDER = re.compile(
    r"\[(?:insert|add|todo|tbd|name|your|placeholder|describe|scene|continue|character|location|date|xx+)[^\]\n]{0,80}\]|"
    r"\b(?-i:TODO|TBD|TK TK|FIXME|XXXX*)\b|\blorem ipsum\b|"
    r"\{\{?[a-z_ ]{2,40}\}?\}|<(?:insert|name|placeholder)[^>\n]{0,60}>",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+)$", re.MULTILINE)
_SPOKEN = ("—", "–", "- ", "‘", "'")


def residue(content: str, chapter: Chapter) -> list[Flaw]:
    flaws = []
    for index, paragraph in enumerate(paragraphs(without_code(content))):
        if found := _meta_in(paragraph):
            flaws.append(Flaw("meta_text", index, found, "The model speaks to its user."))
        if placeholder := _placeholder_in(paragraph):
            flaws.append(Flaw("placeholder", index, placeholder, "Something was to be filled in."))
    return flaws + _headings(content, chapter)


@by_paragraph
def _meta_in(paragraph: str) -> str:
    """What the model says to its user; what people say to each other in the book is none of it."""
    if _META_ALONE.fullmatch(paragraph):
        return paragraph.strip()
    if paragraph.lstrip().startswith(_SPOKEN):
        return ""
    small = paragraph.replace("İ", "i").lower()  # its other small letters are as long as the large ones
    found = (match.span() for match in _META.finditer(small) if not inside_quotation(paragraph[: match.start()]))
    return next((paragraph[start:end] for start, end in found), "")


@by_paragraph
def _placeholder_in(paragraph: str) -> str:
    found = _PLACEHOLDER.search(paragraph)
    return found[0] if found else ""


def _headings(content: str, chapter: Chapter) -> list[Flaw]:
    """The chapter's own title, and a heading that is the last one once more, as a model sets it when it goes on.
    The same heading after another one is the author's: each recipe of a chapter has its ingredients."""
    if "#" not in content:
        return []
    flaws = []
    title = last = chapter.title.casefold()
    for index, paragraph in enumerate(paragraphs(content)):
        for line in _HEADING.findall(paragraph):
            heading = line.strip("# \t")
            key = heading.strip("*_ ").casefold()
            if key in (title, last):
                flaws.append(Flaw("duplicate_heading", index, heading, "The heading stands there already."))
            last = key
    return flaws


def without_residue(content: str, chapter: Chapter) -> str:
    """`content` without what can go at no cost: paragraphs of meta text alone, headings that stand twice."""
    gone = {
        flaw.paragraph
        for flaw in residue(content, chapter)
        if flaw.paragraph is not None and flaw.kind in ("meta_text", "duplicate_heading")
    }
    blocks = paragraphs(content)
    kept = [
        block
        for index, block in enumerate(blocks)
        if index not in gone or not (_HEADING.fullmatch(block.strip()) or _is_meta_alone(block))
    ]
    return "\n\n".join(kept) if kept else content


def _is_meta_alone(block: str) -> bool:
    return len(block) <= _LONGEST_ALONE and bool(_META_ALONE.fullmatch(block))
