import re

import pytest
from yarl import URL

from bookgen import __version__
from bookgen.errors import catalogue
from bookgen.models import LANGUAGES
from bookgen.render.formats import FORMATS
from bookgen.render.trim import TRIMS
from bookgen.store.postgres.space import SHORTAGE
from tests.http.conftest import PREFIX, Api, OpenApi


async def test_the_demo_book_is_complete_and_worth_reading(visitor: Api) -> None:
    book = (await visitor.get("/books/demo/")).body

    assert len(book["chapters"]) == book["chapters_count"] == 3
    assert all(700 <= chapter["word_count"] <= 900 for chapter in book["chapters"])
    assert book["word_count"] == sum(chapter["word_count"] for chapter in book["chapters"])
    assert book["status"] == "completed"


async def test_the_demo_book_has_the_schema_of_a_book(api: Api) -> None:
    mine = await api.outlined()
    demo = (await api.get("/books/demo/")).body

    assert demo.keys() == mine.keys()
    assert demo["chapters"][0].keys() == mine["chapters"][0].keys()


async def test_the_statistics_add_up(api: Api) -> None:
    written, _ = await api.written(), await api.outlined()
    assert (await api.post(f"/books/{written['id']}/export_docx/", {"settings": {}})).status == 200

    stats = (await api.get("/stats/")).body

    assert (
        stats
        | {
            "books_total": 2,
            "books_by_status": {"completed": 1, "outline": 1},
            "chapters_total": 4,
            "chapters_written": 2,
            "words_total": written["word_count"],
            "words_this_period": written["word_count"],
            "exports_total": 1,
            "images_total": 0,
        }
        == stats
    )
    assert [book["id"] for book in stats["recent_books"]][-1] == written["id"]


async def test_statistics_list_the_five_most_recent_books(api: Api) -> None:
    for number in range(6):
        await api.book(title=f"Book {number}")

    recent = (await api.get("/stats/")).body["recent_books"]

    assert [book["title"] for book in recent] == [f"Book {number}" for number in (5, 4, 3, 2, 1)]
    assert "chapters" not in recent[0]


async def test_public_settings_list_all_allowed_values(visitor: Api) -> None:
    settings = (await visitor.get("/public-settings/")).body

    assert [size["value"] for size in settings["trim_sizes"]] == list(TRIMS)
    assert settings["trim_sizes"][3] == {
        "value": "6x9", "label": "6 × 9 in (trade paperback)", "width_mm": 152.4, "height_mm": 228.6,
    }  # fmt: skip
    assert [one["value"] for one in settings["export_formats"]] == list(FORMATS)
    assert {one["value"] for one in settings["export_formats"] if "cover_wrap" in one["settings"]} == {"pdf"}
    assert len(settings["languages"]) == len(LANGUAGES) >= 36
    assert settings["models"] == ["offline"]
    assert settings["google_client_id"] is None
    assert settings["billing_enabled"] is False
    assert settings["features"]["payments"] is False


async def test_public_settings_say_whether_something_can_be_bought(shop: Api, open_api: OpenApi) -> None:
    unpaid = await open_api(billing="on")
    selling = [(await api.get("/public-settings/")).body["features"] for api in (shop, unpaid)]

    assert [(features["billing"], features["payments"]) for features in selling] == [(True, True), (True, False)]


async def test_the_assistant_answers_from_public_documents(visitor: Api) -> None:
    reply = await visitor.post("/chatbot/ask/", {"question": "How do I export an EPUB?"})

    assert reply.status == 200
    assert reply.body["answer"]
    for source in reply.body["sources"]:
        path, _, anchor = source["url"].removeprefix("http://books.example").partition("#")
        page = await visitor.get(path, prefix="")
        assert page.status == 200
        assert f'id="{anchor}"'.encode() in page.raw


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"question": ""},
        {"question": "x" * 2001},
        {"question": "a", "history": [{"role": "system", "content": "b"}]},
        {"question": "a", "history": [{"role": "user", "content": "b"}] * 11},
    ],
)
async def test_a_question_has_a_maximum_length(visitor: Api, body: dict[str, object]) -> None:
    assert (await visitor.post("/chatbot/ask/", body)).status == 400


