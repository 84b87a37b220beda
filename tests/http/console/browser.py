"""A real Chromium, controlled like a user would, that records its console errors and its requests."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.common.exceptions import JavascriptException, StaleElementReferenceException, WebDriverException
from selenium.webdriver.common.keys import Keys

from tests.checkers import AXE

FLAGS = (
    "--process-per-site", "--renderer-process-limit=1", "--disable-site-isolation-trials",
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
    # Mainly the spare process that Chromium would start before each navigation and discard at the next.
    "--disable-features=SpareRendererForSitePerProcess,BackForwardCache,Translate,OptimizationHints,MediaRouter",
)  # fmt: skip
PATIENCE_SECONDS = 30
MAX_TABS = 150
TABS_AT_ONCE = 15

# Records what the page's policy refused, from the start.
WATCH = """
window.refused = [];
document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI, sample }) =>
  window.refused.push(`${violatedDirective} ${blockedURI} ${sample}`));
"""
# Resolves as soon as the condition is true. It is checked whenever the document changes.
UNTIL = """
const [condition, values, done] = [new Function("values", `return (${arguments[0]})`), arguments[1], arguments[2]];
const look = () => { const found = condition(values); if (found) { watcher.disconnect(); done(found); } return found; };
const watcher = new MutationObserver(look);
if (!look()) watcher.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
"""
JUDGE = """
const [rules, done] = arguments;
const options = { resultTypes: ["violations"], ...(rules.length && { runOnly: rules }) };
axe.run(options).then(done, (error) => done({ error: String(error) }));
"""
NAMED = """
[...document.querySelectorAll("a, button, input, textarea, select, summary")].filter((one) => {
  if (!one.checkVisibility()) return false;
  const name = one.getAttribute("aria-label") ?? one.labels?.[0]?.textContent ?? one.textContent;
  return name.trim() === values[0];
})[0]
"""
# Keys go to the element that has the focus at that moment. Once the wanted element gets the focus, it keeps it.
STAY = f"""
const values = [arguments[0]];
window.stay = (event) => event.key === "Tab" && document.activeElement === {NAMED} && event.preventDefault();
addEventListener("keydown", window.stay, true);
"""
STAYED = f"""
const values = [arguments[0]];
const stayed = document.activeElement === {NAMED};
if (stayed) removeEventListener("keydown", window.stay, true);
return stayed;
"""


def start() -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium-headless-shell"))
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(shutil.which("chromedriver"))))
    driver.set_script_timeout(PATIENCE_SECONDS)
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    return driver


def end(driver: webdriver.Chrome) -> None:
    """End the browser too: ChromeDriver kills only the script by which a distribution starts it."""
    with contextlib.suppress(WebDriverException):  # the answer, which the ending browser may not send
        driver.execute_cdp_cmd("Browser.close", {})
    driver.quit()


class BrowserPage:
    """The page at `url` in a browser. Every step waits until the elements it needs exist."""

    def __init__(self, driver: webdriver.Chrome, url: str) -> None:
        self.driver = driver
        self.url = url
        self.expected: list[str] = []  # parts of console errors that the test provokes

    async def open(self, view: str = "") -> None:
        """Open a view. Only the first call loads the page."""
        await self._do(self.driver.get, f"{self.url}/#/{view}")
        await self.until("document.querySelector('h1, dialog')")

    async def visit(self, path: str) -> None:
        """Open a separate page, not a view of the console."""
        await self._do(self.driver.get, f"{self.url}/{path}")

    async def load(self, view: str = "") -> None:
        """Reload the page."""
        await self._do(self.driver.get, "about:blank")
        await self.open(view)

    async def left(self) -> str:
        """Wait until the page has navigated to another host. Returns the address."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (url := await self._do(lambda: self.driver.current_url)).startswith(self.url):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        return str(url)

    async def script(self, source: str, *values: Any) -> Any:
        return await self._do(self.driver.execute_script, source, *values)

    async def wait_for(self, source: str, *values: Any) -> Any:
        """Run an asynchronous script. Returns what the script passes to its last argument."""
        return await self._do(self.driver.execute_async_script, source, *values)

    async def until(self, condition: str, *values: Any) -> Any:
        try:
            return await self._do(self.driver.execute_async_script, UNTIL, condition, values)
        except JavascriptException as error:
            raise AssertionError(f"{condition} {values}: {error.msg}") from error
        except Exception as error:
            told = f"not within {PATIENCE_SECONDS} s: {condition} {values}"
            raise AssertionError(f"{told}\n{await self.text()}") from error

    async def sees(self, text: str) -> None:
        await self.until("document.body.innerText.includes(values[0])", text)

    async def heads(self, title: str) -> None:
        """Wait until the view with that title is open and has the focus."""
        await self.until("document.title === `${values[0]} · bookgen`", title)

    async def misses(self, text: str) -> None:
        await self.until("!document.body.innerText.includes(values[0])", text)

    async def named(self, name: str) -> Any:
        """Wait for the link, button or field with that name."""
        return await self.until(NAMED, name)

    async def press(self, name: str) -> None:
        element = await self.until(f"(() => {{ const one = {NAMED}; return one && !one.disabled && one }})()", name)
        await self._do(element.click)

    async def fill(self, name: str, text: str) -> None:
        field = await self.named(name)
        await self._do(field.send_keys, Keys.CONTROL + "a", Keys.DELETE)
        await self._do(field.send_keys, text)

    async def value(self, name: str) -> str:
        return str(await self._do((await self.named(name)).get_property, "value"))

    async def text(self) -> str:
        return str(await self.script("return document.body.innerText"))

    async def keys(self, *keys: str) -> None:
        """Send keys to the focused element, also if the page replaces it in the meantime."""
        while True:
            with contextlib.suppress(StaleElementReferenceException):
                return await self._do(lambda: self.driver.switch_to.active_element.send_keys(*keys))

    async def tab_to(self, name: str) -> None:
        """Press Tab until the element with that name has the focus."""
        await self.named(name)
        await self.script(STAY, name)
        for _ in range(MAX_TABS // TABS_AT_ONCE):
            await self.keys(Keys.TAB * TABS_AT_ONCE)
            if await self.script(STAYED, name):
                return
        raise AssertionError(f"the keyboard does not get to {name!r}")

    async def look(self) -> None:
        """Make the page poll now, as if its tab had just become visible."""
        await self.script("document.dispatchEvent(new Event('visibilitychange'))")

    async def width(self, width: int, height: int = 900) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self._do(self.driver.execute_cdp_cmd, "Emulation.setDeviceMetricsOverride", metrics)

    async def touch(self, is_touch: bool) -> None:
        """As if fingers were used instead of a mouse."""
        emulated = {"enabled": is_touch, "maxTouchPoints": 5}
        await self._do(self.driver.execute_cdp_cmd, "Emulation.setTouchEmulationEnabled", emulated)

    async def scheme(self, scheme: str) -> None:
        chosen = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in chosen.items()]
        await self._do(self.driver.execute_cdp_cmd, "Emulation.setEmulatedMedia", {"features": features})

    async def offline(self, is_offline: bool) -> None:
        conditions = {"offline": is_offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        await self._do(self.driver.execute_cdp_cmd, "Network.enable", {})
        await self._do(self.driver.execute_cdp_cmd, "Network.emulateNetworkConditions", conditions)

    async def downloads_to(self, folder: Path) -> None:
        told = {"behavior": "allow", "downloadPath": str(folder)}
        await self._do(self.driver.execute_cdp_cmd, "Browser.setDownloadBehavior", told)

    async def picture(self, path: Path) -> None:
        shot = await self._do(self.driver.execute_cdp_cmd, "Page.captureScreenshot", {"captureBeyondViewport": True})
        path.write_bytes(base64.b64decode(shot["data"]))

    async def findings(self, *rules: str) -> list[str]:
        """The violations that axe finds in the current view, by all rules or only by `rules`."""
        if await self.script("return typeof axe === 'undefined'"):
            await self._do(self.driver.execute_script, AXE.read_text())
        told = await self._do(self.driver.execute_async_script, JUDGE, rules)
        assert "error" not in told, told
        return [f"{one['id']}: {node['html'][:160]}" for one in told["violations"] for node in one["nodes"]]

    async def complaints(self) -> list[str]:
        """Console errors and policy violations, except for those that the test provokes."""
        entries = await self._do(self.driver.get_log, "browser")
        told = [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]
        told += await self.script("return window.refused ?? []")
        return [one for one in told if not any(part in one for part in self.expected)]

    async def strangers(self) -> list[str]:
        """Requested addresses on other hosts."""
        events = await self._do(self.driver.get_log, "performance")
        asked = [urlsplit(url) for url in _asked(events)]
        own = urlsplit(self.url).netloc
        return [url.geturl() for url in asked if url.scheme in ("http", "https") and url.netloc != own]

    async def _do(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.to_thread(work, *arguments)


def _asked(events: list[dict[str, Any]]) -> Iterator[str]:
    for event in events:
        message = json.loads(event["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            yield message["params"]["request"]["url"]
