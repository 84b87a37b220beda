"""The values that fields with a fixed set of choices may take, as callers are shown them."""

from __future__ import annotations

from typing import NamedTuple


class TrimSize(NamedTuple):
    value: str
    label: str
    width_mm: float
    height_mm: float


class Language(NamedTuple):
    value: str
    label: str


TRIM_SIZES = (
    TrimSize("5x8", "5 × 8 in", 127.0, 203.2),
    TrimSize("5.25x8", "5.25 × 8 in", 133.35, 203.2),
    TrimSize("5.5x8.5", "5.5 × 8.5 in (digest)", 139.7, 215.9),
    TrimSize("6x9", "6 × 9 in (trade paperback)", 152.4, 228.6),
    TrimSize("6.14x9.21", "6.14 × 9.21 in (royal)", 155.96, 233.93),
    TrimSize("7x10", "7 × 10 in", 177.8, 254.0),
    TrimSize("8x10", "8 × 10 in", 203.2, 254.0),
    TrimSize("8.5x8.5", "8.5 × 8.5 in (square)", 215.9, 215.9),
    TrimSize("8.5x11", "8.5 × 11 in (letter)", 215.9, 279.4),
    TrimSize("a5", "A5", 148.0, 210.0),
    TrimSize("a4", "A4", 210.0, 297.0),
)

LANGUAGES = (
    Language("en", "English"),
    Language("de", "Deutsch"),
    Language("fr", "Français"),
    Language("es", "Español"),
    Language("it", "Italiano"),
    Language("pt", "Português"),
    Language("nl", "Nederlands"),
    Language("pl", "Polski"),
    Language("cs", "Čeština"),
    Language("sv", "Svenska"),
    Language("tr", "Türkçe"),
    Language("ru", "Русский"),
    Language("uk", "Українська"),
    Language("el", "Ελληνικά"),
    Language("vi", "Tiếng Việt"),
    Language("zh", "中文"),
    Language("ja", "日本語"),
    Language("ko", "한국어"),
    Language("ar", "العربية"),
    Language("he", "עברית"),
    Language("hi", "हिन्दी"),
)

# Suggestions only: a genre is free text.
GENRES = (
    "Literary fiction", "Science fiction", "Fantasy", "Mystery", "Thriller", "Romance", "Historical fiction", "Horror",
    "Young adult", "Children's", "Short stories", "Poetry", "Memoir", "Biography", "History", "Popular science",
    "Business", "Self-help", "Health", "Cookery", "Travel", "Essay", "Philosophy", "How-to",
)  # fmt: skip
