"""A finding of the quality gate (`writing.quality`), the rules that check a chapter's text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bookgen.writing.blocks import masked_fences, outside_fences
from bookgen.writing.material import Finding

_INLINE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_CODE = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Flaw:
    """A finding. `paragraph` is the index of its paragraph; None if it concerns the whole chapter."""

    kind: str
    paragraph: int | None
    excerpt: str
    detail: str

    def finding(self) -> Finding:
        return Finding(self.kind, self.excerpt[:200], self.detail)


def without_code(text: str) -> str:
    """`text` with its code replaced by dots, since code is not prose. The paragraphs and all offsets stay the same."""
    return outside_fences(masked_fences(text), lambda piece: _INLINE.sub(lambda code: _CODE.sub("·", code[0]), piece))
