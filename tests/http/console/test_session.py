"""Sign-in, expired sessions, and restarts of the service: nothing is lost, and no reload is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from bookgen.http.console.static import assets
from bookgen.store.database import Database
from tests.http.conftest import PASSWORD, Api, OpenApi
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import OpenPage, sign_in
from tests.http.console.test_focus import COMES
from tests.http.console.test_letters import mailed
from tests.ports import free_port
from tests.service import ServiceProcess

SPOILT = """
const session = JSON.parse(sessionStorage.getItem("bookgen:session"));
session.tokens.access = session.tokens.access.slice(0, -3) + "xyz";
sessionStorage.setItem("bookgen:session", JSON.stringify(session));
"""
# Starts a GET, and signs in as another account before the response arrives. Returns the title in the response, and the
# title remembered for the new account.
ANSWERED_TOO_LATE = """
const [folder, path, username, password, done] = arguments;
(async () => {
  const { get, post, remembered } = await import(`${folder}/api.js`);
  const session = await import(`${folder}/session.js`);
  const other = await post("/auth/login/", { username, password });
  const send = window.fetch;
  let arrive;
  window.fetch = async (url, asked) => {
    const reply = await send(url, asked);
    if (url.endsWith(path)) await new Promise((resolve) => (arrive = resolve));
    return reply;
  };
  const answer = get(path);
  while (!arrive) await new Promise((resolve) => setTimeout(resolve, 10));
  session.signOut();
  session.signIn(other, false);
  arrive();
  const { data } = await answer;
  window.fetch = send;
  done([data.title, remembered(path)?.title ?? null]);
})();
"""


async def test_an_expired_session_is_renewed_without_leaving_the_view(page: BrowserPage, visitor: Api) -> None:
    page.expected.append("401")
    account = await sign_in(page, visitor)
    book = await account.outlined(title="The Salt Road")
    await page.script(SPOILT)

    await page.load(f"books/{book['id']}/outline")
    await page.sees("Your session has expired")
    await page.fill("Password for ada", PASSWORD)
    await page.keys(Keys.ENTER)

    await page.sees("Write the chapters")
    await page.misses("Your session has expired")


async def test_a_user_without_a_password_can_set_one_and_continue(
    open_page: OpenPage, open_api: OpenApi, database: Database, tmp_path: Path
) -> None:
    visitor = await open_api(site={"sends_mail": True})
    page = await open_page(visitor)
    page.expected.append("401")
    await sign_in(page, visitor)
    await page.open("new")
    await page.fill("Title", "The Salt Road")
    await page.script(SPOILT)
    await page.load("new")
    await page.sees("“Sign out” discards the new book that you started to describe.")

    await page.press("Send a link to ada@example.com")
    await page.sees("Follow the link to set a password")
    link = await mailed(database, tmp_path, "reset-password", "ada@example.com")
    reply = await visitor.post(f"/auth/{link}", {"new_password": "correct horse 9"})
    assert reply.status == 200
    await page.fill("Password for ada", "correct horse 9")
    await page.keys(Keys.ENTER)

    await page.misses("Your session has expired")
    await page.named("Create book")
    assert await page.value("Title") == "The Salt Road"


async def test_a_typed_password_can_be_shown(page: BrowserPage, visitor: Api) -> None:
    await visitor.as_new_account("ada")
    await page.open("signin")
    await page.fill("E-mail address or username", "ada")
    await page.fill("Password", PASSWORD)

    await page.press("Show password")
    await page.until("document.querySelector('[name=password]').type === 'text'")
    await page.press("Show password")
    await page.until("document.querySelector('[name=password]').type === 'password'")

    await page.script("document.querySelector('form button.primary').click()")
    await page.named("Account")


async def test_sign_in_is_the_current_page_only_while_its_form_is_shown(page: BrowserPage) -> None:
    await page.open("signin")
    await page.until("document.querySelector('.bar [aria-current]')?.innerText === 'Sign in'")

    await page.press("Create an account")

    await page.until("!document.querySelector('.bar [aria-current]')")


async def test_a_wrong_password_is_reported_and_the_typed_text_stays(page: BrowserPage, visitor: Api) -> None:
    page.expected.append("401")
    await visitor.as_new_account("ada")
    await page.open("signin")
    await page.fill("E-mail address or username", "ada")
    await page.fill("Password", "wrong horse")
    await page.keys(Keys.ENTER)

    await page.until("document.querySelector('[role=alert]')")

    assert await page.value("E-mail address or username") == "ada"


@pytest.mark.parametrize("name", ["@ada", "ada@example.com"])
async def test_a_user_can_sign_in_by_username_or_address(page: BrowserPage, visitor: Api, name: str) -> None:
    form = {"username": "@ada", "email": "ada@example.com", "password": PASSWORD}
    assert (await visitor.post("/auth/register/", form)).status == 201
    await page.open("signin")
    await page.fill("E-mail address or username", name)
    await page.fill("Password", PASSWORD)
    await page.keys(Keys.ENTER)

    await page.named("Account")


async def test_tokens_are_kept_only_in_the_tab_unless_the_user_chooses_otherwise(
    page: BrowserPage, visitor: Api
) -> None:
    await sign_in(page, visitor)

    assert await page.script("return localStorage.getItem('bookgen:session')") is None
    assert await page.script("return document.cookie") == ""
    assert await page.script("return Object.values(globalThis).filter((one) => /eyJ/.test(one)).length") == 0


async def test_signing_out_leaves_no_token_behind(page: BrowserPage, visitor: Api) -> None:
    await sign_in(page, visitor)

    await page.open("account")
    await page.press("Sign out")

    await page.sees("Turn an idea into a book")
    kept = await page.script("return JSON.stringify([{ ...localStorage }, { ...sessionStorage }])")
    assert "eyJ" not in kept


@pytest.mark.parametrize("form", ["new", "picture"])
async def test_signing_out_removes_the_typed_idea(page: BrowserPage, visitor: Api, form: str) -> None:
    await sign_in(page, visitor)
    await page.open(form)
    await page.fill("Title", "My secret")

    await page.open("account")
    await page.press("Sign out")
    await page.sees("This discards the new book that you started to describe.")
    await page.press("Cancel")
    await page.press("Sign out")
    await page.press("Discard and sign out")
    await page.sees("Turn an idea into a book")

    await page.open(form)
    await page.named("Create an account to continue")
    assert await page.value("Title") == ""


async def test_deleting_an_account_needs_its_password(page: BrowserPage, visitor: Api) -> None:
    account = await sign_in(page, visitor)
    page.expected.append("400")
    await page.open("account")

    await page.fill("Your password", "a guess at it")
    await page.press("Delete my account")
    await page.sees("This is not your current password.")
    await page.fill("Your password", PASSWORD)
    await page.press("Delete my account")

    await page.sees("Turn an idea into a book")
    assert (await account.get("/auth/profile/")).status == 401


@pytest.mark.parametrize("form", ["new", "picture"])
async def test_the_typed_idea_is_still_there_after_registration(page: BrowserPage, form: str) -> None:
    await page.open(form)
    await page.fill("Title", "The Salt Road")
    await page.press("Create an account to continue")
    for field, text in (("Username", "ada"), ("E-mail address", "ada@example.com"), ("Password", PASSWORD)):
        await page.fill(field, text)
    await page.keys(Keys.ENTER)

    await page.named("Create book")
    assert await page.script("return location.hash") == f"#/{form}"
    assert await page.value("Title") == "The Salt Road"


async def test_the_registration_view_links_to_the_sign_in_view(page: BrowserPage) -> None:
    await page.open("signin/new")
    await page.sees("Create an account")

    await page.press("Sign in")

    await page.named("E-mail address or username")


WAITING_LETTERS = "SELECT count(*) FROM mail WHERE purpose = 'verify-email'"


async def test_an_unverified_user_sees_the_address_and_gets_another_email(
    open_api: OpenApi, open_page: OpenPage, database: Database
) -> None:
    page = await open_page(await open_api(email_verification="mandatory", site={"sends_mail": True}))
    await page.open("signin/new")
    for field, text in (("Username", "ada"), ("E-mail address", "ada@exmaple.com"), ("Password", PASSWORD)):
        await page.fill(field, text)
    await page.keys(Keys.ENTER)

    await page.sees("We sent it to ada@exmaple.com.")
    await page.sees("No e-mail?")
    await page.press("Send the verification e-mail again")
    await page.sees("a link is on its way")
    assert await database.http.fetchval(WAITING_LETTERS) == 2
    await page.open("signin")
    await page.press("Send it again")
    await page.fill("E-mail address of your account", "ada@exmaple.com")
    await page.keys(Keys.ENTER)
    await page.sees("a link is on its way")
    assert await database.http.fetchval(WAITING_LETTERS) == 3


@pytest.mark.parametrize("sends", [True, False])
async def test_the_account_view_offers_another_verification_email_if_the_service_sends_any(
    open_api: OpenApi, open_page: OpenPage, database: Database, sends: bool
) -> None:
    api = await open_api(site={"sends_mail": sends})
    page = await open_page(api)
    await sign_in(page, api)
    await page.open("account")
    await page.named("E-mail address")

    if sends:
        await page.press("Send the verification e-mail again")
        await page.sees("a link is on its way")
    else:
        await page.misses("This address is not verified yet.")

    assert await database.http.fetchval(WAITING_LETTERS) == 1 + sends


async def test_a_late_response_for_another_account_is_discarded(page: BrowserPage, visitor: Api) -> None:
    ada = await sign_in(page, visitor)
    await visitor.as_new_account("bea")
    path = f"/books/{(await ada.book())['id']}/"

    kept = await page.wait_for(ANSWERED_TOO_LATE, f"/console/{assets().version}", path, "bea", PASSWORD)

    assert kept == ["A Book", None]


async def test_a_form_marks_the_invalid_field(page: BrowserPage, visitor: Api) -> None:
    page.expected.append("400")
    await visitor.as_new_account("ada")
    await page.open("signin/new")
    for field, text in (("Username", "ada"), ("E-mail address", "eve@example.com"), ("Password", "correct horse 8")):
        await page.fill(field, text)
    await page.keys(Keys.ENTER)

    await page.wait_for(COMES, "document.activeElement.matches('input[name=username][aria-invalid]')")
    [told] = await page.script("return [...document.querySelectorAll('.wrong')].map((one) => one.innerText)")
    assert (await page.text()).count(told) == 1
    await page.keys("2")
    await page.misses(told)
    await page.misses("Correct the marked fields.")


async def test_no_reset_link_is_offered_without_a_mail_server(page: BrowserPage, visitor: Api) -> None:
    asked = await visitor.post("/auth/forgot-password/", {"email": "ada@example.com"})
    await page.open("signin")
    await page.press("Forgot password?")

    await page.sees("This service cannot send e-mail. Ask its operator")
    assert "on its way" not in asked.body["message"]


async def test_a_restart_of_the_service_needs_no_reload_of_the_page(chromium: Any, tmp_path: Path) -> None:
    port = free_port()
    page = BrowserPage(chromium, f"http://127.0.0.1:{port}")
    await page.offline(False)
    async with ServiceProcess(tmp_path, BOOKGEN_PORT=port) as service:
        await page.load("signin/new")
        for field, text in (("Username", "ada"), ("E-mail address", "ada@example.com"), ("Password", PASSWORD)):
            await page.fill(field, text)
        await page.keys(Keys.ENTER)
        await page.sees("Create a book")
        await page.script("window.same = true")

        await service.kill()
        await page.fill("Title", "The Salt Road")
        await page.press("Create book")
        await page.sees("The service can’t be reached.")
        await service.start()

        await page.misses("can’t be reached")
        assert await page.value("Title") == "The Salt Road"
        await page.press("Create book")
        await page.sees("Generate outline")
        assert await page.script("return window.same")
    await page.script("localStorage.clear(); sessionStorage.clear()")
    await page.complaints()
