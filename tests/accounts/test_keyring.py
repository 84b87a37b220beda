"""The keys that sign tokens: their rotation, and that all hosts use the same ones."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bookgen.accounts.keyring import Keyring
from bookgen.accounts.tokens import Tokens, TokenType
from bookgen.errors import StartupError, TokenInvalid, Unavailable
from bookgen.store.database import Database
from tests.composition import SECRET_KEY, composed
from tests.service import run

OTHER = "another secret that is long enough for HS256"
AGE = "UPDATE signing_key SET created_at = created_at - $1::text::interval"


@pytest.fixture
def keyring(database: Database) -> Keyring:
    return Keyring(database.http, SECRET_KEY, origin="the test")


async def test_a_new_key_signs_once_every_process_knows_it_and_the_old_one_stays_valid_for_its_tokens(
    keyring: Keyring, database: Database
) -> None:
    tokens, another = Tokens(SECRET_KEY), Tokens(SECRET_KEY)
    old = tokens.sign(TokenType.REFRESH, 7)
    await keyring.rotate()
    await keyring.load(tokens)
    at_first = tokens.sign(TokenType.ACCESS, 7)
    assert another.verify(at_first, TokenType.ACCESS).account_id == 7  # signed with the old key

    await database.http.execute(AGE, "16 seconds")
    await keyring.load(tokens)
    new = tokens.sign(TokenType.ACCESS, 7)
    with pytest.raises(TokenInvalid):
        another.verify(new, TokenType.ACCESS)
    await keyring.load(another)
    assert another.verify(new, TokenType.ACCESS).account_id == 7
    assert tokens.verify(old, TokenType.REFRESH).account_id == 7

    await database.http.execute(AGE, "31 days")
    await keyring.load(tokens)
    with pytest.raises(TokenInvalid):
        tokens.verify(old, TokenType.REFRESH)
    assert tokens.verify(new, TokenType.ACCESS).account_id == 7


async def test_a_watching_process_learns_of_new_keys_after_a_failure_as_well(
    keyring: Keyring, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bookgen.accounts.keyring.RELOAD_SECONDS", 0)
    tokens, reloaded, failures = Tokens(SECRET_KEY), asyncio.Event(), iter([Unavailable("away"), RuntimeError("a bug")])

    def use(signing: bytes, accepted: tuple[bytes, ...]) -> None:
        for failure in failures:
            raise failure
        Tokens.use(tokens, signing, accepted)
        reloaded.set()

    monkeypatch.setattr(tokens, "use", use)
    await keyring.rotate()
    await database.http.execute(AGE, "16 seconds")

    with capture_logs() as logs:
        watching = asyncio.create_task(keyring.watch(tokens))
        await asyncio.wait({watching, asyncio.create_task(reloaded.wait())}, return_when=asyncio.FIRST_COMPLETED)

    assert not watching.done()
    watching.cancel()
    assert [line["log_level"] for line in logs] == ["warning", "error"]
    with pytest.raises(TokenInvalid):
        Tokens(SECRET_KEY).verify(tokens.sign(TokenType.ACCESS, 7), TokenType.ACCESS)


async def test_a_different_secret_is_refused_until_the_operator_resets_it(keyring: Keyring, database: Database) -> None:
    await keyring.require_own()
    await keyring.rotate()
    other = Keyring(database.http, OTHER, origin="BOOKGEN_SECRET_KEY")

    with pytest.raises(
        StartupError, match=rf"^BOOKGEN_SECRET_KEY is not .*{keyring.fingerprint}.*same secret"
    ) as error:
        await other.require_own()
    assert not [word for word in (OTHER, SECRET_KEY) if word in str(error.value)]
    await other.reset()

    await other.require_own()
    with pytest.raises(StartupError):
        await keyring.require_own()


async def test_only_a_changed_secret_is_reported_where_no_other_host_is(keyring: Keyring, database: Database) -> None:
    other = Keyring(database.http, OTHER, origin="the test")

    with capture_logs() as same:
        await keyring.claim()
        await keyring.claim()
    with capture_logs() as changed:
        await other.claim()

    assert [line["event"] for line in (*same, *changed)] == ["secret_changed"]


def test_the_fingerprint_of_a_secret_stays_the_same_from_release_to_release(database: Database) -> None:
    """The database keeps it: with another one, its own server would be refused."""
    assert Keyring(database.http, OTHER, origin="the test").fingerprint == "e10a00f3f55b2c24"


async def test_a_shared_database_needs_a_configured_secret_and_an_embedded_one_does_not(
    database: Database, dsn: str, tmp_path: Path
) -> None:
    async with composed(database, tmp_path, database_url=dsn):
        pass
    with pytest.raises(StartupError, match="BOOKGEN_SECRET_KEY is not the secret"):
        async with composed(database, tmp_path, database_url=dsn, secret_key=OTHER):
            pass

    async with composed(database, tmp_path, secret_key=OTHER) as service:
        token = service.tokens.sign(TokenType.ACCESS, 7)
    assert Tokens(OTHER).verify(token, TokenType.ACCESS).account_id == 7


async def test_keys_can_be_rotated_and_reset_from_the_command_line(
    database: Database, dsn: str, tmp_path: Path
) -> None:
    told = {"BOOKGEN_DATABASE_URL": dsn, "BOOKGEN_SECRET_KEY": SECRET_KEY}

    rotated = await run(tmp_path, "keys", "rotate", **told)
    refused = await run(tmp_path, "keys", "rotate", **{**told, "BOOKGEN_SECRET_KEY": OTHER})
    missing = await run(tmp_path, "keys", "rotate", BOOKGEN_DATABASE_URL=dsn)
    reset = await run(tmp_path, "keys", "reset", **{**told, "BOOKGEN_SECRET_KEY": OTHER})

    assert [each[0] for each in (rotated, refused, missing, reset)] == [0, 2, 2, 0]
    assert rotated[1].startswith("In 15 seconds, all processes will sign with a new key.")
    assert missing[2] == (
        f"bookgen: The file {tmp_path / 'data' / 'secret.key'} does not exist. "
        "Set BOOKGEN_DATA_DIR or BOOKGEN_SECRET_KEY to the value that the service uses.\n"
    )
    assert await database.http.fetchval("SELECT count(*) FROM signing_key") == 0


async def test_the_test_letter_is_sent_or_the_error_says_why_not(tmp_path: Path) -> None:
    kept = await run(tmp_path, "mail", "test", "ada@example.com")
    refused = await run(tmp_path, "mail", "test", "ada@example.com", BOOKGEN_SMTP_URL="smtp://127.0.0.1:1")
    wrong = await run(tmp_path, "mail", "test", "nobody")

    (letter,) = (tmp_path / "data" / "outbox").glob("*.eml")
    assert b"To: ada@example.com" in letter.read_bytes()
    assert kept[0] == 0
    assert (refused[0], refused[2].count("\n")) == (1, 1)
    assert refused[2].startswith("bookgen: The e-mail to ada@example.com was not sent: SMTPConnectError")
    assert wrong[0] == 2
