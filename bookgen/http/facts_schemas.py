"""Schemas of the facts of a story."""

from __future__ import annotations

from typing import Any

from marshmallow import Schema, fields

from bookgen.http.edge.schemas import Body, String, as_json, choice
from bookgen.models import MAX_FACT_CHARACTERS, Fact, FactEvent, FactKind, FactStatus

MAX_REASON_CHARACTERS = 500


class FactSchema(Schema):
    """A statement that a chapter makes about the story. Later chapters must agree with it.

    Automatic checks compare facts to find contradictions.
    """

    id = fields.Integer(required=True)
    chapter_number = fields.Integer(required=True)
    kind = fields.String(required=True, validate=choice(FactKind))
    event = fields.String(
        required=True,
        allow_none=True,
        validate=choice(FactEvent),
        metadata={
            "description": (
                "The kind of event, which `value` completes: for `enters`, `value` is the place; for `born`, it is the "
                "date. Null for a fact that no rule compares with other facts."
            )
        },
    )
    subject = fields.String(required=True, metadata={"example": "Ada Brook"})
    value = fields.String(required=True, metadata={"example": "58 years old"})
    quote = fields.String(required=True, metadata={"description": "The passage of the chapter that states the fact."})
    status = fields.String(
        required=True,
        validate=choice(FactStatus),
        metadata={
            "description": "`settled`: later chapters follow the fact. `intended`: contradictions to the fact are not "
            "reported. `wrong`: the fact is ignored."
        },
    )
    reason = fields.String(
        required=True, metadata={"description": "Why you have set the status to `intended` or `wrong`. May be empty."}
    )


class FactChangesSchema(Body):
    """The author's decision on a fact. A field that is left out is not changed."""

    value = String(
        MAX_FACT_CHARACTERS,
        minimum=1,
        allow_none=True,
        metadata={"description": "The correct value. Later chapters follow it.", "example": "61 years old"},
    )
    status = fields.String(validate=choice(FactStatus), allow_none=True)
    reason = String(MAX_REASON_CHARACTERS, allow_none=True, metadata={"example": "She lies about her age."})


def shown_fact(fact: Fact) -> dict[str, Any]:
    return as_json(FactSchema, fact)
