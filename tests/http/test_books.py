import pytest

from bookgen.store.database import Database
from tests.http.conftest import Api


async def test_a_new_book_is_a_draft_with_defaults(api: Api) -> None:
    reply = await api.post("/books/", {"title": " The Salt Road "})

    assert reply.status == 201
    assert (
        reply.body
        | {
            "title": "The Salt Road",
            "status": "draft",
            "chapters": [],
            "chapter_count": 10,
            "target_word_count": 20_000,
            "trim_size": "6x9",
            "content_language": "en",
            "author_name": "ada",
            "generation_progress": None,
            "cover_image_url": None,
            "covers": [],
            "chapters_count": 0,
            "word_count": 0,
            "funding_source": None,
            "estimated_cost_micros": None,
            "estimated_seconds": None,
        }
        == reply.body
    )


async def test_a_misspelt_required_field_is_reported_as_missing(api: Api) -> None:
    reply = await api.post("/books/", {"titel": "The Salt Road"})

    assert (reply.status, reply.code) == (400, "VALIDATION_ERROR")
    assert reply.body["error"]["details"] == {"title": ["This field is required."]}


@pytest.mark.parametrize("tag", ["de\n", " de", "de-", "xx", ""])
async def test_an_invalid_language_tag_is_refused(api: Api, tag: str) -> None:
    reply = await api.post("/books/", {"title": "The Salt Road", "content_language": tag})

    assert (reply.status, reply.code) == (400, "VALIDATION_ERROR")
    assert set(reply.body["error"]["details"]) == {"content_language"}


async def test_a_body_cannot_set_fields_of_the_service(api: Api) -> None:
    forged = {"id": 7, "account_id": 9, "status": "completed", "funding_source": "credits", "word_count": 5}

    book = await api.book(**forged)
    changed = await api.patch(f"/books/{book['id']}/", forged | {"title": "New"})

    assert book["status"] == "draft"
    assert changed.body | {"title": "New", "status": "draft", "funding_source": None, "word_count": 0} == changed.body


@pytest.mark.parametrize(
    ("genre", "is_verse"),
    [("Poetry", True), ("Poems for children", True), ("Lyrik", True), ("Lyrical fiction", False), ("", False)],
)
async def test_a_book_is_verse_by_its_genre(api: Api, genre: str, is_verse: bool) -> None:
    assert (await api.book(genre=genre))["is_verse"] is is_verse


async def test_a_book_is_verse_by_the_kind_in_its_bible(api: Api) -> None:
    book = await api.book(genre="Western")

    await api.patch(f"/books/{book['id']}/bible/", {"kind": "verse"})

    assert (await api.get(f"/books/{book['id']}/")).body["is_verse"] is True


async def test_books_are_listed_most_recently_updated_first(api: Api) -> None:
    first, second = await api.book(title="First"), await api.book(title="Second")
    await api.patch(f"/books/{first['id']}/", {"genre": "Essay"})

    listed = (await api.get("/books/")).body

    assert [book["id"] for book in listed] == [first["id"], second["id"]]
    assert "chapters" not in listed[0]
    assert "covers" not in listed[0]


async def test_the_list_shows_totals_and_progress_without_texts(api: Api) -> None:
    book = await api.written()

    [listed] = (await api.get("/books/")).body

    assert listed["chapters_count"] == 2
    assert listed["word_count"] == book["word_count"] > 0
    assert listed["generation_progress"]["generation_status"] == "completed"
    assert "outline" not in listed["generation_progress"]


async def test_the_dropdown_has_ids_and_titles_only(api: Api) -> None:
    book = await api.book(title="Only")

    assert (await api.get("/books/dropdown/")).body == [{"id": book["id"], "title": "Only"}]


async def test_a_change_affects_only_the_fields_it_names(api: Api) -> None:
    book = await api.book(genre="Essay", subtitle="Kept")

    changed = (await api.patch(f"/books/{book['id']}/", {"genre": "Memoir", "chapter_count": 3})).body

    assert (changed["genre"], changed["subtitle"], changed["chapter_count"]) == ("Memoir", "Kept", 3)
    assert changed["updated_at"] > book["updated_at"]


async def test_a_book_has_at_least_as_many_words_as_chapters(api: Api) -> None:
    few = await api.post("/books/", {"title": "A", "target_word_count": 10, "chapter_count": 50})
    as_many = await api.post("/books/", {"title": "A", "target_word_count": 10, "chapter_count": 10})

    assert (few.status, few.code, list(few.body["error"]["details"])) == (
        400,
        "VALIDATION_ERROR",
        ["target_word_count"],
    )
    assert few.body["error"]["details"]["target_word_count"] == [
        "A book needs at least one word per chapter (got 10 words for 50 chapters)."
    ]
    assert as_many.status == 201


@pytest.mark.parametrize(
    ("words", "chapters"), [({}, 10), ({"target_word_count": 499}, 9), ({"target_word_count": 1}, 1)]
)
async def test_a_short_book_has_one_chapter_for_each_50_words_by_default(
    api: Api, words: dict[str, int], chapters: int
) -> None:
    book = (await api.post("/books/", {"title": "A", **words})).body
    outlined = (await api.post(f"/books/{book['id']}/generate-outline/")).body

    assert book["chapter_count"] == chapters
    budgets = [chapter["target_word_count"] for chapter in outlined["chapters"]]
    assert len(budgets) == chapters
    assert min(budgets) >= 1


