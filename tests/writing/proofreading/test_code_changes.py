"""An author may change code inside its block or between backticks. A proofreader changes none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bookgen.writing.proofreading import structure
from bookgen.writing.proofreading.code_changes import may_change
from bookgen.writing.proofreading.placing import applied, placed
from bookgen.writing.proofreading.structure import keeps_structure, prose
from tests.writing.proofreading.judge import suggestion

TEXT = """\
Three things are new. Then run `lighthouse.py` and read *every* line with `python3`.

```python
import sys

class Player:
    def __init__(self):
        self.bags = []  # teh bag

def main():
    player = Player()
```

1. Only two keys are ways to go:

   ```python
   def move(self, where):
       self.room = where
   ```

   Then press Return.

~~~text
$ python3 lighthouse.py
Dark dark.
~~~

| Sign | Says |
|---|---|
| `==` | the same |

The end."""


def change(passage: str, replacement: str) -> tuple[str, int, int, str]:
    assert TEXT.count(passage) == 1
    start = TEXT.index(passage)
    return TEXT, start, start + len(passage), replacement


@pytest.mark.parametrize(
    ("passage", "replacement"),
    [
        ("def main():", "\ndef main():"),
        ("\ndef main():", "\n\n\ndef main():"),
        ("self.bags", "self.bag"),
        ("        self.bags = []  # teh bag\n", ""),
        ("        self.bags = []  # teh bag\n\ndef main():", "        self.bag = []\n\n\ndef main():"),
        ("import sys", 'import sys\n\n\nROOMS = {"beach": "`Wet sand`, *black* water."}'),
        ("       self.room = where", "       self.room = where\n\n       self.look()"),
        ("Dark dark.", "Dark."),
        ("$ python3 lighthouse.py\nDark dark.", "$ python3 lighthouse.py\n\nDark.\nA wave."),
    ],
)
def test_lines_of_a_block_or_a_part_of_one_may_change(passage, replacement):
    assert may_change(*change(passage, replacement))
    assert not keeps_structure(*change(passage, replacement))


@pytest.mark.parametrize(
    ("passage", "replacement"),
    [
        ("Three things are new.", 'Four things are new. `["oil"] if "--bright" in sys.argv else []` is a choice.'),
        ("`lighthouse.py`", "`tower.py`"),
        ("==", "!="),
        ("Then run `lighthouse.py` and", "Now run `python3 tower.py | less` and"),
        ("run `lighthouse.py` and read *every* line with `python3`", "run it, and read *every* line"),
        ("the same", "the same as `is`, nearly"),
        ("Then press Return.", "Then press `Return` twice."),
        ("Three things", "Four things"),
    ],
)
def test_prose_may_get_other_code_between_backticks(passage, replacement):
    assert may_change(*change(passage, replacement))


@pytest.mark.parametrize(
    ("passage", "replacement"),
    [
        ("import sys", "import sys\n```\n\nNow:\n\n```python"),
        ("def main():", "```"),
        ("```python\nimport sys", "```python\nimport os"),
        ("player = Player()\n```", "player = Player()\n"),
        ("= []  # teh bag\n\ndef main():", "= []\n\ndef main():"),
        ("self.bags", "\nself.bag"),
        ("       self.room = where", "self.room = where\nself.look()"),
        ("       self.room = where\n", "       self.room = where"),
        ("    player = Player()\n```\n\n1. Only", "    player = Player()\n```\n\n1. But"),
        ("Then press Return.", "Then:\n\n   ```text\n   Dark.\n   ```"),
        ("Then press Return.", "Then press `Return."),
        ("Then run `lighthouse.py`", "Then `run `lighthouse.py`"),
        ("lighthouse.py` and read *every*", "tower.py and read *every*"),
        ("read *every* line", "read `every` line"),
        ("the same", "the same | `is`"),
        ("The end.", "The [end](`a`)."),
    ],
)
def test_a_change_that_makes_code_of_prose_or_prose_of_code_is_refused(passage, replacement):
    assert not may_change(*change(passage, replacement))


def test_code_is_no_prose_to_the_rules_of_the_proofreader():
    text = prose(TEXT)

    assert len(text) == len(TEXT)
    assert not any(word in text for word in ("teh", "Dark", "where", "python"))
    assert text.endswith("The end.")


def test_a_suggestion_changes_code_only_if_it_is_for_the_author_to_accept():
    _, start, end, _ = change("        self.bags = []  # teh bag", "")
    fixed = suggestion(1, TEXT, start, end, "        self.bags = []  # the bag")

    for source, stale in (("model", [1]), ("harper", [1]), ("editor", []), ("author", [])):
        result = applied(placed([replace(fixed, source=source)], TEXT, 1), {1})
        assert result.stale == stale
        assert result.content == (TEXT if stale else TEXT.replace("teh", "the"))


def test_checks_of_many_changes_in_a_long_text_with_code_are_limited(monkeypatch):
    monkeypatch.setattr(structure, "MAX_READ_CHARACTERS", 10_000)
    content = f"{TEXT}\n\n" * 100 + "Teh end.\n\n" * 100
    first = content.index("Teh end.")
    places = range(first, len(content) - 3, 10)
    chosen = [suggestion(number, content, place, place + 3, "The") for number, place in enumerate(places)]

    result = applied(placed(chosen, content, 1), {each.id for each in chosen})

    assert 0 < len(result.applied) < 30
    assert len(result.applied) + len(result.pending) == 100
