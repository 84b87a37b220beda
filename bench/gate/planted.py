"""Faults that models make, to be planted in faultless prose."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bookgen.words import count_words
from bookgen.writing.blocks import paragraphs
from bookgen.writing.not_prose import has_speech

ANNOUNCEMENTS = (
    "Here is chapter 3:",
    "Certainly! Here is the next part of the chapter:",
    "Sure! Here's chapter 7, as requested.",
    "Below is the continuation of the chapter:",
    "Here is the revised chapter, based on your outline:",
    "Of course! Here is Chapter Four: The Return",
    "Here's a draft of chapter 2:",
    "I've continued the chapter as requested.",
    "Hier ist das nächste Kapitel:",
    "Natürlich! Hier ist Kapitel 3, wie gewünscht:",
    "Hier folgt die Fortsetzung des Kapitels:",
)
POSTSCRIPTS = (
    "Let me know if you would like any changes to this chapter!",
    "Would you like me to continue with the next chapter?",
    "(Word count: 1,204)",
    "[End of part 2]",
    "I hope this chapter meets your expectations.",
    "**End of Chapter 3**",
    "Please let me know if you'd like me to revise this part.",
    "(~1,000 words)",
    "[Ende des Kapitels]",
)
REFUSALS = (
    "As an AI language model, I cannot continue this scene.",
    "I can't assist with that request.",
    "I'm not able to continue this story.",
    "Als KI-Sprachmodell kann ich diese Szene nicht schreiben.",
)
PLACEHOLDERS = ("[insert name here]", "[Name]", "[character name]", "TODO", "{{name}}", "[describe the house]")
STOCK = {
    "en": (
        "Little did she know that everything was about to change. She let out a breath she hadn't known she was "
        "holding. The words hung in the air, a testament to all that they had lost.",
        "His heart pounded in his chest. A shiver ran down his spine as the silence stretched between them. He "
        "couldn't help but feel a mix of fear and wonder.",
        "Time seemed to stand still. Her voice was barely above a whisper, thick with emotion, and tears welled in her "
        "eyes. In that moment, nothing would ever be the same.",
    ),
    "de": (
        "Ihr Herz raste, und ein Schauer lief ihr über den Rücken. Die Worte hingen in der Luft. In diesem Moment "
        "wusste sie, dass nichts mehr so sein würde wie zuvor.",
        "Er konnte nicht anders, als zu lächeln. Eine Welle der Erleichterung durchströmte ihn, eine Mischung aus "
        "Hoffnung und Angst. Die Zeit schien stillzustehen.",
    ),
}
MORALS = {
    "en": (
        "And in that moment she understood that home had never been a place.",
        "It was, he realised, not about the money but about the people who had stayed.",
        "Perhaps that was what home meant.",
        "She smiled. Sometimes, the smallest light is the one that matters.",
        "It had never been about the lamp. It had always been about the hands that lit it.",
        "Maybe that was enough.",
        "The real treasure was the friends he had made along the way.",
        "And that, she finally understood, was what truly mattered.",
    ),
    "de": (
        "Und in diesem Moment begriff sie, dass Heimat kein Ort war.",
        "Vielleicht war das genug.",
        "Es war nie um das Geld gegangen. Es ging um sie.",
        "Was wirklich zählte, hatte er die ganze Zeit bei sich gehabt.",
    ),
}
OTHER_SCRIPTS = (
    "Она оставила лампу в окне, и когда он вернулся, это был единственный свет, который он видел с дороги; весь город "
    "спал, и никто не шёл по улице, и только собака лаяла где-то за рекой, пока не устала.",
    "她把灯留在窗台上，等他回来的时候，那是他从路上能看见的唯一的光，整个镇子都睡着了，没有一个人在街上走动，只有河那边的狗还在叫，叫了很久才停下来。",
)


@dataclass(frozen=True, slots=True)
class PlantedFault:
    """A chapter with one fault. `fault` is its text, which a finding or removal must name."""

    content: str
    fault: str


Planter = Callable[[random.Random, Sequence[str], str, Sequence[str]], PlantedFault | None]


def _at(blocks: Sequence[str], index: int, text: str) -> str:
    return "\n\n".join((*blocks[:index], text, *blocks[index:]))


def announcement(rng: random.Random, blocks: Sequence[str], tag: str, strange: Sequence[str]) -> PlantedFault:
    text = rng.choice(ANNOUNCEMENTS)
    return PlantedFault(_at(blocks, 0, text), text)


def postscript(rng: random.Random, blocks: Sequence[str], tag: str, strange: Sequence[str]) -> PlantedFault:
    text = rng.choice(POSTSCRIPTS)
    return PlantedFault(_at(blocks, len(blocks), text), text)


def talk_within(rng: random.Random, blocks: Sequence[str], tag: str, strange: Sequence[str]) -> PlantedFault:
    text = rng.choice(ANNOUNCEMENTS + POSTSCRIPTS)
    return PlantedFault(_at(blocks, rng.randint(1, len(blocks) - 1), text), text)


def refusal(rng: random.Random, blocks: Sequence[str], tag: str, strange: Sequence[str]) -> PlantedFault:
    text = rng.choice(REFUSALS)
    return PlantedFault(_at(blocks, rng.randint(1, len(blocks) - 1), text), text)


def placeholder(rng: random.Random, blocks: Sequence[str], tag: str, strange: Sequence[str]) -> PlantedFault:
    text = rng.choice(PLACEHOLDERS)
    return PlantedFault(_at(blocks, rng.randint(1, len(blocks) - 1), f"She met {text} on the quay."), text)


def doubled(rng: random.Random, blocks: Sequence[str], tag: str, strange: Sequence[str]) -> PlantedFault | None:
    longer = [i for i, block in enumerate(blocks) if count_words(block) >= 30 and not has_speech(block)]
    if not longer:
        return None
    first = rng.choice(longer)
    return PlantedFault(_at(blocks, rng.randint(first + 1, len(blocks)), blocks[first]), blocks[first])


def foreign_paragraph(rng: random.Random, blocks: Sequence[str], tag: str, strange: Sequence[str]) -> PlantedFault:
    text = rng.choice((rng.choice(strange), rng.choice(OTHER_SCRIPTS)))
    return PlantedFault(_at(blocks, rng.randint(1, len(blocks) - 1), text), text)


def foreign_chapter(rng: random.Random, blocks: Sequence[str], tag: str, strange: Sequence[str]) -> PlantedFault:
    start = rng.randrange(max(1, len(strange) - 20))
    chosen = strange[start : start + 20]
    return PlantedFault("\n\n".join(chosen), "")


def stock_phrases(rng: random.Random, blocks: Sequence[str], tag: str, strange: Sequence[str]) -> PlantedFault:
    text = rng.choice(STOCK[tag])
    return PlantedFault(_at(blocks, rng.randint(1, len(blocks) - 1), text), text)


def moral(rng: random.Random, blocks: Sequence[str], tag: str, strange: Sequence[str]) -> PlantedFault:
    text = rng.choice(MORALS[tag])
    return PlantedFault(_at(blocks, len(blocks), text), text)


# Each class of faults: the function that plants it, and its kind in the gate's findings.
CLASSES: Mapping[str, tuple[Planter, str]] = {
    "announcement before the text": (announcement, "meta_text"),
    "postscript after the text": (postscript, "meta_text"),
    "talk about the task within the text": (talk_within, "meta_text"),
    "refusal within the text": (refusal, "meta_text"),
    "placeholder": (placeholder, "placeholder"),
    "paragraph twice": (doubled, "repeated_paragraph"),
    "paragraph in another language": (foreign_paragraph, "wrong_language"),
    "chapter in another language": (foreign_chapter, "wrong_language"),
    "paragraph of stock phrases": (stock_phrases, "stock_phrases"),
    "moral as the last lines": (moral, "moral"),
}


def narration(chapters: Sequence[str]) -> list[str]:
    """The longer paragraphs without speech."""
    return [
        block
        for chapter in chapters
        for block in paragraphs(chapter)
        if 30 <= count_words(block) <= 200 and not has_speech(block)
    ]
