"""Notes of chapters that no later chapter has caused: mainly the last one, and chapters edited since."""

from __future__ import annotations

from functools import partial

from bookgen.actors.material import load_material
from bookgen.actors.resources import Resources
from bookgen.actors.steps import StoredSteps
from bookgen.store import material as store


async def note_rest(resources: Resources, account_id: int, book_id: int, steps: StoredSteps) -> None:
    """Have the chapters without a current note noted, and store each note at once.

    A failed note is retried next time; nothing else fails with it. Raises NotFound and CallsHalted.
    """
    through_outages = resources.health.through_outages
    material = await through_outages(lambda: load_material(resources.pool, account_id, book_id))
    async for digest in resources.writing.note_rest(material, steps):
        await steps.settle()
        await through_outages(partial(store.keep_digests, resources.pool, book_id, [digest]))
