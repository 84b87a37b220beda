from dataclasses import replace
from datetime import timedelta
from typing import Any

from bookgen.http.edge.keys import RunEstimate
from bookgen.http.estimates import remembered
from tests.writing.scripted import a_book, some_material


class Counted:
    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, book: Any, chapters: Any) -> RunEstimate:
        self.asked += 1
        return RunEstimate(None, self.asked)


def test_an_estimate_is_worked_out_once_for_each_version_of_a_book() -> None:
    estimate = remembered(Counted())
    material = some_material(3)
    book, chapters = material.book, material.chapters
    later = chapters[0].updated_at + timedelta(microseconds=1)

    seen = [
        estimate(book, chapters),
        estimate(book, list(chapters)),
        estimate(replace(book, updated_at=later), chapters),
        estimate(book, [replace(chapters[0], updated_at=later), *chapters[1:]]),
        estimate(book, chapters[:2]),
    ]

    assert [each.seconds for each in seen] == [1, 1, 2, 3, 4]


def test_only_so_many_estimates_are_kept() -> None:
    counted = Counted()
    estimate = remembered(counted, most=2)

    for number in (1, 2, 1, 3, 1, 2):
        estimate(a_book(id=number), [])

    assert counted.asked == 4