async def test_the_api_docs_load_nothing_from_another_host(visitor: Api) -> None:
    page = await visitor.get("/docs/")

    links = re.findall(r'(?:src|href)="([^"]+)"', page.raw.decode())
    assert page.status == 200
    assert "default-src 'none'; script-src 'self'" in page.headers["Content-Security-Policy"]
    for link in links:
        assert link.startswith(("/docs-assets/", "data:"))
        if link.startswith("/"):
            asset = await visitor.get(link, prefix="")
            assert (asset.status, asset.headers["X-API-Version"]) == (200, "v1")


@pytest.mark.parametrize("name", ["passwd", "..%2Ferrors.html", "errors.html", "LICENSE"])
async def test_only_known_assets_are_served(visitor: Api, name: str) -> None:
    assert (await visitor.get(f"/docs-assets/{name}", prefix="")).status == 404


@pytest.mark.parametrize("name", ["nothing", "..%2F..%2Fetc%2Fpasswd", "API", "pages.png"])
async def test_only_documents_of_the_service_are_shown_as_pages(visitor: Api, name: str) -> None:
    assert (await visitor.get(f"/docs/{name}/")).status == 404


async def test_the_catalogue_has_an_anchor_for_every_code(visitor: Api) -> None:
    page = (await visitor.get("/docs/errors/")).raw.decode()

    assert all(f'id="{entry.code}"' in page for entry in catalogue())
    assert "`" not in page


async def test_the_links_of_the_openapi_overview_lead_to_pages(visitor: Api) -> None:
    overview = (await visitor.get("/schema/")).body["info"]["description"]

    links = re.findall(r"\]\(([^)]+)\)", overview)
    assert links
    for link in links:
        assert (await visitor.get(link, prefix="")).status == 200


async def test_documentation_urls_lead_to_the_catalogue(visitor: Api) -> None:
    url = (await visitor.get("/nowhere/")).body["error"]["documentation_url"]

    path, _, anchor = url.removeprefix("http://books.example").partition("#")
    assert f'id="{anchor}"'.encode() in (await visitor.get(path, prefix="")).raw


async def test_llms_txt_links_to_the_guide_for_agents(visitor: Api) -> None:
    text = (await visitor.get("/llms.txt", prefix="")).raw.decode()

    for url in re.findall(r"\((http://books\.example[^)]+)\)", text):
        assert (await visitor.get(url.removeprefix("http://books.example"), prefix="")).status == 200


async def test_the_guide_for_agents_names_existing_endpoints_only(visitor: Api) -> None:
    guide = (await visitor.get("/docs/agents/")).raw.decode()
    document = (await visitor.get("/schema/")).body["paths"]

    named = re.findall(r"(GET|POST|PATCH) +http://books\.example/api/v1(/\S+)", guide)
    assert len(named) >= 10
    for method, path in named:
        assert method.lower() in document[path]


async def test_the_process_reports_that_it_is_alive_and_ready(visitor: Api) -> None:
    assert (await visitor.get("/healthz", prefix="")).body == {"status": "ok", "version": __version__}
    assert (await visitor.get("/readyz", prefix="")).body == {"status": "ready"}


async def test_on_an_almost_full_disk_the_service_reports_read_only(open_api: OpenApi) -> None:
    visitor = await open_api(least_free=1 << 60)

    assert (await visitor.get("/readyz", prefix="")).body == {"status": "read-only", "message": SHORTAGE}


async def test_without_its_database_the_service_is_alive_but_not_ready(visitor: Api) -> None:
    await visitor.services.database.http.close()

    assert (await visitor.get("/healthz", prefix="")).status == 200
    unready = await visitor.get("/readyz", prefix="")
    assert (unready.status, unready.code) == (503, "SERVICE_UNAVAILABLE")
    assert int(unready.headers["Retry-After"]) > 0


