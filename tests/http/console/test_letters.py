"""The pages of mailed links, in a browser."""

from __future__ import annotations

import re
from email import message_from_bytes
from email.policy import default
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from bookgen.accounts.mailing import Mailing
from bookgen.providers.mail import OutboxMailer
from bookgen.store.database import Database
from tests.http.conftest import PASSWORD, Api
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import sign_in

PAGES = (
    "verify-email/MQ/t/",
    "reset-password/MQ/t/",
    "magic-login/MQ/t/",
    "undo-email/MQ/t/",
    "approve-email/MQ/t/",
    "checkout/success/",
)


@pytest.mark.parametrize("path", PAGES)
async def test_axe_finds_nothing_on_a_page_outside_the_books(page: BrowserPage, path: str) -> None:
    await page.visit(path)

    assert await page.findings() == []


async def test_a_link_sets_a_password_only_once(
    page: BrowserPage, visitor: Api, database: Database, tmp_path: Path
) -> None:
    page.expected.append("400")
    await visitor.as_new_account("ada")
    await visitor.post("/auth/forgot-password/", {"email": "ada@example.com"})
    link = await mailed(database, tmp_path, "reset-password", "ada@example.com")
    await page.visit(link)
    findings = await page.findings()
    await visitor.post(f"/auth/{link}", {"new_password": "correct horse 8"})

    await page.fill("New password", "correct horse 9")
    await page.keys(Keys.ENTER)
    await page.sees("This link is expired, used or invalid. Request a new one.")
    await page.misses("New password")
    await page.visit(link)

    await page.sees("This link no longer works")
    assert await page.script("return document.querySelector('form')") is None
    assert findings == []
    await page.press("Go to your books")
    await page.sees("Turn an idea into a book")


async def test_following_the_link_of_a_new_address_keeps_the_user_signed_in(
    page: BrowserPage, visitor: Api, database: Database, tmp_path: Path
) -> None:
    account = await sign_in(page, visitor)
    await account.patch("/auth/profile/", {"email": "ada@example.org"})

    await page.visit(await mailed(database, tmp_path))
    await page.press("Verify my address")

    await page.sees("Your e-mail address is verified.")
    await page.misses("Request a new one")
    await page.press("Go to your books")
    await page.until("location.hash === '#/'")
    assert (await account.get("/auth/profile/")).body["email"] == "ada@example.org"


async def test_a_change_of_address_is_confirmed_with_the_password(
    page: BrowserPage, visitor: Api, database: Database, tmp_path: Path
) -> None:
    account = await visitor.as_new_account("ada")
    await visitor.as_new_account("bea")
    await account.patch("/auth/profile/", {"email": "ada@example.org"})
    page.expected.append("401")
    await page.visit(await mailed(database, tmp_path))

    await page.press("Verify my address")
    await page.sees("If you did not request one, close this page")
    await page.fill("E-mail address or username", "bea")
    await page.fill("Password of the account", PASSWORD)
    await page.keys(Keys.ENTER)
    await page.sees("You signed in to another account.")
    await page.fill("E-mail address or username", "ada")
    await page.keys(Keys.ENTER)

    await page.sees("Your e-mail address is verified.")
    assert (await account.get("/auth/profile/")).body["email"] == "ada@example.org"


async def mailed(database: Database, folder: Path, page: str = "verify-email", to: str = "ada@example.org") -> str:
    """The page of that kind whose link was mailed to the address."""
    mailer = OutboxMailer(folder / "letters", sender="books@books.example")
    await Mailing(database.http, mailer, public_url="http://books.example").deliver_due()
    letters = [message_from_bytes(file.read_bytes(), policy=default) for file in (folder / "letters").glob("*.eml")]
    texts = [str(letter.get_body(("plain",))) for letter in letters if letter["To"] == to]
    (link,) = re.findall(rf"{page}/[^/]+/[^/]+/", "\n".join(texts))
    return str(link)
