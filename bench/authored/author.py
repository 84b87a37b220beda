"""The author of a recorded book: answers each call with the recorded reply, and counts the calls by kind."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from bench.authored.compare import told
from bench.authored.corpus import AuthoredBook
from bookgen.providers.text import TextRequest
from bookgen.words import count_words
from tests.fakes.model_bodies import text_for
from tests.fakes.model_script import Call
from tests.fakes.model_server import ModelServer
from tests.fakes.model_wires import WireReply
from tests.writing.authored import as_request

MORE = "Here the bench adds line {} to chapter {}, which its author had ended."
REVISED = "put anew by the bench"  # repeated until it has as many words as the passage
_OURS = re.compile(r"Here the bench adds line \d+ to chapter \d+, which its author had ended\.")
WRITTEN = 0.2  # if the conversation has this share of a chapter's sentences, the call asks to continue it
MAX_SUMMARY_WORDS = 80


class RecordedAuthor:
    """Replies for one book.

    `calls` counts the calls by kind. `readings`: replies to readings of the whole book, by stage.
    """

    def __init__(self, book: AuthoredBook, readings: Mapping[str, str] | None = None) -> None:
        self.book = book
        self.readings = readings or {}
        self.calls: Counter[str] = Counter()
        self._more = 0

    def answer(self, request: TextRequest, brief: dict[str, Any], _number: int = 0) -> str | None:
        """The reply; None if the book has none for this call."""
        number = request.chapter_number or 0
        match request.stage:
            case "outline":
                self.calls["outline"] += 1
                return self.book.outline
            case "chapter" if number in self.book.replies:
                return self._chapter(number, request, brief)
            case "digest":
                self.calls["note"] += 1
                return self.book.notes.get(number) or self._note(number)
            case "revise":
                self.calls["revise"] += 1
                return _revised(count_words(str(brief.get("passage", ""))))
        self.calls[request.stage or "unknown"] += 1
        return self.readings.get(request.stage)

    def _chapter(self, number: int, request: TextRequest, brief: dict[str, Any]) -> str:
        """The whole chapter, or one extra line if the conversation already has it and the call asks to continue."""
        reply = self.book.replies[number]
        said = " ".join(" ".join(turn.text.split()) for turn in request.messages if turn.role == "assistant")
        own = told(self.book.text(number))
        if self.book.is_childrens or sum(each in said for each in own) < len(own) * WRITTEN:
            self.calls["chapter"] += 1
            return reply
        if brief.get("task") == "write" and brief.get("part") == 1:
            self.calls["again"] += 1
            return reply
        self.calls["more"] += 1
        self._more += 1
        return MORE.format(self._more, number)

    def _note(self, number: int) -> str:
        """A note for a book that was recorded without notes: the first words are the summary."""
        summary = " ".join(self.book.text(number).split()[:MAX_SUMMARY_WORDS])
        return json.dumps({"summary": summary, "facts": [], "threads_opened": [], "threads_closed": []})


def _revised(words: int) -> str:
    row = (REVISED.split() * (words // len(REVISED.split()) + 1))[: max(words, 1)]
    return f"{' '.join(row).capitalize()}."


def without_ours(text: str) -> str:
    """`text` without the extra lines that the author sent when asked to continue a finished chapter."""
    return _OURS.sub("", text)


class AuthorServer(ModelServer):
    """A fake Anthropic server that replies as the author.

    Calls without a recorded reply get one of the offline model.
    """

    author: RecordedAuthor

    async def _reply(self, call: Call, kind: str, options: dict[str, Any]) -> WireReply:
        text = self.author.answer(as_request(call), call.brief)
        if text is None:
            text = text_for(call, 1.0)
        return WireReply(text.rstrip("\n"), "end", str(call.body.get("model", "")), self._usage(call, text))
