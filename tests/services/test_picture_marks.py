"""Pictures are marked and signed once, and a failed mark does not lose the picture."""

from __future__ import annotations

import io
import json
from typing import Any

import c2pa
import pytest
from cryptography import x509
from PIL import Image

from bookgen.models import SourceType
from bookgen.services.credentials import CredentialSigner, new_identity
from bookgen.services.picture_marks import PictureMarks
from tests.render.test_marks import URI, in_picture
from tests.render.test_settings import red_picture

IDENTITY = new_identity()


def manifest_of(picture: bytes) -> tuple[str, dict[str, Any]]:
    """The validation state and the manifest, read by the library with its default settings."""
    with c2pa.Reader("image/jpeg", io.BytesIO(picture)) as reader:
        told = json.loads(reader.json())
    return told["validation_state"], told["manifests"][told["active_manifest"]]


@pytest.mark.parametrize("source", SourceType)
async def test_a_picture_has_the_same_source_in_its_xmp_and_its_manifest(source: SourceType) -> None:
    marks = PictureMarks(credentials=CredentialSigner(IDENTITY))

    marked = await marks.marked(red_picture(), source)

    state, manifest = manifest_of(marked.data)
    [actions] = [each["data"]["actions"] for each in manifest["assertions"] if each["label"] == "c2pa.actions.v2"]
    assert state == "Valid"
    assert actions == [{"action": "c2pa.created", "digitalSourceType": URI.format(source.value)}]
    assert in_picture(marked.data) == URI.format(source.value)
    assert pixels(marked.data) == pixels(red_picture().data)


def pixels(picture: bytes) -> bytes:
    with Image.open(io.BytesIO(picture)) as image:
        return image.tobytes()


async def test_a_picture_that_cannot_be_signed_is_kept_with_its_xmp() -> None:
    broken = IDENTITY.replace("PRIVATE KEY-----\n", "PRIVATE KEY-----\nAAAA", 1)

    marked = await PictureMarks(credentials=CredentialSigner(broken)).marked(red_picture(), SourceType.MODEL)

    assert in_picture(marked.data) == URI.format("trainedAlgorithmicMedia")
    with pytest.raises(c2pa.C2paError.ManifestNotFound):
        c2pa.Reader("image/jpeg", io.BytesIO(marked.data))


async def test_nothing_is_marked_when_marks_are_off() -> None:
    assert await PictureMarks(on=False).marked(red_picture(), SourceType.MODEL) == red_picture()


def test_every_server_has_its_own_signing_key() -> None:
    first, second = (x509.load_pem_x509_certificates(each.encode()) for each in (IDENTITY, new_identity()))

    assert len(first) == len(second) == 2
    assert len({each.public_key().public_bytes_raw() for each in (*first, *second)}) == 4  # type: ignore[union-attr]
    first[0].verify_directly_issued_by(first[1])
