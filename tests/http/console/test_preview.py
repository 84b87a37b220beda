"""The printed pages in a browser that may lack their typeface."""

from __future__ import annotations

from selenium.webdriver.common.keys import Keys

from tests.http.conftest import Api
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import sign_in

ARABIC = """\
كانت السماء رمادية حين وصلت إلى المدينة القديمة، وكان الناس يعبرون الجسر ببطء كأنهم يعدون خطواتهم. \
لم يكن أحد ينتظرها هناك، ولم تكن تنتظر أحدا، لكنها شعرت بأن البيوت تعرفها منذ زمن بعيد.
"""
# Lines whose words go beyond the margins, which are alike on both sides of these pages.
BEYOND = """
return [...document.querySelectorAll(".leaf [style*=nowrap]")].filter((line) => {
  const page = line.parentElement.getBoundingClientRect();
  const words = document.createRange();
  words.selectNodeContents(line);
  const { left, right } = words.getBoundingClientRect();
  const margin = page.width / 10;
  return line.textContent && (left < page.left + margin || right > page.right - margin);
}).map((line) => line.textContent);
"""


async def test_no_line_of_a_book_read_from_right_to_left_leaves_its_page(page: BrowserPage, visitor: Api) -> None:
    account = await sign_in(page, visitor)
    book = await account.written(title="طريق الملح", content_language="ar")
    await account.patch(f"/chapters/{book['chapters'][0]['id']}/", {"content": ARABIC})  # the other one is English
    await page.open(f"books/{book['id']}/preview")
    await page.sees("Page 1 of")

    beyond = await page.script(BEYOND)
    while await page.script("return !document.querySelector('.row.center button:last-child[aria-disabled]')"):
        shown = await page.script("return document.querySelector('.row.center').innerText")
        await page.keys(Keys.ARROW_LEFT)  # as this book is turned
        await page.until("document.querySelector('.row.center').innerText !== values[0]", shown)
        beyond += await page.script(BEYOND)

    assert beyond == []
