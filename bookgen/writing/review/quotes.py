"""Finds a model's quotation in the text that it quotes from."""

from __future__ import annotations

import re

# A quotation may differ from the text in typography: white space, quotation marks, dashes, an ellipsis.
_PIECE = re.compile(
    r"(?P<dash>\s*(?:-{1,3}|[‐‑‒–—―])\s*)|(?P<ellipsis>…|\.{3})|(?P<double>[\"“”„‟«»])|(?P<single>['‘’‚‛ʼ])"
    r"|(?P<space>\s+)|(?P<other>.)",
    re.DOTALL,
)
# Possessive quantifiers do not backtrack, so the search is linear in any text.
_ALIKE = {
    "dash": r"\s*+(?:-{1,3}+|[‐‑‒–—―])\s*+",
    "ellipsis": r"(?:…|\.{3})",
    "double": '["“”„‟«»]',
    "single": "['‘’‚‛ʼ]",
    "space": r"\s++",
}


def find_quote(content: str, quote: str, start: int = 0) -> tuple[int, int] | None:
    """The span of the first match of the quote at or after `start`; None if there is none.

    The quote must be verbatim, except for white space, quotation marks, apostrophes, dashes and the ellipsis.
    """
    quote = quote.strip()
    if not quote:
        return None
    place = content.find(quote, start)
    if place >= 0:
        return place, place + len(quote)
    pattern = "".join(_ALIKE.get(str(piece.lastgroup)) or re.escape(piece[0]) for piece in _PIECE.finditer(quote))
    found = re.compile(pattern.removeprefix(r"\s*+").removesuffix(r"\s*+")).search(content, start)
    return found.span() if found else None
