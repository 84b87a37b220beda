"""The phrase lists: every placeholder has a list in every language."""

from __future__ import annotations

import re

import pytest

from bookgen.providers.sample.phrases import FOLDER, language_of, phrases

LANGUAGES = sorted(file.stem for file in FOLDER.glob("*.toml"))
SCENE = {"hero", "friend", "they", "them", "their", "they_cap", "their_cap", "they2", "them2", "their2"}
SCENE |= {"place", "place2", "thing", "thing2", "summary", "topic", "speaker"}
SLOT = re.compile(r"\{([^{}|]*)\}")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", ["fiction", "nonfiction"])
def test_every_placeholder_in_the_prose_can_be_filled(language: str, kind: str) -> None:
    if kind not in phrases(language):
        assert kind == "nonfiction"
        return
    slots = phrases(language)[kind]["slots"]
    roles = {name: texts for name, texts in phrases(language)[kind].items() if name != "slots"}
    wanted = {slot for texts in (*roles.values(), *slots.values()) for text in texts for slot in SLOT.findall(text)}

    unknown = {slot for slot in wanted - SCENE if slot not in slots and slot.rstrip("0123456789") not in slots}

    assert not unknown


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_placeholder_in_an_outline_can_be_filled(language: str) -> None:
    lists = phrases(language)["outline"]
    texts = [text for each in lists.values() for text in ([each] if isinstance(each, str) else each)]
    known = SCENE | {"title", "aim_low", "case"} | lists.keys()

    unknown = {slot for text in texts for slot in SLOT.findall(text) if slot.rstrip("0123456789") not in known}

    assert not unknown


def test_no_spanish_title_contains_de_el() -> None:
    lists = phrases("es")["outline"]
    titles = [text.replace("{when}", when) for text in lists["title"] for when in lists["when"]]

    assert not [title for title in titles if re.search(r"\b(?:de|a) el\b", title)]


def test_a_language_without_phrases_gets_english() -> None:
    assert language_of("de-AT") == "de"
    assert language_of("nl") == "en"
