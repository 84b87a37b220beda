"""Detects the language and the topics of a question from its words. The words are listed in `answers.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

ENGLISH = "en"
MAX_TOPICS = 2
_FILE = Path(__file__).with_name("answers.toml")
_WORD = re.compile(r"\w+")
# Scripts that identify a language. A question in a language without answers here is answered in English.
_SCRIPTS = (("ja", re.compile("[ぁ-ヿ]")), ("zh", re.compile("[一-鿿]")), ("ru", re.compile("[Ѐ-ӿ]")))
_UKRAINIAN = re.compile("[іїєґ]", re.I)


@cache
def languages() -> Mapping[str, Mapping[str, Any]]:
    """Return the sections of answers.toml by language code: the texts of answers, and the words of each topic."""
    return tomllib.loads(_FILE.read_text(encoding="utf-8"))


def language_of(question: str) -> str:
    """Return the language of the question. Use English if the assistant has no answers in the question's language."""
    for language, script in _SCRIPTS:
        if script.search(question):
            return ENGLISH if language == "ru" and _UKRAINIAN.search(question) else language
    said = _WORD.findall(question.casefold())
    latin = [each for each in languages() if each not in dict(_SCRIPTS)]  # English first: it wins a tie
    return max(latin, key=lambda each: _tells(each, said, question))


def _tells(language: str, said: Collection[str], question: str) -> int:
    asks = frozenset(languages()[language]["asks"].split())
    return 2 * sum(word in asks for word in said) + sum(_matches(language, question).values())


def topics_of(question: str, language: str, names: Collection[str] = ()) -> list[str]:
    """Return the topic that matches the most words of the question; in a tie, up to MAX_TOPICS topics.

    `names`: the names of plans. Each name in the question counts as a match for the topic `plans`.
    """
    found = _matches(language, question)
    found["plans"] += len(frozenset(_WORD.findall(question.casefold())) & frozenset(names))
    best = max(found.values())
    return [topic for topic, count in found.items() if count == best > 0][:MAX_TOPICS]


def _matches(language: str, question: str) -> dict[str, int]:
    """Return, for each topic, how many of the topic's words occur in the question."""
    text = question.casefold()
    said = _WORD.findall(text)

    def has(beginning: str) -> bool:
        return beginning in text if language in ("zh", "ja") else any(word.startswith(beginning) for word in said)

    listed = languages()[language]["words"]
    return {topic: sum(all(map(has, each.split("+"))) for each in words.split()) for topic, words in listed.items()}
