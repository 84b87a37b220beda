"""Covers and illustrations over the API: created, selected, paid for, served, and included in every file."""

from __future__ import annotations

import asyncio
import io
import zipfile

import imagehash
import pikepdf
import pypdfium2
import pytest
from PIL import Image

from bookgen.providers.access import Access
from bookgen.providers.registry import ModelSettings, build_image_model
from bookgen.render import account_limits
from tests.fakes.image_server import ImageServer
from tests.http.conftest import Api, OpenApi

ROOT = "http://books.example"
WAITS = """
    SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')
"""


async def picture(api: Api, url: str, **headers: str):
    assert url.startswith(f"{ROOT}/media/")
    nobody = await api.as_nobody()
    return await nobody.call("GET", url.removeprefix(ROOT), prefix="", headers=headers)


def front_of(wrap: bytes) -> Image.Image:
    """The right half of a print cover, without its bleed."""
    sheet = pypdfium2.PdfDocument(wrap)[0].render().to_pil()
    return sheet.crop((sheet.width - 9 - 6 * 72, 9, sheet.width - 9, sheet.height - 9))


async def images_used(api: Api) -> int:
    return int((await api.get("/auth/subscriptions/usage/")).body[0]["ai_images_generated"])


@pytest.fixture
async def free(open_api: OpenApi) -> Api:
    return await (await open_api(billing="on")).as_new_account("ada")


async def test_three_variants_are_created_and_listed_and_count_as_three_images(api: Api) -> None:
    book = await api.book()

    made = (await api.post(f"/books/{book['id']}/generate-cover/", {})).body["covers"]

    shown = (await api.get(f"/books/{book['id']}/")).body
    assert len(made) == 3
    assert len({cover["style"] for cover in made}) == 3
    assert shown["covers"] == made
    assert shown["cover_image_url"] is None
    assert shown["usage"]["images"] == 3
    assert await images_used(api) == 3


async def test_a_cover_is_a_jpeg_of_1600_by_2560_with_a_thumbnail(api: Api) -> None:
    book = await api.book()
    (cover,) = (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})).body["covers"]

    with Image.open(io.BytesIO((await picture(api, cover["image_url"])).raw)) as image:
        assert (image.format, image.size) == ("JPEG", (1600, 2560))
    with Image.open(io.BytesIO((await picture(api, cover["thumbnail_url"])).raw)) as image:
        assert image.size == (400, 640)
    assert (cover["width"], cover["height"]) == (1600, 2560)


async def test_regenerating_content_moves_its_book_to_the_top_of_the_list(api: Api) -> None:
    book, other = await api.outlined(), await api.outlined()
    chapter = f"/chapters/{book['chapters'][0]['id']}"
    await api.patch(f"{chapter}/", {"content": "It was a cold morning."})

    for path, body in [
        (f"{chapter}/regenerate/", None),
        (f"/books/{book['id']}/generate-cover/", {"count": 1}),
        (f"{chapter}/generate-image/", {}),
    ]:
        await api.patch(f"/books/{other['id']}/", {"subtitle": path})
        assert (await api.post(path, body)).status == 200
        assert [each["id"] for each in (await api.get("/books/")).body] == [book["id"], other["id"]]


@pytest.mark.parametrize("path", ["/books/{book}/generate-cover/", "/chapters/{chapter}/generate-image/"])
async def test_concurrent_picture_and_chapter_requests_do_not_deadlock(api: Api, path: str) -> None:
    book = await api.outlined()
    path = path.format(book=book["id"], chapter=book["chapters"][0]["id"])
    await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})
    pool = api.services.database.http
    async with pool.acquire() as rewriting, rewriting.transaction():
        await rewriting.execute("SELECT FROM usage_period FOR UPDATE")  # which is locked when an edit is counted
        made = asyncio.create_task(api.post(path, {}))
        while not await pool.fetchval(WAITS):  # noqa: ASYNC110 (the signal is a row)
            await asyncio.sleep(0.01)
        await rewriting.execute("SELECT FROM book FOR NO KEY UPDATE NOWAIT")  # and then when the text is saved
        await rewriting.execute("SELECT FROM chapter FOR UPDATE NOWAIT")

    assert (await made).status == 200


async def test_a_paid_picture_waits_for_a_free_worker(open_api: OpenApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account_limits, "WAITING_SECONDS", 0.1)
    async with ImageServer() as server:
        images = build_image_model(
            "openai:gpt-image-2.5-flare", ModelSettings(access={"openai": Access("key", server.url)})
        )
        api = await (await open_api(images=images)).as_new_account("ada")
        monkeypatch.setattr(
            api.services.artwork._maker._pool, "_accounts", account_limits.AccountTurns(at_once=1, waiting=0)
        )
        book = await api.book()

        made = await api.post(f"/books/{book['id']}/generate-cover/", {"count": 2})

    assert (made.status, len(made.body["covers"])) == (200, 2)


