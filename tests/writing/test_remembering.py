"""Texts are looked at once while they are short, and no long one is kept."""

from __future__ import annotations

from bookgen.writing import remembering


def test_a_short_text_is_looked_at_once_and_a_long_one_each_time() -> None:
    seen: list[str] = []

    @remembering.by_sentence
    def length(text: str) -> int:
        seen.append(text[:1])
        return len(text)

    assert [length("a" * 400), length("a" * 400), length("b" * 401), length("b" * 401)] == [400, 400, 401, 401]
    assert seen == ["a", "b", "b"]
