"""False alarms of the quality gate in finished prose, and how many planted faults it finds.

python -m bench.gate FOLDER [--model-prose FOLDER] [--novels 20]

FOLDER has checkouts of ELTeC-eng and ELTeC-deu. A class of faults may be corrected automatically only with a precision
of 99 %: found / (found + false alarms), with one fault planted in each chapter.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from bench.gate.planted import CLASSES, PlantedFault, Planter, narration
from bench.gate.prose import Authored, novels, written_by_a_model
from bookgen.models import Book, Chapter
from bookgen.words import count_words
from bookgen.writing import craft, echo, quality, reply_cleanup
from bookgen.writing.blocks import paragraphs
from bookgen.writing.material import Material
from tests.writing.scripted import a_book, a_chapter

MIN_PARAGRAPHS = 6
PART_WORDS = 1_000  # of a reply


@dataclass(frozen=True, slots=True)
class Alarm:
    """`changed`: the gate changed the text automatically."""

    kind: str
    excerpt: str
    changed: bool


@dataclass
class Tally:
    words: int = 0
    chapters: int = 0
    alarms: Counter[tuple[str, bool]] = field(default_factory=Counter)
    planted: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)


def a_novel(text: Authored) -> Book:
    return a_book(
        title="A Novel", description="A novel.", bible={}, content_language=text.tag, genre=text.genre, chapter_count=1
    )


async def alarms_in(content: str, book: Book, earlier: Sequence[str], chapter: Chapter) -> list[Alarm]:
    """All findings and changes in a chapter, processed like a reply."""
    text, alarms = _cleaned(content, book, chapter)
    certain = await quality.certain(text, book)
    alarms += [Alarm(each.kind, each.before, changed=True) for each in certain.changes]
    before = tuple(a_chapter(i, content=each) for i, each in enumerate(earlier, 1))
    number = len(before) + 1
    now = replace(chapter, chapter_number=number, target_word_count=count_words(content))
    flaws = await quality.inspect(certain.text, Material(book, (*before, now)), now)
    return alarms + [Alarm(each.kind, each.excerpt, changed=False) for each in flaws if each.kind != "length"]


def _cleaned(content: str, book: Book, chapter: Chapter) -> tuple[str, list[Alarm]]:
    """The chapter divided into replies of PART_WORDS, each cleaned."""
    kept: list[str] = []
    alarms: list[Alarm] = []
    instructed = craft.craft(book)
    for part in _parts(content):
        cleaned = reply_cleanup.prose(part, chapter, opening=not kept)
        without = echo.without_echo(cleaned.text, instructed)
        alarms += [Alarm(each.kind, each.before, changed=True) for each in (*cleaned.changes, *without.changes)]
        kept.append(without.text)
    return "\n\n".join(kept), alarms


def _parts(content: str) -> Iterator[str]:
    held: list[str] = []
    for block in paragraphs(content):
        held.append(block)
        if sum(map(count_words, held)) >= PART_WORDS:
            yield "\n\n".join(held)
            held = []
    if held:
        yield "\n\n".join(held)


async def measure(text: Authored, strange: Sequence[str], tally: Tally, shown: set[str]) -> None:
    rng = random.Random(text.name)
    book, chapter = a_novel(text), a_chapter(1, title="An Unlikely Title")
    for number, content in enumerate(text.chapters):
        found = await alarms_in(content, book, text.chapters[:number], chapter)
        tally.words += count_words(content)
        tally.chapters += 1
        for alarm in found:
            tally.alarms[alarm.kind, alarm.changed] += 1
            if alarm.kind in shown:
                print(
                    f"{text.name} {number} {alarm.kind} {'changed' if alarm.changed else ''}: {alarm.excerpt[:300]!r}"
                )
        blocks = paragraphs(content)
        if len(blocks) >= MIN_PARAGRAPHS:
            for name, (plant, kind) in CLASSES.items():
                await _plant(name, plant, kind, rng, blocks, text, strange, tally, {(a.kind, a.excerpt) for a in found})


async def _plant(
    name: str,
    plant: Planter,
    kind: str,
    rng: random.Random,
    blocks: Sequence[str],
    text: Authored,
    strange: Sequence[str],
    tally: Tally,
    known: set[tuple[str, str]],
) -> None:
    planted: PlantedFault | None = plant(rng, blocks, text.tag, strange)
    if planted is None:
        return
    tally.planted[name] += 1
    alarms = await alarms_in(planted.content, a_novel(text), (), a_chapter(1, title="An Unlikely Title"))
    new = [each for each in alarms if each.kind == kind and (each.kind, each.excerpt) not in known]
    tally.found[name] += bool(new)
    tally.changed[name] += any(each.changed for each in new)


def table(name: str, tally: Tally) -> None:
    print(f"\n{name}: {tally.words:,} words, {tally.chapters:,} chapters\n")
    print("| false alarm | changed by itself | number | per 100,000 words |\n|---|---|---|---|")
    for (kind, changed), count in sorted(tally.alarms.items()):
        print(f"| {kind} | {'yes' if changed else 'no'} | {count} | {count * 100_000 / tally.words:.2f} |")
    print("\n| planted | number | found | changed by itself | false alarms | precision |\n|---|---|---|---|---|---|")
    for each, (_, kind) in CLASSES.items():
        planted, found, changed = tally.planted[each], tally.found[each], tally.changed[each]
        false = tally.alarms[kind, True] if changed else tally.alarms[kind, False]
        right = changed or found
        precision = right / (right + false) if right else 0.0
        print(f"| {each} | {planted} | {found / max(planted, 1):.1%} | {changed} | {false} | {precision:.2%} |")


async def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.gate")
    parser.add_argument("folder", type=Path, help="with checkouts of ELTeC-eng and ELTeC-deu")
    parser.add_argument("--model-prose", type=Path, help="a folder with chapters that a strong model wrote, as .txt")
    parser.add_argument("--novels", type=int, default=100, help="of each language")
    parser.add_argument("--show", default="", help="kinds whose false alarms are printed, with commas between")
    options = parser.parse_args()
    shown = set(filter(None, options.show.split(",")))
    read = {tag: list(islice(novels(options.folder, tag), options.novels)) for tag in ("en", "de")}
    others = {"en": "de", "de": "en"}
    strange = {
        tag: narration([each for novel in read[other][:5] for each in novel.chapters]) for tag, other in others.items()
    }
    groups = {f"Novels, {tag}": texts for tag, texts in read.items()}
    if options.model_prose:
        groups["A strong model's prose"] = list(written_by_a_model(options.model_prose))
    for name, texts in groups.items():
        tally = Tally()
        for text in texts:
            await measure(text, strange[text.tag], tally, shown)
        table(name, tally)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
