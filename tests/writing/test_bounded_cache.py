"""Results for short texts are cached, and long texts are not kept."""

from __future__ import annotations

from bookgen.writing import bounded_cache


def test_results_for_short_texts_are_cached_and_for_long_ones_are_not() -> None:
    seen: list[str] = []

    @bounded_cache.by_sentence
    def length(text: str) -> int:
        seen.append(text[:1])
        return len(text)

    assert [length("a" * 400), length("a" * 400), length("b" * 401), length("b" * 401)] == [400, 400, 401, 401]
    assert seen == ["a", "b", "b"]
