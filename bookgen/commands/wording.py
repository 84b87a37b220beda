"""Rewords API errors for users of a command or tool: with its options instead of API fields, and without API paths."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bookgen.client.errors import ApiError, reasons

_VERB = "(?:GET|POST|PUT|PATCH|DELETE) /"
# "(POST /books/{id}/generate/)", "(pause-generation/ or stop-generation/)", " with POST /auth/addons/checkout/"
_CALLS = re.compile(
    rf" \({_VERB}[^)]*\)| \([a-z-]+/(?: or [a-z-]+/)*\)|(?: with| one of|,? see)? {_VERB}\S*?(?=\.?(?:\s|$))"
)


def in_words(error: ApiError, names: Mapping[str, str]) -> str:
    """The reworded message of the error. `names`: the option or parameter for each field of the API."""
    told = [_CALLS.sub("", reason) for reason in reasons(error.details)]
    if not told:
        return _CALLS.sub("", str(error))
    fields = "|".join(map(re.escape, names))
    named = [re.sub(rf"^({fields}):", lambda field: f"{names[field[1]]}:", each) if fields else each for each in told]
    return " ".join(each.removeprefix("non_field_errors: ") for each in named)
