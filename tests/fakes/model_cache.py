"""The prompt caches of providers: Anthropic's marked prefixes, OpenAI's longest common prefix."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

MIN_CACHED_TOKENS = 1024
OPENAI_STEP = 128


def tokens(text: str) -> int:
    """Tokens as the fake servers count them: one per four characters, and at least 1 for a text."""
    return -(-len(text) // 4)


class PrefixCache:
    def __init__(self) -> None:
        self._marked: set[str] = set()
        self._prompts: dict[str, list[str]] = {}

    def anthropic(self, model: str, blocks: Sequence[tuple[str, bool]]) -> tuple[int, int]:
        """(tokens written, tokens read) for a prompt: its text blocks, each with whether it ends a marked prefix."""
        digest, size, read, last = hashlib.sha256(model.encode()), 0, 0, 0
        for text, marked in blocks:
            digest.update(f"{len(text)}:{text}".encode())
            size += tokens(text)
            if not marked or size < MIN_CACHED_TOKENS:
                continue
            last = size
            if digest.hexdigest() in self._marked:
                read = size
            self._marked.add(digest.hexdigest())
        return last - read, read

    def openai(self, model: str, prompt: str) -> int:
        """Tokens read: the longest prefix shared with an earlier prompt, in steps of 128."""
        earlier = self._prompts.setdefault(model, [])
        shared = max((_common(prompt, one) for one in earlier), default=0) // 4 // OPENAI_STEP * OPENAI_STEP
        earlier.append(prompt)
        del earlier[:-64]
        return shared if shared >= MIN_CACHED_TOKENS else 0


def _common(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def anthropic_blocks(body: dict[str, Any]) -> list[tuple[str, bool]]:
    system = body.get("system") or []
    given = [{"text": system}] if isinstance(system, str) else list(system)
    for message in body.get("messages", []):
        content = message["content"]
        given += [{"text": content}] if isinstance(content, str) else content
    return [(block.get("text", ""), bool(block.get("cache_control"))) for block in given]
