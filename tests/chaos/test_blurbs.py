"""A blurb survives `kill -9`, and no blurb call holds up its book."""

from __future__ import annotations

import pytest

from tests.chaos.world import World
from tests.fakes.model_script import fault

DRAFTED = "SELECT blurb <> '' FROM book WHERE id = $1"
LEFT = "SELECT (SELECT count(*) FROM blurb_draft) + (SELECT count(*) FROM step)"


@pytest.mark.parametrize("point", ["advance.after", "blurb_draft.begun", "blurb_draft.drafted"])
async def test_the_next_process_drafts_the_blurb_after_a_kill_at_any_moment(world: World, point: str) -> None:
    author = await world.author()
    book = await world.book(author, 1)
    process = await world.serve(f"{point}#{book}:kill")
    await world.generate(process, author, book)
    await world.killed_by_fault(process)

    await world.serve()
    await world.until(DRAFTED, book)

    await world.until(f"SELECT ({LEFT}) = 0")
    asked = [call for call in world.model.requests if call.stage == "blurb"]
    assert len(asked) == 1, "its reply was stored"
    await world.check()


async def test_a_blurb_call_that_never_returns_leaves_the_run_completed_over_a_kill(world: World) -> None:
    world.model.script(fault("hang", stage="blurb"))
    author = await world.author()
    book = await world.book(author, 2)
    process = await world.serve()
    await world.generate(process, author, book)

    await world.until_status(book, "completed")
    await world.model.until(lambda: any(call.stage == "blurb" for call in world.model.requests))
    status = await world.status(process, author, book)
    _, shown = await world.call(process, author, "GET", f"/books/{book}/")

    assert (status["generation_status"], shown["status"], shown["blurb"]) == ("completed", "completed", "")
    await world.kill(process)
    await world.serve()
    await world.until(DRAFTED, book)
    await world.check()