async def test_a_picture_is_cacheable_forever_and_can_be_read_in_ranges(api: Api) -> None:
    book = await api.book()
    (cover,) = (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})).body["covers"]

    whole = await picture(api, cover["image_url"])
    tag = whole.headers["ETag"]
    known = await picture(api, cover["image_url"], **{"If-None-Match": tag})
    part = await picture(api, cover["image_url"], Range="bytes=10-19")
    tail = await picture(api, cover["image_url"], Range="bytes=-5")
    stale = await picture(api, cover["image_url"], **{"Range": "bytes=0-1", "If-Range": '"other"'})
    beyond = await picture(api, cover["image_url"], Range="bytes=99999999-")

    assert whole.headers["Content-Type"] == "image/jpeg"
    assert "immutable" in whole.headers["Cache-Control"]
    assert (known.status, known.raw) == (304, b"")
    assert (part.status, part.raw) == (206, whole.raw[10:20])
    assert part.headers["Content-Range"] == f"bytes 10-19/{len(whole.raw)}"
    assert (tail.status, tail.raw) == (206, whole.raw[-5:])
    assert (stale.status, stale.raw) == (200, whole.raw)
    assert beyond.status == 416


async def test_an_unknown_picture_address_is_a_404(api: Api) -> None:
    assert (await picture(api, f"{ROOT}/media/{'a' * 32}")).status == 404
    assert (await picture(api, f"{ROOT}/media/%27%20OR%201=1--")).status == 404
    assert (await picture(api, f"{ROOT}/media/a%00b")).status == 404
    known = {"If-None-Match": f'"{"a" * 32}"'}
    assert (await picture(api, f"{ROOT}/media/{'a' * 32}", **known)).status == 404


async def test_selecting_a_cover_replaces_the_previous_one(api: Api) -> None:
    book = await api.book()
    first, second = (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 2})).body["covers"]

    chosen = await api.post(f"/books/{book['id']}/select-cover/", {"cover_id": first["id"]})
    again = await api.post(f"/books/{book['id']}/select-cover/", {"cover_id": second["id"]})

    assert chosen.body["cover_image_url"] == first["image_url"]
    assert [cover["is_selected"] for cover in again.body["covers"]] == [False, True]
    assert (await api.get("/books/")).body[0]["cover_image_url"] == second["image_url"]


async def test_the_cover_of_another_book_is_refused_by_its_field(api: Api) -> None:
    book, other = await api.book(), await api.book()
    (cover,) = (await api.post(f"/books/{other['id']}/generate-cover/", {"count": 1})).body["covers"]

    refused = await api.post(f"/books/{book['id']}/select-cover/", {"cover_id": cover["id"]})

    assert (refused.status, refused.code) == (400, "VALIDATION_ERROR")
    assert "cover_id" in refused.body["error"]["details"]


async def test_covers_of_another_accounts_book_cannot_be_created_or_selected(api: Api) -> None:
    book = await api.book()
    eve = await api.as_new_account("eve")

    assert (await eve.post(f"/books/{book['id']}/generate-cover/", {})).status == 404
    assert (await eve.post(f"/books/{book['id']}/select-cover/", {"cover_id": 1})).status == 404
    assert (await api.get(f"/books/{book['id']}/")).body["covers"] == []


async def test_the_free_plan_creates_covers_until_its_images_are_used(free: Api) -> None:
    book = await free.book()
    assert (await free.post(f"/books/{book['id']}/generate-cover/", {"count": 3})).status == 200

    refused = await free.post(f"/books/{book['id']}/generate-cover/", {"count": 2})
    last = await free.post(f"/books/{book['id']}/generate-cover/", {"count": 1})

    details = refused.body["error"]["details"]
    assert (refused.status, refused.code) == (429, "QUOTA_EXCEEDED")
    assert (details["quota_type"], details["limit"], details["used"]) == ("ai_images", 4, 3)
    assert last.status == 200
    assert await images_used(free) == 4


async def test_images_held_by_another_request_are_not_granted_twice(free: Api) -> None:
    book, db = await free.book(), free.services.database.http
    period = await free.services.quota.period(db, free.account_id)
    await db.execute(
        "INSERT INTO image_hold VALUES (gen_random_uuid(), $1, 3, $2, $3, now() + interval '1 hour')",
        free.account_id, period.start, period.end,
    )  # fmt: skip

    refused = await free.post(f"/books/{book['id']}/generate-cover/", {"count": 2})
    await db.execute("UPDATE image_hold SET held_until = now() - interval '1 second'")
    made = await free.post(f"/books/{book['id']}/generate-cover/", {"count": 2})

    assert refused.status == 429
    assert made.status == 200
    assert await db.fetchval("SELECT count(*) FROM image_hold") == 0


