"""The API explorer in a browser, checked by axe. Its page is Swagger UI with our colours."""

from __future__ import annotations

from tests.http.console.browser import BrowserPage
from tests.http.console.test_axe import OF_COLOURS, OF_SIZES


async def test_the_api_explorer_has_readable_text_and_large_enough_targets(page: BrowserPage) -> None:
    """axe's other findings are faults of Swagger UI."""
    await page.visit("api/v1/docs/")
    await page.until("document.querySelector('#operations .opblock:last-child')")

    found = await page.findings(*OF_COLOURS, *OF_SIZES)
    await page.width(640)
    found += await page.findings(*OF_SIZES)

    assert found == []