async def test_metrics_need_loopback_or_a_token(open_api: OpenApi) -> None:
    visitor = await open_api(metrics_token="let-me-see")

    local = await visitor.get("/metrics", prefix="")
    proxied = [
        await visitor.get("/metrics", prefix="", headers={name: "127.0.0.1"})
        for name in (
            "X-Forwarded-For",
            "forwarded",
            "Via",
            "X-Real-IP",
            "X-Forwarded-Server",
            "CF-Connecting-IP",
            "True-Client-IP",
            "X-Client-IP",
            "X-Original-Host",
            "X-Envoy-External-Address",
        )
    ]
    wrong = [
        await visitor.get("/metrics", prefix="", headers={"X-Forwarded-For": "1.1.1.1", "Authorization": given})
        for given in ("Bearer wrong", "let-me-see")
    ]
    token = await visitor.get(
        "/metrics", prefix="", headers={"X-Forwarded-For": "1.1.1.1", "Authorization": "Bearer let-me-see"}
    )

    assert local.status == token.status == 200
    assert b"bookgen_http_requests_total" in local.raw
    assert {(reply.status, reply.code) for reply in (*proxied, *wrong)} == {(404, "NOT_FOUND")}
    no_text = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Real-IP: 1.1.1.1\r\nAuthorization: Bearer \xff\r\n\r\n"
    assert (await visitor.raw(no_text)).startswith(b"HTTP/1.1 404")


async def test_metrics_are_refused_to_a_proxy_that_adds_no_header(open_api: OpenApi) -> None:
    """By default nginx speaks HTTP/1.0 to its upstream; other proxies pass the outer host on."""
    visitor = await open_api(public_url="https://books.example.org")
    behind = await open_api(trusted_proxies="127.0.0.0/8")

    passed_on = await visitor.get("/metrics", prefix="", headers={"Host": "books.example.org"})
    by_nginx = await visitor.raw(b"GET /metrics HTTP/1.0\r\nHost: 127.0.0.1:8000\r\nConnection: close\r\n\r\n")
    by_the_trusted_one = await behind.get("/metrics", prefix="")

    assert (passed_on.status, by_the_trusted_one.status) == (404, 404)
    assert b" 404 " in by_nginx.partition(b"\r\n")[0]


async def test_metrics_contain_route_templates_without_ids_or_tokens(visitor: Api) -> None:
    await visitor.get("/auth/verify-email/MQ/canary-77/")
    await visitor.get("/canary-77/")

    text = (await visitor.get("/metrics", prefix="")).raw.decode()

    assert "canary-77" not in text
    assert 'route="/auth/verify-email/{uid}/{token}/"' in text


@pytest.mark.parametrize("name", ["api", "configure", "install", "models", "operate", "payments"])
async def test_the_links_between_documents_work(visitor: Api, name: str) -> None:
    page = URL(f"{PREFIX}/docs/{name}/")
    text = (await visitor.get(str(page), prefix="")).raw.decode()

    for link in re.findall(r'href="([^"#:]+)["#]', text):
        assert (await visitor.get(page.join(URL(link)).path, prefix="")).status == 200, link


async def test_behind_a_proxy_with_a_path_prefix_every_link_has_the_prefix(open_api: OpenApi) -> None:
    visitor = await open_api(public_url="https://example.org/books")

    page = (await visitor.get("/docs/")).raw.decode()
    document = (await visitor.get("/schema/")).body

    assert set(re.findall(r'(?:src|href)="(/[^/"]+)', page)) == {"/books"}
    assert document["servers"][0]["url"] == "/books/api/v1"
    assert set(re.findall(r"\]\((/[^/)]+)", document["info"]["description"])) == {"/books"}
    assert (await visitor.get("/books")).headers["Location"] == "/books/api/v1/books/"
