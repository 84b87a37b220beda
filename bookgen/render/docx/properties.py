"""Custom document properties, in which a Word document stores what its core properties have no field for."""

from __future__ import annotations

from bookgen.models import SourceType
from bookgen.render.docx.xml import DECLARATION
from bookgen.render.marks.xmp import PROPERTY

CUSTOM_TYPE = "application/vnd.openxmlformats-officedocument.custom-properties+xml"
CUSTOM_PART = "docProps/custom.xml"
CUSTOM_NAMESPACE = "http://schemas.openxmlformats.org/officeDocument/2006/custom-properties"
VALUES_NAMESPACE = "http://schemas.openxmlformats.org/officeDocument/2006/docPropsVTypes"
_USER_DEFINED = "{D5CDD505-2E9C-101B-9397-08002B2CF9AE}"  # the set of properties that users define


def custom_properties(source: SourceType) -> bytes:
    """The XML of the custom properties, which say how the document's content was made."""
    return (
        f'{DECLARATION}<Properties xmlns="{CUSTOM_NAMESPACE}" xmlns:vt="{VALUES_NAMESPACE}">'
        f'<property fmtid="{_USER_DEFINED}" pid="2" name="{PROPERTY}"><vt:lpwstr>{source.uri}</vt:lpwstr></property>'
        "</Properties>"
    ).encode()
