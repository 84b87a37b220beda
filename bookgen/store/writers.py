"""The rule for which process may write which run. A run is the writing of a book; its `writer` is the model it uses."""

from __future__ import annotations

from bookgen.models import SAMPLE_WRITER, ProcessRole


def may_write(process: str) -> str:
    """The SQL condition that a process may write run `r`. `process`: the alias of the process's row in the statement.

    The process may write the run if it has the run's model, if the run uses no model but sample text, or if the
    operator has named the process's model for all books (`any_writer`).
    """
    return f"({process}.any_writer OR coalesce(r.writer, '{SAMPLE_WRITER}') IN ('{SAMPLE_WRITER}', {process}.writer))"


def takes_work(process: str) -> str:
    """The SQL condition that a process is alive and writes books. `process`: the alias of its row in the statement."""
    return f"({process}.lease_until > now() AND {process}.role <> '{ProcessRole.WEB}')"
