"""Recognises scene breaks in all the ways authors and models write them. All formats use this module."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bookgen.render.model import Block, Heading, ItemList, Paragraph, SceneBreak

MAX_SIGNS = 80
SCENE_BREAK = "* * *"  # as shown on a page
MARKDOWN_BREAK = "***"

# Without full stop and ellipsis ("…" can be an answer in dialogue), and without hearts (a message).
_SIGNS = r"*#~_=+°\-‐-―⸺⸻•·∙⋅●○◦◆◇◈◊❖※⁂⁎⁑⁕⁜§❦❧☙✦-✿❀-❋♠♣♤♦♧☼☽☾"
_STARS = "[★☆](?:[ ]+[★☆])*"  # without spaces they are a rating
_BREAK = re.compile(rf"[{_SIGNS}](?:\s*[{_SIGNS}]){{0,{MAX_SIGNS - 1}}}|{_STARS}")
_RULE = re.compile(r"<hr\b[^<>]*>", re.I)
_CENTRING = re.compile(r"</?(?:center|div|p)\b[^<>]*>|&nbsp;", re.I)
# These are scene breaks even directly above or below other lines.
_ANYWHERE = re.compile(r"([ \t]*)(?:#{1,6}|\* ?\* ?\*[ *]*|⁂|❦|~{3,}|(?:— ?){2,}|(?:\\?\* ?){3}|- ?- ?-)[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


def is_scene_break(text: str) -> bool:
    """Whether a line or paragraph on its own is a scene break."""
    bare = _CENTRING.sub("", text).replace("\\", "").strip()
    return _BREAK.fullmatch(bare) is not None or _RULE.fullmatch(bare) is not None


def with_markdown_breaks(lines: Sequence[str]) -> Iterator[str]:
    """The lines of a Markdown text with every scene break in Markdown's spelling. Fenced code stays as it is."""
    fence = ""
    for index, line in enumerate(lines):
        fenced = _FENCE.fullmatch(line)
        if fence:
            if fenced and fenced[1].startswith(fence) and not fenced[2].strip():
                fence = ""
        elif _is_break(lines, index):
            yield from ("", MARKDOWN_BREAK)
            line = ""
        elif fenced:
            fence = fenced[1]
        yield line


def _is_break(lines: Sequence[str], index: int) -> bool:
    line = lines[index]
    found = _ANYWHERE.fullmatch(line)
    if found and len(found[1].expandtabs(4)) < 4:  # deeper indentation may be code
        return True
    return (found is not None or is_scene_break(line)) and _is_alone(lines, index)


def _is_alone(lines: Sequence[str], index: int) -> bool:
    return not any(line.strip() for line in (*lines[max(0, index - 1) : index], *lines[index + 1 : index + 2]))


def without_needless_breaks(blocks: Sequence[Block]) -> list[Block]:
    """The blocks with consecutive scene breaks merged, and without scene breaks next to headings."""
    found: list[Block] = []
    for block in blocks:
        before = found[-1] if found else None
        if isinstance(block, SceneBreak) and isinstance(before, SceneBreak | Heading):
            continue
        if isinstance(block, Heading) and isinstance(before, SceneBreak):
            found.pop()
        found.append(block)
    return found


def as_break(block: Block) -> Block:
    """A scene break if the block contains only the sign of one, such as "* * *"; otherwise the block itself.

    The block may be a paragraph, a heading, or a list of one empty item: a sign that Markdown took for a bullet.
    """
    match block:
        case Paragraph(spans) | Heading(_, spans) if spans and not any(span.code or span.href for span in spans):
            text = "".join(span.text for span in spans)
            return SceneBreak() if is_scene_break(text) and all(span.note is None for span in spans) else block
        case ItemList(((Paragraph(()),),), None):  # a sign that Markdown took for a bullet
            return SceneBreak()
    return block
