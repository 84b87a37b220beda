"""A Word watermark: a shape in the header, behind the text."""

from __future__ import annotations

from html import escape

from bookgen.render.layout.geometry import Geometry

_OFFICE = 'xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office"'
_TYPE = (
    '<v:shapetype id="_x0000_t136" coordsize="21600,21600" o:spt="136" adj="10800" path="m@7,l@8,m@5,21600l@6,21600e">'
    '<v:formulas><v:f eqn="sum #0 0 10800"/><v:f eqn="prod #0 2 1"/><v:f eqn="sum 21600 0 @1"/><v:f eqn="sum 0 0 @2"/>'
    '<v:f eqn="sum 21600 0 @3"/><v:f eqn="if @0 @3 0"/><v:f eqn="if @0 21600 @1"/><v:f eqn="if @0 0 @2"/>'
    '<v:f eqn="if @0 @4 21600"/></v:formulas><v:path textpathok="t" o:connecttype="rect"/>'
    '<v:textpath on="t" fitshape="t"/></v:shapetype>'
)


def watermark_paragraph(words: str, geometry: Geometry, number: int) -> str:
    width = geometry.trim.width * 0.95
    place = (
        f"position:absolute;margin-left:0;margin-top:0;width:{width:.0f}pt;height:{width / 9:.0f}pt;rotation:305;"
        "z-index:-251657216;mso-position-horizontal:center;mso-position-horizontal-relative:page;"
        "mso-position-vertical:center;mso-position-vertical-relative:page"
    )
    shape = (
        f'<v:shape id="watermark{number}" type="#_x0000_t136" alt="Watermark" style="{place}" '
        'fillcolor="#d9d9d9" stroked="f">'
        f'<v:textpath style="font-family:&quot;Source Serif 4&quot;" string="{escape(words)}"/></v:shape>'
    )
    return f'<w:p><w:pPr><w:pStyle w:val="Header"/></w:pPr><w:r><w:pict {_OFFICE}>{_TYPE}{shape}</w:pict></w:r></w:p>'
