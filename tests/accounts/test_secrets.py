"""Secrets of the account endpoints stay out of the log."""

from __future__ import annotations

import io

from tests.accounts.door import Door, OpenDoor
from tests.canaries import CANARY
from tests.fakes.google_server import GoogleServer


async def visit_every_door(door: Door) -> set[str]:
    """Make every call with its own secrets, valid and invalid. Returns the secrets."""
    password, wrong = f"{CANARY}-password", f"{CANARY}-wrong"
    browser = {"X-Browser-Fingerprint": f"{CANARY}-browser"}
    body = await door.register("ada", password=password, headers=browser)
    access, refresh = body["tokens"]["access"], body["tokens"]["refresh"]
    for attempt in (password, wrong):
        await door.post("/auth/login/", {"username": "ada", "password": attempt})
    await door.post("/auth/login/", {"username": [wrong], "password": {wrong: wrong}})
    for token in (refresh, access, f"{CANARY}-token"):
        await door.post("/auth/token/refresh/", {"refresh": token})
        await door.call("GET", "/auth/profile/", token=token)
        await door.call("GET", "/auth/profile/", headers={"Cookie": f"bookgen_session={token}"})
    verify = await door.link("verify-email")
    await door.post("/auth/forgot-password/", {"email": "ada@example.com"})
    reset = await door.link("reset-password")
    for link in (verify, reset):
        async with door.client.get(link.removeprefix("/auth")) as page:
            assert page.status == 200
        async with door.client.get(link.removesuffix("/")) as lost:
            assert lost.status == 404
    await door.call("GET", verify)
    for _ in range(2):
        await door.post(reset, {"new_password": password})
    await door.call("DELETE", reset)
    await door.post("/auth/google/", {"access_token": f"{CANARY}-google"})
    await door.post("/auth/change-password/", {"current_password": wrong, "new_password": password}, token=access)
    return {CANARY, access, refresh, verify.split("/")[-2], reset.split("/")[-2]}


async def test_no_password_and_no_token_or_link_is_logged(
    open_door: OpenDoor, google: GoogleServer, log_lines: io.StringIO
) -> None:
    google.grant(f"{CANARY}-google", sub="1", email="ada@example.com")
    door = await open_door(google_api_base=google.base)

    secrets = await visit_every_door(door)

    lines = log_lines.getvalue()
    assert lines.count('"route":"/auth/login/"') == 3
    assert [secret for secret in secrets if secret in lines] == []


async def test_an_unexpected_error_logs_no_secret(open_door: OpenDoor, log_lines: io.StringIO) -> None:
    door = await open_door()
    await door.register("ada")
    await door.database.http.execute("ALTER TABLE account RENAME COLUMN password_hash TO lost")

    status, _ = await door.post("/auth/login/", {"username": "ada", "password": f"{CANARY}-password"})
    status, _ = await door.post(
        "/auth/register/", {"username": "bea", "email": "bea@example.com", "password": f"{CANARY}-password"}
    )

    assert status == 500
    assert "request_failed" in log_lines.getvalue()
    assert CANARY not in log_lines.getvalue()
