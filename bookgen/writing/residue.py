"""Find what does not belong in a book: words of a model to its user, placeholders, repeated headings."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bookgen.models import Chapter
from bookgen.writing.blocks import joined, masked_fences, paragraphs, spaced_paragraphs
from bookgen.writing.bounded_cache import by_paragraph
from bookgen.writing.flaw import Flaw, without_code
from bookgen.writing.material import TextChange, anchor
from bookgen.writing.not_prose import is_marked_up, letters, not_prose
from bookgen.writing.reply_cleanup import Cleaned
from bookgen.writing.sentences import inside_quotation
from bookgen.writing.task_talk import announces, closes
from bookgen.writing.task_words import is_reported, speaks_of_task

# In lower case, like the searched text: case-insensitive matching takes twice as long.
_META = re.compile(
    r"\b(?:as an ai language model|as an ai,? i can(?:not|['’]t)|"
    r"i(?:['’]m| am) (?:unable|not able) to (?:write|continue|help with) th(?:is|at)|i can(?:not|['’]t) assist with|"
    r"here(?:['’]s| is) (?:the|your|a) (?:(?:next|revised|requested|full|rewritten) "
    r"(?:chapter|part|section|passage|draft)|continuation|rewrite|"
    r"(?:chapter|part|section|draft)\s*(?:\d|[:.!]?\s*$|you (?:asked|requested)))|"
    r"word count:\W{0,3}(?:about |approximately |approx\.? |around |roughly )?\d|"
    r"let me know if (?:you|this)\b[^\n]{0,60}\b(?:changes|chapter|adjust\w*|revis\w+|edits?)|"
    r"would you like me to (?:continue|write|revise|adjust|expand|rewrite|proceed)|"
    r"continu(?:ed|ing) from (?:the )?previous|"
    r"als ki-sprachmodell|hier ist (?:das|der) nächste (?:kapitel|teil|abschnitt)|"
    r"voici (?:la suite du|le chapitre suivant|la prochaine partie)|en tant qu['’]ia,? je|"
    r"aquí (?:está|tienes) (?:el siguiente capítulo|la siguiente parte|la continuación)|como modelo de lenguaje)|"
    r"作为(?:一个|一名)?(?:ai|人工智能)(?:语言)?(?:模型|助手)|以下是(?:本章|第.{1,4}章|下一部分)|本章完|"
    r"ai言語モデルとして|以下は第.{1,4}章"
)
_PLACEHOLDER = re.compile(
    r"\[(?:insert|add|todo|tbd|placeholder|describe|continue|your|xx+)\b[^\]\n]{0,80}\]|"
    r"\[(?:the |first |last |full |character |recipient(?:['’]s)? |company )?(?:name|date|location|address|title|city|"
    r"company|scene|character|place|year|profession)(?: here)?\]|"
    r"\[(?:blank line|line break|scene break|page break)\]|"
    r"\b(?-i:TODO|TBD|TK TK|FIXME|XXXXX*)\b|\blorem ipsum\b|"
    r"\{\{?[a-z_ ]{2,40}\}?\}|<(?:insert|name|placeholder)[^>\n]{0,60}>",
    re.IGNORECASE,
)
# Words with which a text mentions its own placeholders.
_FILLING_IN = re.compile(
    r"\b(?:fill(?:s|ed|ing)? (?:in|out)|brackets?|template|placeholders?|blanks?|form letter|sample (?:letter|e-?mail)|"
    r"model letter|replace|substitute|cover letter|boilerplate|copy (?:this|it|the)|your own (?:words|name|details)|"
    r"adapt (?:this|it)|klammern?|ausfüll|eintrag|einsetz|ersetz|vorlage|muster(?:brief|text|schreiben)|formular|"
    r"platzhalter|crochets|rempli|modèle|formulaire|remplac|corchetes|rellen|plantilla|modelo|formulario|sustituy|reemplaz|"
    r"parentesi|compil|modello|modulo|sostitu|colchetes|preench|substitu|haakjes|invullen|sjabloon|скобк|шаблон|бланк|"
    r"variables?|syntax|jinja|mustache)|括号|模板|填写|テンプレート|記入",
    re.IGNORECASE,
)
# "Dear [Name], it began, and he had never got any further."
_BLANK_OF_A_LETTER = re.compile(
    r"\]\W{1,3}(?:(?:it|the (?:letter|note|form|card|message)) (?:began|begins|read|reads|ran|said|says)|"
    r"(?:begann|lautete|hieß|stand) (?:es|er|sie|da|der brief)|(?:commençait|disait) (?:la lettre|le mot)|"
    r"(?:empezaba|decía) la carta|(?:cominciava|diceva) la lettera|(?:começava|dizia) a carta)\b",
    re.IGNORECASE,
)
NEAR = 3  # paragraphs before and after a placeholder
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+)$", re.MULTILINE)
_POSTSCRIPT = re.compile(r"\W*P\.? ?S\b")  # the postscript of a letter in the story
_SPOKEN = ("—", "–", "- ", "‘", "'")

META_REMOVED = "The model spoke about its task instead of writing the book. The paragraph was removed."
HEADING_REMOVED = "The heading was there twice in a row. The second one was removed."


def residue(content: str, chapter: Chapter, tag: str) -> list[Flaw]:
    """Findings for paragraphs that may not belong in the book. `tag`: the language of the book."""
    flaws = []
    blocks = paragraphs(without_code(content))
    exempt = not_prose(blocks)
    in_letters = letters(blocks) | {index for index, block in enumerate(blocks) if _POSTSCRIPT.match(block)}
    for index, paragraph in enumerate(blocks):
        is_prose = index not in exempt
        if found := _task_talk(blocks, index, tag, is_prose=is_prose, in_letter=index in in_letters):
            flaws.append(Flaw("meta_text", index, found, "The model may be speaking about its task here."))
        if is_prose and (found := _placeholder_in(paragraph)) and not _announced(blocks, index):
            flaws.append(Flaw("placeholder", index, found, "Something may have to be filled in here."))
    return flaws + _headings(content, chapter)


def _task_talk(blocks: Sequence[str], index: int, tag: str, *, is_prose: bool, in_letter: bool) -> str:
    """What the model says to its user in a paragraph of a chapter; empty if it says nothing.

    A letter in the story also speaks to somebody, so more signs are required there than in prose. Lists, quotations and
    other paragraphs that are neither prose nor letters are skipped.
    """
    block = blocks[index]
    if is_marked_up(block) or not (is_prose or in_letter):
        return ""
    is_certain = announces(block) if in_letter else _is_meta_alone(block)
    if is_certain or speaks_of_task(blocks, index, tag, in_letter=in_letter):
        return block.strip()
    return _meta_in(block) if is_prose and not is_reported(block, tag) else ""


@by_paragraph
def _meta_in(paragraph: str) -> str:
    """The model's words to its user in a paragraph, without dialogue between characters; empty if none."""
    if paragraph.lstrip().startswith(_SPOKEN):
        return ""
    small = paragraph.replace("İ", "i").lower()  # the only letter whose lower case has another length
    found = (match.span() for match in _META.finditer(small) if not inside_quotation(paragraph[: match.start()]))
    return next((paragraph[start:end] for start, end in found), "")


