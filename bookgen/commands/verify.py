"""`bookgen verify FILE`: show the marks of AI origin in a file. Needs no server and no settings."""

from __future__ import annotations

import argparse
from pathlib import Path

from bookgen.errors import InvalidInput
from bookgen.render.marks.reading import read_marks
from bookgen.services.credentials import Credential, read_credential

MARKED, UNMARKED = 0, 1
MEANINGS = {
    "trainedAlgorithmicMedia": "a generative model made it",
    "compositeWithTrainedAlgorithmicMedia": "a generative model made some of it",
    "algorithmicMedia": "an algorithm made it, without training data",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path, help="a PDF, EPUB, Word document, JPEG, PNG or WebP")


async def run(options: argparse.Namespace) -> int:
    """Print the marks of AI origin.

    Returns 1 if the file has no marks or was changed after it was signed, otherwise 0.
    """
    content = _content(options.file)
    marks = read_marks(content)
    credential = read_credential(content, marks.content_type)
    lines = [f"{mark.place}: {_term(mark.term)}" for mark in marks.found]
    if credential:
        lines.append(f"content credential: {_credential(credential)}")
    print("\n".join(lines) or "This file has no mark of AI origin.")
    return MARKED if lines and (credential is None or credential.intact) else UNMARKED


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from error


def _term(term: str) -> str:
    meaning = MEANINGS.get(term, "")
    return term + f" ({meaning})" * bool(meaning)


def _credential(credential: Credential) -> str:
    if not credential.intact:
        return f"the file was changed after “{credential.signer}” signed it"
    terms = ", ".join(map(_term, credential.terms)) or "names no source"
    trust = "is" if credential.trusted else "is not"
    return f"{terms}, signed by “{credential.signer}” (the certificate {trust} on a list of trusted signers)"
