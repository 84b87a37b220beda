"""The metadata that makes the digital file a PDF/A-2a and PDF/UA-1, and the print file a PDF/X-1a."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from reportlab.pdfbase import pdfdoc

from bookgen.render.marks.xmp import NAMESPACE, PREFIX, PROPERTY, description
from bookgen.render.model import Manuscript
from bookgen.render.pdf.file import PdfFile
from bookgen.render.pdf.objects import StreamObject, compressed, dictionary
from bookgen.render.trim import RULES

_PRODUCER = "ReportLab PDF Library - (opensource)"

# The sRGB profile that Little CMS makes, free of rights, with a version 2 header, which PDF/A-1 requires.
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
<pdfaid:part>2</pdfaid:part>
<pdfaid:conformance>A</pdfaid:conformance>
</rdf:Description>
<rdf:Description rdf:about=""
 xmlns:pdfaExtension="http://www.aiim.org/pdfa/ns/extension/"
 xmlns:pdfaSchema="http://www.aiim.org/pdfa/ns/schema#"
 xmlns:pdfaProperty="http://www.aiim.org/pdfa/ns/property#">
<pdfaExtension:schemas><rdf:Bag><rdf:li rdf:parseType="Resource">
<pdfaSchema:schema>PDF/UA identification schema</pdfaSchema:schema>
<pdfaSchema:namespaceURI>http://www.aiim.org/pdfua/ns/id/</pdfaSchema:namespaceURI>
<pdfaSchema:prefix>pdfuaid</pdfaSchema:prefix>
<pdfaSchema:property><rdf:Seq><rdf:li rdf:parseType="Resource">
<pdfaProperty:name>part</pdfaProperty:name>
<pdfaProperty:valueType>Integer</pdfaProperty:valueType>
<pdfaProperty:category>internal</pdfaProperty:category>
<pdfaProperty:description>Part of ISO 14289 that the file conforms to</pdfaProperty:description>
</rdf:li></rdf:Seq></pdfaSchema:property>
</rdf:li>{origin_schema}</rdf:Bag></pdfaExtension:schemas>
</rdf:Description>
<rdf:Description rdf:about="" xmlns:pdfuaid="http://www.aiim.org/pdfua/ns/id/">
<pdfuaid:part>1</pdfuaid:part>
</rdf:Description>
{origin}</rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>"""


# PDF/A accepts a property that XMP does not define only together with a description of its schema.
_ORIGIN_SCHEMA = f"""<rdf:li rdf:parseType="Resource">
<pdfaSchema:schema>IPTC extension schema</pdfaSchema:schema>
<pdfaSchema:namespaceURI>{NAMESPACE}</pdfaSchema:namespaceURI>
<pdfaSchema:prefix>{PREFIX}</pdfaSchema:prefix>
<pdfaSchema:property><rdf:Seq><rdf:li rdf:parseType="Resource">
<pdfaProperty:name>{PROPERTY}</pdfaProperty:name>
<pdfaProperty:valueType>URI</pdfaProperty:valueType>
<pdfaProperty:category>external</pdfaProperty:category>
<pdfaProperty:description>How the content was made, a term of the IPTC vocabulary</pdfaProperty:description>
</rdf:li></rdf:Seq></pdfaSchema:property>
</rdf:li>"""


def describe(file: PdfFile, manuscript: Manuscript) -> None:
    """Set the document information. The XMP metadata must have the same values."""
    file.describe(
        manuscript.changed,
        Title=manuscript.title,
        Author=manuscript.author,
        Creator="bookgen",
        Subject=subject(manuscript),
        Keywords=keywords(manuscript),
        Producer=_PRODUCER,
    )


def subject(manuscript: Manuscript) -> str:
    return manuscript.subtitle or manuscript.subject or manuscript.title


def keywords(manuscript: Manuscript) -> str:
    return manuscript.subject or manuscript.title


def make_print_ready(file: PdfFile, manuscript: Manuscript) -> None:
    """Make the file a PDF/X-1a, as printers require.

    Such a file must name the printing process and paper that its colours are meant for. The name is one from the ICC's
    registry.
    """
    file.info["GTS_PDFXVersion"] = pdfdoc.PDFString("PDF/X-1:2001")
    file.info["GTS_PDFXConformance"] = pdfdoc.PDFString("PDF/X-1a:2001")
    if manuscript.source:  # PDF 1.3 has no XMP for it
        file.info[PROPERTY] = pdfdoc.PDFString(manuscript.source.uri)
    printing = pdfdoc.PDFString("Offset printing on coated paper after SWOP")
    registry = pdfdoc.PDFString("http://www.color.org")
    condition = RULES["press"]["output_condition"]
    _set_output_intent(file, "/GTS_PDFX", condition, OutputCondition=printing, RegistryName=registry)


def make_archival(file: PdfFile, manuscript: Manuscript) -> None:
    """Make the file a PDF/A-2a and PDF/UA-1: add the colour profile and the XMP metadata."""
    colours = compressed(_SRGB.read_bytes(), N=3)
    _set_output_intent(file, "/GTS_PDFA1", "sRGB", DestOutputProfile=file.refer(colours, "icc"))
    file.catalog["Metadata"] = file.refer(StreamObject(_xmp(manuscript), Type="/Metadata", Subtype="/XML"), "xmp")


def _set_output_intent(file: PdfFile, standard: str, condition: str, **more: Any) -> None:
    """Set the output intent: the standard and the printing or display condition of the colours."""
    named = pdfdoc.PDFString(condition)
    intent = dictionary(Type="/OutputIntent", S=standard, OutputConditionIdentifier=named, Info=named, **more)
    file.catalog["OutputIntents"] = pdfdoc.PDFArray([intent])


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
    source = manuscript.source
    return _XMP.format(
        **{name: escape(value, quote=False) for name, value in values.items()},
        origin=description(source) if source else "",
        origin_schema=_ORIGIN_SCHEMA if source else "",
    ).encode("utf-8")
