"""Signing in on Google's page, which redirects back with a token in the URL's fragment."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.fakes.google_server import GoogleServer
from tests.http.conftest import Api, OpenApi
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import OpenPage
from tests.http.console.test_session import SPOILT


@pytest.fixture
async def google() -> AsyncIterator[GoogleServer]:
    google = GoogleServer()
    await google.start()
    yield google
    await google.close()


@pytest.fixture
async def page(open_api: OpenApi, open_page: OpenPage, google: GoogleServer) -> BrowserPage:
    api: Api = await open_api(google_client_id="our-client-id", google_api_base=google.base)
    return await open_page(api)


async def sent_to_google(page: BrowserPage, view: str = "signin") -> dict[str, list[str]]:
    """The parameters that the page sends to Google."""
    page.expected.append("accounts.google.com")
    await page.open(view)
    await page.press("Sign in with Google")
    address = urlsplit(await page.left())
    assert {urlsplit(url).hostname for url in await page.strangers()} == {"accounts.google.com"}
    return parse_qs(address.query)


async def test_returning_from_google_signs_the_user_in(page: BrowserPage, google: GoogleServer) -> None:
    google.grant("its-token", sub="1", email="ada.l@gmail.com", given_name="Ada")
    asked = await sent_to_google(page)
    assert asked["client_id"] == ["our-client-id"]
    assert asked["redirect_uri"] == [f"{page.url}/"]

    await page.visit(f"#access_token=its-token&state={asked['state'][0]}")

    await page.named("Account")
    assert "its-token" not in await page.script("return location.href")


async def test_an_unrequested_token_signs_nobody_in(page: BrowserPage, google: GoogleServer) -> None:
    google.grant("another's", sub="2", email="mallory@gmail.com")
    await sent_to_google(page)

    await page.visit("#access_token=another's&state=made-up")

    await page.until("document.querySelector('h1')")
    assert await page.script("return sessionStorage.getItem('bookgen:session')") is None


async def test_a_sign_in_refused_by_the_service_is_reported_in_the_sign_in_view(page: BrowserPage) -> None:
    page.expected.append("401")
    asked = await sent_to_google(page)

    await page.visit(f"#access_token=nobody's&state={asked['state'][0]}")

    await page.until("document.querySelector('[role=alert]')")
    await page.named("E-mail address or username")
    await page.press("Create an account")
    assert "nobody's" not in await page.script("return location.href")


async def test_a_user_who_cancels_at_google_can_sign_in_another_way(page: BrowserPage) -> None:
    asked = await sent_to_google(page)

    await page.visit(f"#error=access_denied&state={asked['state'][0]}")

    await page.named("E-mail address or username")


async def test_after_the_session_expires_a_sign_in_by_google_returns_to_the_same_view(
    page: BrowserPage, google: GoogleServer
) -> None:
    page.expected.append("401")
    google.grant("its-token", sub="1", email="ada.l@gmail.com", given_name="Ada")
    asked = await sent_to_google(page)
    await page.visit(f"#access_token=its-token&state={asked['state'][0]}")
    await page.until("location.hash === '#/'")  # the view after a successful sign-in
    await page.open("new")
    await page.fill("Title", "The Salt Road")
    await page.script(SPOILT)
    await page.load("new")
    await page.sees("Your session has expired")

    asked = await sent_to_google(page, "new")
    await page.visit(f"#access_token=its-token&state={asked['state'][0]}")

    await page.misses("Your session has expired")
    await page.named("Create book")
    assert await page.value("Title") == "The Salt Road"
    assert await page.script("return location.hash") == "#/new"


async def test_a_sign_in_refused_by_google_is_reported_above_the_view(page: BrowserPage, google: GoogleServer) -> None:
    page.expected.append("401")
    google.grant("its-token", sub="1", email="ada.l@gmail.com", given_name="Ada")
    asked = await sent_to_google(page)
    await page.visit(f"#access_token=its-token&state={asked['state'][0]}")
    await page.named("Account")
    await page.script(SPOILT)
    await page.load("account")

    asked = await sent_to_google(page, "account")
    await page.visit(f"#access_token=nobody's&state={asked['state'][0]}")

    await page.until("document.querySelector('dialog [role=alert]')")
    await page.named("Sign in with Google")
