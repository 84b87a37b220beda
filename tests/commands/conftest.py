"""The commands on payments and on files work with what the tests of billing and of files work with."""

from tests.billing.conftest import (  # noqa: F401
    clock,
    deliver,
    make_account,
    make_book,
    open_payments,
    payments,
    stripe,
)
from tests.files.conftest import places, server  # noqa: F401
