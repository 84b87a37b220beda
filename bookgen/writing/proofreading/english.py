"""The Harper checker's findings in English prose, limited to rules that have proved reliable."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harper import Dialect, Lint, Linter, SuggestionKind

from bookgen.models import Severity, SuggestionType
from bookgen.writing.proofreading.book import BookText, ChapterText
from bookgen.writing.proofreading.correction import Correction, Reason
from bookgen.writing.proofreading.quotation import narration

MAX_CHARACTERS = 3_000_000  # of a book, from its start; checking them takes a minute
OWN_WORD = 3  # times: a word that occurs this often in a book is intended

_DIALECTS = {
    "en-gb": Dialect.BRITISH,
    "en-ie": Dialect.BRITISH,
    "en-au": Dialect.AUSTRALIAN,
    "en-nz": Dialect.AUSTRALIAN,
    "en-ca": Dialect.CANADIAN,
    "en-in": Dialect.INDIAN,
}
# Of the checker's nine hundred rules, only these are used. The others are matters of style, or were wrong too
# often in novels.
_RULES = frozenset({"SpellCheck", "AnA", "ModalOf"})
_JOINS = re.compile("['’‘\u00ad-]")
_WITHIN_A_SENTENCE = re.compile(r"[\w,;]\s+\Z")
# What follows when the article is certainly wrong. Words are left out whose sound decides, not their letters: "an
# honour", "a European", "an urn", "a one".
_WRONG_BEFORE = {
    "an": re.compile(r"\s+(?!h)[b-df-hj-np-tv-z]{1,2}[aeiou]"),
    "a": re.compile(r"\s+[aei](?![uw])[a-z]"),
}


def corrections(book: BookText, tag: str) -> Iterator[tuple[int, Correction, bool]]:
    """For each finding: chapter id, correction, and whether the rule is reliable enough without the model's agreement.

    Takes seconds: call it outside the event loop.
    """
    linter = Linter(_DIALECTS.get(tag.lower().replace("_", "-"), Dialect.AMERICAN))
    linter.set_lint_config({rule: rule in _RULES for rule in linter.get_lint_config()})
    linter.import_words(sorted(_own_words(book)))
    left = MAX_CHARACTERS
    for chapter_id, text in book.texts.items():
        left -= len(text.content)
        if left < 0:
            return
        told = narration(text)
        for lint in linter.lint(text.content):
            if correction := _correction(text, lint):
                yield chapter_id, correction, _is_proven(lint, correction, told)


def _own_words(book: BookText) -> set[str]:
    often = {word for word, times in book.words.items() if times >= OWN_WORD}
    return often | {f"{name}'s" for name in book.names} | book.names


def _correction(text: ChapterText, lint: Lint) -> Correction | None:
    fixes = [fix for fix in lint.suggestions if fix.kind is not SuggestionKind.INSERT_AFTER]
    start, end = lint.span.start, lint.span.end
    if not fixes or "\0" in text.prose[start:end]:
        return None
    if text.content[start:end] == "A" and _WITHIN_A_SENTENCE.search(text.content[max(0, start - 3) : start]):
        return None  # a letter, not an article: "so A and B are skipped"
    kind = SuggestionType.SPELLING if lint.lint_kind == "Spelling" else SuggestionType.GRAMMAR
    reason = Reason(kind, Severity.MAJOR, lint.message, "harper")
    return text.correction(start, end, fixes[0].replacement_text, reason)


def _is_proven(lint: Lint, correction: Correction, told: str) -> bool:
    """Whether a finding counts without the model's agreement.

    Findings in dialogue, in parts of words or about spelling need the agreement. In novels, only three in eight
    spelling findings are right, because most words that the dictionary lacks are merely old or rare. `told`: the
    chapter's narration, with U+0000 in place of dialogue.
    """
    start, end, word = correction.start, correction.end, correction.original
    beside = told[max(0, start - 1) : start] + told[end : end + 1]
    if lint.lint_kind == "Spelling" or "\0" in told[start:end] or _JOINS.search(beside):
        return False
    wrong_before = _WRONG_BEFORE.get(word.lower())
    return wrong_before is None or bool(wrong_before.match(told, end))
