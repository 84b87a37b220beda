"""The beginning of a chapter's first paragraph: first words in small capitals, and a drop cap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bookgen.render.fonts.style import Style
from bookgen.render.fonts.typeface import Typeface, clusters
from bookgen.render.layout.lines import Line, Shape, Tail
from bookgen.render.layout.word_metrics import Token
from bookgen.render.layout.words import Words

LEAD_IN = 4  # words
DEPTH = 3  # lines that a drop cap spans
_FEW_WORDS = LEAD_IN + 2  # a paragraph of so few words is set in small capitals as a whole
_MIN_WORDS = 12  # shorter paragraphs may be no text
_OPENING = "“‘„‚«»\"'¡¿([—–"
_CLOSING = "”’»“‘«›‹\"')]\u202f"
_GAP = 0.12  # of the type size, between the letter and the text


def set_lead_in(words: Words, typeface: Typeface) -> None:
    """Set the first words in small capitals, in place, if the face has them.

    A short paragraph that is not a sentence, such as a date or the address of a letter, is not changed.
    """
    plain = typeface.style()
    count = len(words.tokens)
    if not plain.face.has_small_capitals or (count < _MIN_WORDS and not _ends_sentence(words.tokens)):
        return
    for index in range(count if count <= _FEW_WORDS else LEAD_IN):
        pieces = words.tokens[index].pieces
        if len(pieces) != 1 or pieces[0][1] is not plain:
            return
        text = pieces[0][0]
        words.tokens[index] = Token(((text, typeface.style(small_caps=True)),), words.tokens[index].gap)
        if text[-1] in ".!?…:;,”’»":
            return


def _ends_sentence(tokens: Sequence[Token]) -> bool:
    text = "".join(text for token in tokens[-1:] for text, _ in token.pieces).rstrip(_CLOSING)
    return text.endswith((".", "!", "?", "…", "—", "–"))


def take_initial(words: Words, shape: Shape, lead: float) -> tuple[Line, float, Shape] | None:
    """Remove the first letter from `words` for a drop cap.

    Returns the letter as a line, its type size in points, and the shape of the paragraph around it. None if a drop cap
    would look wrong, for example in a short paragraph or without a letter. `lead`: points between baselines.
    """
    if len(words.tokens) < _MIN_WORDS * 2 or words.rtl:
        return None
    text, style = words.tokens[0].pieces[0]
    start = len(text) - len(text.lstrip(_OPENING))
    first = next(clusters(text[start:]), "")
    # scripts without upper and lower case join their letters or write syllables, so there is no letter to drop
    if start > 1 or first.lower() == first.upper() or words.tokens[0].gap[0] <= 0.0:
        return None
    letter, rest = text[:start] + first, text[start + len(first) :]
    size = ((DEPTH - 1) * lead + style.face.cap_height * shape.size) / style.face.cap_height
    width = style.word(letter)[0] * size / 1000
    line = Line(0.0, width, 100.0, 0.0, [(style, [letter])], Tail.END if rest else Tail.SPACE, 0, range(1))
    notch = line.width + _GAP * shape.size * 2
    if notch > shape.measure / 3:
        return None
    if rest:
        words.tokens[0] = Token(((rest, style), *words.tokens[0].pieces[1:]), words.tokens[0].gap)
    else:
        del words.tokens[0]
        words.notes = {word - 1: notes for word, notes in words.notes.items()}
    room = lead - style.face.cap_height * shape.size  # below the letter, to the capitals of the next line
    lines = DEPTH + (_depth(style, first) * size > room)
    return line, size, replace(shape, notch=notch, notch_lines=lines, indent=0.0)


def _depth(style: Style, letter: str) -> float:
    """How far the letter reaches below the baseline (as the tail of a Q does), as a share of the type size."""
    font, factor = style.face.hb_font, style.face.per_mille * style.scale / 1000
    extents = [font.get_glyph_extents(glyph) for glyph, _, _ in style.glyphs(letter)]
    return max((-(each.y_bearing + each.height) * factor for each in extents if each), default=0.0)
