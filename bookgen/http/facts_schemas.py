"""Shapes of the facts of a story."""

from __future__ import annotations

from typing import Any

from marshmallow import Schema, fields

from bookgen.http.edge.schemas import Body, String, choice, shown
from bookgen.models import MAX_FACT_CHARACTERS, Fact, FactEvent, FactKind, FactStatus

MAX_REASON_CHARACTERS = 500


class FactSchema(Schema):
    """What a chapter says about the story. Later chapters are given it, and rules compare it with other facts."""

    id = fields.Integer(required=True)
    chapter_number = fields.Integer(required=True)
    kind = fields.String(required=True, validate=choice(FactKind))
    event = fields.String(
        required=True,
        allow_none=True,
        validate=choice(FactEvent),
        metadata={"description": "What happens to the subject, if rules can compare it. `value` completes the phrase."},
    )
    subject = fields.String(required=True, metadata={"example": "Ada Brook"})
    value = fields.String(required=True, metadata={"example": "58 years old"})
    quote = fields.String(required=True, metadata={"description": "The passage of the chapter that says so."})
    status = fields.String(
        required=True,
        validate=choice(FactStatus),
        metadata={
            "description": "`settled`: later chapters follow it. `intended`: what contradicts it is not reported. "
            "`wrong`: it is ignored."
        },
    )
    reason = fields.String(required=True, metadata={"description": "Yours, for `intended` or `wrong`."})


class FactChangesSchema(Body):
    """Your decision. A field that you leave out stays as it is."""

    value = String(
        MAX_FACT_CHARACTERS,
        minimum=1,
        allow_none=True,
        metadata={"description": "The correct value. Later chapters follow it.", "example": "61 years old"},
    )
    status = fields.String(validate=choice(FactStatus), allow_none=True)
    reason = String(MAX_REASON_CHARACTERS, allow_none=True, metadata={"example": "She lies about her age."})


def shown_fact(fact: Fact) -> dict[str, Any]:
    return shown(FactSchema, fact)
