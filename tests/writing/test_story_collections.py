"""Which books are collections of separate stories."""

from __future__ import annotations

import pytest

from bookgen.models import Book, BookKind, has_separate_stories
from tests.writing.scripted import a_book


def typed(genre: str = "Literary fiction", idea: str = "", **fields: object) -> Book:
    return a_book(**{"genre": genre, "description": idea, "chapter_count": 5, "bible": {}, **fields})


@pytest.mark.parametrize(
    "genre",
    [
        "short stories",
        "Short Stories",
        "Fiction / Short stories",
        "Short fiction",
        "Short story collection",
        "Ghost stories",
        "Science fiction stories",
        "Crime short stories",
        "Bedtime stories for children",
        "Fairy tales",
        "Kurzgeschichten",
        "Erzählungen",
        "Erzählband",
        "Novellen",
        "Gruselgeschichten",
        "Nouvelles",
        "Recueil de nouvelles",
        "Cuentos",
        "Colección de relatos",
        "Racconti",
        "Contos",
        "Korte verhalen",
        "Verhalenbundel",
        "Рассказы",
        "Сборник рассказов",
        "Opowiadania",
        "Povídky",
        "Noveller",
        "Novellikokoelma",
        "Öyküler",
        "Povestiri",
        "Διηγήματα",
        "קובץ סיפורים",
        "قصص قصيرة",
        "短編集",
        "短編小説",
        "短篇小说集",
        "短篇小說",
        "단편집",
        "단편소설",
        "Truyện ngắn",
    ],
)
def test_a_genre_names_a_collection(genre: str) -> None:
    assert has_separate_stories(typed(genre))


@pytest.mark.parametrize(
    "idea",
    [
        "Five separate stories, with different people and places, about people who take a neighbour to court.",
        "A collection of twelve short stories set in Kerala.",
        "I want a collection of unsettling tales, each with another narrator.",
        "This is a book of stories about ferries.",
        "Ten horror stories, each complete in itself.",
        "12 short stories about trains.",
        "Short stories about people who work at night.",
        "Separate, very different stories about lost property.",
        "A town in winter. Each chapter is a self-contained story.",
        "Ten stories that are not linked, from ten countries.",
        "Nine short stories, linked only by the theme of water.",
        "Fünf Erzählungen über Nachbarn vor Gericht.",
        "Sieben voneinander unabhängige Geschichten aus einer Kleinstadt.",
        "Sechs Geschichten, nur durch das Thema Wasser verbunden.",
        "Eine Sammlung von Kurzgeschichten über das Warten.",
        "Jedes Kapitel ist eine eigene Geschichte.",
        "Un recueil de nouvelles sur les gares.",
        "Cinq histoires sans lien entre elles.",
        "Cinco relatos independientes sobre vecinos.",
        "Una raccolta di racconti sul mare.",
        "Cinco contos sobre vizinhos.",
        "Vijf losse verhalen over buren.",
        "Пять рассказов о соседях, не связанных друг с другом.",
        "Pięć opowiadań o sąsiadach.",
        "五个互不关联的短篇故事，写邻居之间的官司。",
        "一部短篇小说集，写五座城市的夜班。",
        "五つの独立した短編。",
        "夜に働く人々を描く短編集。",
        "다섯 편의 서로 다른 이야기.",
    ],
)
def test_an_idea_announces_a_collection(idea: str) -> None:
    assert has_separate_stories(typed(idea=idea))
    assert has_separate_stories(typed("", idea))
    assert has_separate_stories(typed("Horror", idea, chapter_count=2))


@pytest.mark.parametrize("subtitle", ["Five stories", "Twelve Tales of the Sea", "Fünf Erzählungen", "Cinq nouvelles"])
def test_a_subtitle_announces_a_collection(subtitle: str) -> None:
    assert has_separate_stories(typed(subtitle=subtitle))


@pytest.mark.parametrize(
    "genre",
    [
        "Novel",
        "Literary fiction",
        "Short story",
        "Short novel",
        "Novel in stories",
        "Roman in Erzählungen",
        "Novela en cuentos",
        "Linked short stories",
        "Interconnected stories",
        "Short story cycle",
        "連作短編",
        "連作短編集",
        "系列短篇小说",
        "연작 단편",
        "Novellenzyklus",
        "Erzählung",
        "Kurzgeschichte",
        "Novelle",
        "nouvelle historique et comique",
        "Cuento",
        "Racconto",
        "Рассказ",
        "Geschichte",
        "History",
        "Storia",
        "Histoire",
        "True crime stories",
        "True stories",
        "Wahre Geschichten",
        "Success stories",
        "Lebensgeschichten",
        "Children's stories",
        "Memoir",
        "Poetry collection",
        "Essay collection",
        "Recipe collection",
        "长篇小说",
        "",
    ],
)
def test_other_genres_are_no_collection(genre: str) -> None:
    assert not has_separate_stories(typed(genre, "A keeper looks for the one who put out her lamp."))


@pytest.mark.parametrize(
    "idea",
    [
        "A novel about the short stories of her youth.",
        "A woman finds a collection of short stories that her mother wrote.",
        "A collection of short stories is found in an attic, and the finder looks for its author.",
        "Two storeys above a bakery, a widow collects the stories of her neighbours.",
        "Three stories up, a window opens.",
        "Two stories are told about the fire of 1911.",
        "Ten short stories whose plots converge in one night.",
        "Three stories told in alternating chapters.",
        "Seven linked stories about one family.",
        "Six stories with the same detective.",
        "Twelve stories: the cases of Inspector Brandt.",
        "A novel in stories about a street in Leeds.",
        "Sechs miteinander verwobene Geschichten aus einem Haus.",
        "Acht Geschichten mit derselben Kommissarin.",
        "Ein Roman über die Kurzgeschichten ihrer Jugend.",
        "Fünf Freunde erzählen sich Geschichten.",
        "Five friends tell each other stories.",
        "短編集を見つけた女の話。",
        "Six nouvelles entrecroisées dans un immeuble.",
        "Cinco cuentos entrelazados en un edificio.",
        "Пять связанных рассказов об одном доме.",
        "讲一个作家写短篇小说集的故事。",
        "五个相互关联的故事。",
        "一つの町を舞台にした連作短編。",
        "A teacher has three children and tells them stories.",
        "",
    ],
)
def test_other_ideas_are_no_collection(idea: str) -> None:
    assert not has_separate_stories(typed(idea=idea))


@pytest.mark.parametrize(
    "fields",
    [
        {"chapter_count": 1},
        {"chapter_count": 2, "description": "Der Bademeister hat einen Gast, der nie schwimmt."},
        {"description": "The story of a lamp keeper who looks for the one who put out her lamp."},
        {"description": "Eine Geschichte über einen Bademeister."},
        {"genre": "Novel", "description": "Five separate stories."},
        {"bible": {"kind": "memoir"}},
        {"bible": {"kind": "non_fiction"}},
        {"kind": BookKind.CHILDRENS},
        {"style_notes": "The stories are linked: the postman is in all of them."},
    ],
    ids=["one", "few", "one story", "eine Geschichte", "a novel", "memoir", "non-fiction", "pictures", "linked"],
)
def test_a_genre_is_not_everything(fields: dict[str, object]) -> None:
    assert has_separate_stories(typed("Short stories"))
    assert not has_separate_stories(typed(**{"genre": "Short stories", **fields}))
