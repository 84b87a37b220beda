"""How each fault of a provider should end, for every profile."""

from __future__ import annotations

from dataclasses import dataclass

from bookgen.errors import UpstreamAIError
from bookgen.providers.access import Access
from bookgen.providers.attempt import Provider
from bookgen.providers.deadlines import Deadlines
from bookgen.providers.openai import OpenAIProvider
from bookgen.providers.text import StopReason
from tests.fakes.model_script import ScriptedFault, fault
from tests.fakes.model_server import ModelServer
from tests.providers.calls import PROVIDERS, QUICK, chapter_request, steady

TRIES = 3


@dataclass(frozen=True)
class Documented:
    """`ends`: the stop reason of the reply, or "denied" or "away" for an error. `calls`: HTTP calls until then."""

    step: ScriptedFault
    ends: str
    calls: int
    waits: float = 0.0


def _passing(*steps: ScriptedFault) -> list[Documented]:
    return [Documented(step, StopReason.END, 2) for step in steps]


FAULTS = [
    *_passing(*(fault("status", status=status) for status in (408, 409, 500, 502, 503, 504, 529))),
    *_passing(fault("hang"), fault("stall"), fault("drip", interval=0.15), fault("drop")),
    *_passing(fault("cut"), fault("cut", after=0), fault("error_event"), fault("broken_event")),
    *_passing(fault("empty"), fault("html")),
    Documented(fault("huge", size=18 << 20), StopReason.LOOP, 1),
    Documented(fault("status", status=500, times=9), "away", TRIES),
    Documented(fault("drop", times=9), "away", TRIES),
    Documented(fault("status", status=429, retry_after=1), StopReason.END, 2, waits=1),
    Documented(fault("status", status=429, retry_after="date:3"), StopReason.END, 2, waits=1.5),
    *(Documented(fault("status", status=status), "denied", 1) for status in (400, 401, 402, 403, 413)),
    Documented(fault("refusal"), StopReason.REFUSAL, 1),
    Documented(fault("filter"), StopReason.REFUSAL, 1),
    Documented(fault("status", status=400, code="content_filter", message="content_filter"), StopReason.REFUSAL, 1),
    Documented(fault("text", text="I'm sorry, but I can't help with that."), StopReason.REFUSAL, 1),
    Documented(fault("truncate"), StopReason.LENGTH, 1),
    Documented(fault("no_usage"), StopReason.END, 1),
]


def thinking(server: ModelServer, deadlines: Deadlines | None = None) -> Provider:
    """A local server whose thinking is part of the text."""
    server.configure(reasoning="First the harbour, then the bell.", think_tags=True)
    return OpenAIProvider("local", Access(url=server.url), deadlines=deadlines)


def bare(server: ModelServer, deadlines: Deadlines | None = None) -> Provider:
    """A local server that reports no usage and sends few characters at a time."""
    server.configure(usage=False, chunk=40)
    return OpenAIProvider("local", Access(url=server.url), deadlines=deadlines)


PROFILES = {**PROVIDERS, "chat, thinking aloud": thinking, "chat, no usage": bare}


@dataclass(frozen=True)
class FaultOutcome:
    ends: str
    text: str
    calls: int
    waited: float

    def as_said(self, documented: Documented) -> bool:
        return (self.ends, self.calls) == (documented.ends, documented.calls) and self.waited >= documented.waits


async def outcome(profile: str, documented: Documented) -> FaultOutcome:
    async with ModelServer() as server:
        server.script(documented.step)
        timed = documented.step.kind in ("hang", "stall", "drip")
        model = steady(PROFILES[profile](server, QUICK if timed else None), tries=TRIES)
        text = ""
        try:
            reply = await model.complete(chapter_request())
            ends, text = str(reply.stop), reply.text
        except UpstreamAIError as error:
            ends = "away" if error.retryable else "denied"
        finally:
            await model.close()
        first, last = server.arrivals[0], server.arrivals[-1]
        return FaultOutcome(ends, text, len(server.requests), last - first)
