"""Schemas of a chapter's plan: scenes for a story, or a question and steps for non-fiction."""

from __future__ import annotations

from marshmallow import Schema, fields

from bookgen.http.edge.schemas import Body, List, String
from bookgen.services.editing import MAX_PLAN_ENTRIES, MAX_PLAN_SCENES

MAX_TEXT = 600
EXAMPLE_SCENE = {
    "place": "The weighbridge, Thursday before seven",
    "people": "Ada and the driver of an empty lorry",
    "want": "Ada wants the true figure; the driver wants to be gone",
    "turn": "She writes the figure down",
}


def _text(description: str) -> String:
    return String(MAX_TEXT, metadata={"description": description})


def _texts(description: str) -> List:
    return List(String(MAX_TEXT, minimum=1), MAX_PLAN_ENTRIES, metadata={"description": description})


class SceneSchema(Body):
    place = _text("Where and when the scene takes place.")
    people = _text("Who is there.")
    want = _text("Who wants what, and what is in the way.")
    turn = _text("What has changed at the end of the scene.")


class ChapterPlanChangesSchema(Body):
    """The fields to change. An empty value removes a field from the plan."""

    scenes = List(
        fields.Nested(SceneSchema),
        MAX_PLAN_SCENES,
        metadata={"description": "The chapter's scenes, in order.", "example": [EXAMPLE_SCENE]},
    )
    sets_up = _texts("What the chapter prepares for a later chapter, which pays it off.")
    pays_off = _texts(
        "What this chapter pays off, in the same words as in `sets_up` of the earlier chapter that prepared it."
    )
    last_image = _text("The image that the chapter ends on.")
    question = _text("Non-fiction: the reader's question that the chapter answers.")
    steps = _texts("Non-fiction: the steps of the answer to `question`, in order.")
    examples = _texts("Non-fiction: the examples that the chapter gives.")
    outcome = _text("Non-fiction: what the reader knows or can do after the chapter.")


class ChapterPlanSchema(Schema):
    """The chapter is written from this plan, its title and its summary. Empty fields are left out."""

    scenes = fields.List(fields.Nested(SceneSchema))
    sets_up = fields.List(fields.String())
    pays_off = fields.List(fields.String())
    last_image = fields.String()
    question = fields.String()
    steps = fields.List(fields.String())
    examples = fields.List(fields.String())
    outcome = fields.String()
