"""The contract, endpoint by endpoint, over real HTTP: written from its pages alone, against a separate service."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.canaries import CANARY, watch
from tests.fakes.google_server import GoogleServer
from tests.fakes.stripe_server import SECRET_KEY, WEBHOOK_SECRET, FakeStripe
from tests.http import forms
from tests.http.blackbox import BlackboxCaller, newest_letter
from tests.http.conftest import pause
from tests.http.spec_tables import ROWS
from tests.service import ServiceProcess, run

PASSWORD = f"Z{CANARY}"
RATES = {f"BOOKGEN_RATE_{name}": "1000000/minute" for name in ("READ", "WRITE", "EXPENSIVE", "PUBLIC", "AUTH")}
GOOGLE_TOKEN = f"ya29.{CANARY}"

PICTURE_BOOK = {"title": "Pip", "age_range": "3-5", "theme": "Night", "page_count": 8, "characters": ["Pip"]}


@pytest.fixture
async def google() -> AsyncIterator[GoogleServer]:
    google = GoogleServer()
    await google.start()
    google.grant(GOOGLE_TOKEN, sub="1", email="gil@example.com")
    yield google
    await google.close()


@pytest.fixture
async def visitor(tmp_path: Path, stripe: FakeStripe, google: GoogleServer) -> AsyncIterator[BlackboxCaller]:
    """A caller without an account, on a service with billing, an embedded database and the offline model."""
    settings = RATES | {
        "BOOKGEN_MODEL": "offline",
        "STRIPE_SECRET_KEY": SECRET_KEY,
        "STRIPE_WEBHOOK_SECRET": WEBHOOK_SECRET,
        "STRIPE_API_BASE": stripe.url,
        "BOOKGEN_GOOGLE_CLIENT_ID": "our-client-id",
        "BOOKGEN_GOOGLE_API_BASE": google.base.rstrip("/"),
    }
    async with ServiceProcess(tmp_path, **settings) as service, aiohttp.ClientSession() as http:
        yield BlackboxCaller(service, http)


async def registered(visitor: BlackboxCaller, name: str) -> BlackboxCaller:
    body = {"username": name, "email": f"{name}@example.com", "password": PASSWORD}
    answer = await visitor.call(
        "POST /auth/register/", 201, {"user": forms.NEW_USER, "tokens": forms.TOKENS, "message": str}, body=body
    )
    assert answer["user"].keys() == forms.NEW_USER.keys()
    return visitor.with_token(watch(answer["tokens"]["access"]))


async def test_every_endpoint_of_the_contract_answers_as_specified(
    visitor: BlackboxCaller, stripe: FakeStripe, tmp_path: Path
) -> None:
    ada = await registered(visitor, "ada")

    await read_what_is_public(visitor)
    await sign_in_and_out(visitor, ada, tmp_path)
    await buy(visitor, ada, stripe, tmp_path)
    book = await write_a_book(ada)
    await make_a_picture_book(ada)
    await export_it(ada, book)
    await produce_one(ada)
    await correct_its_facts(ada, book)
    await edit_its_chapters(ada, book)
    await settle_its_bible(ada, book)
    await have_it_proofread(ada, book)
    await have_it_illustrated(ada, book)
    await look_over_everything(ada, book, tmp_path)
    await ada.call("POST /auth/delete-account/", 200, forms.MESSAGE, body={"current_password": PASSWORD})
    await ada.refused("GET /books/", "TOKEN_INVALID")

    answered = {(method, path): (method, path, statuses[0]) in visitor.seen for method, path, _, statuses in ROWS}
    assert [row for row, seen in answered.items() if not seen] == []


async def read_what_is_public(visitor: BlackboxCaller) -> None:
    plans = await visitor.call("GET /auth/subscriptions/plans/", 200, [forms.PLAN])
    assert [plan["sort_order"] for plan in plans] == sorted(plan["sort_order"] for plan in plans)
    packages = await visitor.call("GET /auth/credits/packages/", 200, [forms.CREDIT_PACKAGE])
    assert [each["display_order"] for each in packages] == sorted(each["display_order"] for each in packages)
    assert all(round(each["price"] * 100) == each["price_cents"] for each in packages)
    await visitor.call("GET /auth/addons/available/", 200, [forms.ADDON])
    demo = await visitor.call("GET /books/demo/", 200, forms.BOOK)
    assert all(chapter["content"] for chapter in demo["chapters"])
    await visitor.call("GET /public-settings/", 200, forms.PUBLIC_SETTINGS)
    await visitor.call("POST /chatbot/ask/", 200, forms.ANSWER, body={"question": "How do I export a PDF?"})
    document = await visitor.call("GET /schema/", 200)
    assert document["openapi"].startswith("3.1.")
    assert {path for _, path, *_ in ROWS} <= document["paths"].keys()
    index = await visitor.call("GET /", 200, {"version": str, "schema": str, "docs": str, "errors": str})
    assert index["schema"].endswith("/api/v1/schema/")
    await visitor.call("GET /docs/", 200)
    await visitor.call("GET /docs/errors/", 200)


async def sign_in_and_out(visitor: BlackboxCaller, ada: BlackboxCaller, folder: Path) -> None:
    signed_in = {"user": forms.USER, "tokens": forms.TOKENS}
    for name in ({"email": "ada@example.com"}, {"username": "ada"}):
        tokens = (await visitor.call("POST /auth/login/", 200, signed_in, body={**name, "password": PASSWORD}))[
            "tokens"
        ]
    fresh = await visitor.call("POST /auth/token/refresh/", 200, forms.TOKENS, body={"refresh": tokens["refresh"]})
    assert fresh["refresh"] != tokens["refresh"]
    await visitor.call("POST /auth/token/refresh/", 200, body={"refresh": tokens["refresh"]})
    await visitor.call("POST /auth/google/", 200, signed_in, body={"access_token": GOOGLE_TOKEN})
    await visitor.call("POST /auth/logout/", 200, forms.MESSAGE)

    profile = await ada.call("GET /auth/profile/", 200, forms.USER)
    assert (profile["email_verified"], profile["subscription"]["plan"]["slug"]) == (False, "free")
    uid, token = await mailed(folder, "verify-email")
    await ada.call("GET /auth/verify-email/{uid}/{token}/", 200, forms.MESSAGE, uid=uid, token=token)
    assert (await ada.call("GET /auth/profile/", 200))["email_verified"] is True
    changed = await ada.call("PATCH /auth/profile/", 200, forms.MESSAGE, body={"first_name": "Ada"})
    assert changed["first_name"] == "Ada"
    assert not changed.keys() & {"email_verified", "is_staff", "is_superuser", "subscription"}

    moved = await ada.call("PATCH /auth/profile/", 200, forms.MESSAGE, body={"email": "ada@example.net"})
    assert moved["email"] == "ada@example.com"
    uid, token = await mailed(folder, "approve-email")
    await visitor.refused("POST /auth/approve-email/{uid}/{token}/", "AUTHENTICATION_REQUIRED", uid=uid, token=token)
    await ada.call("POST /auth/approve-email/{uid}/{token}/", 200, forms.MESSAGE, uid=uid, token=token)
    uid, token = await mailed(folder, "undo-email")
    await visitor.call("POST /auth/undo-email/{uid}/{token}/", 200, forms.MESSAGE, uid=uid, token=token)
    await ada.refused("GET /auth/profile/", "TOKEN_INVALID")
    again = {"email": "ada@example.com", "password": PASSWORD}
    ada.token = watch((await visitor.call("POST /auth/login/", 200, body=again))["tokens"]["access"])

    passwords = {"current_password": PASSWORD, "new_password": PASSWORD + "2"}
    await ada.call("POST /auth/change-password/", 200, forms.MESSAGE, body=passwords)
    await visitor.call("POST /auth/resend-verification/", 200, forms.MESSAGE, body={"email": "ada@example.com"})
    await visitor.call("POST /auth/forgot-password/", 200, forms.MESSAGE, body={"email": " ADA@example.com "})
    uid, token = await mailed(folder, "reset-password")
    reset = {"new_password": PASSWORD}
    await visitor.call("POST /auth/reset-password/{uid}/{token}/", 200, forms.MESSAGE, body=reset, uid=uid, token=token)
    await visitor.refused(
        "POST /auth/reset-password/{uid}/{token}/", "VALIDATION_ERROR", body=reset, uid=uid, token=token
    )
    await ada.refused("GET /auth/profile/", "TOKEN_INVALID")
    ada.token = watch((await visitor.call("POST /auth/login/", 200, body=again))["tokens"]["access"])


async def mailed(folder: Path, page: str) -> tuple[str, str]:
    """Wait for the newest letter with a link to the page. Returns the link."""
    async with asyncio.timeout(30):
        while True:
            try:
                uid, token = newest_letter(folder, page).split("/")[-3:-1]
            except IndexError:
                await asyncio.sleep(0.05)
            else:
                return uid, watch(token)


async def buy(visitor: BlackboxCaller, ada: BlackboxCaller, stripe: FakeStripe, folder: Path) -> None:
    assert (await ada.call("GET /auth/credits/balance/", 200, forms.CREDIT_BALANCE))["balance"] == 0
    guest = await visitor.call(
        "POST /auth/credits/guest-checkout/", 200, forms.CHECKOUT_SESSION, body={"package": "single"}
    )
    credits = await ada.call("POST /auth/credits/checkout/", 200, forms.CHECKOUT_SESSION, body={"package": "five-pack"})
    addon = {"addon": "automated-production", "billing_type": "per_use"}
    use = await ada.call("POST /auth/addons/checkout/", 200, forms.CHECKOUT_SESSION, body=addon)
    spreads = {"addon": "childrens-book", "billing_type": "monthly"}
    refused = await ada.refused("POST /books/childrens/", "PLAN_UPGRADE_REQUIRED", body=PICTURE_BOOK)
    assert refused["addon"] == "childrens-book"
    month = await ada.call("POST /auth/addons/checkout/", 200, forms.CHECKOUT_SESSION, body=spreads)
    plan = await ada.call("POST /auth/subscriptions/checkout/", 200, forms.CHECKOUT_SESSION, body={"plan": "pro"})
    assert (await ada.call("GET /auth/credits/balance/", 200))["balance"] == 0

    for session in (guest, credits, use, plan, month):
        stripe.pay(session["sessionId"])
    for event in stripe.events:
        payload, signature = stripe.delivery(event)
        answer = await visitor.send("POST", "/webhooks/stripe/", data=payload, headers={"Stripe-Signature": signature})
        visitor.seen.add(("POST", "/webhooks/stripe/", answer.status))

    wallet = await ada.call("GET /auth/credits/balance/", 200)
    assert (wallet["balance"], wallet["total_purchased"], wallet["total_used"]) == (5, 5, 0)
    rows = await ada.call("GET /auth/credits/transactions/", 200, [forms.CREDIT_TRANSACTION], query={"limit": "1000"})
    assert [(row["kind"], row["amount"], row["balance_after"]) for row in rows] == [("purchase", 5, 5)]
    assert await ada.call("GET /auth/addons/my_addons/", 200, [forms.USER_ADDON])
    current = await ada.call("GET /auth/subscriptions/current/", 200, forms.CURRENT_SUBSCRIPTION)
    assert (current["plan"]["slug"], current["limits"]["books_per_month"]) == ("pro", 20)
    await ada.call("GET /auth/subscriptions/usage/", 200, [forms.USAGE_PERIOD])
    options = await ada.call("GET /auth/subscriptions/book-creation-options/", 200, forms.CREATION_OPTIONS)
    assert (options["suggested_source"], options["subscription_remaining"]) == ("subscription", 20)
    assert await ada.call("GET /auth/subscriptions/payments/", 200, [forms.INVOICE])
    await ada.call("POST /auth/subscriptions/portal/", 200, {"url": forms.is_url})

    uid, token = await mailed(folder, "magic-login")
    signed_in = {"user": forms.USER, "tokens": forms.TOKENS}
    await visitor.call("POST /auth/magic-login/{uid}/{token}/", 200, signed_in, uid=uid, token=token)


async def write_a_book(ada: BlackboxCaller) -> int:
    told = {"title": "The Lamp", "description": f"Of {CANARY}.", "chapter_count": 3, "target_word_count": 600}
    draft = await ada.call("POST /books/", 201, forms.BOOK, body=told)
    book: int = draft["id"]
    assert (draft["status"], draft["chapters"], draft["generation_progress"]) == ("draft", [], None)
    assert (draft["trim_size"], draft["content_language"], draft["author_name"]) == ("6x9", "en", "Ada")
    await ada.refused("GET /books/{id}/generation-status/", "NOT_FOUND", id=book)
    await ada.refused("POST /books/{id}/generate/", "VALIDATION_ERROR", id=book)

    outlined = await ada.call("POST /books/{id}/generate-outline/", 200, forms.BOOK, id=book)
    assert (outlined["status"], len(outlined["chapters"])) == ("outline", 3)
    assert sum(chapter["target_word_count"] for chapter in outlined["chapters"]) == 600
    edit = {"chapters": [{"chapter_number": 1, "title": "The First Night"}]}
    edited = await ada.call("POST /books/{id}/update-outline/", 200, forms.BOOK, body=edit, id=book)
    assert edited["chapters"][0]["title"] == "The First Night"
    some = {"chapter_ids": [edited["chapters"][2]["id"]], "instructions": f"More {CANARY}."}
    await ada.call("POST /books/{id}/regenerate-chapters/", 200, forms.BOOK, body=some, id=book)
    await ada.call("PATCH /books/{id}/", 200, forms.BOOK, body={"genre": "Fable"}, id=book)

    started = await ada.call("POST /books/{id}/generate/", 202, forms.GENERATION_START, id=book)
    assert (started["book_id"], started["mode"]) == (book, "full")
    done = await until(ada, book, "completed")
    assert (done["task_id"], done["percentage"], done["completed_chapters"]) == (started["task_id"], 100, 3)
    assert all(item["has_content"] for item in done["outline"])
    assert (await ada.call("GET /books/{id}/", 200, forms.BOOK, id=book))["status"] == "completed"

    another = await ada.call("POST /books/{id}/duplicate/", 201, forms.BOOK, id=book)
    assert (another["status"], another["id"] != book) == ("draft", True)
    await ada.call("POST /books/{id}/generate/", 202, id=another["id"])
    for verb, reached in (("pause", "paused"), ("resume", "running"), ("stop", "stopped")):
        await steer(ada, another["id"], verb, reached)
    await ada.call("DELETE /books/{id}/", 204, id=another["id"])
    await ada.refused("GET /books/{id}/", "NOT_FOUND", id=another["id"])
    return book


async def until(caller: BlackboxCaller, book: int, reached: str) -> Any:
    async with asyncio.timeout(60):
        while True:
            status = await caller.call("GET /books/{id}/generation-status/", 200, forms.GENERATION_STATUS, id=book)
            if status["generation_status"] == reached:
                return status
            await asyncio.sleep(0.02)


async def make_a_picture_book(ada: BlackboxCaller) -> None:
    drafted = await ada.call("POST /books/childrens/", 201, forms.BOOK, body=PICTURE_BOOK)
    assert (drafted["status"], drafted["kind"], drafted["trim_size"]) == ("draft", "childrens", "8.5x8.5")
    assert len(drafted["chapters"]) == drafted["page_count"] / 2 == 4
    await ada.refused("POST /books/childrens/", "VALIDATION_ERROR", body=PICTURE_BOOK | {"page_count": 9})
    await ada.call("DELETE /books/{id}/", 204, id=drafted["id"])


async def steer(caller: BlackboxCaller, book: int, verb: str, reached: str) -> None:
    """The offline model is fast: start a new run if the last one has already finished."""
    row = f"POST /books/{{id}}/{verb}-generation/"
    for _ in range(100):
        answer = await caller.send("POST", f"/books/{book}/{verb}-generation/")
        if answer.status == 200:
            assert forms.misfits(answer.body, forms.STEERED) == []
            assert answer.body["generation_status"] == reached
            caller.seen.add(("POST", row.split(" ")[1], 200))
            return
        assert answer.status == 409
        await caller.call("POST /books/{id}/generate/", 202, id=book)
        if verb == "resume":
            await steer(caller, book, "pause", "paused")
    raise AssertionError(f"never {reached}")


SIGNATURES = {"export_pdf": b"%PDF-", "export_docx": b"PK", "export_epub": b"PK", "preview_pdf": b"%PDF-"}


async def export_it(ada: BlackboxCaller, book: int) -> None:
    formats = (await ada.call("GET /public-settings/", 200, forms.PUBLIC_SETTINGS))["export_formats"]
    kinds = {f"export_{each['value']}": each["content_type"] for each in formats}
    for action, content_type in {**kinds, "preview_pdf": "application/pdf"}.items():
        file = await ada.call(f"POST /books/{{id}}/{action}/", 200, body={"settings": {}}, id=book)
        assert file.headers["Content-Type"] == content_type
        assert re.match(r"attachment;.*filename\*=UTF-8''", file.headers["Content-Disposition"])
        assert file.headers["ETag"]
        assert file.raw.startswith(SIGNATURES.get(action, b""))
    preview = await ada.call("GET /books/{id}/preview-data/", 200, forms.PREVIEW_DATA, id=book)
    assert preview["page_count"] == len(preview["pages"])
    look = {"settings": {"font": "sans"}}
    images = await ada.call("POST /books/{id}/preview-data/", 200, forms.PREVIEW_DATA, body=look, id=book)
    assert all(page["html"].startswith("<img ") for page in images["pages"])
    assert {page["kind"] for page in preview["pages"]} <= {"title", "copyright", "toc", "chapter"}


async def produce_one(ada: BlackboxCaller) -> None:
    """Use the one purchased use of the add-on."""
    told = {"title": "The Buoy", "chapter_count": 1, "target_word_count": 200, "content_language": "de"}
    book = (await ada.call("POST /books/", 201, forms.BOOK, body=told))["id"]

    started = await ada.call("POST /books/{id}/produce/", 202, forms.GENERATION_START, id=book)
    assert (started["book_id"], started["mode"]) == (book, "automated")
    done = await until(ada, book, "completed")
    assert (done["task_id"], done["mode"], done["percentage"]) == (started["task_id"], "automated", 100)
    produced = await ada.call("GET /books/{id}/", 200, forms.BOOK, id=book)
    assert (produced["status"], len(produced["chapters"]), len(produced["covers"])) == ("completed", 1, 1)
    assert produced["cover_image_url"] == produced["covers"][0]["image_url"]
    owned = await ada.call("GET /auth/addons/my_addons/", 200, [forms.USER_ADDON])
    (addon,) = [each for each in owned if each["addon"]["slug"] == "automated-production"]
    assert (addon["uses_this_period"], addon["uses_remaining"], addon["has_uses_remaining"]) == (1, 0, False)
    await ada.refused("POST /books/{id}/produce/", "PLAN_UPGRADE_REQUIRED", id=book)
    await ada.call("DELETE /books/{id}/", 204, id=book)


async def edit_its_chapters(ada: BlackboxCaller, book: int) -> None:
    every = await ada.call("GET /chapters/", 200, [forms.CHAPTER])
    chapter = await ada.call("GET /chapters/{id}/", 200, forms.CHAPTER, id=every[0]["id"])
    assert chapter["content"]
    assert chapter["book"] == book
    one = chapter["id"]
    saved = await ada.call("PATCH /chapters/{id}/", 200, forms.CHAPTER, body={"content": f"My {CANARY}."}, id=one)
    assert saved["content"] == f"My {CANARY}."
    rewritten = await ada.call("POST /chapters/{id}/regenerate/", 200, forms.CHAPTER, id=one)
    assert rewritten["content"] != saved["content"]
    kept = await ada.call("GET /chapters/{id}/revisions/", 200, [forms.REVISION_LISTED], id=one)
    assert [each["created_at"] for each in kept] == sorted((each["created_at"] for each in kept), reverse=True)
    oldest = {"id": one, "revision_id": kept[-1]["id"]}
    revision = await ada.call("GET /chapters/{id}/revisions/{revision_id}/", 200, forms.REVISION, **oldest)
    assert revision["content"] == chapter["content"]
    restored = await ada.call("POST /chapters/{id}/revisions/{revision_id}/restore/", 200, forms.CHAPTER, **oldest)
    assert restored["content"] == chapter["content"]


async def correct_its_facts(ada: BlackboxCaller, book: int) -> None:
    fact = (await ada.call("GET /books/{id}/facts/", 200, [forms.FACT], id=book))[0]
    row, ids = "/books/{id}/facts/{fact_id}/", {"id": book, "fact_id": fact["id"]}
    changed = await ada.call(f"PATCH {row}", 200, forms.FACT, body={"value": f"As {CANARY} says."}, **ids)
    assert changed == await ada.call(f"GET {row}", 200, forms.FACT, **ids) == {**fact, "value": f"As {CANARY} says."}


async def settle_its_bible(ada: BlackboxCaller, book: int) -> None:
    bible = await ada.call("GET /books/{id}/bible/", 200, id=book)
    changed = await ada.call("PATCH /books/{id}/bible/", 200, body={"voice": f"As {CANARY} speaks."}, id=book)
    assert changed == {**bible, "voice": f"As {CANARY} speaks.", "authored": ["voice"]}


async def have_it_proofread(ada: BlackboxCaller, book: int) -> None:
    chapter = (await ada.call("GET /books/{id}/", 200, id=book))["chapters"][0]["id"]
    slips = f"The {CANARY} went to the the sea.\n\nHe said , no.\n\nShe read of of it."
    await ada.call("PATCH /chapters/{id}/", 200, body={"content": slips}, id=chapter)
    begun = await ada.call("POST /proofreading-reports/", 202, forms.REPORT, body={"book": book})
    report = begun["id"]
    async with asyncio.timeout(60):
        while begun["status"] != "completed":
            await pause()
            begun = await ada.call("GET /proofreading-reports/{id}/", 200, forms.REPORT, id=report)
    listed = await ada.call("GET /proofreading-reports/", 200, [forms.REPORT], query={"book": str(book)})
    assert [each["id"] for each in listed] == [report]

    suggestions = "/proofreading-reports/{id}/suggestions/"
    found = await ada.call(f"GET {suggestions}", 200, forms.SUGGESTIONS, query={"chapter": str(chapter)}, id=report)
    first, second, third = found["results"]
    assert slips[first["start"] : first["end"]] == first["original_text"] == "the the"
    one, other = ({"id": report, "suggestion_id": each["id"]} for each in (first, second))
    preview = await ada.call(f"GET {suggestions}{{suggestion_id}}/preview/", 200, forms.SUGGESTION_PREVIEW, **one)
    assert (preview["before"], preview["after"]) == ("the the", "the")
    applied = await ada.call(f"POST {suggestions}{{suggestion_id}}/apply/", 200, forms.SUGGESTION, **one)
    dismissed = await ada.call(f"POST {suggestions}{{suggestion_id}}/dismiss/", 200, forms.SUGGESTION, **other)
    assert (applied["status"], dismissed["status"]) == ("applied", "dismissed")
    rest = {"suggestion_ids": [third["id"]]}
    done = await ada.call("POST /proofreading-reports/{id}/apply/", 200, forms.APPLIED, body=rest, id=report)
    assert (done["applied"], done["stale"], done["chapters"]) == (1, 0, [chapter])
    mended = slips.replace("the the", "the").replace("said ,", "said,")
    assert (await ada.call("GET /chapters/{id}/", 200, id=chapter))["content"] == mended
    await ada.call("DELETE /proofreading-reports/{id}/", 204, id=report)
    await ada.refused("GET /proofreading-reports/{id}/", "NOT_FOUND", id=report)
    review = await ada.call("POST /books/{id}/review/", 202, forms.REPORT, id=book)
    async with asyncio.timeout(60):
        while review["status"] != "completed":
            await pause()
            review = await ada.call("GET /proofreading-reports/{id}/", 200, forms.REPORT, id=review["id"])
    assert review["kind"] == "review"


async def have_it_illustrated(ada: BlackboxCaller, book: int) -> None:
    made = await ada.call("POST /books/{id}/generate-cover/", 200, {"covers": [forms.COVER]}, body={}, id=book)
    assert len(made["covers"]) == 3
    chosen = made["covers"][1]
    selected = await ada.call(
        "POST /books/{id}/select-cover/", 200, forms.BOOK, body={"cover_id": chosen["id"]}, id=book
    )
    assert selected["cover_image_url"] == chosen["image_url"]
    assert [each["id"] for each in selected["covers"] if each["is_selected"]] == [chosen["id"]]

    declared = await ada.call("GET /books/{id}/declaration/", 200, forms.DECLARATION, id=book)
    assert declared["images"] == {"model": 0, "human": 0, "drawn": 1}

    chapter = selected["chapters"][0]["id"]
    told = {"caption": f"The {CANARY}."}
    drawn = await ada.call("POST /chapters/{id}/generate-image/", 200, forms.ILLUSTRATION, body=told, id=chapter)
    assert await ada.call("GET /chapters/{id}/illustrations/", 200, [forms.ILLUSTRATION], id=chapter) == [drawn]
    words = {"alt_text": "A lamp in a window."}
    changed = await ada.call("PATCH /illustrations/{id}/", 200, forms.ILLUSTRATION, body=words, id=drawn["id"])
    assert changed == drawn | words
    await ada.call("DELETE /illustrations/{id}/", 204, id=drawn["id"])
    assert await ada.call("GET /chapters/{id}/illustrations/", 200, id=chapter) == []


async def look_over_everything(ada: BlackboxCaller, book: int, folder: Path) -> None:
    listed = await ada.call("GET /books/", 200, [forms.BOOK_LISTED])
    assert [each["id"] for each in listed] == [book]
    assert not listed[0].keys() & {"chapters", "covers"}
    assert await ada.call("GET /books/dropdown/", 200, forms.DROPDOWN) == [{"id": book, "title": "The Lamp"}]
    stats = await ada.call("GET /stats/", 200, forms.STATS)
    assert (stats["books_total"], stats["chapters_written"]) == (1, 3)
    await ada.refused("GET /admin/overview/", "PERMISSION_DENIED")
    code, _, complaint = await run(folder, "account", "create", "zoe@example.com", "--password", PASSWORD, "--staff")
    assert code == 0, complaint
    zoe = {"email": "zoe@example.com", "password": PASSWORD}
    staff = (await ada.with_token(None).call("POST /auth/login/", 200, body=zoe))["tokens"]["access"]
    overview = await ada.with_token(staff).call("GET /admin/overview/", 200, forms.OVERVIEW)
    assert overview["books"]["total"] == 1
