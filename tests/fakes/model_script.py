"""What a model server is told to do, and what it notes of a call.

Settings (all calls): `length_factor` (a number, or [least, most] drawn by the prompt), `delay` (seconds before a
reply), `streams` (false: whole replies only), `chunk` (characters an event), `chunk_delay`, `slots` (calls answered at
once, as by llama.cpp; the others wait and hear nothing; 0: all), `models` (the names it lists), `usage` (false: none
is told), `window` (tokens of its
context; 0: endless), `window_as` ("ollama": reads that much of a prompt and drops the rest without a word; else one of
OVER_THE_WINDOW: refuses it in those words, and ends a reply where the window or what was asked for ends), `reasoning`
(text told as reasoning_content or thinking), `think_tags` (true: the reasoning stands in the text between <think>
tags), `reasoning_tokens` (told as a part of the output's), `commentary` (said in a message before the answer, by
Responses alone), `deltas` (false: Responses tell the text at the end alone), `protocols` (others answer 404),
`headers` (of each reply that streams), `rejects` (fields that answer 400), `reject_style` ("openai" names the field in
`param`, "plain" in the message alone, "pydantic" as FastAPI servers do with 422, or one of IN_REAL_WORDS).

A step of the script is one fault, used up by the first `times` (1) calls that match its `stage`, `chapter_number` and
`protocol` (absent: any). Without a match a call is answered well.

    status        status (500), retry_after (seconds, or "date:SECONDS" for an HTTP date), message, param, code
    hang          accepts and says nothing, not even headers, until released or left
    hold          as hang, but answers well once released
    drop          closes the connection without a word
    stall         headers and `after` (80) characters, then silence
    drip          one character each `interval` (0.2) seconds
    cut           closes the connection after `after` characters
    error_event   an error event after `after` characters, with `code` and `message`
    broken_event  an event whose data is not JSON after `after` characters
    refusal       refuses, with `text`
    filter        stopped by a content filter after `after` characters
    truncate      `fraction` (0.6) of the text, said to be cut by length
    stops         the whole text, said to end for `reason`, a protocol's own word
    truncate_flagged_end   the same, said to be finished
    empty         no text, finished
    huge          `size` (50 MB) of text
    no_usage      tells no usage
    html          200 with a web page instead of JSON or events
    text          exactly `text`
    echo          the whole prompt
    garbage       `kind`: one of GARBAGE, what models make of JSON
    wait          answers well after `seconds`
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
    """`reply`: the whole text that the server answers with, whatever of it arrives. `ended`: "" while the call runs,
    then "answered", or "left" if the caller closed the connection. `port`: the caller's, to tell connections apart.
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
