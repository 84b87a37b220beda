"""Distinguishes paragraphs that begin with a number from lists: "29. März. Der Wind dreht." is not a list."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from markdown_it.token import Token

# Months as they follow a day's number in the languages that write it with a full stop.
_MONTH = re.compile(
    r"(?:jan(?:uar|úar|uára)|jänner|feb(?:ruar|rúar|ruára|er)|märz|mar(?:ts|s|ca)|apr(?:il|íl|íla)|ma[ijí]|mája|jún[aí]?|"
    r"jun[ij]|júl[aí]?|jul[ij]|august[ai]?|ágúst|september|septembra|o[kc]tober|októbra|október|november|novembra|"
    r"nóvember|de[czs]ember|decembra|desember|\w+kuuta|ledna|února|března|dubna|května|června|července|srpna|září|října|"
    r"listopadu?|prosince|siječnja|veljače|ožujka|travnja|svibnja|lipnja|srpnja|kolovoza|rujna|listopada|studenog[a]?|"
    r"prosinca)\b",
    re.IGNORECASE,
)
_List = tuple[int, int, list[str]]  # the index of its first token, its first number, the text of each item


def numbered_paragraphs(tokens: Sequence[Token]) -> frozenset[int]:
    """The indexes of the tokens that open a list although the author meant paragraphs.

    This is assumed of two kinds of lists: a list whose items all begin with a date; and a list of one item, if no other
    list ends with the number before it or begins with the number after it.
    """
    lists = list(_lists(tokens))
    starts = {first for _, first, _ in lists}
    ends = {first + len(items) for _, first, items in lists}
    return frozenset(
        index
        for index, first, items in lists
        if all(map(_MONTH.match, items)) or (len(items) == 1 and first not in ends and first + 1 not in starts)
    )


def _lists(tokens: Sequence[Token]) -> Iterator[_List]:
    """The numbered lists whose numbers are followed by a full stop, also in quotations, but not inside other lists."""
    found: _List | None = None
    depth = 0  # of lists
    for index, token in enumerate(tokens):
        match token.type:
            case "ordered_list_open" | "bullet_list_open":
                depth += 1
                if depth == 1 and token.markup == ".":
                    start = token.attrGet("start")
                    found = (index, 1 if start is None else int(start), [])
            case "ordered_list_close" | "bullet_list_close":
                depth -= 1
                if depth == 0 and found:
                    yield found
                    found = None
            case "list_item_open" if found and depth == 1:
                following = tokens[index + 2] if index + 2 < len(tokens) else token
                found[2].append(following.content if following.type == "inline" else "")
