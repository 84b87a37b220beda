"""The pages that mailed links open, in a browser."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

from tests.http.console.browser import BrowserPage

PAGES = ("verify-email/MQ/t/", "reset-password/MQ/t/", "magic-login/MQ/t/", "undo-email/MQ/t/", "checkout/success/")


@pytest.mark.parametrize("path", PAGES)
async def test_axe_finds_nothing_on_a_page_outside_the_books(page: BrowserPage, path: str) -> None:
    await page.visit(path)

    assert await page.findings() == []


async def test_a_spent_link_is_said_and_leads_to_the_books(page: BrowserPage) -> None:
    page.expected.append("400")
    await page.visit("reset-password/MQ/spent/")

    await page.fill("New password", "correct horse 9")
    await page.keys(Keys.ENTER)

    await page.sees("Expired, used or not valid.")
    await page.press("To the books")
    await page.sees("An idea goes in")
