"""What makes the digital file PDF/A-1b: metadata in XMP and the colour that numbers mean."""

from __future__ import annotations

from html import escape
from pathlib import Path

from reportlab.pdfbase import pdfdoc

from bookgen.render.model import Manuscript
from bookgen.render.pdf.canvas import BareCanvas

_PRODUCER = "ReportLab PDF Library - (opensource)"

# The profile that Little CMS makes, free of any right, with the header of version 2, which is what PDF/A-1 takes.
_SRGB = Path(__file__).with_name("srgb.icc")

_XMP = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about=""
 xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:pdf="http://ns.adobe.com/pdf/1.3/"
 xmlns:xmp="http://ns.adobe.com/xap/1.0/"
 xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/">
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">{title}</rdf:li></rdf:Alt></dc:title>
<dc:creator><rdf:Seq><rdf:li>{author}</rdf:li></rdf:Seq></dc:creator>
<dc:description><rdf:Alt><rdf:li xml:lang="x-default">{subject}</rdf:li></rdf:Alt></dc:description>
<dc:language><rdf:Bag><rdf:li>{language}</rdf:li></rdf:Bag></dc:language>
<xmp:CreatorTool>bookgen</xmp:CreatorTool>
<xmp:CreateDate>{when}</xmp:CreateDate>
<xmp:ModifyDate>{when}</xmp:ModifyDate>
<pdf:Producer>{producer}</pdf:Producer>
<pdf:Keywords>{keywords}</pdf:Keywords>
<pdfaid:part>1</pdfaid:part>
<pdfaid:conformance>B</pdfaid:conformance>
</rdf:Description>
</rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>"""


def describe(canvas: BareCanvas, manuscript: Manuscript) -> None:
    """The document information that readers show; XMP must say the same."""
    canvas.date(manuscript.changed)
    canvas.setTitle(manuscript.title)
    canvas.setAuthor(manuscript.author)
    canvas.setCreator("bookgen")
    canvas.setSubject(subject(manuscript))
    canvas.setKeywords(keywords(manuscript))
    canvas.setProducer(_PRODUCER)


def subject(manuscript: Manuscript) -> str:
    return manuscript.subtitle or manuscript.subject or manuscript.title


def keywords(manuscript: Manuscript) -> str:
    return manuscript.subject or manuscript.title


def make_archival(canvas: BareCanvas, manuscript: Manuscript) -> None:
    document = canvas.document
    catalog = document.Catalog
    colours = pdfdoc.PDFStream()
    colours.content = _SRGB.read_bytes()
    colours.filters = [pdfdoc.PDFZCompress]
    colours.dictionary.dict["N"] = 3
    intent = {
        "Type": pdfdoc.PDFName("OutputIntent"),
        "S": pdfdoc.PDFName("GTS_PDFA1"),
        "OutputConditionIdentifier": pdfdoc.PDFString("sRGB"),
        "Info": pdfdoc.PDFString("sRGB"),
        "DestOutputProfile": document.Reference(colours, "icc"),
    }
    catalog.OutputIntents = pdfdoc.PDFArray([pdfdoc.PDFDictionary(intent)])
    metadata = pdfdoc.PDFStream()
    metadata.content = _xmp(manuscript)
    metadata.filters = None
    metadata.dictionary.dict.update(Type=pdfdoc.PDFName("Metadata"), Subtype=pdfdoc.PDFName("XML"))
    catalog.Metadata = document.Reference(metadata, "xmp")


def _xmp(manuscript: Manuscript) -> bytes:
    values = {
        "title": manuscript.title,
        "author": manuscript.author,
        "subject": subject(manuscript),
        "keywords": keywords(manuscript),
        "language": manuscript.language,
        "producer": _PRODUCER,
        "when": manuscript.changed.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    return _XMP.format(**{name: escape(value, quote=False) for name, value in values.items()}).encode("utf-8")