async def test_a_change_keeps_at_least_one_word_per_chapter(api: Api) -> None:
    draft, outlined = await api.book(chapter_count=3, target_word_count=30), await api.outlined(chapter_count=3)

    wrong = {}
    for book, changes in (
        (draft, {"target_word_count": 2}),
        (draft, {"chapter_count": 31}),
        (draft, {"chapter_count": 50, "target_word_count": 49}),
        (outlined, {"target_word_count": 2}),
    ):
        refused = await api.patch(f"/books/{book['id']}/", changes)
        assert refused.status == 400
        wrong[book["id"], *changes] = list(refused.body["error"]["details"])

    assert wrong == {
        (draft["id"], "target_word_count"): ["target_word_count"],
        (draft["id"], "chapter_count"): ["chapter_count"],
        (draft["id"], "chapter_count", "target_word_count"): ["target_word_count"],
        (outlined["id"], "target_word_count"): ["target_word_count"],
    }


async def test_a_budget_of_zero_words_is_refused(api: Api) -> None:
    book = await api.outlined(chapter_count=2)
    path, first = f"/books/{book['id']}/update-outline/", {"chapter_number": 1, "target_word_count": 0}

    refused = await api.post(path, {"chapters": [first]})
    of_chapter = await api.patch(f"/chapters/{book['chapters'][0]['id']}/", {"target_word_count": 0})

    assert (refused.status, list(refused.body["error"]["details"])) == (400, ["chapters"])
    assert (of_chapter.status, list(of_chapter.body["error"]["details"])) == (400, ["target_word_count"])


async def test_the_chapter_count_cannot_change_after_the_outline(api: Api) -> None:
    book = await api.outlined()

    refused = await api.patch(f"/books/{book['id']}/", {"chapter_count": 5})
    same = await api.patch(f"/books/{book['id']}/", {"chapter_count": 2})

    assert (refused.status, refused.code) == (409, "CONFLICT")
    assert same.status == 200


async def test_a_new_length_is_divided_over_the_unwritten_chapters(api: Api) -> None:
    book = await api.outlined(chapter_count=3, target_word_count=1000)
    first = book["chapters"][0]
    await api.patch(f"/chapters/{first['id']}/", {"content": "Written by hand.", "target_word_count": 100})

    longer = (await api.patch(f"/books/{book['id']}/", {"target_word_count": 2001})).body

    budgets = [chapter["target_word_count"] for chapter in longer["chapters"]]
    assert budgets[0] == 100
    assert sum(budgets) == longer["target_word_count"] == 2001
    assert abs(budgets[1] - budgets[2]) <= 3


async def test_one_word_chapters_get_their_share_of_a_longer_book(api: Api) -> None:
    book = await api.outlined(chapter_count=2, target_word_count=2)
    await api.patch(f"/chapters/{book['chapters'][0]['id']}/", {"content": "Word."})

    longer = await api.patch(f"/books/{book['id']}/", {"target_word_count": 100})

    assert longer.status == 200
    assert sum(chapter["target_word_count"] for chapter in longer.body["chapters"]) == 100


async def test_deleting_a_book_deletes_its_chapters(api: Api) -> None:
    book = await api.outlined()

    reply = await api.delete(f"/books/{book['id']}/")

    assert (reply.status, reply.raw) == (204, b"")
    assert (await api.get(f"/books/{book['id']}/")).status == 404
    assert (await api.get(f"/chapters/{book['chapters'][0]['id']}/")).status == 404
    assert (await api.get("/books/")).body == []


async def test_a_duplicate_is_a_new_draft_with_the_same_texts(api: Api) -> None:
    book = await api.written()

    reply = await api.post(f"/books/{book['id']}/duplicate/")

    copy = reply.body
    assert reply.status == 201
    assert (copy["status"], copy["funding_source"], copy["generation_progress"]) == ("draft", None, None)
    assert copy["id"] != book["id"]
    assert [c["content"] for c in copy["chapters"]] == [c["content"] for c in book["chapters"]]
    assert {c["id"] for c in copy["chapters"]}.isdisjoint(c["id"] for c in book["chapters"])


async def test_a_duplicate_can_be_generated_as_a_draft(api: Api) -> None:
    book = await api.outlined()
    copy = (await api.post(f"/books/{book['id']}/duplicate/")).body

    assert (await api.post(f"/books/{copy['id']}/generate/")).status == 202
    await api.until(copy["id"], "completed")


async def test_an_id_outside_the_range_is_not_found(api: Api) -> None:
    for path in (f"/books/{2**63}/", f"/books/{10**30}/", f"/books/{2**63 - 1}/"):
        assert (await api.get(path)).code == "NOT_FOUND"


async def test_a_book_with_an_outline_has_an_estimate(api: Api) -> None:
    book = await api.outlined()

    assert book["estimated_seconds"] > 0
    assert book["usage"]["calls"] >= 1


async def test_quality_findings_are_shown_until_the_text_changes(api: Api, database: Database) -> None:
    book = await api.outlined()
    chapter = book["chapters"][1]["id"]
    found = {"kind": "repeated_sentence", "excerpt": "The bell rang twice.", "detail": "also in chapter 1"}
    await database.http.execute("UPDATE chapter SET content = 'Told.', quality = $2 WHERE id = $1", chapter, [found])

    assert (await api.get(f"/books/{book['id']}/")).body["quality"] == [{"chapter_number": 2, **found}]

    await api.patch(f"/chapters/{chapter}/", {"content": "Told anew."})
    assert (await api.get(f"/books/{book['id']}/")).body["quality"] == []
