"""Find passages of a chapter that certainly contradict the author's story bible. No model and no facts are needed.

The rules find old names of renamed entries, old expressions of changed descriptions, other spellings of a name or term,
and words to avoid. Everything that needs judgement is left to the editor's reading.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bookgen.models import Book
from bookgen.writing.facts.contradictions import short_forms
from bookgen.writing.facts.corrections import LISTS, Words, by_name, current_text, find_words, still_says, words_of
from bookgen.writing.facts.expressions import may_be_forms_of_one, pattern
from bookgen.writing.facts.wording import is_form_of, key
from bookgen.writing.flaw import Flaw, without_code
from bookgen.writing.language import primary
from bookgen.writing.sentences import split

KIND = "bible"
MAX_AVOIDED_WORDS, MAX_AVOIDED_CHARACTERS = (
    3,
    12,
)  # of an entry that is itself the word to avoid (in scripts without spaces: characters)
MIN_NAME, MIN_SPELT, MIN_EXPRESSION = 3, 5, 5  # letters
MAX_FOLLOWING = 2  # words (in scripts without spaces: characters) that make a short expression specific
EXCERPT_SIDE = 40  # characters before and after the passage

RENAMED = "The bible now says “{new}” instead of “{former}”."
SETTLED = "The bible says: {settled}."
SPELT = "The bible spells it “{name}”."
AVOID = "The bible says to avoid “{word}”."

_QUOTED = re.compile(r"[“„\"«「『]\s*([^”“\"»」』]{2,60}?)\s*[”“\"»」』]")
_CLAUSE = re.compile(r"[,;.:!?،]+(?:\s|$)|[、。，；]")
_TOKEN = re.compile(r"[^\W_]+")
_OPENS_SENTENCE = re.compile(r"(?:^|[.!?…:\n]|[.!?…]['\"”’»])[\s\"“„«‘'*—–-]*$")
_CASELESS = re.compile(r"[\u0590-\u06ff\u0900-\u0eff\u3040-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True, slots=True)
class Deviation:
    """A passage, `content[start:end]`, and an explanation of what the bible says instead."""

    start: int
    end: int
    detail: str


def deviations(content: str, book: Book) -> list[Flaw]:
    """The findings of a chapter, in the order of the text. Each change, name or word to avoid is found at most once."""
    if not (book.authored_bible or book.bible_changes) or not content.strip():
        return []
    text = without_code(content)
    found = sorted({*_former_names(text, book), *_former_expressions(text, book), *_spellings(text, book),
                    *_avoided(text, book)}, key=lambda each: (each.start, each.detail))  # fmt: skip
    return [Flaw(KIND, None, _excerpt(content, each), each.detail) for each in found]


def _excerpt(content: str, each: Deviation) -> str:
    """The passage with some words around it, from one paragraph."""
    start = content.rfind("\n", 0, each.start) + 1
    end = content.find("\n", each.end)
    end = len(content) if end < 0 else end
    if start < each.start - EXCERPT_SIDE:
        near = each.start - EXCERPT_SIDE
        start = min(content.find(" ", near) + 1 or near, each.start)
    if end > each.end + EXCERPT_SIDE:
        far = each.end + EXCERPT_SIDE
        end = max(content.rfind(" ", 0, far), each.end)
    return content[start:end].strip()


def _former_names(text: str, book: Book) -> Iterator[Deviation]:
    language, people = primary(book.content_language), by_name(book.bible.get("people"))
    entries = {name: entry for entries in LISTS for name, entry in by_name(book.bible.get(entries)).items()}
    # The model's outcome of a mystery names its people, also after the author has renamed them.
    said = {name: value for name, value in book.bible.items() if name != "outcome" or name in book.authored_bible}
    told = " ".join(_texts(said)).casefold()
    for change in book.bible_changes:
        former, new = change["was"], change["is"]
        if key(change["name"]) != key(former) or key(former) in entries or key(new) not in entries:
            continue
        for part in _own_parts(former, new) if key(new) in people else [former]:
            if part.casefold() in told or any(may_be_forms_of_one(part, each, language) for each in new.split()):
                continue
            if match := pattern(part, language, is_name=True).search(text):
                yield Deviation(*match.span(), RENAMED.format(new=new, former=former))
                break


def _own_parts(former: str, new: str) -> list[str]:
    """The words of a person's former name that the new name does not have, except very short words.

    A text may have only one of these words, such as the surname. If no word is left, the result is the whole former
    name.
    """
    kept = set(key(new).split())
    parts = [word for word in former.split() if key(word) not in kept]
    return [word for word in parts if len(word) >= MIN_NAME or _CASELESS.search(word)] or [former]


def _texts(value: object) -> Iterator[str]:
    """Every string in a bible, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)


