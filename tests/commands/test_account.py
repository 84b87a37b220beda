"""The operator's account commands: each runs in one transaction and writes an audit entry with who and why."""

from __future__ import annotations

import argparse
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from bookgen.accounts.passwords import Passwords
from bookgen.commands import account as operator
from bookgen.errors import BookgenError, Conflict, InvalidInput, NotFound
from bookgen.store.database import Database


def parsed(line: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    operator.add_options(parser)
    return parser.parse_args(line.split())


class Operator:
    def __init__(self, database: Database) -> None:
        self.database = database

    async def __call__(self, line: str) -> None:
        options = parsed(line)
        await options.account_action(options, self.database)

    async def one(self, query: str) -> Any:
        return await self.database.http.fetchrow(query)


@pytest.fixture
async def bookgen_account(database: Database) -> Operator:
    return Operator(database)


async def test_create_makes_an_account_that_can_sign_in(
    bookgen_account: Operator, capsys: pytest.CaptureFixture[str]
) -> None:
    await bookgen_account("create ada@example.com")

    row = await bookgen_account.one("SELECT * FROM account")
    printed = capsys.readouterr().out
    assert (row["username"], row["email_verified"], row["is_staff"]) == ("ada", True, False)
    passwords = Passwords()
    assert await passwords.verify(printed.split("password ")[1].strip(), row["password_hash"])
    passwords.close()
    assert (await bookgen_account.one("SELECT count(*) FROM subscription"))[0] == 1


@pytest.mark.parametrize("asked", ["--password", "--password -"])
async def test_create_reads_a_password_from_standard_input(
    bookgen_account: Operator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], asked: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("hush hush from a pipe\nnot this\n"))

    await bookgen_account(f"create ada@example.com {asked}")

    row = await bookgen_account.one("SELECT * FROM account")
    assert "hush" not in capsys.readouterr().out
    passwords = Passwords()
    assert await passwords.verify("hush hush from a pipe", row["password_hash"])
    passwords.close()


async def test_audit_shows_the_newest_actions_first(
    bookgen_account: Operator, capsys: pytest.CaptureFixture[str]
) -> None:
    await bookgen_account("create ada@example.com")
    await bookgen_account("block ada@example.com --reason spam")
    capsys.readouterr()

    await bookgen_account("audit ada@example.com")

    lines = capsys.readouterr().out.splitlines()
    assert ["block" in lines[0], "create" in lines[1], "(spam)" in lines[0]] == [True] * 3
    with pytest.raises(NotFound):
        await bookgen_account("audit nobody@example.com")


async def test_sessions_end_invalidates_earlier_sign_ins(bookgen_account: Operator) -> None:
    await bookgen_account("create ada@example.com")
    before = await bookgen_account.one("SELECT now() - interval '1 second' AS at")

    await bookgen_account("sessions end ada@example.com")

    row = await bookgen_account.one("SELECT tokens_valid_from FROM account")
    assert row["tokens_valid_from"] > before["at"]
    assert (await bookgen_account.one("SELECT action FROM audit ORDER BY id DESC"))["action"] == "sessions"


