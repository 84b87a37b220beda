"""A chapter's plan, which supplements its title and summary: how it is requested, read, and shown in prompts.

All fields are optional. If a plan or a field is missing or unreadable, the chapter is written without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bookgen.models import Book, has_code, has_separate_stories, is_play, story_kind
from bookgen.writing import sentences, structured
from bookgen.writing.language import language
from bookgen.writing.structured import TEXT, Malformed, list_of, object_of

SCENE_FIELDS = ("place", "people", "want", "turn")
MAX_SCENES, MAX_ENTRIES = 12, 12  # of a chapter
MAX_TEXT_CHARACTERS = 600  # of one field or entry
WORDS_OF_REST = 60  # the maximum length in a reply
SCENE_WORDS, SCENE_WORDS_OF_MANY = 60, 40  # of each scene in the plan; fewer if a long chapter has many scenes
SET_UP_WORDS, MAX_SET_UPS = 600, 6  # a set-up for so many words of a chapter, and at most so many
RECIPE_WORDS = (400, 600)
SHORT_CHAPTER, LONG_CHAPTER, WORDS_A_SCENE = 600, 2_000, 700  # words

_TEXTS = ("last_image", "question", "outcome")
_LISTS = ("sets_up", "pays_off", "steps", "examples")

_SCENES = """\
- scenes: {scenes}. Each has its place (with the time), its people, want (who wants what, and what is in the way) and \
turn (what has changed at its end), all this in about {scene_length} a scene."""
_LAST_IMAGE = "- last_image: the thing seen or done that it ends on; no moral, no summary."
_ON_STAGE = (
    " Its people are those who are on stage at its beginning; then who enters and leaves, and which props they bring, "
    "take or hand over."
)
SCENES = f"""\
{_SCENES}{{on_stage}}
- sets_up: what is planted in it that a later chapter pays off, each in a few words, at most {{set_ups}}.
- pays_off: what it pays off, in the words of the set-up, at most {{set_ups}}, in the book's last chapter at most \
{{last_pay_offs}}. Everything that is set up is paid off, and nothing is paid off that was not set up.
{_LAST_IMAGE}"""
SEPARATE_STORY = f"""\
{_SCENES} A story in another form has its parts in place of scenes. What its end needs is planted in them, since no \
other chapter prepares it.
{_LAST_IMAGE} Each story ends on another one."""
LIFE = """\
- scenes: {scenes}, as far as the book's data and material give any. Where they give none, what was usual in that \
time, the work, a place or a question takes their place. Each has its place (with the time), its people, want (what \
somebody wanted or tried) and turn (what has changed or is understood at its end), all this in about {scene_length} \
a scene. Leave empty what is not given.
- sets_up: what it begins that a later chapter comes back to, each in a few words.
- pays_off: what it comes back to, in the words of the set-up.
- last_image: the thing seen or done that it ends on; no moral, no summary."""
STEPS = """\
- question: the reader's question that it answers.
- steps: how it answers the question, in order, each in a few words. In instructions, what makes a step safe \
comes before it. A recipe or a project takes {recipe} with its tables: a chapter has no more of them than fit.{code}
- examples: what it uses to illustrate the answer.
- outcome: what the reader knows, understands or can do afterwards."""
CODE = """ \
Listings, what they print, exercises and solutions count too; a step says what the reader's program has after it."""
VERSE = """\
- sets_up and pays_off: the images in it that a later chapter returns to, and the earlier images that it returns to, \
each in a few words.
- last_image: what it ends on.{lines}"""
LINES = """
A short line of verse has about five words and a pentameter eight or nine: count the lines of the poems accordingly."""
EITHER = f"""\
In fiction:
{SCENES}
In a memoir:
{LIFE}
In non-fiction:
{STEPS}
Leave the fields empty that do not belong to this kind of book."""

