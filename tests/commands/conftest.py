"""The commands on payments work with what the tests of billing work with."""

from tests.billing.conftest import (  # noqa: F401
    clock,
    deliver,
    make_account,
    make_book,
    open_payments,
    payments,
    stripe,
)
