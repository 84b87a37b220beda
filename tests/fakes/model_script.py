"""The settings and the script of a fake model server, and what it records of a call.

Settings, which apply to all calls:

    length_factor     a number, or [min, max] from which the prompt's hash chooses
    delay             seconds before a reply
    streams           false: whole replies only
    chunk             characters per event
    chunk_delay       seconds between events
    usage             false: none is sent
    slots             concurrent calls, as in llama.cpp; the others wait without a response; 0: no limit
    models            the names that it lists
    window            tokens of its context; 0: no limit
    window_as         "ollama": silently drops the rest of a prompt that is too long; or a key of OVER_THE_WINDOW:
                      refuses it in those words, and ends a reply at the end of the window or at the requested length
    reasoning         text sent as reasoning_content or thinking
    think_tags        true: the reasoning is in the text, between <think> tags
    reasoning_tokens  reported as part of the output tokens
    commentary        sent in a message before the answer, only by Responses
    deltas            false: Responses send the text only at the end
    headers           of each streamed reply
    protocols         all others return 404
    rejects           fields that are answered with 400
    reject_style      "openai" names the field in `param`, "plain" only in the message, "pydantic" like FastAPI servers
                      with 422; or a key of IN_REAL_WORDS

A step of the script is one fault. It is used up by the first `times` (default 1) calls that match its `stage`,
`chapter_number` and `protocol` (absent: any). A call without a matching step gets a good reply.

    status        status (500), retry_after (seconds, or "date:SECONDS" for an HTTP date), message, param, code
    hang          accepts the call and sends nothing, not even headers, until released or disconnected
    hold          like hang, but sends a good reply once released, or when `until`.wait() returns
    drop          closes the connection without a response
    stall         headers and `after` (80) characters, then nothing
    drip          one character every `interval` (0.2) seconds
    cut           closes the connection after `after` characters
    error_event   an error event after `after` characters, with `code` and `message`
    broken_event  an event whose data is not JSON after `after` characters
    refusal       a refusal with `text`
    filter        stopped by a content filter after `after` characters
    truncate      `fraction` (0.6) of the text, reported as cut by length
    stops         the whole text, with the stop reason `reason` in the protocol's own words
    truncate_flagged_end   like truncate, but reported as finished
    empty         no text, reported as finished
    huge          `size` (50 MB) of text
    no_usage      sends no usage
    html          200 with a web page instead of JSON or events
    text          exactly `text`
    echo          the whole prompt
    garbage       malformed JSON; `kind` is a key of GARBAGE
    wait          sends a good reply after `seconds`
"""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass
class ScriptedFault:
    kind: str
    times: int = 1
    stage: str | None = None
    chapter_number: int | None = None
    protocol: str | None = None
    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    def matches(self, call: Call) -> bool:
        return (
            self.stage in (None, call.stage)
            and self.chapter_number in (None, call.brief.get("chapter_number"))
            and self.protocol in (None, call.protocol)
        )


def fault(kind: str, /, **fields: Any) -> ScriptedFault:
    named = {key: fields.pop(key) for key in ("times", "stage", "chapter_number", "protocol") if key in fields}
    return ScriptedFault(kind, options=fields, **named)


@dataclasses.dataclass
class Settings:
    length_factor: float | list[float] = 1.0
    delay: float = 0.0
    chunk: int = 400
    chunk_delay: float = 0.0
    usage: bool = True
    streams: bool = True
    slots: int = 0
    models: list[str] = dataclasses.field(default_factory=lambda: ["scripted"])
    window: int = 0
    window_as: str = "ollama"
    reasoning: str = ""
    think_tags: bool = False
    reasoning_tokens: int = 0
    commentary: str = ""
    deltas: bool = True
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    protocols: list[str] = dataclasses.field(default_factory=lambda: ["anthropic", "responses", "chat"])
    rejects: list[str] = dataclasses.field(default_factory=list)
    reject_style: str = "openai"


@dataclasses.dataclass
class Call:
    """A recorded call.

    `reply`: the complete text of the reply, even if only a part of it arrives. `ended`: "" while the call runs, then
    "answered", or "left" if the client closed the connection. `port`: the client's, which identifies the connection.
    """

    number: int
    protocol: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    stage: str
    brief: dict[str, Any]
    fault: str = ""
    reply: str = ""
    ended: str = ""
    port: int = 0
