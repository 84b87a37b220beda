"""What the web page costs the browser: paint times, main thread and bytes, for an account with many long books.

    python -m bench.console [--books 200] [--chapters 40] [--slowdown 4]

A real Chromium loads each view from the running service, at full speed and slowed down as Lighthouse simulates a phone.
`paint` is the first contentful paint, `whole` the largest. `busy` is the main thread's CPU time, `script` the part of
it in scripts. `blocked` is the sum of task time beyond 50 ms per task. All are measured from the start of the load
until the page is idle. `KB` is the number of bytes transferred.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
from selenium.webdriver.common.keys import Keys

from bookgen.client.client import Client
from tests.conftest import Cluster
from tests.databases import TEMPLATE
from tests.http.console import browser
from tests.http.console.browser import BrowserPage
from tests.service import ServiceProcess

PASSWORD = "correct horse 7"
CHAPTER = "She walked along the quay, and the river said nothing of what it had seen that night. " * 60

BOOKS = """
    INSERT INTO book (account_id, title, subtitle, genre, target_audience, description, chapter_count,
                      target_word_count, trim_size, content_language, status)
    SELECT $1, 'The Book of the Salt Road, Volume ' || n, '', 'Historical', 'adults', 'A widow smuggles salt.',
           $3::int, $3::int * 1000, '6x9', 'en', 'completed'
      FROM generate_series(1, $2::int) n
"""
CHAPTERS = """
    INSERT INTO chapter (book_id, chapter_number, title, summary, content, word_count, target_word_count, status)
    SELECT id, n, 'Chapter ' || n || ': The road', 'What happens in the chapter.', $2, 1000, 1000, 'completed'
      FROM book, generate_series(1, $1::int) n
"""
WATCH = """
window.watched = { whole: 0, blocked: 0, longest: 0 };
new PerformanceObserver((list) => list.getEntries().forEach((one) => { watched.whole = one.startTime; }))
  .observe({ type: "largest-contentful-paint", buffered: true });
new PerformanceObserver((list) => list.getEntries().forEach(({ duration }) => {
  watched.blocked += duration - 50; watched.longest = Math.max(watched.longest, duration);
})).observe({ type: "longtask", buffered: true });
"""
# Until nothing new has appeared for 300 ms.
RESTS = """
const done = arguments[0];
let size = -1;
const look = () => {
  const now = document.querySelectorAll("*").length + performance.getEntriesByType("resource").length;
  if (now === size && !document.body.innerText.includes("Loading")) return done();
  size = now;
  setTimeout(look, 300);
};
look();
"""
TOLD = """
const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
return { ...watched, paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0,
         bytes: entries.reduce((sum, { transferSize }) => sum + transferSize, 0),
         elements: document.querySelectorAll("*").length };
"""


class MeasuredView(NamedTuple):
    name: str
    path: str
    cold: bool  # with an empty cache


async def fill(dsn: str, account_id: int, books: int, chapters: int) -> int:
    """Create the account's books with their chapters, and return the id of one of them."""
    connection = await asyncpg.connect(dsn)
    await connection.execute(BOOKS, account_id, books, chapters)
    await connection.execute(CHAPTERS, chapters, CHAPTER)
    await connection.execute("VACUUM ANALYZE")
    book = await connection.fetchval("SELECT max(id) FROM book")
    await connection.close()
    return int(book)


async def measured(page: BrowserPage, view: MeasuredView) -> dict[str, Any]:
    cdp = page.driver.execute_cdp_cmd
    await page.visit("healthz")
    if view.cold:
        cdp("Network.clearBrowserCache", {})
    cdp("Performance.disable", {})
    cdp("Performance.enable", {"timeDomain": "threadTicks"})
    await page.load(view.path)
    await page.wait_for(RESTS)
    told = dict(await page.script(TOLD))
    spent = {one["name"]: one["value"] for one in cdp("Performance.getMetrics", {})["metrics"]}
    return {**told, "busy": 1000 * spent["TaskDuration"], "script": 1000 * spent["ScriptDuration"]}


def line(view: MeasuredView, slowdown: int, told: dict[str, Any]) -> str:
    names = ("paint", "whole", "busy", "script", "blocked", "longest")
    times = " ".join(f"{told[name]:>8.0f}" for name in names)
    return f"{view.name:<34} {slowdown:>3}x {told['bytes'] / 1000:>7.1f} {told['elements']:>8} {times}"


async def measure(dsn: str, given: argparse.Namespace) -> None:
    folder = Path(tempfile.mkdtemp(prefix="bookgen-bench-"))
    async with ServiceProcess(folder, BOOKGEN_DATABASE_URL=dsn, BOOKGEN_LOG_LEVEL="info") as service:
        async with Client(service.url) as client:
            await client.register("ada", "ada@example.com", PASSWORD)
            account = await client.profile()
        book = await fill(dsn, account["id"], given.books, given.chapters)
        page = BrowserPage(browser.start(), service.url.rstrip("/"))
        page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        await page.width(1280)
        print(f"{given.books} books of {given.chapters} chapters; milliseconds")
        print(f"{'':<34} {'':>4} {'KB':>7} {'elements':>8}    paint    whole     busy   script  blocked  longest")
        first = MeasuredView("first visit, nothing cached", "", cold=True)
        for slowdown in (1, given.slowdown):
            page.driver.execute_cdp_cmd("Emulation.setCPUThrottlingRate", {"rate": slowdown})
            print(line(first, slowdown, await measured(page, first)), flush=True)
        await page.load("signin")
        await page.fill("E-mail address or username", "ada")
        await page.fill("Password", PASSWORD)
        await page.keys(Keys.ENTER)
        await page.until("location.hash === '#/'")
        for view in (
            MeasuredView("shelf, nothing cached", "", cold=True),
            MeasuredView("shelf", "", cold=False),
            MeasuredView("a book's chapters", f"books/{book}/read", cold=False),
            MeasuredView("a book's outline", f"books/{book}/outline", cold=False),
        ):
            for slowdown in (1, given.slowdown):
                page.driver.execute_cdp_cmd("Emulation.setCPUThrottlingRate", {"rate": slowdown})
                print(line(view, slowdown, await measured(page, view)), flush=True)
        page.driver.quit()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.console")
    parser.add_argument("--books", type=int, default=200)
    parser.add_argument("--chapters", type=int, default=40)
    parser.add_argument("--slowdown", type=int, default=4)
    given = parser.parse_args()
    cluster = Cluster()
    try:
        asyncio.run(measure(cluster.dsn.replace("/postgres?", f"/{TEMPLATE}?"), given))
    finally:
        cluster.close()


if __name__ == "__main__":
    sys.exit(main())
