"""Billing periods: one month each, counted from an anchor such as the start of the subscription."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Period:
    start: datetime
    end: datetime


def period_at(anchor: datetime, now: datetime) -> Period:
    """The period that contains `now`, if a new one begins every month after `anchor`. Its end is exclusive."""
    months = (now.year - anchor.year) * 12 + now.month - anchor.month
    if add_months(anchor, months) > now:
        months -= 1
    return Period(add_months(anchor, months), add_months(anchor, months + 1))


def add_months(anchor: datetime, months: int) -> datetime:
    """The same day and time `months` later, or the last day of that month if it is too short.

    Always start from the anchor: for January 31, this gives February 28 and then March 31. Adding one month to February
    28 would give March 28.
    """
    year, month = divmod(anchor.year * 12 + anchor.month - 1 + months, 12)
    day = min(anchor.day, monthrange(year, month + 1)[1])
    return anchor.replace(year=year, month=month + 1, day=day)
