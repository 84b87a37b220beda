"""Which books are plays, and how they are planned, written and read."""

from __future__ import annotations

import pytest

from bookgen.models import Book, BookKind, StoryKind, has_separate_stories, is_play, is_verse, story_kind
from tests.writing.scripted import a_book


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
