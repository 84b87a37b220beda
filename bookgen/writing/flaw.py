"""A finding of the quality gate (`writing.quality`), the rules that check a chapter's text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bookgen.writing.material import Finding
from bookgen.writing.sentences import PARAGRAPH

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Flaw:
    """A finding. `paragraph` is the index of its paragraph; None if it concerns the whole chapter."""

    kind: str
    paragraph: int | None
    excerpt: str
    detail: str

    def finding(self) -> Finding:
        return Finding(self.kind, self.excerpt[:200], self.detail)


def paragraphs(text: str) -> list[str]:
    return [paragraph for paragraph in PARAGRAPH.split(text.strip()) if paragraph.strip()]


def without_code(text: str) -> str:
    """`text` with its code replaced by dots, since code is not prose. The number of paragraphs stays the same."""
    return _CODE.sub(lambda code: re.sub(r"\S", "·", code[0]), text)
