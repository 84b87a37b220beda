from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bookgen.billing.periods import add_months, period_at
from bookgen.billing.standing import PAST_DUE_GRACE, RENEWAL_GRACE, entitled
from bookgen.models import SubscriptionStatus

moments = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))


def test_a_period_anchored_on_the_31st_returns_to_the_31st():
    anchor = datetime(2026, 1, 31, 9, tzinfo=UTC)

    february = period_at(anchor, datetime(2026, 3, 1, tzinfo=UTC))

    assert february.start == datetime(2026, 2, 28, 9, tzinfo=UTC)
    assert february.end == datetime(2026, 3, 31, 9, tzinfo=UTC)


def test_the_months_of_years_are_counted():
    period = period_at(datetime(2024, 5, 7, tzinfo=UTC), datetime(2027, 3, 20, tzinfo=UTC))

    assert period.start == datetime(2027, 3, 7, tzinfo=UTC)


def test_an_anchor_on_29_february_falls_on_the_28th_in_other_years():
    assert add_months(datetime(2024, 2, 29, tzinfo=UTC), 12) == datetime(2025, 2, 28, tzinfo=UTC)


def test_the_end_of_a_period_belongs_to_the_next_period():
    anchor = datetime(2026, 1, 31, 9, tzinfo=UTC)

    assert period_at(anchor, datetime(2026, 2, 28, 9, tzinfo=UTC)).start == datetime(2026, 2, 28, 9, tzinfo=UTC)


@settings(deadline=None)
@given(anchor=moments, now=moments)
def test_every_moment_lies_in_exactly_one_period(anchor, now):
    period = period_at(anchor, now)

    assert period.start <= now < period.end
    assert period_at(anchor, period.end).start == period.end
    assert period_at(anchor, period.start - timedelta(microseconds=1)).end == period.start


@pytest.mark.parametrize("status", [SubscriptionStatus.PAST_DUE, SubscriptionStatus.CANCELED])
def test_a_cancelled_subscription_ends_exactly_at_the_end_of_its_period(status):
    end = datetime(2026, 3, 1, tzinfo=UTC)

    def at(now):
        return entitled(status, end, end - PAST_DUE_GRACE, now, RENEWAL_GRACE)

    assert at(end - timedelta(microseconds=1))
    assert not at(end)
