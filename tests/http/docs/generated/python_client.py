"""Make and save a book with the client of openapi-python-client: `python_client.py BASE_URL FOLDER`."""

# mypy: ignore-errors

import sys
import time
from pathlib import Path

from made_client import AuthenticatedClient, Client
from made_client.api.auth import register
from made_client.api.books import change_book, create_book, list_books, read_book
from made_client.api.chapters import change_chapter, read_chapter
from made_client.api.export import export_docx, export_epub, export_pdf
from made_client.api.generation import generate, generation_status
from made_client.api.illustrations import change_illustration, generate_image, list_illustrations
from made_client.api.outline import (
    change_bible,
    change_fact,
    generate_outline,
    list_facts,
    read_bible,
    read_fact,
    update_outline,
)
from made_client.api.profile import change_profile, read_profile
from made_client.models import (
    BibleChanges,
    BookChanges,
    BookCreation,
    ChapterChanges,
    Error,
    ErrorErrorCode,
    ExportRequest,
    FactChanges,
    GenerationStatusGenerationStatus,
    IllustrationChanges,
    IllustrationRequest,
    OutlineChanges,
    ProfileChanges,
    Registration,
)

EXPORTS = {"pdf": export_pdf, "docx": export_docx, "epub": export_epub}


def main(base_url: str, folder: Path) -> None:
    form = Registration(username="opc", email="opc@example.com", password="correct horse battery")
    registered = register.sync(client=Client(base_url), body=form)
    client = AuthenticatedClient(base_url, token=registered.tokens.access)
    book = create_book.sync(client=client, body=BookCreation(title="Made", chapter_count=2, target_word_count=400))
    refused = generate.sync(book.id, client=client)
    assert refused.error.code is ErrorErrorCode.VALIDATION_ERROR, refused
    outlined = generate_outline.sync(book.id, client=client)
    assert [chapter.chapter_number for chapter in outlined.chapters] == [1, 2]
    assert generate.sync(book.id, client=client).mode == "full"
    while (
        generation_status.sync(book.id, client=client).generation_status != GenerationStatusGenerationStatus.COMPLETED
    ):
        time.sleep(0.05)
    assert read_book.sync(book.id, client=client).word_count > 300
    for name, export in EXPORTS.items():
        file = export.sync(book.id, client=client, body=ExportRequest())
        (folder / f"book.{name}").write_bytes(file.payload.read())
    send_back(client, book.id)


def send_back(client: AuthenticatedClient, book_id: int) -> None:
    """The response of each GET can be sent back by PATCH: its types allow it, and the service accepts it."""

    def again(answer, change, form, *path) -> None:
        sent = change.sync(*path, client=client, body=form.from_dict(answer.to_dict()))
        assert not isinstance(sent, Error), (change.__name__, sent)

    settings = {"isbn": "978-3-16-148410-0", "font": "sans", "font_size": 12}
    changes = BookChanges.from_dict({"export_settings": settings})
    assert change_book.sync(book_id, client=client, body=changes).export_settings.to_dict() == settings
    [listed] = list_books.sync(client=client)
    again(listed, change_book, BookChanges, book_id)
    book = read_book.sync(book_id, client=client)
    again(book, change_book, BookChanges, book_id)
    outline = OutlineChanges.from_dict({"chapters": [each.to_dict() for each in book.chapters], "replace": True})
    again(outline, update_outline, OutlineChanges, book_id)
    again(read_bible.sync(book_id, client=client), change_bible, BibleChanges, book_id)
    fact_id = list_facts.sync(book_id, client=client)[0].id
    again(read_fact.sync(book_id, fact_id, client=client), change_fact, FactChanges, book_id, fact_id)
    chapter = read_chapter.sync(book.chapters[0].id, client=client)
    again(chapter, change_chapter, ChapterChanges, chapter.id)
    generate_image.sync(chapter.id, client=client, body=IllustrationRequest())
    [picture] = list_illustrations.sync(chapter.id, client=client)
    again(picture, change_illustration, IllustrationChanges, picture.id)
    again(read_profile.sync(client=client), change_profile, ProfileChanges)
    after = read_book.sync(book_id, client=client)
    assert lasting(after) == lasting(book)
    assert after.export_settings.to_dict() == settings


def lasting(book) -> list[object]:
    chapters = [(each.id, each.title, each.summary, each.content) for each in book.chapters]
    return [book.title, book.trim_size, book.characters, book.export_settings, chapters]


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
