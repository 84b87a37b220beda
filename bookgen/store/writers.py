"""Which process may write which run."""

from __future__ import annotations

from bookgen.models import SAMPLE_WRITER


def may_write(process: str) -> str:
    """The SQL condition that the process row of this alias may write run `r`.

    It may if it has the model of the run, if its operator has named another one, and if no real model has begun it.
    """
    return f"({process}.any_writer OR coalesce(r.writer, '{SAMPLE_WRITER}') IN ('{SAMPLE_WRITER}', {process}.writer))"
