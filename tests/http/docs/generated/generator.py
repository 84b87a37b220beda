"""A book made and saved through the client that openapi-generator makes: `generator.py BASE_URL FOLDER`."""

# mypy: ignore-errors

import sys
import time
from pathlib import Path

from made_client import (
    ApiClient,
    ApiException,
    AuthApi,
    BookCreation,
    BooksApi,
    Configuration,
    ExportApi,
    ExportRequest,
    GenerationApi,
    OutlineApi,
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


def refusal(generation: GenerationApi, book_id: int) -> str | None:
    try:
        generation.generate(book_id)
    except ApiException as refused:
        return refused.data.error.code
    return None


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
