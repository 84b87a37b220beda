"""Small pieces of WordprocessingML as strings."""

from __future__ import annotations

from html import escape

NAMESPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"'
)
MONO = '<w:rFonts w:ascii="Source Code Pro" w:hAnsi="Source Code Pro" w:cs="Source Code Pro"/>'
CENTRED = '<w:jc w:val="center"/>'
DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'


def twips(points: float) -> int:
    return round(points * 20)


def spacing(before: int, after: int) -> str:
    """The space before and after a paragraph, in twips."""
    return f'<w:spacing w:before="{before}" w:after="{after}"/>'


def text(content: str, properties: str = "") -> str:
    style = f"<w:rPr>{properties}</w:rPr>" if properties else ""
    return f'<w:r>{style}<w:t xml:space="preserve">{escape(content, quote=False)}</w:t></w:r>'


def paragraph(style: str, content: str, properties: str = "") -> str:
    return f'<w:p><w:pPr><w:pStyle w:val="{style}"/>{properties}</w:pPr>{content}</w:p>'


def field(instruction: str, shown: str, *, outdated: bool = False) -> str:
    """A Word field that shows `shown`. `outdated`: ask the program that opens the document to update the field."""
    begin, separate, end = (f'w:fldCharType="{kind}"' for kind in ("begin", "separate", "end"))
    dirty = ' w:dirty="true"' * outdated
    return (
        f"<w:r><w:fldChar {begin}{dirty}/></w:r>"
        f'<w:r><w:instrText xml:space="preserve"> {escape(instruction, quote=False)} </w:instrText></w:r>'
        f"<w:r><w:fldChar {separate}/></w:r>{text(shown)}<w:r><w:fldChar {end}/></w:r>"
    )


def bookmark(number: int) -> str:
    """The name of bookmark `number`, to which an entry of the table of contents links."""
    return f"_Toc{number + 1:04d}"


def bookmarked(number: int, content: str) -> str:
    start = f'<w:bookmarkStart w:id="{number}" w:name="{bookmark(number)}"/>'
    return f'{start}{content}<w:bookmarkEnd w:id="{number}"/>'
