"""The sample stories, one for each of a few languages. A story is divided into as many chapters as the book has."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any

from bookgen.providers.sample.brief import Brief
from bookgen.words import count_words

FOLDER = Path(__file__).parent / "stories"
SCENE_BREAK = "***"
MAX_CHAPTERS = 40
MIN_CHAPTER_WORDS = 350
MIN_WORDS = 2_000  # a shorter book gets no story
LENGTH_TOLERANCE = 0.2  # of the story's length
MAX_UNEVENNESS = (
    0.1  # of a chapter's length: by how much the story's own chapters, if used, may differ from equal lengths
)
CUT_PENALTIES = (
    0.0,
    0.02,
    0.07,
)  # for each Start, in chapter lengths: added to a place's distance from the ideal cut; the smallest sum wins
MAX_SUMMARY_CHARACTERS = 1_200
_NUMERALS = ("", "", " II", " III", " IV", " V", " VI", " VII", " VIII", " IX", " X")
_SENTENCE_END = re.compile(r"[.!?…][\"”’»“*_)]*$")
_OTHER_KINDS = re.compile(
    r"child|kids|picture|middle.?grade|poe(?:m|t)|vers|lyri|gedicht|memoir|mémoire|memoria|biogra|screenplay|\bplay\b",
    re.IGNORECASE,
)


class Start(IntEnum):
    """What begins at a paragraph. Stories are preferably cut before a chapter, and otherwise before a scene."""

    CHAPTER = 0
    SCENE = 1
    PARAGRAPH = 2


@dataclass(frozen=True, slots=True)
class StoryScene:
    """A scene. `told`: its summary. `opens` and `closes`: the questions that it raises and answers."""

    title: str
    told: str
    facts: tuple[str, ...]
    opens: tuple[str, ...]
    closes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoryParagraph:
    """A paragraph with the indexes of its chapter and its scene in the story."""

    text: str
    words: int
    chapter: int
    scene: int
    start: Start
    ends_scene: bool = False


@dataclass(frozen=True, slots=True)
class Story:
    """A sample story. `outline`: the title and the summary of each of the story's own chapters."""

    bible: Mapping[str, Any]
    outline: tuple[tuple[str, str], ...]
    scenes: tuple[StoryScene, ...]
    paragraphs: tuple[StoryParagraph, ...]

    @property
    def words(self) -> int:
        return sum(paragraph.words for paragraph in self.paragraphs)


@dataclass(frozen=True, slots=True)
class StoryChapter:
    """A chapter of a book that gets a sample story.

    `digest`: the chapter's summary, its facts, and the threads (questions) that it opens and closes.
    """

    title: str
    summary: str
    digest: Mapping[str, Any]
    paragraphs: tuple[StoryParagraph, ...]

    @property
    def text(self) -> str:
        return joined(self.paragraphs)


def joined(paragraphs: Sequence[StoryParagraph]) -> str:
    """Return the paragraphs as Markdown, with a scene break between two scenes."""
    scenes = [[each.text for each in scene] for _, scene in groupby(paragraphs, key=lambda each: each.scene)]
    return f"\n\n{SCENE_BREAK}\n\n".join("\n\n".join(scene) for scene in scenes)


@dataclass(frozen=True, slots=True)
class Telling:
    """A story, or its beginning, divided into the chapters of a book. `is_whole`: whether it is the whole story."""

    story: Story
    chapters: tuple[StoryChapter, ...]
    is_whole: bool


@cache
def load(language: str) -> Story | None:
    """Return the story in a language such as `en`; None if there is none."""
    folder = FOLDER / language
    if not language.isalpha() or not (folder / "story.toml").is_file():
        return None
    notes = tomllib.loads((folder / "story.toml").read_text(encoding="utf-8"))
    scenes: list[StoryScene] = []
    paragraphs: list[StoryParagraph] = []
    for index, chapter in enumerate(notes["chapters"]):
        text = (folder / f"{index + 1:02}.md").read_text(encoding="utf-8")
        paragraphs += _paragraphs(text, index, len(scenes))
        scenes += [_scene(each) for each in chapter["scenes"]]
    outline = tuple((chapter["title"], chapter["summary"]) for chapter in notes["chapters"])
    return Story(notes["bible"], outline, tuple(scenes), tuple(paragraphs))


def _scene(notes: Mapping[str, Any]) -> StoryScene:
    facts, opens, closes = (tuple(notes.get(name, ())) for name in ("facts", "opens", "closes"))
    return StoryScene(notes["title"], notes["told"], facts, opens, closes)


def _paragraphs(text: str, chapter: int, first_scene: int) -> Iterator[StoryParagraph]:
    for index, scene in enumerate(re.split(rf"\n\s*{re.escape(SCENE_BREAK)}\s*\n", text.strip())):
        blocks = scene.strip().split("\n\n")
        starts = [Start.SCENE if index else Start.CHAPTER, *[Start.PARAGRAPH] * (len(blocks) - 1)]
        for number, (block, start) in enumerate(zip(blocks, starts, strict=True), 1):
            words, ends_scene = count_words(block), number == len(blocks)
            yield StoryParagraph(block.strip(), words, chapter, first_scene + index, start, ends_scene)


