"""Make and save a book with the client of openapi-generator: `generator.py BASE_URL FOLDER`."""

# mypy: ignore-errors

import sys
import time
from pathlib import Path

from made_client import (
    ApiClient,
    ApiException,
    AuthApi,
    BibleChanges,
    BookChanges,
    BookCreation,
    BooksApi,
    ChapterChanges,
    ChaptersApi,
    Configuration,
    ExportApi,
    ExportRequest,
    FactChanges,
    GenerationApi,
    IllustrationChanges,
    IllustrationRequest,
    IllustrationsApi,
    OutlineApi,
    OutlineChanges,
    ProfileApi,
    ProfileChanges,
    Registration,
)


def main(base_url: str, folder: Path) -> None:
    with ApiClient(Configuration(host=base_url)) as client:
        form = Registration(username="generator", email="generator@example.com", password="correct horse battery")
        client.configuration.access_token = AuthApi(client).register(form).tokens.access
        new = BookCreation(title="Made", chapter_count=2, target_word_count=400)
        book = BooksApi(client).create_book(new)
        generation, exports = GenerationApi(client), ExportApi(client)
        assert refusal(generation, book.id) == "VALIDATION_ERROR"
        outlined = OutlineApi(client).generate_outline(book.id)
        assert [chapter.chapter_number for chapter in outlined.chapters] == [1, 2]
        assert generation.generate(book.id).mode == "full"
        while generation.generation_status(book.id).generation_status != "completed":
            time.sleep(0.05)
        assert BooksApi(client).read_book(book.id).word_count > 300
        for name in ("pdf", "docx", "epub"):
            file = getattr(exports, f"export_{name}")(book.id, ExportRequest())
            (folder / f"book.{name}").write_bytes(file)
        send_back(client, book.id)


def send_back(client: ApiClient, book_id: int) -> None:
    """The response of each GET can be sent back by PATCH: its types allow it, and the service accepts it.

    Each call raises an ApiException if it is refused.
    """
    books, outlines, chapters = BooksApi(client), OutlineApi(client), ChaptersApi(client)
    pictures, profiles = IllustrationsApi(client), ProfileApi(client)
    settings = {"isbn": "978-3-16-148410-0", "font": "sans", "font_size": 12}
    books.change_book(book_id, book_changes=BookChanges.from_dict({"export_settings": settings}))
    [listed] = books.list_books()
    books.change_book(book_id, book_changes=BookChanges.from_dict(listed.to_dict()))
    book = books.read_book(book_id)
    books.change_book(book_id, book_changes=BookChanges.from_dict(book.to_dict()))
    outline = {"chapters": [each.to_dict() for each in book.chapters], "replace": True}
    outlines.update_outline(book_id, outline_changes=OutlineChanges.from_dict(outline))
    bible = outlines.read_bible(book_id)
    outlines.change_bible(book_id, bible_changes=BibleChanges.from_dict(bible.to_dict()))
    fact = outlines.read_fact(book_id, outlines.list_facts(book_id)[0].id)
    outlines.change_fact(book_id, fact.id, fact_changes=FactChanges.from_dict(fact.to_dict()))
    chapter = chapters.read_chapter(book.chapters[0].id)
    chapters.change_chapter(chapter.id, chapter_changes=ChapterChanges.from_dict(chapter.to_dict()))
    pictures.generate_image(chapter.id, illustration_request=IllustrationRequest())
    [picture] = pictures.list_illustrations(chapter.id)
    changes = IllustrationChanges.from_dict(picture.to_dict())
    pictures.change_illustration(picture.id, illustration_changes=changes)
    profile = ProfileChanges.from_dict(profiles.read_profile().to_dict())
    profiles.change_profile(profile_changes=profile)
    after = books.read_book(book_id)
    assert lasting(after) == lasting(book)
    assert after.export_settings.font == "sans"


def lasting(book) -> list[object]:
    chapters = [(each.id, each.title, each.summary, each.content) for each in book.chapters]
    return [book.title, book.trim_size, book.characters, book.export_settings, chapters]


def refusal(generation: GenerationApi, book_id: int) -> str | None:
    try:
        generation.generate(book_id)
    except ApiException as refused:
        return refused.data.error.code
    return None


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
