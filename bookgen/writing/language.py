"""Facts about languages: names, how lengths are counted, and how dialogue and prose are set."""

from __future__ import annotations

from dataclasses import dataclass

from bookgen.words import CHARACTERS_PER_WORD

NAMES = {
    "ar": "Arabic",
    "bg": "Bulgarian",
    "bn": "Bengali",
    "ca": "Catalan",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "et": "Estonian",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "hr": "Croatian",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "km": "Khmer",
    "ko": "Korean",
    "lo": "Lao",
    "lt": "Lithuanian",
    "lv": "Latvian",
    "my": "Burmese",
    "nb": "Norwegian",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sk": "Slovak",
    "sl": "Slovenian",
    "sv": "Swedish",
    "ta": "Tamil",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "ur": "Urdu",
    "vi": "Vietnamese",
    "zh": "Chinese",
}

_BY_CHARACTER = {
    **dict.fromkeys(("zh", "ja"), CHARACTERS_PER_WORD["han_kana"]),
    **dict.fromkeys(("th", "lo", "km", "my"), CHARACTERS_PER_WORD["thai_lao_khmer_myanmar"]),
}

# How many words, as they are counted, say as much as one English word. In Chinese and Japanese each character counts.
_WORDS_PER_ENGLISH_WORD = dict.fromkeys(("zh", "ja"), 2.0)

# The dash that begins each speech in a language's novels.
_SPEECH_DASHES = {**dict.fromkeys(("es", "pt", "ca", "ro", "pl", "ru", "uk", "bg"), "—"), "hu": "–"}

# The marks of speech that is quoted within speech. Other languages have single marks or reverse the outer ones.
_INNER_MARKS = {"ja": "『』", "zh": "‘’ or 『』"}

# What a model often gets wrong in the typesetting of prose, for the author's prompt.
_CONVENTIONS = {
    "ja": (
        "A paragraph begins without a full-width space or another indent; ―― and …… are doubled; ？ and ！ are "
        "followed by a full-width space within a line, but by none before 」; no 。 stands before 」; a reading "
        "stands in （） after its word."
    ),
    "zh": (
        "A paragraph begins without full-width spaces or another indent; speech is in “” in simplified characters and "
        "in 「」 in traditional ones; the dash is —— and the ellipsis ……."
    ),
}

# Tokens per word, estimated generously for current tokenizers, since this limits replies.
_TOKENS_PER_WORD = {
    "en": 1.6,
    **dict.fromkeys(("de", "nl", "fr", "es", "it", "pt", "sv", "da", "nb", "id", "ca"), 2.2),
    **dict.fromkeys(("zh", "ja"), 2.6),
    **dict.fromkeys(("th", "lo"), 5.0),
    **dict.fromkeys(("km", "my"), 9.0),
}
_TOKENS_PER_OTHER_WORD = 3.5


@dataclass(frozen=True, slots=True)
class ProseLanguage:
    """How a language counts lengths and marks dialogue.

    `characters_per_word` is None if spaces separate the words. `speech_dash` is empty if speech is in quotation marks.
    `inner_marks` are the marks of speech within speech; empty for most languages. `conventions`: a sentence about the
    typesetting of prose; empty for most languages. `words_per_english_word` adapts limits that were chosen for English.
    """

    name: str
    characters_per_word: float | None
    tokens_per_word: float
    speech_dash: str
    inner_marks: str
    conventions: str
    words_per_english_word: float

    @property
    def unit(self) -> str:
        """The unit in which the book's text is counted. Authors also count punctuation unless they are told not to."""
        return "words" if self.characters_per_word is None else "characters (not counting punctuation)"

    @property
    def counted(self) -> str:
        """What `count_words` counts in this language: words, or characters if each of them is a word."""
        return "characters" if self.characters_per_word == 1 else "words"

    def number(self, words: int) -> int:
        """A length of `words` words as a number of units."""
        return self.characters(words) or words

    def length(self, words: int) -> str:
        """A length of `words` words as text: "900 words", or a number of characters in a language without spaces."""
        return f"{self.number(words)} {self.unit}"

    def rough_length(self, words: int) -> str:
        """Like `length`, but with the number rounded to two significant digits."""
        number = self.number(words)
        step: int = 10 ** max(len(str(number)) - 2, 0)
        return f"{round(number / step) * step} {self.unit}"

    def between(self, least: int, most: int) -> str:
        return f"{self.number(least)} to {self.number(most)} {self.unit}"

    def note_length(self, english_words: int) -> str:
        """The maximum length of a note, such as a summary or a quotation, as text. It holds as much in any language."""
        return f"{self.number(self.equivalent(english_words))} {self._note_unit}"

    def note_between(self, least: int, most: int) -> str:
        """As `note_length`, for a note of `least` to `most` English words."""
        return f"{self.number(self.equivalent(least))} to {self.number(self.equivalent(most))} {self._note_unit}"

    @property
    def _note_unit(self) -> str:
        return "words" if self.characters_per_word is None else "characters"

    def equivalent(self, english_words: int) -> int:
        """The number of words in this language that say as much as so many English words."""
        return round(english_words * self.words_per_english_word)

    def in_english(self, words: int) -> int:
        """The number of English words that say as much as `words` words in this language."""
        return round(words / self.words_per_english_word)

    def characters(self, words: int) -> int | None:
        return None if self.characters_per_word is None else round(words * self.characters_per_word)

    def tokens(self, words: int) -> int:
        """The largest number of tokens that `words` words may take, to limit a reply."""
        return round(words * self.tokens_per_word)

    def usual_tokens(self, words: int) -> int:
        """The number of tokens that `words` words usually take, for estimates."""
        return round(words * self.tokens_per_word * 0.92)


def primary(tag: str) -> str:
    """The language code of a tag, without script and country: "pt" for "pt-BR"."""
    return tag.lower().replace("_", "-").split("-")[0]


def language(tag: str) -> ProseLanguage:
    code = primary(tag)
    name = f"{NAMES[code]} ({tag})" if code in NAMES else f"the language with the tag {tag}"
    return ProseLanguage(
        name,
        _BY_CHARACTER.get(code),
        _TOKENS_PER_WORD.get(code, _TOKENS_PER_OTHER_WORD),
        _SPEECH_DASHES.get(code, ""),
        _INNER_MARKS.get(code, ""),
        _CONVENTIONS.get(code, ""),
        _WORDS_PER_ENGLISH_WORD.get(code, 1.0),
    )
