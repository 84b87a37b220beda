"""The styles of one book, and the choice of a fallback face for characters that the body face lacks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import Any

from bookgen.errors import InvalidInput
from bookgen.render.characters import is_wide
from bookgen.render.fonts.face import Face
from bookgen.render.fonts.families import BY_SETTING, EMOJI, FALLBACKS, MONO, SANS, SERIF, Source, own_script
from bookgen.render.fonts.style import Style
from bookgen.render.fonts.system import ADVICE, look_again, system_sources
from bookgen.render.locales import LOCALES
from bookgen.render.locales import language as locale

_JOINERS = frozenset((0x200C, 0x200D, 0xFE0E, 0xFE0F))
_INVISIBLE = frozenset((0x200B, 0x2060, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFE0E, 0xFE0F))

_SKIN = frozenset(range(0x1F3FB, 0x1F400))
# Emoji. They are taken from one face, because others have only a few of them, in different styles.
_EMOJI = re.compile("[\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]|.*\ufe0f")

# Marks shared with Latin. Next to ideographs they must come from the ideographs' face, which makes them full width.
_WIDE_MARKS = re.compile("[“”‘’…‥—―·]")
_DOUBLED = re.compile("——|――|……")  # in this form they are never Latin, even next to Latin letters
_AN_IDEOGRAPH = "一"

_FEW = 0.1  # a face may lack this share of a language's letters and still be used for it
_TRACKING = 80.0  # per mille of the em between letters of a small-capital line

Pieces = tuple[tuple[str, Style], ...]


class Typeface:
    """The typeface of a book. It opens a font file only when it needs a character from it.

    `body` replaces the face named by `font` if it has the alphabet of the language. A character that no font has raises
    InvalidInput, except with `measuring`, where only widths are needed.
    """

    def __init__(self, font: str, language: str = "", *, body: Source | None = None, measuring: bool = False) -> None:
        self._measuring = measuring
        self.place = ""  # such as " in chapter 3", for the error message
        self._language = language
        chosen = body if body and has_alphabet(body, language) else BY_SETTING[font]
        self._body = own_script(language) or chosen
        self.unspaced = locale(language).unspaced
        self.ideographic = locale(language).ideographic
        self.emphasis = locale(language).emphasis
        self._helpers: tuple[Source, ...] = FALLBACKS if font == "serif" else (SANS, *FALLBACKS)
        self._faces: dict[str, Face] = {}
        self._styles: dict[tuple[object, ...], Style] = {}
        self._probes: dict[str, Face] = {}
        self._sources_of: dict[str, Source | None] = {}

    @property
    def faces(self) -> list[Face]:
        return list(self._faces.values())

    @property
    def families(self) -> list[Source]:
        """The body family, then every fallback family that was needed."""
        used = {source.name: source for source in self._sources_of.values() if source}
        return [self._body, *(source for name, source in used.items() if name != self._body.name)]

    def style(
        self,
        *,
        bold: bool = False,
        italic: bool = False,
        mono: bool = False,
        display: bool = False,
        small_caps: bool = False,
        raised: bool = False,
        tracked: bool = False,
        source: Source | None = None,
    ) -> Style:
        key = (bold, italic, mono, display, small_caps, raised, tracked, source and source.name)
        known = self._styles.get(key)
        if known is None:
            face = self._face(source or (MONO if mono else self._body), bold=bold, italic=italic, display=display)
            known = self._styles[key] = Style(
                face,
                scale=0.6 if raised else 0.86 if mono else 1.0,
                rise=0.36 if raised else 0.0,
                features=_features(small_caps or tracked, mono),
                tracking=_TRACKING if tracked else 0.0,
                css=_css(bold, italic, mono, small_caps or tracked, raised),
                language=self._language,
                measuring=self._measuring,
            )
        return known

    def pieces(self, text: str, **kind: Any) -> Pieces:
        """The text in one style, divided where a fallback face is needed. `kind`: keyword arguments of `style`."""
        style = self.style(**kind)
        wide = self._wide_marks(text, kind)
        if not wide and style.face.covered.issuperset(map(ord, text)):
            return ((text, style),)
        return tuple(self._mixed(text, style, kind, wide))

    def _wide_marks(self, text: str, kind: dict[str, Any]) -> Source | None:
        """The font for marks such as “ and …, which Latin and Chinese share. None to keep the font of the style.

        In Chinese and Japanese, these marks get the font of the ideographs if the text contains ideographs or doubled
        marks, or consists only of such marks.
        """
        if not self.ideographic or kind.get("mono") or not _WIDE_MARKS.search(text):
            return None
        if not (any(map(is_wide, text)) or _DOUBLED.search(text) or all(map(_WIDE_MARKS.match, text))):
            return None
        return self._source(_AN_IDEOGRAPH)

    def _mixed(self, text: str, style: Style, kind: dict[str, Any], wide: Source | None) -> Iterator[tuple[str, Style]]:
        current, held = style, ""
        for part in self._parts(text, style):
            if wide and _WIDE_MARKS.match(part):
                wanted = self._other(wide, kind)
            else:
                wanted = style if _covers(style.face, part) else self._helper(part, kind)
            if wanted is not current and held:
                yield held, current
                held = ""
            current = wanted
            held += part
        if held:
            yield held, current

    def _parts(self, text: str, style: Style) -> Iterator[str]:
        """Divide the text into words, to set each word in one face. A word that no face has is divided into letters."""
        for script, letters in groupby(clusters(text), _script):
            word = list(letters)
            whole = "".join(word)
            if script and (_covers(style.face, whole) or self._source(whole)):
                yield whole
            else:
                yield from word

    def _source(self, text: str) -> Source | None:
        if text in self._sources_of:
            return self._sources_of[text]
        found = self._sources_of[text] = self._find(text)
        return found

    def _helper(self, cluster: str, kind: dict[str, Any]) -> Style:
        source = self._source(cluster)
        if source is None and not self._measuring:
            look_again()
            raise _uncovered(cluster, self.place)
        return self._other(source, kind)

    def _other(self, source: Source | None, kind: dict[str, Any]) -> Style:
        return self.style(
            **kind | {"mono": False, "small_caps": False, "display": False, "tracked": False}, source=source
        )

    def _find(self, cluster: str) -> Source | None:
        """The first font that has the cluster. None if no font has it."""
        return next((each for each in self._candidates(cluster) if _covers(self._probe(each), cluster)), None)

    def _candidates(self, cluster: str) -> Iterator[Source]:
        """The fonts to try for a cluster, best first.

        The machine's fonts are tried last, except for characters that fill the em: some fallbacks have a narrow 《.
        """
        fills_em = is_wide(cluster[0])
        if fills_em:
            yield from system_sources(self._language)
        if _EMOJI.match(cluster):
            yield EMOJI
        yield from self._helpers
        if not fills_em:
            yield from system_sources(self._language)

    def _probe(self, source: Source) -> Face:
        """A face opened only to check its coverage. It is not embedded in the finished file."""
        known = self._probes.get(source.name)
        if known is None:
            path = source.path(bold=False, italic=False)
            known = self._probes[source.name] = Face(source.name, path, index=source.index)
        return known

    def _face(self, source: Source, *, bold: bool = False, italic: bool = False, display: bool = False) -> Face:
        display = display and source.optical is not None
        italic = italic and source.path(bold=bold, italic=True) != source.path(bold=bold, italic=False)
        key = f"{source.name}{'-Bold' * bold}{'-Italic' * italic}{'-Display' * display}".replace(" ", "")
        face = self._faces.get(key)
        if face is None:
            path, axes = source.path(bold=bold, italic=italic), source.axes(bold=bold, display=display)
            face = self._faces[key] = Face(key, path, axes, source.index)
        return face


@cache
def has_alphabet(source: Source, tag: str) -> bool:
    """Whether a face has the Latin, Greek or Cyrillic letters of a language. Other scripts are not checked.

    A face may lack a few of the letters. If it lacks more, too many words would mix two faces.
    """
    words = locale(tag)
    sample = words.contents + words.chapter + words.rights + words.notes
    letters = {ord(letter) for letter in sample if letter.isalpha()} & _covered(SERIF)
    return len(letters - _covered(source)) <= len(letters) * _FEW


def without_font() -> list[str]:
    """The supported languages for which this machine has no font."""
    tags = []
    for words in LOCALES:
        try:
            Typeface("serif", words.tag).pieces(words.contents)
        except InvalidInput:
            tags.append(words.tag)
    return tags


def _covered(source: Source) -> frozenset[int]:
    return Face(source.name, source.path(bold=False, italic=False)).covered


def clusters(text: str) -> Iterator[str]:
    """Split the text into letters together with their combining marks and joiners."""
    held = ""
    for character in text:
        joins = ord(character) in _JOINERS or ord(character) in _SKIN or unicodedata.category(character)[0] == "M"
        if held and (joins or held[-1] == "\u200d"):
            held += character
            continue
        if held:
            yield held
        held = character
    if held:
        yield held


def _script(cluster: str) -> str:
    """The script of a letter (the first word of its Unicode name). Empty if it is not a letter."""
    return unicodedata.name(cluster[0], "").partition(" ")[0] if cluster[0].isalpha() else ""


def _covers(face: Face, cluster: str) -> bool:
    return all(ord(character) in face.covered or ord(character) in _INVISIBLE for character in cluster)


def _uncovered(cluster: str, place: str) -> InvalidInput:
    character = next((each for each in cluster if ord(each) not in _INVISIBLE), cluster[0])
    name = unicodedata.name(character, "unnamed")
    problem = f"No font has U+{ord(character):04X} {name}{place}. {ADVICE}"
    return InvalidInput(problem, content=[problem])


def _features(small_caps: bool, mono: bool) -> dict[str, bool]:
    features = {"kern": True, "liga": not mono}
    if small_caps:
        features["smcp"] = True
    return features


def _css(bold: bool, italic: bool, mono: bool, small_caps: bool, raised: bool) -> str:
    names = ("b" * bold, "i" * italic, "m" * mono, "sc" * small_caps, "sup" * raised)
    return " ".join(name for name in names if name)
