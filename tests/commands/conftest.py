"""The fixtures of the billing tests, for the payment commands."""

from tests.billing.conftest import (  # noqa: F401
    clock,
    deliver,
    make_account,
    make_book,
    open_payments,
    payments,
    stripe,
)
