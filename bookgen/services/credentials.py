"""Content Credentials: C2PA manifests in pictures, signed with the server's own key, and read back from any file.

The library c2pa-rs adds a random salt to each assertion, so no two manifests are the same. A picture therefore gets its
manifest once, before it is stored. Files that must have the same bytes each time they are made have no manifest.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from bookgen import __version__
from bookgen.errors import InvalidInput
from bookgen.models import SourceType

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.x509 import Certificate

VALID_YEARS = 20
JPEG = "image/jpeg"
_OURS = "bookgen"
# No thumbnail in the manifest. Nothing is fetched from the network, neither to sign nor to read.
_SETTINGS = {
    "builder": {"thumbnail": {"enabled": False}},
    "verify": {"verify_after_sign": False, "remote_manifest_fetch": False, "ocsp_fetch": False},
}
# An untrusted certificate is no fault of the file: a server's own key is on nobody's list.
_VALID = ("Valid", "Trusted")


def new_identity() -> str:
    """Create a signing identity, as PEM: a private key, its certificate, and the certificate of the signing authority.

    C2PA refuses self-signed certificates, so the key's certificate is signed by a new authority, whose own private key
    is not kept.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    authority, key = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    chain = (_certificate(key, authority), _certificate(authority, authority))
    return (private + b"".join(each.public_bytes(Encoding.PEM) for each in chain)).decode()


def _certificate(key: Ed25519PrivateKey, authority: Ed25519PrivateKey) -> Certificate:
    """A certificate for `key`, signed by `authority`, as C2PA requires it.

    If `key` is `authority`, this is the certificate of the authority itself.
    """
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    def name(of: Ed25519PrivateKey) -> x509.Name:
        called = f"{_OURS} authority" if of is authority else _OURS
        return x509.Name(
            [
                x509.NameAttribute(NameOID.COMMON_NAME, called),
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, _OURS),
            ]
        )

    signs = key is authority
    begin = datetime.now(UTC) - timedelta(days=1)  # readers' clocks differ
    usage = x509.KeyUsage(not signs, False, False, False, False, signs, signs, False, False)
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name(key))
        .issuer_name(name(authority))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=365 * VALID_YEARS))
        .add_extension(x509.BasicConstraints(ca=signs, path_length=0 if signs else None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(issuer, critical=False)
    )
    if not signs:
        uses = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.EMAIL_PROTECTION])
        certificate = certificate.add_extension(uses, critical=False)
    return certificate.sign(authority, None)


class SigningFailed(Exception):
    """The picture could not be signed: the server's key or certificate is damaged, or the certificate has expired."""


class CredentialSigner:
    """Signs pictures with a signing identity, as returned by `new_identity`."""

    def __init__(self, identity: str) -> None:
        key, mark, certificates = identity.partition("-----BEGIN CERTIFICATE-----")
        self._key, self._chain = key.encode(), (mark + certificates).encode()

    def signed(self, picture: bytes, source: SourceType) -> bytes:
        """The JPEG `picture` with a signed manifest that names its source. Raises SigningFailed.

        Takes milliseconds; the first call takes longer.
        """
        import c2pa

        created = {"action": "c2pa.created", "digitalSourceType": source.uri}
        manifest = {
            "claim_generator_info": [{"name": _OURS, "version": __version__}],
            "format": JPEG,
            "assertions": [{"label": "c2pa.actions.v2", "data": {"actions": [created]}}],
        }
        told = c2pa.C2paSignerInfo(c2pa.C2paSigningAlg.ED25519, self._chain, self._key, None)
        target = io.BytesIO()
        try:
            with (
                c2pa.Context.from_dict(_SETTINGS) as context,
                c2pa.Signer.from_info(told) as signer,
                c2pa.Builder.from_json(manifest, context) as builder,
            ):
                builder.sign(signer, JPEG, io.BytesIO(picture), target)
        except c2pa.C2paError as error:
            raise SigningFailed(str(error)) from error
        return target.getvalue()


@dataclass(frozen=True, slots=True)
class Credential:
    """The newest manifest of a file. `intact`: the signature is valid, and the file is unchanged since it was signed.

    `trusted`: the signer's certificate is on the reader's trust list. The certificates that bookgen makes for itself
    are not. `terms`: the IPTC names of the source types in the manifest, such as `trainedAlgorithmicMedia`.
    """

    signer: str
    intact: bool
    trusted: bool
    terms: tuple[str, ...]


def read_credential(data: bytes, content_type: str) -> Credential | None:
    """The file's newest C2PA manifest; None if the file has none. Raises InvalidInput if the file cannot be read."""
    import c2pa

    try:
        with c2pa.Context.from_dict(_SETTINGS) as context:
            reader = c2pa.Reader.try_create(content_type, io.BytesIO(data), None, context)
            if reader is None:
                return None
            with reader:
                return _credential(json.loads(reader.json()))
    except c2pa.C2paError.NotSupported:
        return None
    except c2pa.C2paError as error:
        raise InvalidInput(f"The file's content credential is damaged: {error}.") from error


def _credential(told: dict[str, Any]) -> Credential:
    manifest = told["manifests"][told["active_manifest"]]
    signer = manifest.get("signature_info", {})
    actions = [
        action
        for assertion in manifest.get("assertions", ())
        if str(assertion["label"]).startswith("c2pa.actions")
        for action in assertion["data"].get("actions", ())
    ]
    sources = (str(action.get("digitalSourceType", "")) for action in actions)
    return Credential(
        signer=str(signer.get("common_name") or signer.get("issuer") or "unknown"),
        intact=told["validation_state"] in _VALID,
        trusted=told["validation_state"] == "Trusted",
        terms=tuple(each.rpartition("/")[2] for each in sources if each),
    )