async def test_set_password_reads_it_from_standard_input_and_ends_all_sessions(
    bookgen_account: Operator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    await bookgen_account("create ada@example.com")
    before = await bookgen_account.one("SELECT * FROM account")
    monkeypatch.setattr("sys.stdin", io.StringIO("hush hush from a pipe\n"))

    await bookgen_account("set-password ada@example.com")

    after = await bookgen_account.one("SELECT * FROM account")
    passwords = Passwords()
    assert await passwords.verify("hush hush from a pipe", after["password_hash"])
    passwords.close()
    assert after["tokens_valid_from"] > before["tokens_valid_from"]
    assert (await bookgen_account.one("SELECT purpose FROM mail"))["purpose"] == "password-changed"
    assert "hush" not in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(InvalidInput):
        await bookgen_account("set-password ada@example.com")


async def test_export_contains_the_books_without_secrets_and_delete_removes_everything(
    bookgen_account: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    await bookgen_account("create ada@example.com")
    await bookgen_account("create bea@example.com")
    await bookgen_account.database.http.execute("""
        WITH made AS (
            INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language)
            SELECT id, 'Salt/Road', 1, 1000, '6x9', 'en' FROM account WHERE username = 'ada' RETURNING id
        ), filled AS (
            INSERT INTO chapter (book_id, chapter_number, title, content, target_word_count)
            SELECT id, 1, 'Snow', 'It fell.', 1000 FROM made
        )
        INSERT INTO media (key, book_id, body, width, height, source_type)
        SELECT repeat('p', 32), id, 'jpeg', 1, 1, 'algorithmicMedia' FROM made
    """)

    await bookgen_account("export ada@example.com ada.zip")
    with pytest.raises(Conflict, match="already exists"):
        await bookgen_account("export ada@example.com ada.zip")
    await bookgen_account("delete ada@example.com")

    with zipfile.ZipFile(tmp_path / "ada.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    chapter, picture = (next(name for name in files if part in name) for part in ("chapters/001", "pictures/"))
    assert files[chapter].decode() == "# Snow\n\nIt fell.\n"
    assert files[picture] == b"jpeg"
    assert json.loads(files["account.json"])["account"][0]["email"] == "ada@example.com"
    assert not [name for name, content in files.items() if b"argon2" in content]
    assert [*tmp_path.iterdir()] == [tmp_path / "ada.zip"]
    assert (await bookgen_account.one("SELECT string_agg(username, ',') FROM account"))[0] == "bea"
    assert (await bookgen_account.one("SELECT count(*) FROM book"))[0] == 0


async def test_delete_asks_for_the_address_on_a_terminal(
    bookgen_account: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bookgen_account("create ada@example.com")
    monkeypatch.setattr("sys.stdin", io.StringIO("bea@example.com\n"))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)

    with pytest.raises(InvalidInput, match="Nothing was deleted"):
        await bookgen_account("delete ada@example.com")

    assert await bookgen_account.one("SELECT FROM account") is not None


async def test_create_accepts_a_name_and_a_password_and_staff(
    bookgen_account: Operator, capsys: pytest.CaptureFixture[str]
) -> None:
    await bookgen_account("create ada@example.com --username countess --password hush-hush-hush --staff")

    row = await bookgen_account.one("SELECT username, is_staff FROM account")
    assert tuple(row) == ("countess", True)
    assert "hush" not in capsys.readouterr().out
    assert "hush" not in json.dumps((await bookgen_account.one("SELECT details FROM audit"))["details"])


async def test_a_suffix_is_added_to_a_taken_name(bookgen_account: Operator) -> None:
    await bookgen_account("create ada@example.com")
    await bookgen_account("create ada@example.org")

    names = await bookgen_account.database.http.fetch("SELECT username FROM account ORDER BY id")
    assert names[0]["username"] == "ada"
    assert names[1]["username"].startswith("ada-")


async def test_set_plan_and_grant_credits_change_what_the_account_has(bookgen_account: Operator) -> None:
    await bookgen_account("create ada@example.com")
    await bookgen_account("set-plan ADA@example.com pro")
    await bookgen_account("grant-credits ada@example.com 3 --words 80000 --reason thanks")

    plan = "SELECT slug FROM subscription JOIN plan ON plan.id = plan_id"
    assert (await bookgen_account.one(plan))["slug"] == "pro"
    assert (await bookgen_account.one("SELECT balance FROM wallet"))["balance"] == 3
    assert (await bookgen_account.one("SELECT words_per_book FROM credit_lot"))["words_per_book"] == 80_000
    kind = await bookgen_account.one("SELECT kind, amount, description FROM credit_transaction")
    assert tuple(kind) == ("bonus", 3, "thanks")


async def test_a_plan_billed_by_the_processor_cannot_be_set_by_hand(bookgen_account: Operator) -> None:
    await bookgen_account("create ada@example.com")
    await bookgen_account.database.http.execute("UPDATE subscription SET processor_id = 'sub_1'")

    with pytest.raises(Conflict):
        await bookgen_account("set-plan ada@example.com pro")

    assert (await bookgen_account.one("SELECT processor_id FROM subscription"))[0] == "sub_1"


async def test_block_with_ban_and_unblock_undo_each_other(bookgen_account: Operator) -> None:
    await bookgen_account("create ada@example.com")
    await bookgen_account.database.http.execute(
        "INSERT INTO account_origin (account_id, kind, value) SELECT id, 'address', '203.0.113.5/32' FROM account"
    )

    await bookgen_account("block ada@example.com --reason spam --ban")
    blocked = await bookgen_account.one(
        "SELECT blocked_at IS NOT NULL, blocked_reason, (SELECT value FROM ban) FROM account"
    )
    await bookgen_account("unblock ada@example.com")
    unblocked = await bookgen_account.one(
        "SELECT blocked_at IS NOT NULL, blocked_reason, (SELECT value FROM ban) FROM account"
    )

    assert tuple(blocked) == (True, "spam", "203.0.113.5/32")
    assert tuple(unblocked) == (False, None, None)


async def test_every_action_is_logged_with_who_and_what_and_why(
    bookgen_account: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUDO_USER", "grace")
    for line in (
        "create ada@example.com",
        "make-staff ada@example.com",
        "remove-staff ada@example.com",
        "set-plan ada@example.com starter",
        "grant-credits ada@example.com 1 --reason sorry",
        "block ada@example.com --reason spam",
        "unblock ada@example.com",
    ):
        await bookgen_account(line)

    rows = await bookgen_account.database.http.fetch("SELECT actor, action, reason, details FROM audit ORDER BY id")
    assert {row["actor"].partition("@")[0] for row in rows} == {"grace"}
    assert [(row["action"], row["reason"]) for row in rows] == [
        ("create", ""),
        ("make-staff", ""),
        ("remove-staff", ""),
        ("set-plan", ""),
        ("grant-credits", "sorry"),
        ("block", "spam"),
        ("unblock", ""),
    ]
    assert (await bookgen_account.one("SELECT is_staff FROM account"))["is_staff"] is False
    assert rows[4]["details"] == {"credits": 1, "words_per_book": 50_000}


async def test_list_shows_every_account_on_one_line(
    bookgen_account: Operator, capsys: pytest.CaptureFixture[str]
) -> None:
    await bookgen_account("create ada@example.com --staff")
    await bookgen_account("create bea@example.com")
    await bookgen_account("block bea@example.com")
    capsys.readouterr()

    await bookgen_account("list")

    _, ada, bea = capsys.readouterr().out.splitlines()
    assert all(word in ada for word in ("free", "staff", "ada@example.com"))
    assert all(word in bea for word in ("blocked", "bea@example.com"))


WRONG: list[tuple[str, type[BookgenError], str]] = [
    ("create nonsense", InvalidInput, "Enter a valid e-mail address, such as name@example.com."),
    ("create ada@example.com", InvalidInput, "An account with this e-mail address already exists."),
    ("create b@example.com --username ADA", InvalidInput, "This username is taken."),
    ("create b@example.com --username b!", InvalidInput, "A username must have 3 to 150 characters"),
    ("create b@example.com --password short", InvalidInput, "A password must have 8 to 128 characters."),
    ("set-plan ada@example.com gold", NotFound, "There is no plan 'gold'."),
    (f"grant-credits ada@example.com {2**31 - 1}", InvalidInput, f"An account can have at most {2**31 - 1} credits."),
    (
        "block nobody@example.com",
        NotFound,
        "No account has the e-mail address nobody@example.com. List accounts with: bookgen account list",
    ),
]


async def test_a_wrong_command_is_one_clear_line_and_changes_nothing(bookgen_account: Operator) -> None:
    await bookgen_account("create ada@example.com")
    await bookgen_account("grant-credits ada@example.com 1")

    for line, error, sentence in WRONG:
        with pytest.raises(error) as refused:
            await bookgen_account(line)
        assert str(refused.value).startswith(sentence)
        assert "\n" not in str(refused.value)

    assert (await bookgen_account.one("SELECT count(*) FROM audit"))[0] == 2


@pytest.mark.parametrize("number", ["0", "-1", "x", "1.5", str(2**31)])
def test_an_invalid_number_is_refused_by_the_command_line(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed(f"grant-credits ada@example.com {number}")

    assert number in capsys.readouterr().err


async def test_an_action_that_fails_halfway_is_rolled_back(bookgen_account: Operator) -> None:
    await bookgen_account("create ada@example.com")
    await bookgen_account.database.http.execute("ALTER TABLE audit ADD CHECK (action <> 'block')")

    with pytest.raises(asyncpg.CheckViolationError):
        await bookgen_account("block ada@example.com")

    assert (await bookgen_account.one("SELECT blocked_at FROM account"))["blocked_at"] is None
