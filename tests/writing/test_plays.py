"""Which books are plays, and how they are planned, written and read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bookgen.models import Book, BookKind, StoryKind, has_separate_stories, is_play, is_verse, story_kind
from bookgen.providers.text import TextRequest
from bookgen.writing import blurb, quality
from bookgen.writing.craft import craft
from bookgen.writing.material import Material
from bookgen.writing.outline import draft_outline
from bookgen.writing.proofreading import edits
from bookgen.writing.review.reading import reading_requests
from tests.writing.scripted import Scripted, a_book, obedient, prose, says, some_material

PLAY = {"genre": "Stage play", "description": "A comedy in three acts. Five actors, one set.", "bible": {}}
NOVEL = {"genre": "Novel", "description": "The last day of a post office.", "bible": {}}


def typed(genre: str = "", idea: str = "", **fields: object) -> Book:
    return a_book(**{"genre": genre, "description": idea, "chapter_count": 3, "bible": {}, **fields})


@pytest.mark.parametrize(
    "genre",
    [
        "stage play",
        "Play",
        "Plays",
        "One-act play",
        "Comedy / stage play",
        "History play",
        "Verse play",
        "Play in three acts",
        "drama script",
        "Theatre script",
        "Screenplay",
        "Science fiction screenplay",
        "Crime radio play",
        "Audio drama",
        "Stage comedy",
        "Theaterstück",
        "Bühnenstück",
        "Schauspiel",
        "Hörspiel",
        "Hörspiele für Kinder",
        "Kriminalhörspiel",
        "Drehbuch",
        "Komödie in drei Akten",
        "Pièce de théâtre",
        "Théâtre",
        "Comédie en trois actes",
        "Obra de teatro",
        "Obra teatral",
        "Guión de cine",
        "Teatro",
        "Commedia in due atti",
        "Sceneggiatura",
        "Peça de teatro",
        "Toneelstuk",
        "Hoorspel",
        "Пьеса",
        "Киносценарий",
        "П'єса",
        "Sztuka teatralna",
        "Słuchowisko",
        "Divadelní hra",
        "Teaterpjäs",
        "Skuespill",
        "Näytelmä",
        "Színdarab",
        "Tiyatro oyunu",
        "Piesă de teatru",
        "Θεατρικό έργο",
        "מחזה",
        "مسرحية",
        "नाटक",
        "戯曲",
        "ラジオドラマの脚本",
        "话剧",
        "劇本",
        "희곡",
        "Kịch bản",
    ],
)
def test_a_genre_names_a_play(genre: str) -> None:
    assert is_play(typed(genre))


@pytest.mark.parametrize(
    "idea",
    [
        "A stage play in two acts about a lighthouse.",
        "A comedy in three acts: the last day of a post office. Five actors, one set.",
        "Please write a short radio play about two brothers.",
        "A play for two actors and a piano.",
        "A screenplay set in Lagos.",
        "Ein Theaterstück über den letzten Tag eines Postamts.",
        "Ein Hörspiel in zehn Szenen.",
        "Une pièce de théâtre sur une grève.",
        "Una obra de teatro sobre dos hermanas.",
        "Una commedia in due atti: la portinaia sa tutto.",
        "Пьеса о двух соседях.",
        "三幕の戯曲。郵便局の最後の日。",
        "一部三幕话剧，讲邮局的最后一天。",
    ],
)
def test_an_idea_begins_with_the_word(idea: str) -> None:
    assert is_play(typed("", idea))
    assert is_play(typed("Comedy", idea))
    assert not is_play(typed("Novel", idea))


@pytest.mark.parametrize(
    ("genre", "idea"),
    [
        ("Drama", ""),
        ("Family drama", "A playwright loses her memory."),
        ("Literary fiction", "A novel about a playwright who writes a stage play."),
        ("Novel", "A stage play is found in an attic."),
        ("", "A stage play is found in an attic."),
        ("", "A screenplay writer falls off a roof."),
        ("", "The actors rehearse a play in three acts."),
        ("", "Play is how children learn."),
        ("", "A play on words changes a life."),
        ("Role-play", ""),
        ("Playful essays", ""),
        ("How to write a screenplay", ""),
        ("Screenwriting guide", "A guide to the stage play."),
        ("History of theatre", ""),
        ("Ratgeber Drehbuch", ""),
        ("Theaterroman", "Ein Schauspieler verlernt seinen Text."),
        ("Roman", "Ein Schauspiel der Natur."),
        ("", "Ein Schauspieler verlernt seinen Text."),
        ("Politisches Drama", ""),
        ("长篇小说", "一个剧作家的故事"),
        ("", "戯曲を書く男の話。"),
        ("Short stories", "Five separate stories about actors."),
    ],
)
def test_other_books_are_no_plays(genre: str, idea: str) -> None:
    assert not is_play(typed(genre, idea))


def test_a_subtitle_names_a_play() -> None:
    assert is_play(typed("Comedy", subtitle="A play in three acts"))


def test_a_play_is_fiction() -> None:
    for genre in ("stage play", "History play", "Verse drama", "Religious stage play"):
        assert story_kind(typed(genre)) == StoryKind.FICTION
        assert not is_verse(typed(genre))
    assert story_kind(typed("", "A stage play about a strike.")) == StoryKind.FICTION
    assert story_kind(typed("Children's play")) == StoryKind.CHILDREN
    assert is_play(typed("Children's play"))
    assert not has_separate_stories(typed("Stage play", "Three stories about a lighthouse."))


def test_a_bible_or_a_picture_book_says_otherwise() -> None:
    assert not is_play(typed("Screenplay", bible={"kind": "non_fiction"}))
    assert is_play(typed("Screenplay", bible={"kind": "fiction"}))
    assert not is_play(typed("Theaterstück", kind=BookKind.CHILDRENS))


async def asked(stage: str, **fields: object) -> str:
    """The prompt of a call of this stage about a book."""
    steps = Scripted(obedient)
    if stage == "outline":
        await draft_outline(a_book(**fields), steps)
    elif stage == "review":
        return texts(reading_requests(written(**fields))[0])
    elif stage == "proofreading":
        material = written(**fields)
        chapter = material.chapters[0]
        steps = Scripted(lambda *_: says('{"edits": []}'))
        await edits.proposed(material.book, chapter, edits.TextWindow(0, len(chapter.content)), steps, mark="“")
    else:
        steps = Scripted(lambda *_: says(prose(100, 1)))
        await blurb.draft_blurb(written(**fields), steps)
    return texts(steps.of_stage(stage)[0])


def written(**fields: object) -> Material:
    """A book of three chapters with different texts."""
    material = some_material(3, words=50, **fields)
    chapters = (replace(each, content=prose(50, 10 * each.chapter_number)) for each in material.chapters)
    return replace(material, chapters=tuple(chapters))


def texts(request: TextRequest) -> str:
    return "\n".join(request.texts)


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        (
            "outline",
            (
                "Each chapter is an act of the play",
                "may begin with the number of the act",
                "how much the directions say",
                "each under the name that stands before their speeches",
                "each with its doors and what stands where",
                "who enters and leaves, and which props they bring",
            ),
        ),
        ("review", ("who is on stage, of entrances and exits", "what is in whose hand")),
        ("proofreading", ("a / where the next speaker begins are its form",)),
        ("blurb", ("a play in 3 chapters", "how many actors, which set, how many acts")),
    ],
)
async def test_a_play_is_planned_and_read_as_one(stage: str, words: tuple[str, ...]) -> None:
    play, novel = await asked(stage, **PLAY), await asked(stage, **NOVEL)

    for each in words:
        assert each in play
        assert each not in novel


async def test_the_outline_of_a_play_asks_for_nothing_of_a_novel() -> None:
    play, novel = await asked("outline", **PLAY), await asked("outline", **NOVEL)

    for each in ("point of view, tense", "no two begin alike", "they do not have the chapter's number in them"):
        assert each in novel
        assert each not in play


def test_the_author_of_a_play_writes_speeches_and_directions() -> None:
    play, novel = craft(a_book(**PLAY)), craft(a_book(**NOVEL))

    for each in ("`**NAME.** Words.`", "`*(…)*`", "A scene begins with a `##` heading", "what its audience sees"):
        assert each in play
        assert each not in novel
    for each in ("no headings", "a line with *** alone", "point of view and tense"):
        assert each in novel
        assert each not in play
    assert "{" not in play


def test_a_small_window_has_the_form_of_a_play_too() -> None:
    assert "`**NAME.** Words.`" in craft(a_book(**PLAY), brief=True)
    assert "NAME" not in craft(a_book(**NOVEL), brief=True)


def test_speeches_of_a_play_begin_with_no_dash() -> None:
    play = a_book(**{**PLAY, "content_language": "ru"})

    assert "Each speech of a dialogue" in craft(a_book(**{**NOVEL, "content_language": "ru"}))
    assert "Each speech of a dialogue" not in craft(play)
    assert "This is a children's book." in craft(replace(play, genre="Children's play"))


async def test_acts_of_a_play_may_begin_alike() -> None:
    play, novel = written(**PLAY), written(**NOVEL)

    assert await quality.avoid(novel, novel.chapters[-1])
    assert await quality.avoid(play, play.chapters[-1]) == []