@by_paragraph
def _placeholder_in(paragraph: str) -> str:
    found = _PLACEHOLDER.search(paragraph)
    return found[0] if found else ""


def _announced(blocks: Sequence[str], index: int) -> bool:
    """Whether a placeholder in this paragraph is intended: the text near it is about filling in a form or letter."""
    near = blocks[max(0, index - NEAR) : index + NEAR + 1]
    return bool(_BLANK_OF_A_LETTER.search(blocks[index])) or any(
        _FILLING_IN.search(_PLACEHOLDER.sub("", block)) for block in near
    )


def _headings(content: str, chapter: Chapter) -> list[Flaw]:
    """A finding for each heading that repeats the chapter's title or the heading before it.

    A heading that returns after other headings is intended, such as "Ingredients" in each recipe of a chapter.
    """
    if "#" not in content:
        return []
    flaws = []
    title = last = chapter.title.casefold()
    for index, paragraph in enumerate(paragraphs(masked_fences(content))):
        for line in _HEADING.findall(paragraph):
            heading = line.strip("# \t")
            key = heading.strip("*_ ").casefold()
            if key in (title, last):
                flaws.append(
                    Flaw("duplicate_heading", index, heading, "This heading repeats the title or the heading above it.")
                )
            last = key
    return flaws


def without_residue(content: str) -> Cleaned:
    """`content` without the paragraphs that certainly do not belong in the book.

    They are paragraphs of running prose that speak only of the model's task, and headings that directly follow the same
    heading.
    """
    kept: list[tuple[str, str]] = []
    changes: list[TextChange] = []
    spaced = spaced_paragraphs(content)
    exempt = not_prose([block for _, block in spaced])
    for index, (space, block) in enumerate(spaced):
        is_double = bool(kept) and kept[-1][1].strip() == block.strip() and bool(_HEADING.fullmatch(block.strip()))
        if not is_double and (index in exempt or not _is_meta_alone(block)):
            kept.append((space, block))
            continue
        kind, detail = ("duplicate_heading", HEADING_REMOVED) if is_double else ("meta_text", META_REMOVED)
        changes.append(TextChange(kind, detail, block.strip(), follows=anchor(joined(kept[-3:]))))
    return Cleaned(joined(kept), tuple(changes)) if changes and kept else Cleaned(content)


def _is_meta_alone(block: str) -> bool:
    return announces(block) or closes(block)
