"""The mark of origin as XMP: the property `DigitalSourceType` of the IPTC extension schema."""

from __future__ import annotations

from bookgen.models import SourceType

NAMESPACE = "http://iptc.org/std/Iptc4xmpExt/2008-02-29/"
PREFIX, PROPERTY = "Iptc4xmpExt", "DigitalSourceType"

_PACKET = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
{description}</rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>"""


def description(source: SourceType) -> str:
    """The RDF element with the mark of origin, which says how the content was made."""
    return (
        f'<rdf:Description rdf:about="" xmlns:{PREFIX}="{NAMESPACE}">\n'
        f"<{PREFIX}:{PROPERTY}>{source.uri}</{PREFIX}:{PROPERTY}>\n</rdf:Description>\n"
    )


def packet(source: SourceType) -> bytes:
    """A complete XMP packet that contains only the mark of origin, which says how the content was made."""
    return _PACKET.format(description=description(source)).encode()