def _former_expressions(text: str, book: Book) -> Iterator[Deviation]:
    """Sentences that name an entry of the bible and still have an expression that the author has changed there."""
    names = [name for entries in LISTS for name in by_name(book.bible.get(entries))]
    for change in book.bible_changes:
        name, was, new = key(change["name"]), words_of(change["was"]), words_of(change["is"])
        says = current_text(book.bible, name, was, new)
        if words_of(name) == was or not says:
            continue
        was, new = _in_context(was, new, says.partition(": ")[2])
        if not _is_particular(was):
            continue
        subjects = [words_of(form) for form, whole in short_forms(names).items() if whole == name]
        for sentence in split(text):
            if _names(words_of(sentence), [words_of(name), *subjects]) and still_says(sentence, (was, new)):
                start = text.find(sentence)
                yield Deviation(start, start + len(sentence), SETTLED.format(settled=says))
                break


def _in_context(was: Words, new: Words, says: str) -> tuple[Words, Words]:
    """The old and the new expression. If the old one is short, both are followed by the next words of the bible.

    A short expression may mean many things. The next words come from the clause with the new expression in `says`, the
    current text of the bible: "left" becomes "left-handed".
    """
    for clause in map(words_of, _CLAUSE.split(says)):
        place = find_words(clause, new)
        if place is not None and not _is_particular(was):
            follows = clause[place + len(new) :][:MAX_FOLLOWING]
            return was + follows, new + follows
    return was, new


def _is_particular(was: Words) -> bool:
    """Whether an expression is long enough to have only one meaning. A bare number, for example, may count anything."""
    return len(was) > 1 or len(was[0]) >= MIN_EXPRESSION


def _names(words: Words, subjects: Iterable[Words]) -> bool:
    return any(find_words(words, subject, is_form_of) is not None for subject in subjects)


def _spellings(text: str, book: Book) -> Iterator[Deviation]:
    """Names and terms from the author's bible that the text spells with different spaces, hyphens or accents."""
    names = {
        _folded(str(entry["name"])): (str(entry["name"]), listed)
        for listed in LISTS
        for entry in by_name(book.authored_bible.get(listed)).values()
    }
    names = {
        folded: name for folded, name in names.items() if len(folded) >= MIN_SPELT and not _CASELESS.search(folded)
    }
    if not names:
        return
    longest = max(len(name.split()) for name, _ in names.values()) + 1
    tokens, found, initials = list(_TOKEN.finditer(text)), set(), {folded[0] for folded in names}
    for at in range(len(tokens)):
        if _folded(tokens[at][0][0])[:1] not in initials:
            continue
        for last in range(at, min(at + longest, len(tokens))):
            start, end = tokens[at].start(), tokens[last].end()
            folded = _folded(text[start:end])
            if folded not in names or folded in found or not _is_joined(text, tokens[at : last + 1]):
                continue
            name, listed = names[folded]
            if _is_another_spelling(text, start, end, name, is_name=listed != "terms"):
                found.add(folded)
                yield Deviation(start, end, SPELT.format(name=name))


def _is_joined(text: str, tokens: Sequence[re.Match[str]]) -> bool:
    """Whether nothing but a space, hyphen or apostrophe stands between the words."""
    gaps = (text[one.end() : other.start()] for one, other in pairwise(tokens))
    return all(gap in (" ", "-", "‑", "–", "'", "’", "\u00a0") for gap in gaps)


def _is_another_spelling(text: str, start: int, end: int, name: str, *, is_name: bool) -> bool:
    spelt = text[start:end]
    if _plain(spelt) == _plain(name) or (is_name and not spelt[:1].isupper()):
        return False
    is_one_word = len(_TOKEN.findall(spelt)) == len(_TOKEN.findall(name)) == 1
    return not (is_one_word and _OPENS_SENTENCE.search(text[max(start - 12, 0) : start]))


def _plain(text: str) -> str:
    """The text in lower case, with one form of hyphens, spaces and apostrophes, for comparisons."""
    small = unicodedata.normalize("NFC", text).casefold()
    return re.sub(r"[‑–]", "-", small).replace("\u00a0", " ").replace("’", "'")


def _folded(text: str) -> str:
    """The letters and digits of a text, without case and accents."""
    apart = unicodedata.normalize("NFD", text.casefold())
    return "".join(letter for letter in apart if letter.isalnum())


def _avoided(text: str, book: Book) -> Iterator[Deviation]:
    language = primary(book.content_language)
    for entry in book.authored_bible.get("avoid") or ():
        for word in _words_to_avoid(str(entry)):
            if match := pattern(word, language).search(text):
                yield Deviation(*match.span(), AVOID.format(word=word))


def _words_to_avoid(entry: str) -> list[str]:
    """The words meant by an entry of the bible's list `avoid`: the quoted ones, else the whole entry if it is short."""
    if quoted := [match[1].strip(" ,.") for match in _QUOTED.finditer(entry)]:
        return quoted
    word = entry.strip(" .!…。")
    is_short = len(word.split()) <= MAX_AVOIDED_WORDS and (" " in word or len(word) <= MAX_AVOIDED_CHARACTERS * 2)
    if _CASELESS.search(word) and " " not in word:
        is_short = len(word) <= MAX_AVOIDED_CHARACTERS
    return [word] if word and is_short else []
