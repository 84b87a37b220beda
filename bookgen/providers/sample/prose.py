"""Writes sample prose of a requested length.

Fiction has scenes with people, places, dialogue and a turn. Nonfiction has sections with cases and exercises. A
sentence may be used only in the part of the book that its hash selects. Without this rule, independent calls would
write the same sentences.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bookgen.providers.sample.brief import Brief
from bookgen.providers.sample.cast import Cast
from bookgen.providers.sample.grammar import Grammar
from bookgen.words import count_words

SCENE_WORDS = 480
CLOSING_WORDS = 24
CARD_WORDS = 90  # a list of three lines is added whole, so only where there is room
TRIES = 300
MAX_OWNERS = 60  # into so many groups the sentences are divided; if a book has more parts, some share a group
MAX_SILENT_PARAGRAPHS = 20  # paragraphs in a row for which no sentence was left
MIN_OWNED_WORDS = 4  # a shorter sentence may be used twice
_SENTENCE = re.compile(r"(?<=[.!?])[”’»“]?\s+|(?<=[.!?][”’»“])\s+|\n+")
_WORD = re.compile(r"\w+")


def write_prose(brief: Brief, bank: Mapping[str, Any], words: int) -> str:
    kind = "nonfiction" if brief.nonfiction and "nonfiction" in bank else "fiction"
    teller: type[_Storyteller | _Essayist] = _Essayist if kind == "nonfiction" else _Storyteller
    return teller(brief, bank, kind, words).write()


class _Teller(ABC):
    """Writes paragraphs until the requested number of words is reached."""

    NOT_PROSE = frozenset("#*1234567890")
    UNIQUE = ("entry",)  # holds the chapter's own summary

    def __init__(self, brief: Brief, bank: Mapping[str, Any], kind: str, words: int) -> None:
        self.brief, self.bank, self.asked = brief, bank, words
        self.rng = brief.call_rng()
        self.templates: Mapping[str, Sequence[str]] = bank[kind]
        self.grammar = Grammar(bank[kind]["slots"], self.rng)
        self.cast = Cast.of(brief, bank)
        self.paragraphs: list[str] = []
        self.written = 0
        self.said: set[int] = set()
        self.words: dict[str, str] = {}
        self.part, self.parts = brief.number("part", 1), brief.number("parts", 1)
        self.chapter, self.chapters = brief.number("chapter_number", 1), brief.number("chapter_count", 1)
        self.silence = 0

    def write(self) -> str:
        scenes = max(1, round(self.asked / SCENE_WORDS))
        for scene in range(1, scenes + 1):
            self.set_scene()
            until = self.asked * scene // scenes
            for sentences in self.scene(first=scene == 1):
                self.add(sentences, until - (CLOSING_WORDS if scene == scenes else 0))
                if self.written >= until - CLOSING_WORDS:
                    break
            if scene < scenes:
                self.break_scene()
        self.close()
        return "\n\n".join(self.paragraphs)

    @abstractmethod
    def set_scene(self) -> None: ...

    @abstractmethod
    def scene(self, *, first: bool) -> Iterator[Iterator[str]]:
        """Yield paragraphs without end. Each paragraph is an iterator of its sentences."""

    @abstractmethod
    def break_scene(self) -> None: ...

    def add(self, sentences: Iterator[str], until: int) -> None:
        paragraph: list[str] = []
        for sentence in filter(None, sentences):
            paragraph.append(sentence)
            self.written += count_words(sentence)
            if self.written >= until:
                break
        self.silence = 0 if paragraph else self.silence + 1
        if paragraph:
            self.paragraphs.append(" ".join(paragraph))

    def close(self) -> None:
        ends_book = self.part == self.parts and self.chapter == self.chapters
        closing = self.fitting("final" if ends_book else "close", self.asked - self.written)
        if not closing:
            return
        if self.paragraphs and self.paragraphs[-1][0] not in self.NOT_PROSE:
            self.paragraphs[-1] += f" {closing}"
        else:
            self.paragraphs.append(closing)

    def fitting(self, role: str, words: int) -> str:
        """Return the sentence for `role` whose length is closest to `words`, out of a few tries; empty if all fail."""
        candidates = [self.sentence(role) for _ in range(8)]
        return min(filter(None, candidates), key=lambda sentence: abs(count_words(sentence) - words), default="")

    def run(self, *roles: str, **words: str) -> Iterator[str]:
        return (self.sentence(role, **words) for role in roles)

    def sentence(self, role: str, **words: str) -> str:
        return self.fresh(lambda: self.filled(role, **words), owned=role not in self.UNIQUE)

    def fresh(self, make: Callable[[], str], *, owned: bool = True) -> str:
        """Return a text from `make` that does not repeat a sentence of this part of the book.

        Empty if TRIES calls of `make` return none. `owned`: accept only a text that is reserved for this part, so that
        no other part of the book has the same text.
        """
        for _ in range(TRIES):
            self.grammar.begin()
            text = make()
            pieces = sorted(_SENTENCE.split(text), key=len)
            keys = {_key(piece) for piece in pieces if count_words(piece) >= MIN_OWNED_WORDS}
            if not keys & self.said and (not owned or not keys or self.owns(_key(pieces[-1]))):
                self.grammar.keep()
                self.said |= keys
                return text
        return ""

    def filled(self, role: str, **words: str) -> str:
        return self.grammar.sentence(role, self.templates[role], {**self.words, **words})

    def owns(self, key: int) -> bool:
        if self.silence > MAX_SILENT_PARAGRAPHS:
            return True
        chapters = min(self.chapters, MAX_OWNERS)
        parts = min(self.parts, MAX_OWNERS // chapters)
        chapter, part = key % chapters, key // chapters % parts
        return chapter == (self.chapter - 1) % chapters and part == (self.part - 1) % parts


def _key(sentence: str) -> int:
    words = " ".join(_WORD.findall(sentence.lower()))
    return int.from_bytes(hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=6).digest())


class _Storyteller(_Teller):
    def set_scene(self) -> None:
        cast, summary = self.cast, self.brief.text("chapter_summary")
        hero = next((name for name in cast.people if name in summary), cast.people[0])
        hero = hero if self.rng.random() < 0.8 else cast.people[0]
        friend = self.rng.choice([name for name in cast.people if name != hero])
        place = self.mentioned(cast.places, summary, "place")
        thing = self.mentioned(cast.things, summary, "thing")
        they, them, their = cast.pronouns[hero]
        they2, them2, their2 = cast.pronouns[friend]
        self.words = {
            "hero": hero.split()[0],
            "friend": friend.split()[0],
            "they": they,
            "them": them,
            "their": their,
            "they_cap": they.capitalize(),
            "their_cap": their.capitalize(),
            "they2": they2,
            "them2": them2,
            "their2": their2,
            "place": place,
            "thing": thing,
            "place2": self.rng.choice([other for other in cast.places if other != place]),
            "thing2": self.rng.choice([other for other in cast.things if other != thing]),
        }

    def mentioned(self, known: Sequence[str], summary: str, slot: str) -> str:
        """Return the place or the thing of the next scene, chosen from `known`. `slot`: `place` or `thing`.

        The first scene gets the first entry of `known` that the chapter's `summary` mentions. Otherwise the choice is
        random, but differs from the previous scene.
        """
        named = [one for one in known if one in summary]
        if slot not in self.words and named:
            return named[0]
        return self.rng.choice([one for one in known if one != self.words.get(slot)])

    def scene(self, *, first: bool) -> Iterator[Iterator[str]]:
        yield self.run("open", "detail_s", self.rng.choice(("thought", "action")))
        if first and self.part == 1 and (summary := self.brief.text("chapter_summary")):
            yield self.run("entry", summary=summary)
        while True:
            blocks = ["action", "talk", "memory", "look", "talk", "turn"]
            self.rng.shuffle(blocks)
            for block in blocks:
                yield from self.block(block)

    def block(self, name: str) -> Iterator[Iterator[str]]:
        match name:
            case "talk":
                yield from self.talk()
            case "action":
                yield self.run("action", "action", self.rng.choice(("detail_s", "thought")))
            case "memory":
                yield self.run("memory", self.rng.choice(("memory", "detail_s")), "thought")
            case "look":
                yield self.run("detail_s", "action", "detail_s", "thought")
            case "turn":
                yield self.run("turn", "action")

    def talk(self) -> Iterator[Iterator[str]]:
        """Yield a question and the dialogue that follows it, one line at a time."""
        speakers = [self.words["hero"], self.words["friend"]]
        self.rng.shuffle(speakers)
        yield iter([self.line("question", speakers[0], "tag_question")])
        yield iter([self.line("answer", speakers[1], "tag")])
        for turn in range(self.rng.randint(1, 4)):
            speaker = speakers[turn % 2]
            if self.rng.random() < 0.35:
                yield iter([self.sentence("beat", speaker=speaker)])
            yield iter([self.line(self.rng.choice(("remark", "question", "answer")), speaker, "tag")])

    def line(self, role: str, speaker: str, tag: str) -> str:
        bare = self.rng.random() < 0.4
        return self.fresh(lambda: self.spoken(role, speaker, tag, bare=bare))

    def spoken(self, role: str, speaker: str, tag: str, *, bare: bool) -> str:
        said, style = self.filled(role), self.bank["dialogue"]
        if bare:
            return str(style["bare"]).replace("{line}", said)
        asked = said.endswith("?")
        tagged = self.filled("tag_question" if asked else tag, speaker=speaker)
        tagged = tagged if tagged.startswith(speaker) else tagged[:1].lower() + tagged[1:]
        form = style["question"] if asked else style["statement"]
        return str(form).replace("{line}", said.removesuffix(".")).replace("{tag}", tagged)

    def break_scene(self) -> None:
        self.paragraphs.append("* * *")


class _Essayist(_Teller):
    def set_scene(self) -> None:
        title = self.brief.text("chapter_title", self.brief.title)
        aims = self.bank["outline"]["aim"]
        self.words = {"topic": next((aim for aim in aims if aim in title), title).lower()}

    def scene(self, *, first: bool) -> Iterator[Iterator[str]]:
        yield self.run("open", "claim", "reason")
        if first and self.part == 1 and (summary := self.brief.text("chapter_summary")):
            yield self.run("entry", summary=summary)
        while True:
            blocks = [
                ("example", "reason", "claim"),
                ("claim", "example", "question"),
                ("practice", "caution"),
                ("example", "claim", "reason"),
                ("reason", "question", "claim"),
            ]
            self.rng.shuffle(blocks)
            for roles in blocks:
                yield self.run(*roles)
            if self.asked - self.written > CARD_WORDS:
                yield iter([self.card()])

    def card(self) -> str:
        items = filter(None, [self.sentence("list_item") for _ in range(3)])
        numbered = [f"{number}. {item}." for number, item in enumerate(items, 1)]
        return "\n".join([self.sentence("list_intro"), "", *numbered]) if len(numbered) > 1 else ""

    def break_scene(self) -> None:
        if heading := self.sentence("heading"):
            self.paragraphs.append(f"## {heading}")
