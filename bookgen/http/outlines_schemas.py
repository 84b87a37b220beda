"""Schemas of changes to an outline."""

from __future__ import annotations

from typing import Any

from marshmallow import fields, post_load

from bookgen.http.chapters_schemas import MAX_CHAPTER_WORDS
from bookgen.http.edge.schemas import Body, Flag, Integer, List, String
from bookgen.http.plans_schemas import ChapterPlanChangesSchema
from bookgen.services.revised_outline import MAX_CHAPTERS


class OutlineEntrySchema(ChapterPlanChangesSchema):
    """One chapter of the outline. The fields of the chapter's plan can be sent at the top level or under `plan`."""

    id = Integer(minimum=1)
    chapter_number = Integer(minimum=1)
    title = String(200, minimum=1)
    summary = String(5000)
    target_word_count = Integer(minimum=1, maximum=MAX_CHAPTER_WORDS)
    plan = fields.Nested(
        ChapterPlanChangesSchema,
        metadata={"description": "Changes to the chapter's plan. Fields that you leave out stay unchanged."},
    )

    @post_load
    def gather_plan(self, entry: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Move the fields of the plan from the top level to `plan`."""
        beside = {name: entry.pop(name) for name in ChapterPlanChangesSchema().fields if name in entry}
        return {**entry, "plan": {**entry.get("plan", {}), **beside}}


class OutlineChangesSchema(Body):
    chapters = List(
        fields.Nested(OutlineEntrySchema),
        MAX_CHAPTERS,
        required=True,
        metadata={"example": [{"chapter_number": 1, "title": "The First Ship"}]},
    )
    replace = Flag(load_default=False)


class ChapterSelectionSchema(Body):
    chapter_ids = List(Integer(minimum=1), MAX_CHAPTERS, minimum=1, required=True, metadata={"example": [1]})
    instructions = String(2000, load_default="")
