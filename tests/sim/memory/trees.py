"""PostgreSQL's node trees, as its catalogs show them: `{VAR :varno 1 :varattno 2 …}`."""

from __future__ import annotations

import re
from typing import Any

TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[(){}]|(?:[^\s(){}"\\]|\\.)+', re.DOTALL)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
NUMBER = re.compile(r"-?\d+$")


class TreeNode:
    """A node of a tree: `kind`, such as VAR, and its fields by their names."""

    __slots__ = ("fields", "kind")

    def __init__(self, kind: str, fields: dict[str, Any]) -> None:
        self.kind = kind
        self.fields = fields

    def __getattr__(self, name: str) -> Any:
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(f"{self.kind} has no {name}") from None

    def __repr__(self) -> str:
        return f"{self.kind}{self.fields}"


def parse(text: str) -> Any:
    """The tree of `text`: nodes, lists, numbers, strings, bools; None for `<>`."""
    return _TreeReader(TOKENS.findall(text)).value()


class _TreeReader:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def value(self) -> Any:
        token = self._next()
        if token == "{":
            return self._node()
        if token == "(":
            return self._list()
        if token[0] == '"':
            return ESCAPED.sub(r"\1", token[1:-1])
        if token == "<>":
            return None
        if token in ("true", "false"):
            return token == "true"
        return int(token) if NUMBER.match(token) else ESCAPED.sub(r"\1", token)

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]

    def _node(self) -> TreeNode:
        kind, fields = self._next(), {}
        while (name := self._next()) != "}":
            fields[name[1:]] = self.value()
            if self._tokens[self._at] == "[":  # the bytes of a constant, after their number
                end = self._tokens.index("]", self._at)
                fields[name[1:]] = bytes(int(each) & 255 for each in self._tokens[self._at + 1 : end])
                self._at = end + 1
        return TreeNode(kind, fields)

    def _list(self) -> list[Any]:
        found = []
        if self._tokens[self._at] in ("i", "o", "b", "x"):  # integers, object ids, a set, transactions
            self._at += 1
        while self._tokens[self._at] != ")":
            found.append(self.value())
        self._at += 1
        return found


def walk(tree: Any) -> Any:
    """Every node of the tree, from the top."""
    if isinstance(tree, TreeNode):
        yield tree
        for each in tree.fields.values():
            yield from walk(each)
    elif isinstance(tree, list):
        for each in tree:
            yield from walk(each)
