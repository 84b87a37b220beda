from ipaddress import ip_network

import pytest

from bookgen.rate_limits import Budget, LimitClass, Limiter, address_bucket, client_address

TEN_A_MINUTE = {LimitClass.READ: Budget(10, 60)}


class LimiterClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> LimiterClock:
    return LimiterClock()


@pytest.fixture
def limiter(clock: LimiterClock) -> Limiter:
    return Limiter(TEN_A_MINUTE, clock=clock)


def test_every_request_takes_one_token_until_none_are_left(limiter: Limiter) -> None:
    verdicts = [limiter.take(LimitClass.READ, 1) for _ in range(12)]

    assert [verdict.remaining for verdict in verdicts] == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0]
    assert [verdict.allowed for verdict in verdicts] == [True] * 10 + [False] * 2


def test_reset_is_the_number_of_seconds_until_the_bucket_is_full(limiter: Limiter) -> None:
    for _ in range(4):
        verdict = limiter.take(LimitClass.READ, 1)

    assert (verdict.limit, verdict.remaining, verdict.reset) == (10, 6, 24)


def test_waiting_for_the_retry_after_time_is_enough(limiter: Limiter, clock: LimiterClock) -> None:
    while (verdict := limiter.take(LimitClass.READ, 1)).allowed:
        pass

    clock.now += verdict.retry_after - 0.001 - 1
    assert not limiter.take(LimitClass.READ, 1).allowed
    clock.now += 1.001
    assert limiter.take(LimitClass.READ, 1).allowed


def test_a_refused_request_takes_no_token(limiter: Limiter, clock: LimiterClock) -> None:
    for _ in range(50):
        limiter.take(LimitClass.READ, 1)

    clock.now += 6

    assert limiter.take(LimitClass.READ, 1).allowed


def test_each_caller_has_its_own_bucket_in_each_class(clock: LimiterClock) -> None:
    limiter = Limiter({LimitClass.READ: Budget(1, 60), LimitClass.WRITE: Budget(1, 60)}, clock=clock)
    limiter.take(LimitClass.READ, 1)

    assert limiter.take(LimitClass.READ, 2).allowed
    assert limiter.take(LimitClass.WRITE, 1).allowed
    assert not limiter.take(LimitClass.READ, 1).allowed


def test_peeking_takes_no_token(limiter: Limiter) -> None:
    assert [limiter.peek(LimitClass.READ, 1).remaining for _ in range(3)] == [10, 10, 10]


def test_peeking_gives_the_verdict_on_the_next_request(clock: LimiterClock) -> None:
    limiter = Limiter({LimitClass.READ: Budget(1, 60)}, clock=clock)

    before = limiter.peek(LimitClass.READ, 1)
    limiter.take(LimitClass.READ, 1)
    after = limiter.peek(LimitClass.READ, 1)

    assert (before.allowed, before.remaining) == (True, 1)
    assert (after.allowed, after.remaining, after.retry_after) == (False, 0, 60)


def test_memory_is_bounded_for_any_number_of_callers() -> None:
    limiter = Limiter(TEN_A_MINUTE, max_callers=100)

    for caller in range(10_000):
        limiter.take(LimitClass.READ, caller)

    assert sum(map(len, limiter._buckets.values())) == 100


def test_the_bucket_that_was_used_least_recently_is_dropped_first() -> None:
    limiter = Limiter({LimitClass.READ: Budget(1, 60)}, max_callers=2, clock=lambda: 0.0)

    allowed = [limiter.take(LimitClass.READ, caller).allowed for caller in (1, 2, 1, 3, 1, 2)]

    assert allowed == [True, True, False, True, False, True]


def test_a_flood_of_addresses_does_not_affect_the_buckets_of_accounts() -> None:
    limiter = Limiter({LimitClass.READ: Budget(1, 60), LimitClass.PUBLIC: Budget(1, 60)}, max_callers=10)
    limiter.take(LimitClass.READ, 1)

    for caller in range(1000):
        limiter.take(LimitClass.PUBLIC, f"192.0.2.{caller}")

    assert not limiter.take(LimitClass.READ, 1).allowed


@pytest.mark.parametrize(
    ("text", "budget"), [("300/minute", Budget(300, 60)), (" 5/second ", Budget(5, 1)), ("1/day", Budget(1, 86400))]
)
def test_a_rate_is_read_from_its_setting(text: str, budget: Budget) -> None:
    assert Budget.parse(text) == budget


@pytest.mark.parametrize("text", ["", "0/minute", "5", "5/fortnight", "-1/minute", "5/minute/minute"])
def test_an_invalid_rate_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a rate"):
        Budget.parse(text)


PROXIES = [ip_network("10.0.0.0/8"), ip_network("fd00::/8")]


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("203.0.113.9", ["198.51.100.1"], "203.0.113.9"),  # not from a proxy, so the header is ignored
        ("10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["1.1.1.1, 198.51.100.1"], "198.51.100.1"),  # only the last untrusted hop counts
        ("10.0.0.1", ["1.1.1.1", "198.51.100.1, 10.2.3.4"], "198.51.100.1"),
        ("10.0.0.1", ["10.9.9.9"], "10.9.9.9"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.1, nonsense"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.1:4711"], "198.51.100.1"),
        ("10.0.0.1", ["[2001:db8::1]:443"], "2001:db8::1"),
        ("::ffff:10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("fd00::1", ["::ffff:198.51.100.1"], "198.51.100.1"),
        (None, [], ""),
    ],
)
def test_the_client_is_the_last_address_that_is_not_a_trusted_proxy(
    peer: str | None, forwarded: list[str], client: str
) -> None:
    assert client_address(peer, forwarded, PROXIES) == client


def test_without_trusted_proxies_the_header_is_ignored() -> None:
    assert client_address("127.0.0.1", ["198.51.100.1"], []) == "127.0.0.1"


def test_ipv6_callers_are_counted_per_network() -> None:
    assert address_bucket("2001:db8:1:2:3:4:5:6") == address_bucket("2001:db8:1:2::1") == "2001:db8:1:2::"
    assert address_bucket("192.0.2.1") == "192.0.2.1"


def test_an_ipv4_caller_on_a_dual_stack_socket_is_counted_by_its_own_address() -> None:
    assert [address_bucket(f"::ffff:192.0.2.{last}") for last in (1, 2)] == ["192.0.2.1", "192.0.2.2"]


def test_the_networks_of_an_ipv6_site_share_a_budget_besides_their_own() -> None:
    limiter = Limiter({LimitClass.AUTH: Budget(2, 60)}, clock=lambda: 0.0)

    sites = [f"2001:db8:1:{household:x}::1" for household in range(30)]
    allowed = [limiter.take_of_address(LimitClass.AUTH, address).allowed for address in sites]

    assert sum(allowed) == 20  # as many as ten households
    assert limiter.take_of_address(LimitClass.AUTH, "2001:db8:2::1").allowed
    assert all(limiter.take_of_address(LimitClass.AUTH, f"192.0.2.{last}").allowed for last in range(30))