async def test_chapter_images_are_a_402_on_the_free_plan(free: Api) -> None:
    book = await free.outlined()

    refused = await free.post(f"/chapters/{book['chapters'][0]['id']}/generate-image/", {})

    assert (refused.status, refused.code) == (402, "PLAN_UPGRADE_REQUIRED")
    assert refused.body["error"]["details"]["upgrade_url"].startswith(ROOT)


async def test_an_illustration_is_created_listed_changed_and_deleted_with_its_file(api: Api) -> None:
    book = await api.written()
    chapter = book["chapters"][0]["id"]

    made = (await api.post(f"/chapters/{chapter}/generate-image/", {"caption": "The pier"})).body
    listed = (await api.get(f"/chapters/{chapter}/illustrations/")).body
    changed = await api.patch(f"/illustrations/{made['id']}/", {"alt_text": "A pier in fog", "position": 0})
    shown = (await api.get(f"/books/{book['id']}/")).body["chapters"][0]["illustrations"]
    eve = await api.as_new_account("eve")
    address = f"/illustrations/{made['id']}/"
    strangers = [await eve.patch(address, {"caption": "x"}), await eve.delete(address)]
    deleted = await api.delete(f"/illustrations/{made['id']}/")

    assert made["alt_text"]
    assert (made["chapter"], made["caption"]) == (chapter, "The pier")
    assert listed == [made]
    assert (changed.body["alt_text"], changed.body["position"], changed.body["caption"]) == (
        "A pier in fog",
        0,
        "The pier",
    )
    assert shown == [changed.body]
    assert [reply.status for reply in strangers] == [404, 404]
    assert deleted.status == 204
    assert (await picture(api, made["image_url"])).status == 404
    assert (await api.get(f"/chapters/{chapter}/")).body["illustrations"] == []


async def test_an_empty_alt_text_is_refused(api: Api) -> None:
    book = await api.outlined()
    made = (await api.post(f"/chapters/{book['chapters'][0]['id']}/generate-image/", {})).body

    refused = await api.patch(f"/illustrations/{made['id']}/", {"alt_text": "  "})

    assert (refused.status, refused.code) == (400, "VALIDATION_ERROR")


async def test_deleting_a_book_deletes_its_pictures(api: Api) -> None:
    book = await api.outlined()
    (cover,) = (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})).body["covers"]
    made = (await api.post(f"/chapters/{book['chapters'][0]['id']}/generate-image/", {})).body

    await api.delete(f"/books/{book['id']}/")

    for url in (cover["image_url"], cover["thumbnail_url"], made["image_url"]):
        assert (await picture(api, url)).status == 404
    assert await api.services.database.http.fetchval("SELECT count(*) FROM media") == 0


async def test_removing_a_chapter_deletes_its_pictures(api: Api) -> None:
    book = await api.outlined()
    await api.post(f"/chapters/{book['chapters'][1]['id']}/generate-image/", {})

    kept = [{"id": book["chapters"][0]["id"]}]
    await api.post(f"/books/{book['id']}/update-outline/", {"chapters": kept, "replace": True})

    assert await api.services.database.http.fetchval("SELECT count(*) FROM media") == 0


async def test_cover_and_illustration_are_in_the_pdf_the_docx_and_the_epub(api: Api) -> None:
    book = await api.written()
    (cover,) = (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})).body["covers"]
    bare = {name: (await api.post(f"/books/{book['id']}/export_{name}/", {})).raw for name in ("pdf", "docx", "epub")}
    await api.post(f"/books/{book['id']}/select-cover/", {"cover_id": cover["id"]})
    made = (await api.post(f"/chapters/{book['chapters'][0]['id']}/generate-image/", {})).body
    jpeg = (await picture(api, cover["image_url"])).raw

    files = {name: (await api.post(f"/books/{book['id']}/export_{name}/", {})).raw for name in bare}
    without = {"include_cover": False, "include_illustrations": False}
    plain = (await api.post(f"/books/{book['id']}/export_epub/", {"settings": without})).raw

    epub = zipfile.ZipFile(io.BytesIO(files["epub"]))
    pages = "".join(epub.read(name).decode() for name in epub.namelist() if name.endswith(".xhtml"))
    assert jpeg in [epub.read(name) for name in epub.namelist() if name.endswith("cover.jpg")]
    assert f'alt="{made["alt_text"]}"' in pages
    docx = zipfile.ZipFile(io.BytesIO(files["docx"]))
    assert jpeg in [docx.read(name) for name in docx.namelist() if "media" in name]
    with pikepdf.open(io.BytesIO(files["pdf"])) as pdf:
        assert len(pdf.pages[0].get_images()) == 1
    assert b"cover.jpg" not in plain
    assert not [name for name in zipfile.ZipFile(io.BytesIO(plain)).namelist() if name.endswith(".jpg")]
    assert all(len(files[name]) > len(bare[name]) for name in bare)


