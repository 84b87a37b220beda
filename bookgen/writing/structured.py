"""Get JSON from a model. Formal mistakes are tolerated, but missing required content is not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from bookgen import threads
from bookgen.errors import UpstreamAIError
from bookgen.providers.text import Message, PromptTooLong, StopReason, TextReply, TextRequest
from bookgen.writing.printable import printable, without_thoughts
from bookgen.writing.refusal import raise_if_refused
from bookgen.writing.steps import Steps

T = TypeVar("T")

MAX_REPLY_CHARACTERS = 400_000  # a longer text is a loop
MAX_SHOWN_CHARACTERS = 60_000  # of a reply that the model is shown to repair it; every context window is larger
DEEPEST = 100  # nested objects and lists; Python's own limit depends on its version

_FENCE = re.compile(r"```[A-Za-z0-9]*[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)


TEXT: Mapping[str, Any] = {"type": "string"}


def object_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object with exactly these fields."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def list_of(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


class UnusableReply(UpstreamAIError):
    """The model did not answer in the requested form."""


class CutShort(UnusableReply):
    """The reply broke off before any part of it was complete."""


class StuckReply(UnusableReply):
    """The model copied the form it was shown, or repeated one passage endlessly. Asking again would not help."""


class Malformed(Exception):
    """The reply does not answer the request. The message says why; `advice` tells the model how to do better."""

    def __init__(self, problem: str, advice: str = "") -> None:
        super().__init__(problem)
        self.advice = advice


class Copied(Malformed):
    """The reply still contains placeholders of the form that the model was to fill in."""


async def ask(
    request: TextRequest,
    steps: Steps,
    read: Callable[[Mapping[str, Any]], T],
    check: Callable[[T], None] = lambda _: None,
    *,
    rescue: Callable[[Mapping[str, Any]], T] | None = None,
) -> T:
    """Ask for JSON and return what `read` makes of the reply.

    There are at most three calls: the request, a request to repair the reply, and the first request once more. A reply
    is unacceptable if `read` raises Malformed for it, or `check` for the result of `read`. `check` is not called for
    sample text of the offline model. `rescue` builds a result from the complete parts of a reply that broke off.

    Raises ModelRefused, and UnusableReply if no reply is acceptable. With `rescue`, two kinds of unacceptable first
    replies are not repaired, so that the caller can ask in another way. CutShort is raised if the reply broke off.
    StuckReply is raised if it copied the form or repeated one passage endlessly.
    """
    reply = await steps.reply(request)
    try:
        return await _read(reply, request, read, check, rescue)
    except Malformed as problem:
        if rescue is not None and reply.stop is StopReason.LENGTH:
            raise _unusable(CutShort, request, problem) from problem
        if rescue is not None and (isinstance(problem, Copied) or reply.stop is StopReason.LOOP):
            raise _unusable(StuckReply, request, problem) from problem
        repair = _repair(request, reply, problem)
    if repair:
        try:
            return await _read(await steps.reply(repair), repair, read, check, rescue)
        except (Malformed, PromptTooLong):
            pass
    reply = await steps.reply(request, attempt=1)
    try:
        return await _read(reply, request, read, check, rescue)
    except Malformed as problem:
        raise _unusable(UnusableReply, request, problem) from problem


def _unusable(kind: type[UnusableReply], request: TextRequest, problem: Malformed) -> UnusableReply:
    return kind(
        f"The model did not answer in the form that was asked for: {problem}. Try again; another model may do better.",
        stage=request.stage,
        chapter_number=request.chapter_number,
        retryable=True,
    )


REPAIR = """\
That reply cannot be used: {problem}

