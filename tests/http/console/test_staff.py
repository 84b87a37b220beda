"""The overview of the service, for staff only."""

from __future__ import annotations

from tests.http.conftest import Api
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import sign_in

FACTS = """
return Object.fromEntries([...document.querySelectorAll("section.card")].map((card) => [
  card.querySelector("h2").innerText,
  Object.fromEntries([...card.querySelectorAll("dt")].map((one) => [one.innerText, one.nextElementSibling.innerText])),
]));
"""
ROWS = "return [...document.querySelectorAll('tbody tr')].map((row) => [...row.children].map((one) => one.innerText))"

# How many pixels of the table are hidden.
HIDDEN = "const table = document.querySelector('.scroll'); return table.scrollWidth - table.clientWidth"

# Cells whose numbers take more than one line.
BROKEN = """
return [...document.querySelectorAll("tbody td")].filter((one) => {
  const words = document.createRange();
  words.selectNodeContents(one);
  return words.getClientRects().length > 1;
}).map((one) => one.innerText);
"""


async def test_staff_see_accounts_books_runs_and_spending(page: BrowserPage, visitor: Api) -> None:
    author = await visitor.as_new_account("eve")
    await author.written()
    await author.book()
    staff = await sign_in(page, visitor)
    await visitor.services.database.http.execute("UPDATE account SET is_staff = username = 'ada'")
    told = (await staff.get("/admin/overview/")).body

    await page.misses("Staff")
    await page.open("account")  # where the page learns that its reader has become staff
    await page.press("Staff")
    await page.sees("Model calls")
    facts, rows = await page.script(FACTS), await page.script(ROWS)

    await page.width(390)
    assert await page.script("return document.documentElement.scrollWidth") <= 390
    assert await page.script(BROKEN) == []
    assert await page.script(HIDDEN) <= 0
    assert facts["Accounts"] == {"total": "2", "blocked": "0"}
    assert facts["Books"] == {"total": "2", "completed": "1", "draft": "1"} | facts["Books"]
    assert facts["Runs"]["completed"] == "1"
    assert [row[:2] for row in rows] == [
        ["offline", str(told["usage"]["calls"])],
        ["Total", str(told["usage"]["calls"])],
    ]


async def test_only_staff_see_the_overview(page: BrowserPage, visitor: Api) -> None:
    page.expected.append("403")
    await sign_in(page, visitor)
    await page.misses("Staff")

    await page.open("staff")

    await page.until("document.querySelector('[role=alert]')")
    await page.misses("Model calls")
