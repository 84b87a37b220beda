"""A signature is valid for five minutes in either direction, to the second."""

from __future__ import annotations

import hmac
from hashlib import sha256

import pytest

from bookgen.billing.signature import require_signature
from bookgen.errors import InvalidInput

BODY, SECRET, NOW = b'{"id": "evt_1"}', "whsec_of_this_test", 1_800_000_000


def signed(at: int) -> str:
    return f"t={at},v1={hmac.new(SECRET.encode(), f'{at}.'.encode() + BODY, sha256).hexdigest()}"


@pytest.mark.parametrize("off", [-300, 0, 300])
def test_a_signature_up_to_five_minutes_old_or_early_is_valid(off: int) -> None:
    require_signature(BODY, signed(NOW + off), [SECRET], NOW)


@pytest.mark.parametrize("off", [-301, 301])
def test_a_signature_one_second_outside_the_tolerance_is_refused(off: int) -> None:
    with pytest.raises(InvalidInput, match="outside the five-minute tolerance"):
        require_signature(BODY, signed(NOW + off), [SECRET], NOW)


def test_signatures_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []
    compare = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda one, other: compared.append(other) or compare(one, other))
    header = signed(NOW)

    require_signature(BODY, header, [SECRET], NOW)

    assert compared == [header.partition("v1=")[2]]
