"""The kind of a story, such as fiction or verse: the kind that its story bible names, or else that of its genre."""

from __future__ import annotations

import re
from enum import StrEnum

from bookgen.models.books import Book, BookKind
from bookgen.models.plays import announces_play


class StoryKind(StrEnum):
    """The kind of a story. It selects the writing rules that prompts contain."""

    FICTION = "fiction"
    NON_FICTION = "non_fiction"
    MEMOIR = "memoir"
    VERSE = "verse"
    CHILDREN = "children"


_OF_VERSE = r"poe(?:m|t|s[iíy])|poésie|\bverse\b|\blyrics?\b|lyrik\b|gedicht|поэзи|стихи|诗|詩"

_OF_DETECTION = (
    r"(?<!true )(?<!organized )(?<!organised )\bcrime\b|detective|detektiv|myster|mystère|mist[eéè]r|whodunn?it|krimi|"
    r"krymina[łl]|^polar$|roman polar|policier|polic[ií]ac|police procedural|giallo|детектив|"
    r"推理小|ミステリー|探偵|侦探|悬疑|추리"
)

# Words of a genre or an idea for a book that teaches to program, or to type commands.
_OF_CODE = (
    r"\bprogramm?(?:ing|ier|eren|er[aeo]|ación|azione|ação|ation|ować|owani)|\bcod(?:ing|er|ers)\b|source code|"
    r"command.?line|quellcode|código|\bcodice\b|\b(?:python|java|javascript|typescript|sql|html|css|linux|bash|"
    r"golang|kotlin|php|arduino|regex)\b|\bc(?:\+\+|#)|программирова|编程|程式|プログラミング|프로그래밍|코딩"
)

# The first match for a genre is used. A genre without a match, in any language, is left to the model.
_KINDS = (
    (
        r"child(?:ren)?['’]?s|for (?:\w+ )?children|\bkids\b|picture.?book|middle.grade|kinderb|kindergesch|"
        r"pour enfants|jeunesse|infantil|bambini|детск|儿童|童话|絵本|児童",
        StoryKind.CHILDREN,
    ),
    (_OF_VERSE, StoryKind.VERSE),
    (r"memoir|mémoires|memorias|autobiogra|回忆录|自伝", StoryKind.MEMOIR),
    (
        r"non.?fiction|true crime|sachbuch|ratgeber|no ficción|saggi|essa[iy]|ensayo|"
        r"(?:roman|art) (?:history|empire)|ノンフィクション|纪实|нон-?фикшн",
        StoryKind.NON_FICTION,
    ),
    (
        r"fiction|novel|fantas|thriller|romance|horror|myster|\broman\b|roman$|krimi|saga|young adult|"
        r"short stor|роман|小说|小説",
        StoryKind.FICTION,
    ),
    (
        r"guide|how.?to|manual|self.?help|business|history|science|cook|travel|textbook|reference|education|health|"
        r"psycholog|philosoph|politic|econom|technolog|programming|religio|finance|marketing|biograph|parenting",
        StoryKind.NON_FICTION,
    ),
    (_OF_DETECTION, StoryKind.FICTION),
)


def story_kind(book: Book) -> str:
    """The kind that the story bible names, otherwise the kind of the genre; empty if neither is known.

    A play is fiction, or a children's book.
    """
    named = book.bible.get("kind")
    if isinstance(named, str) and named in {*StoryKind}:
        return named
    kind = _kind_of(book.genre)
    return StoryKind.FICTION if kind != StoryKind.CHILDREN and _announces_play(book) else kind


def is_non_fiction(book: Book) -> bool:
    return story_kind(book) == StoryKind.NON_FICTION


def is_verse(book: Book) -> bool:
    """Whether the book is verse, so that its line breaks are kept. Poems for children are verse too; plays are not."""
    if story_kind(book) == StoryKind.VERSE:
        return True
    return re.search(_OF_VERSE, book.genre, re.IGNORECASE) is not None and not is_play(book)


def is_collection(book: Book) -> bool:
    """Whether the book is a collection of poems, which is planned and written poem by poem.

    Poems for children do not count: they are written as a children's book.
    """
    return story_kind(book) == StoryKind.VERSE


def is_mystery(book: Book) -> bool:
    """Whether the book is fiction about a crime or a puzzle that is solved at its end."""
    return story_kind(book) == StoryKind.FICTION and bool(re.search(_OF_DETECTION, book.genre, re.IGNORECASE))


def is_play(book: Book) -> bool:
    """Whether the book is a play: its text is speeches and directions."""
    return story_kind(book) in (StoryKind.FICTION, StoryKind.CHILDREN) and _announces_play(book)


def has_code(book: Book) -> bool:
    """Whether the book is non-fiction whose genre or idea speaks of programming."""
    return is_non_fiction(book) and bool(re.search(_OF_CODE, f"{book.genre}\n{book.description}", re.IGNORECASE))


def _announces_play(book: Book) -> bool:
    return book.kind is BookKind.PROSE and announces_play(book.genre, book.subtitle, book.description)


def _kind_of(genre: str) -> str:
    """The kind of a genre, by the words in it; empty if no word is known."""
    return next((kind for words, kind in _KINDS if re.search(words, genre, re.IGNORECASE)), "")
