"""What is no part of a book: words of the model to its user, placeholders, headings that stand twice."""

from __future__ import annotations

import re
from collections import Counter

from bookgen.models import Chapter
from bookgen.writing.flaw import Flaw, paragraphs

_META = re.compile(
    r"\b(?:as an ai(?: language model)?|i(?:'m| am) (?:unable|not able) to (?:write|continue|help)|"
    r"i can(?:'|no)t (?:assist|help) with|here(?:'s| is) (?:the|your|a) (?:next |revised |requested |full )?"
    r"(?:chapter|part|section|continuation|draft|rewrite)|(?:end|beginning) of (?:chapter|part) \w+|"
    r"in (?:the next|this) (?:chapter|part), (?:we|i) (?:will|shall)|word count:|let me know if (?:you|this)|"
    r"would you like me to|i hope this (?:chapter|part|meets|helps)|as requested|"
    r"continu(?:ed|ing) from (?:the )?previous|als ki(?:-sprachmodell)?|"
    r"hier ist (?:das|der) (?:nächste )?(?:kapitel|teil|abschnitt)|ende des (?:kapitels|teils)|"
    r"voici (?:le|la) (?:suite|chapitre|prochaine? partie)|en tant qu'ia|fin du chapitre|"
    r"aquí (?:está|tienes) (?:el|la) (?:capítulo|siguiente parte|continuación)|fin del capítulo|"
    r"como modelo de lenguaje)\b|"
    r"作为(?:一个)?(?:AI|人工智能)|以下是(?:本章|第.{1,4}章|下一部分)|本章完|AI(?:言語モデル)?として|以下は第.{1,4}章",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"\[(?:insert|add|todo|tbd|name|your|placeholder|describe|scene|continue|character|location|date|xx+)[^\]\n]{0,80}\]|"
    r"\b(?-i:TODO|TBD|TK TK|FIXME|XXXX*)\b|\blorem ipsum\b|"
    r"\{\{?[a-z_ ]{2,40}\}?\}|<(?:insert|name|placeholder)[^>\n]{0,60}>",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)


def residue(content: str, chapter: Chapter) -> list[Flaw]:
    flaws = []
    for index, paragraph in enumerate(paragraphs(content)):
        if found := _META.search(paragraph):
            flaws.append(Flaw("meta_text", index, found[0], "The model speaks to its user."))
        if found := _PLACEHOLDER.search(paragraph):
            flaws.append(Flaw("placeholder", index, found[0], "Something was to be filled in."))
    return flaws + _headings(content, chapter)


def _headings(content: str, chapter: Chapter) -> list[Flaw]:
    flaws = []
    seen: Counter[str] = Counter({chapter.title.casefold(): 1})
    for index, paragraph in enumerate(paragraphs(content)):
        for heading in _HEADING.findall(paragraph):
            key = heading.strip("*_ ").casefold()
            seen[key] += 1
            if seen[key] > 1:
                flaws.append(Flaw("duplicate_heading", index, heading, "The heading stands there already."))
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
        if index not in gone or not (_is_heading(block) or (_META.search(block) and len(block) <= 160))
    ]
    return "\n\n".join(kept) if kept else content


def _is_heading(block: str) -> bool:
    return bool(_HEADING.fullmatch(block.strip()))
