"""What a rule of the quality gate sees in a chapter."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bookgen.writing.material import Finding
from bookgen.writing.sentences import PARAGRAPH

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Flaw:
    """`paragraph` is the index of the paragraph that has it, None when it is the whole chapter's."""

    kind: str
    paragraph: int | None
    excerpt: str
    detail: str

    def finding(self) -> Finding:
        return Finding(self.kind, self.excerpt[:200], self.detail)


def paragraphs(text: str) -> list[str]:
    return [paragraph for paragraph in PARAGRAPH.split(text.strip()) if paragraph.strip()]


def without_code(text: str) -> str:
    """`text` with dots for its code, which is no prose to be judged. The paragraphs stay as many as they are."""
    return _CODE.sub(lambda code: re.sub(r"\S", "·", code[0]), text)