Send the whole object again, corrected and complete. Only the JSON object: no other words, no code fence."""


def _repair(request: TextRequest, reply: TextReply, problem: Malformed) -> TextRequest | None:
    """A request that shows the model its reply and the problem; None if the reply is empty or too long to show."""
    if not reply.text.strip() or len(reply.text) > MAX_SHOWN_CHARACTERS:
        return None
    again = REPAIR.format(problem="; ".join(filter(None, (str(problem), problem.advice))))
    room = request.max_tokens * 2 if reply.stop is StopReason.LENGTH else request.max_tokens
    messages = (*request.messages, Message("assistant", reply.text.strip()), Message("user", again))
    return replace(request, messages=messages, max_tokens=room)


async def _read(
    reply: TextReply,
    request: TextRequest,
    read: Callable[[Mapping[str, Any]], T],
    check: Callable[[T], None],
    rescue: Callable[[Mapping[str, Any]], T] | None,
) -> T:
    raise_if_refused(reply, request)
    try:
        if reply.stop is StopReason.LOOP:
            raise Malformed("it repeats one passage without end")
        found = read(await parse(reply.text, cut=reply.stop is StopReason.LENGTH))
    except Malformed as problem:
        if rescue is None or reply.stop not in (StopReason.LENGTH, StopReason.LOOP):
            raise
        try:
            found = rescue(await whole_parts(reply.text))
        except Malformed:
            raise problem from None
    if not reply.is_sample:
        check(found)
    return found


_WRAPPERS = frozenset({"response", "result", "data", "output", "json", "object", "answer", "reply", "outline", "book"})
_DECODER = json.JSONDecoder(strict=False)
TOO_DEEP = "its objects and lists are nested far too deep"
_STARTS = 12  # opening braces to try as the start of the object


async def parse(text: str, *, cut: bool = False) -> Mapping[str, Any]:
    """The JSON object in `text`, ignoring what surrounds it.

    Raises Malformed if there is no object or only the beginning of an object. `cut`: the text is known to have been cut
    off, so an object that would need mending is rejected too.
    """
    if len(text) > MAX_REPLY_CHARACTERS:
        raise Malformed("it is far too long")
    text = without_thoughts(text).strip().lstrip("\ufeff")
    if fenced := _FENCE.search(text):
        text = fenced[1].strip()
    value = _decoded(text)
    if value is None:
        value = await threads.compute(_mended, _whole_object(text, cut=cut))
    if _is_bottomless(value):
        raise Malformed(TOO_DEEP)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict) and len(value) == 1 and _WRAPPERS.issuperset(value):
        value = next(iter(value.values()))
    if not isinstance(value, dict) or not value:
        raise Malformed("it is not a JSON object")
    return value


async def whole_parts(text: str) -> Mapping[str, Any]:
    """The complete parts of an object that was cut off. Raises Malformed if there are none."""
    text = without_thoughts(text).rstrip()
    start = text.find("{")
    if start < 0 or len(text) > MAX_REPLY_CHARACTERS:
        raise Malformed("there is no JSON object in it")
    value = await threads.compute(_mended, text[start:])
    if _is_bottomless(value):
        raise Malformed(TOO_DEEP)
    value = value if text.endswith(("}", "]", "},", "],")) else _without_last(value)
    if not isinstance(value, dict) or not value:
        raise Malformed("nothing in it is complete")
    return value


def _without_last(value: Any) -> Any:
    """`value` without its last text or number, and without objects and lists that become empty by this."""
    if isinstance(value, dict) and value:
        key = next(reversed(value))
        kept = _without_last(value[key])
        rest = {name: each for name, each in value.items() if name != key}
        return {**rest, key: kept} if kept else rest
    if isinstance(value, list) and value:
        kept = _without_last(value[-1])
        return [*value[:-1], kept] if kept else value[:-1]
    return None


def _decoded(text: str) -> Any:
    """The first well-formed JSON object in the text; None if there is none or it may be inside a broken object."""
    starts = [match.start() for match in re.finditer(r"\{", text)][:_STARTS]
    for start in starts:
        try:
            value, _ = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        # Do not use an inner object of a broken outer one.
        return value if "[" not in text[starts[0] : start] else None
    return None


def _mended(text: str) -> Any:
    import json_repair  # loaded late: `app.serve` imports it after the start

    try:
        return json_repair.loads(text)
    except RecursionError:
        raise Malformed(TOO_DEEP) from None


def _is_bottomless(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for item in level if isinstance(item, dict | list) for inner in _inside(item)]
        if not level:
            return False
    return True


def _inside(item: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return item.values() if isinstance(item, dict) else item


def _whole_object(text: str, *, cut: bool) -> str:
    """The part of `text` from the first { to the last }. Raises Malformed if the object has no end."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0:
        raise Malformed("there is no JSON object in it")
    goes_on = text[end + 1 :].lstrip().startswith((",", ":", '"', "]"))
    if cut or goes_on or end < start or text.count("{") > text.count("}"):
        raise Malformed("it stops before its end", "keep the texts shorter so that it fits")
    return text[start : end + 1]


def text_of(record: Mapping[str, Any], key: str, *, where: str = "", longest: int = 2_000) -> str:
    """The text of a required field. Numbers and lists of sentences are converted to text.

    Raises Malformed if the text is missing; `where` names the record in the message. `longest`: the limit in
    characters.
    """
    value = record.get(key)
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        value = " ".join(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float) or not _line(str(value)):
        raise Malformed(f'{where or "it"} has no text under "{key}"')
    return _line(str(value))[:longest]


def texts_of(record: Mapping[str, Any], key: str, *, most: int, longest: int = 300) -> tuple[str, ...]:
    """The list of texts under `key`, at most `most` of them. The list may be empty.

    Raises Malformed if there is no list of texts. `longest`: the limit of each text in characters.
    """
    value = record.get(key)
    if isinstance(value, str):
        value = [value] if value.strip() else []
    if not isinstance(value, list):
        raise Malformed(f'"{key}" is not a list of texts')
    texts = [": ".join(map(str, item.values())) if isinstance(item, Mapping) else item for item in value]
    if not all(isinstance(item, str) for item in texts):
        raise Malformed(f'"{key}" holds something other than texts')
    return tuple(line[:longest] for item in texts if (line := _line(item)))[:most]


def number_of(value: object) -> int | None:
    """A whole number, even if a model sends it as text: 3 for 3, "3" and "Chapter 3". None without a number."""
    digits = "".join(filter(str.isdecimal, str(value)))[:6] if isinstance(value, int | str) else ""
    return int(digits) if digits and not isinstance(value, bool) else None


def name_of(value: object) -> str:
    """A name in the spelling of enum values: "Non-fiction" becomes "non_fiction". Empty if the value is not text."""
    return value.strip().lower().replace(" ", "_").replace("-", "_") if isinstance(value, str) else ""


def _line(text: str) -> str:
    return " ".join(printable(text).split())
