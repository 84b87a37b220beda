"""The rule for which process may write which run."""

from __future__ import annotations

from bookgen.models import SAMPLE_WRITER, ProcessRole


def may_write(process: str) -> str:
    """The SQL condition that the process row with this alias may write run `r`.

    It may if the run was started by the model of the process or has only sample text (no model), or if the operator has
    named a model for all runs (`any_writer`).
    """
    return f"({process}.any_writer OR coalesce(r.writer, '{SAMPLE_WRITER}') IN ('{SAMPLE_WRITER}', {process}.writer))"


def takes_work(process: str) -> str:
    """The SQL condition that the process row with this alias lives and takes runs."""
    return f"({process}.lease_until > now() AND {process}.role <> '{ProcessRole.WEB}')"