async def test_the_preview_names_the_covers(api: Api) -> None:
    book = await api.written()
    made = (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 2})).body["covers"]
    chosen = (await api.post(f"/books/{book['id']}/select-cover/", {"cover_id": made[1]["id"]})).body

    preview = (await api.get(f"/books/{book['id']}/preview-data/")).body

    assert preview["cover_image_url"] == made[1]["image_url"]
    assert preview["covers"] == chosen["covers"]


async def test_a_style_that_names_a_design_is_followed(api: Api) -> None:
    book = await api.book()

    (cover,) = (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1, "style": "botanical"})).body[
        "covers"
    ]

    assert cover["style"] == "botanical"


async def test_a_cover_shows_the_requested_style_and_prompt(api: Api) -> None:
    book, asked = await api.book(), {"style": "Woodcut, two colours", "prompt": "a pier at dawn"}

    made = (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 2, **asked})).body["covers"]

    assert [(cover["style"], cover["prompt"]) for cover in made] == [(asked["style"], asked["prompt"])] * 2


async def test_further_covers_are_other_designs_than_the_first(api: Api) -> None:
    book = await api.book()

    styles = [
        cover["style"]
        for _ in range(2)
        for cover in (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 4})).body["covers"]
    ]

    assert len(set(styles)) == 8


@pytest.mark.parametrize("body", [{"count": 0}, {"count": 5}, {"count": "three"}, {"style": "x" * 201}])
async def test_a_wrong_request_is_a_400(api: Api, body: dict[str, object]) -> None:
    book = await api.book()

    assert (await api.post(f"/books/{book['id']}/generate-cover/", body)).status == 400


async def test_a_title_without_a_font_is_refused_with_the_reason_and_costs_nothing(api: Api) -> None:
    book = await api.book(title="A \U0001e2c0 sign")

    refused = await api.post(f"/books/{book['id']}/generate-cover/", {})

    assert (refused.status, refused.code) == (400, "VALIDATION_ERROR")
    assert await images_used(api) == 0
    assert await api.services.database.http.fetchval("SELECT count(*) FROM image_hold") == 0


async def test_the_print_cover_redraws_the_selected_cover_as_vectors(api: Api) -> None:
    book = await api.written()
    covers = (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 2})).body["covers"]
    settings = {"cover_wrap": True, "profile": "print"}

    wraps, selected = [], []
    for cover in covers:
        await api.post(f"/books/{book['id']}/select-cover/", {"cover_id": cover["id"]})
        wraps.append((await api.post(f"/books/{book['id']}/export_pdf/", {"settings": settings})).raw)
        with Image.open(io.BytesIO((await picture(api, cover["image_url"])).raw)) as image:
            selected.append(imagehash.phash(image))

    for number, wrap in enumerate(wraps):
        with pikepdf.open(io.BytesIO(wrap)) as pdf:
            assert list(pdf.pages[0].get_images()) == []
        front = imagehash.phash(front_of(wrap))
        assert front - selected[number] < front - selected[1 - number]


async def test_a_copy_of_a_book_has_its_own_covers_and_pictures_and_costs_no_image(api: Api) -> None:
    book = await api.outlined()
    chapter = book["chapters"][0]["id"]
    first, second = (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 2})).body["covers"]
    await api.post(f"/books/{book['id']}/select-cover/", {"cover_id": second["id"]})
    picture_of_it = (await api.post(f"/chapters/{chapter}/generate-image/", {"caption": "The quay"})).body
    used = await images_used(api)

    copy = (await api.post(f"/books/{book['id']}/duplicate/")).body
    before = {url: (await picture(api, url)).raw for url in (second["image_url"], picture_of_it["image_url"])}
    await api.delete(f"/books/{book['id']}/")

    covers, (shown,) = copy["covers"], copy["chapters"][0]["illustrations"]
    assert [(each["style"], each["is_selected"]) for each in covers] == [
        (first["style"], False),
        (second["style"], True),
    ]
    assert copy["cover_image_url"] == covers[1]["image_url"]
    assert (shown["caption"], shown["alt_text"]) == ("The quay", picture_of_it["alt_text"])
    assert [(await picture(api, url)).raw for url in (covers[1]["image_url"], shown["image_url"])] == list(
        before.values()
    )
    assert await images_used(api) == used