# The fields of a plan for each kind of book, and how they are requested. Empty kind: neither genre nor bible names one.
_STORY = ("scenes", "sets_up", "pays_off", "last_image")
_ADVICE = ("question", "steps", "examples", "outcome")
_SEPARATE = (("scenes", "last_image"), SEPARATE_STORY)
_KINDS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "fiction": (_STORY, SCENES),
    "memoir": (_STORY, LIFE),
    "children": (_STORY, SCENES),
    "verse": (("sets_up", "pays_off", "last_image"), VERSE),
    "non_fiction": (_ADVICE, STEPS),
    "": ((*_STORY, *_ADVICE), EITHER),
}

ASKED = """\
Then describe, under "plans", how each of these chapters is carried out, so that a writer can start on any of them \
from your words alone. Keep what a chapter must do small enough for its length, about {length}.
{fields}"""
OPEN = """
Set up by earlier chapters and not paid off yet:
{threads}"""


def _kind(book: Book) -> tuple[tuple[str, ...], str]:
    """The fields of the plans of this book, and how they are requested."""
    return _SEPARATE if has_separate_stories(book) else _KINDS[story_kind(book)]


def asked(book: Book, open_threads: Sequence[str] = ()) -> str:
    """The part of a prompt that asks for chapter plans.

    `open_threads`: what earlier chapters set up and no chapter has paid off yet.
    """
    lang, words = language(book.content_language), _chapter_words(book)
    length = lang.rough_length(book.target_word_count // max(book.chapter_count, 1))
    set_ups = min(max(words // SET_UP_WORDS, 1), MAX_SET_UPS)
    fields = _kind(book)[1].format(
        scenes=_scenes(words, may_have_two=has_separate_stories(book)),
        scene_length=lang.note_length(_scene_words(words)),
        set_ups=set_ups,
        last_pay_offs=2 * set_ups,
        lines=LINES if lang.characters_per_word is None else "",
        on_stage=_ON_STAGE if is_play(book) else "",
        recipe=lang.between(*map(lang.equivalent, RECIPE_WORDS)),
        code=CODE if has_code(book) else "",
    )
    told = ASKED.format(length=length, fields=fields)
    return told + (OPEN.format(threads="\n".join(f"- {each}" for each in open_threads)) if open_threads else "")


def _chapter_words(book: Book) -> int:
    """The length of a chapter as a number of English words that say as much: all limits above are in English words."""
    return language(book.content_language).in_english(book.target_word_count // max(book.chapter_count, 1))


def _scenes(words: int, *, may_have_two: bool) -> str:
    """The number of scenes for a chapter with `words` words as text, such as "2 to 3 scenes".

    `may_have_two`: even a short chapter may have two, as it is a story that is complete in itself.
    """
    least, most = _scene_count(words)
    most = max(most, 1 + may_have_two)
    return "one scene" if most == 1 else f"{least} to {most} scenes"


def _scene_count(words: int) -> tuple[int, int]:
    """The minimum and maximum number of scenes that fit a chapter of `words` words."""
    if words <= SHORT_CHAPTER:
        return 1, 1
    least = min(max(words // WORDS_A_SCENE, 1), 4)
    return least, least + (1 if words <= LONG_CHAPTER else 2)


def _scene_words(words: int) -> int:
    """About how many words a plan has for each scene of a chapter with `words` words."""
    return SCENE_WORDS if words <= LONG_CHAPTER else SCENE_WORDS_OF_MANY


def words_asked(book: Book) -> int:
    """About how many words a reply needs for the plan of one chapter."""
    words = _chapter_words(book)
    _, most = _scene_count(words)
    return WORDS_OF_REST + ((_scene_words(words) + 5) * most if "scenes" in _kind(book)[0] else 0)


def schema(book: Book) -> Mapping[str, Any]:
    """The JSON schema of the plans in a reply: a list, since a plan may be missing."""
    scene = object_of(dict.fromkeys(SCENE_FIELDS, TEXT))
    forms = {"scenes": list_of(scene), **dict.fromkeys(_TEXTS, TEXT), **dict.fromkeys(_LISTS, list_of(TEXT))}
    fields = {name: forms[name] for name in _kind(book)[0]}
    return list_of(object_of({"chapter": {"type": "integer"}, **fields}))


def example(book: Book, number: int) -> list[dict[str, Any]]:
    """A list with one empty plan, of chapter `number`, for the model to copy and fill in."""
    forms: dict[str, Any] = {"scenes": [dict.fromkeys(SCENE_FIELDS, "…")], **dict.fromkeys(_TEXTS, "…")}
    forms |= {name: ["…"] for name in _LISTS}
    return [{"chapter": number, **{name: forms[name] for name in _kind(book)[0]}}]


def read_all(reply: Mapping[str, Any], numbers: Iterable[int]) -> dict[int, dict[str, Any]]:
    """The readable plans in a reply, by chapter number. Never raises."""
    listed, wanted = reply.get("plans"), set(numbers)
    if isinstance(listed, Mapping):
        listed = [{"chapter": key, **each} for key, each in listed.items() if isinstance(each, Mapping)]
    found: dict[int, dict[str, Any]] = {}
    for each in listed if isinstance(listed, list) else []:
        number = structured.number_of(each.get("chapter")) if isinstance(each, Mapping) else None
        if number in wanted and number not in found and (plan := read(each)):
            found[number] = plan
    return found


def read(record: Mapping[str, Any]) -> dict[str, Any]:
    """The known fields of a plan that are not empty."""
    plan: dict[str, Any] = {}
    if scenes := [scene for each in _listed(record.get("scenes")) if (scene := _scene(each))]:
        plan["scenes"] = scenes[:MAX_SCENES]
    for name in _LISTS:
        entries = [text for each in _listed(record.get(name)) if (text := _text(each))]
        if entries:
            plan[name] = entries[:MAX_ENTRIES]
    for name in _TEXTS:
        if text := _text(record.get(name)):
            plan[name] = text
    return plan


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else [value]


def _scene(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        return {}
    scene = {name: _text(value.get(name)) for name in SCENE_FIELDS}
    return scene if any(scene.values()) else {}


def _text(value: object) -> str:
    """The value as one line; empty if it is not text, or only dots and dashes copied from the example."""
    try:
        text = structured.text_of({"text": value}, "text", longest=MAX_TEXT_CHARACTERS)
    except Malformed:
        return ""
    return "" if text.strip(".…- ") == "" else text


def as_prompt_lines(plan: Mapping[str, Any]) -> str:
    """The plan as lines of the prompt for its chapter; empty if the plan is empty."""
    lines = [f"Question: {plan['question']}"] if plan.get("question") else []
    for number, scene in enumerate(plan.get("scenes", ()), 1):
        said = sentences.as_list(f"{name}: {scene[name]}" for name in SCENE_FIELDS if scene.get(name))
        lines.append(f"Scene {number}. {said}")
    if plan.get("steps"):
        lines += ["Steps:", *(f"{number}. {step}" for number, step in enumerate(plan["steps"], 1))]
    for name, title in (("examples", "Examples"), ("sets_up", "Sets up"), ("pays_off", "Pays off")):
        if plan.get(name):
            lines.append(f"{title}: {sentences.as_list(plan[name])}")
    for name, title in (("outcome", "Outcome"), ("last_image", "Ends on")):
        if plan.get(name):
            lines.append(f"{title}: {plan[name]}")
    return "\n".join(lines)


def unpaid(plans: Iterable[tuple[int, Mapping[str, Any]]]) -> list[tuple[int, str]]:
    """What the plans set up without a later plan that pays it off, each with the number of its chapter.

    `plans`: chapter number and plan, in the order of the book.
    """
    left: list[tuple[int, str]] = []
    for number, plan in plans:
        paid = [_words(each) for each in plan.get("pays_off", ())]
        left = [each for each in left if not any(_is_same(_words(each[1]), words) for words in paid)]
        left += [(number, each) for each in plan.get("sets_up", ())]
    return left


def _words(text: str) -> frozenset[str]:
    """The words of a set-up (the characters, in a script without spaces), used to recognise where it is paid off."""
    words = "".join(c if c.isalnum() else " " for c in text.casefold()).split()
    return frozenset(words if len(words) > 1 else text.casefold())


def _is_same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether most words of the text with fewer words are also in the other text."""
    return bool(one and other) and 2 * len(one & other) >= min(len(one), len(other))
