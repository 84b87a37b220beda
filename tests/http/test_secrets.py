"""What callers send stays out of the log: prompts, questions, payment bodies, tokens, links."""

import io

from bookgen.errors import UpstreamAIError
from bookgen.providers.offline import OfflineModel
from bookgen.providers.text import TextReply, TextRequest
from tests.canaries import CANARY
from tests.http.conftest import PREFIX, Api, OpenApi


async def test_writing_a_book_logs_none_of_its_text(log_lines: io.StringIO, api: Api) -> None:
    book = await api.written(title=CANARY, description=CANARY, style_notes=CANARY, author_name=CANARY)
    chapter = book["chapters"][0]["id"]
    await api.patch(f"/chapters/{chapter}/", {"content": CANARY})
    await api.post(f"/books/{book['id']}/regenerate-chapters/", {"chapter_ids": [chapter], "instructions": CANARY})
    await api.post(f"/chapters/{chapter}/regenerate/")
    await api.post("/chatbot/ask/", {"question": CANARY, "history": [{"role": "user", "content": CANARY}]})

    assert api.access is not None
    assert '"route":"/books/{id}/generate/"' in log_lines.getvalue()
    assert CANARY not in log_lines.getvalue()
    assert api.access not in log_lines.getvalue()
    assert api.access.rpartition(".")[2] not in log_lines.getvalue()


async def test_unauthenticated_input_does_not_reach_the_log(log_lines: io.StringIO, visitor: Api) -> None:
    await visitor.get(f"/{CANARY}/?{CANARY}={CANARY}", headers={"Cookie": f"bookgen_session={CANARY}"})
    await visitor.get("/books/", headers={"Authorization": f"Bearer {CANARY}"})
    await visitor.post("/webhooks/stripe/", {"id": CANARY}, headers={"Stripe-Signature": f"t=1,v1={CANARY}"})
    await visitor.post(f"/auth/magic-login/MQ/{CANARY}/")
    await visitor.post("/books/demo/", {"password": CANARY}, headers={"X-Request-Id": f"<{CANARY}>"})
    await visitor.raw(f"GET {PREFIX}/books/ HTTP/1.1\r\nAuthorization: Bearer {CANARY}\x01\r\n\r\n".encode())

    assert log_lines.getvalue().count("\n") >= 5
    assert CANARY not in log_lines.getvalue()


async def test_a_provider_failure_logs_no_prompt(log_lines: io.StringIO, open_api: OpenApi) -> None:
    class Failing(OfflineModel):
        async def complete(self, request: TextRequest) -> TextReply:
            raise UpstreamAIError("The model provider timed out.", stage=request.stage, retryable=False)

    api = await (await open_api(model=Failing())).as_new_account("ada")
    book = await api.book(description=CANARY)

    assert (await api.post(f"/books/{book['id']}/generate-outline/")).status == 502
    assert CANARY not in log_lines.getvalue()
