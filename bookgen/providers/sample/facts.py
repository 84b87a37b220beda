"""The facts of a sample chapter: what the story bible says about the people whom the chapter names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from bookgen.providers.text import TextRequest

MAX_FACTS = 6
_SENTENCE = re.compile(r"[^\s.!?…。“”\"«»„—][^.!?…。\n“”\"«»„]*")
MIN_QUOTE_CHARACTERS, MAX_QUOTE_CHARACTERS, MAX_VALUE_CHARACTERS = 8, 120, 200


def facts(request: TextRequest, people: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return one fact about each of `people` whom the chapter names, with a quote from the chapter.

    The quote is the first sentence that names the person.
    """
    passages = [match[0].strip()[:MAX_QUOTE_CHARACTERS] for match in _SENTENCE.finditer(_chapter(request))]
    found = []
    for person in people:
        name, known = str(person.get("name", "")), str(person.get("description", ""))
        named = re.compile(rf"\b{re.escape(name.split()[0])}\b") if name.split() and known else None
        quote = next((each for each in passages if named and named.search(each)), "")
        if len(quote) >= MIN_QUOTE_CHARACTERS:
            value = known.split("; ")[0].split(". ")[0].rstrip(".")
            found.append({"kind": "person", "subject": name, "value": value[:MAX_VALUE_CHARACTERS], "quote": quote})
    return found[:MAX_FACTS]


def _chapter(request: TextRequest) -> str:
    """Return the text of the chapter that the request is about.

    It is in the model's replies in the conversation, or in <chapter> tags.
    """
    said = [message.text for message in request.messages if message.role == "assistant"]
    if said:
        return "\n\n".join(said)
    shown = (block.text for block in request.system if block.text.startswith(f"Chapter {request.chapter_number}, "))
    marked = next((text for text in (request.messages[-1].text, *shown) if "<chapter>" in text), "")
    return marked.partition("<chapter>")[2].partition("</chapter>")[0]