def telling_for(brief: Brief) -> Telling | None:
    """Return the story, or its beginning, that the book of `brief` gets; None if the book gets none.

    Only prose fiction and books without a genre get a story. A book about as long as the story gets all of it, and a
    shorter book gets its first scenes. A much longer or very short book gets none.
    """
    language = brief.text("language", "en").partition("-")[0].lower()
    story = load(language)
    total, count = brief.number("total", 0), brief.number("chapter_count", 0)
    if story is None or not _is_fiction(brief) or not MIN_WORDS <= total <= story.words * (1 + LENGTH_TOLERANCE):
        return None
    scenes = len(story.scenes) if total >= story.words * (1 - LENGTH_TOLERANCE) else _scenes_within(story, total)
    told = sum(each.words for each in story.paragraphs if each.scene < scenes)
    if not 1 <= count <= min(MAX_CHAPTERS, told // MIN_CHAPTER_WORDS):
        return None
    return Telling(story, told_in(language, count, scenes), scenes == len(story.scenes))


def _scenes_within(story: Story, total: int) -> int:
    """Return how many scenes from the start of the story come closest to `total` words."""
    before = accumulate(each.words for each in story.paragraphs)
    ends = {each.scene + 1: words for each, words in zip(story.paragraphs, before, strict=True) if each.ends_scene}
    return min(ends, key=lambda scenes: abs(ends[scenes] - total))


def _is_fiction(brief: Brief) -> bool:
    kind = f"{brief.text('genre')} {brief.text('audience')}"
    return not brief.text("ages") and not brief.nonfiction and not _OTHER_KINDS.search(kind)


@cache
def told_in(language: str, count: int, scenes: int | None = None) -> tuple[StoryChapter, ...]:
    """Return the story in a language, or only its first `scenes`, divided into `count` chapters.

    A chapter always ends at the end of a paragraph.
    """
    story = load(language)
    if story is None:
        raise LookupError(language)
    paragraphs = story.paragraphs if scenes is None else tuple(each for each in story.paragraphs if each.scene < scenes)
    starts = _starts(paragraphs, count)
    pieces = [paragraphs[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]
    titles = _titles(story, pieces)
    return tuple(_chapter(story, piece, title) for piece, title in zip(pieces, titles, strict=True))


def _starts(paragraphs: Sequence[StoryParagraph], count: int) -> list[int]:
    """Return the index of the first paragraph of each of `count` chapters."""
    before = [0, *accumulate(each.words for each in paragraphs)]
    length = before[-1] / count
    own = [index for index, each in enumerate(paragraphs) if each.start is Start.CHAPTER]
    lengths = [before[end] - before[start] for start, end in zip(own, [*own[1:], len(paragraphs)], strict=True)]
    if len(own) == count and all(abs(each - length) <= length * MAX_UNEVENNESS for each in lengths):
        return own
    starts = [0]
    for number in range(1, count):
        places = [
            index
            for index in range(starts[-1] + 1, len(paragraphs) - (count - number) + 1)
            if _SENTENCE_END.search(paragraphs[index - 1].text)
        ]
        off = {index: abs(before[index] / length - number) for index in places}
        starts.append(min(places, key=lambda index: off[index] + CUT_PENALTIES[paragraphs[index].start]))
    return starts


def _titles(story: Story, pieces: Sequence[Sequence[StoryParagraph]]) -> list[str]:
    """Return a different title for each piece (the paragraphs of one chapter of the book).

    A piece has the title of the story's chapter or scene with which it begins. A piece that begins within a scene has
    the title of the first scene that starts in the piece. If a title is used again, a numeral is added.
    """
    used: Counter[str] = Counter()
    titles = []
    for piece in pieces:
        starting = next((each for each in piece if each.start is not Start.PARAGRAPH), piece[0])
        of_chapter = starting is piece[0] and starting.start is Start.CHAPTER
        title = story.outline[starting.chapter][0] if of_chapter else story.scenes[starting.scene].title
        used[title] += 1
        titles.append(f"{title}{_NUMERALS[used[title]]}")
    return titles


def _chapter(story: Story, piece: Sequence[StoryParagraph], title: str) -> StoryChapter:
    summaries = list(_summaries(story, piece))
    if len(summaries) == len(story.outline):
        summaries = list(story.bible["arc"])
    elif len({each.scene for each in piece}) == 1:  # another chapter may tell the rest of the scene
        summaries = [f"{title}: {summaries[0]}"]
    summary = _within(summaries, MAX_SUMMARY_CHARACTERS)
    return StoryChapter(title, summary, {"summary": summary, **_notes(story, piece)}, tuple(piece))


def _summaries(story: Story, piece: Sequence[StoryParagraph]) -> Iterator[str]:
    """Yield summaries of what the piece (the paragraphs of one chapter of the book) tells.

    For a chapter of the story that is whole in the piece, this is the chapter's summary. For a chapter that is cut, it
    is the summary of each scene in the piece.
    """
    for chapter, group in groupby(piece, key=lambda each: each.chapter):
        paragraphs = list(group)
        if len(paragraphs) == sum(each.chapter == chapter for each in story.paragraphs):
            yield story.outline[chapter][1]
        else:
            yield from (story.scenes[scene].told for scene in dict.fromkeys(each.scene for each in paragraphs))


def _within(texts: Sequence[str], most: int) -> str:
    lengths = accumulate(len(each) + 1 for each in texts)
    return " ".join(each for each, length in zip(texts, lengths, strict=True) if length <= most)


def _notes(story: Story, piece: Sequence[StoryParagraph]) -> dict[str, list[str]]:
    """Return the facts and the questions of the scenes that end in the piece.

    A question that is both opened and closed in the piece is left out.
    """
    ended = [story.scenes[each.scene] for each in piece if each.ends_scene]
    opened = [thread for scene in ended for thread in scene.opens]
    closed = [thread for scene in ended for thread in scene.closes]
    return {
        "facts": [fact for scene in ended for fact in scene.facts],
        "threads_opened": [thread for thread in opened if thread not in closed],
        "threads_closed": [thread for thread in closed if thread not in opened],
    }
