"""A book made and saved through the client that openapi-python-client makes: `python_client.py BASE_URL FOLDER`."""

# mypy: ignore-errors

import sys
import time
from pathlib import Path

from made_client import AuthenticatedClient, Client
from made_client.api.auth import register
from made_client.api.books import create_book, read_book
from made_client.api.export import export_docx, export_epub, export_pdf
from made_client.api.generation import generate, generation_status
from made_client.api.outline import generate_outline
from made_client.models import (
    BookCreation,
    ErrorErrorCode,
    ExportRequest,
    GenerationStatusGenerationStatus,
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


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
