"""Seeded books for covers: 18 kinds of script, titles of 1 to 200 characters, with and without a subtitle or author."""

from __future__ import annotations

import random

from bookgen.cover_options import MOODS, MOTIFS, PALETTES
from bookgen.render.cover.job import Copy, Subject

WORDS = {
    "en": "the of and a river long patient harbour extraordinary misunderstanding letters winter light under glass I",
    "de": "der und lange Weg Süden über Donaudampfschifffahrtsgesellschaft Rechtsschutzversicherungsgesellschaften ein",
    "pl": "źdźbło w trzcinie Wrocław i łódź pod wierzbą żółć",
    "cs": "příliš žluťoučký kůň úpěl ďábelské ódy a ticho",
    "tr": "İstanbul ışık gecesi ve Iğdır çığlık bir",
    "vi": "Những ngày dài ở bến cảng và nỗi buồn chiến tranh",
    "el": "Ἡ μακρὰ ὁδός καὶ τὸ φῶς της θάλασσας",
    "ru": "Долгая дорога на юг и обратно взаимоотношения к",
    "uk": "Їжак у тумані та довга дорога ґанок",
    "ar": "كتاب الأيام الطويلة في الميناء والبحر",
    "fa": "شهر خاموش و باران‌های بلند می‌آیند",
    "he": "הספר של הימים הארוכים ועל הנמל",
    "hi": "धैर्यवान बंदरगाह की कहानी और स्त्री",
    "zh": "漫长的日子 与港口， 远方 之歌 图书馆",
    "ja": "銀河鉄道 の夜と、 月の物語 「港」 図書館",
    "ko": "오래된 항구의 긴 하루와 바다",
    "en-emoji": "The 🚀 long ☕ day ∑ to ∞ and π",
    "he-mixed": "הנמל 2024 Anna العربية port (old)",
}
LENGTHS = (1, 2, 5, 9, 14, 20, 28, 40, 60, 90, 130, 200)
GENRES = ("Literary fiction", "Business", "Romance", "Crime", "Science fiction", "Self-help", "", "歴史")


def book(number: int) -> tuple[str, Copy, str]:
    """The seed, texts and genre of a book. The same number gives the same book."""
    chance = random.Random(f"cover {number}")
    kind = list(WORDS)[number % len(WORDS)]
    title = _text(chance, kind, chance.choice(LENGTHS))
    subtitle = "" if chance.random() < 0.3 else _text(chance, kind, chance.choice((8, 40, 90, 160)))
    author = "" if chance.random() < 0.15 else _text(chance, kind, chance.choice((5, 14, 22, 40)))
    return f"book {number}", Copy(title, subtitle, author, kind.split("-")[0]), chance.choice(GENRES)


FIGURES = (
    "Finn: a small fox with a red scarf", "Mila: a grey mouse with a yellow hat", "Otto: a big brown bear",
    "Nele: a girl with black hair and a green jacket", "Uhu: an owl", "Zap: a blue robot with a bow",
    "Hoppel: a white rabbit", "Mauz: a ginger cat", "Rex: a dog with a hat", "Pip: a penguin with a scarf",
    "Piep: a yellow bird", "Quak: a little frog", "Rosa: a pink pig", "Ella: a huge elephant", "Igor: a tiny hedgehog",
    "Eik: a squirrel with a bow", "Grim: a badger in a red coat", "Fauch: a green dragon", "Oma: an old woman",
)  # fmt: skip
TOLD = ("a night by the river", "snow in the morning", "the sea in the evening", "a town", "a dark room", "")


def subject(number: int) -> Subject:
    """What a cover knows of the book. The same number gives the same subject."""
    chance = random.Random(f"subject {number}")
    figures = tuple(chance.sample(FIGURES, chance.choice((1, 2, 3))))
    palettes = tuple(chance.sample(list(PALETTES), 3))
    return Subject(palettes, chance.choice(MOTIFS), chance.choice(list(MOODS)), figures, chance.choice(TOLD))


def _text(chance: random.Random, kind: str, length: int) -> str:
    between = "" if kind in ("zh", "ja") else " "
    words = WORDS[kind].split()
    text = chance.choice(words)
    while len(text) < length:
        text += between + chance.choice(words)
    return text[:length].strip() or "A"
