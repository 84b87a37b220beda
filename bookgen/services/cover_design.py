"""Asks the text model for the design of a cover that bookgen draws. The design is used until the book changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict, replace
from uuid import UUID

import structlog

from bookgen.billing.cost_caps import CostBudget, CostCaps, Purpose
from bookgen.cover_options import CoverIdea
from bookgen.errors import UpstreamAIError
from bookgen.models import Usage
from bookgen.providers.text import CallsHalted, HaltSwitch, Spent, TextModel, TextReply, TextRequest, spent_before
from bookgen.store import cover_ideas, model_calls
from bookgen.store.database import Database
from bookgen.store.outages import through_outages
from bookgen.threads import compute
from bookgen.writing import cover_idea
from bookgen.writing.material import Material
from bookgen.writing.steps import Steps

log = structlog.get_logger()


class CoverDesigner:
    """Proposes cover designs. A proposal is stored with the book, so that the same book gets the same covers."""

    def __init__(
        self,
        database: Database,
        model: TextModel,
        *,
        price: Callable[[str, Usage], int | None],
        caps: CostCaps,
    ) -> None:
        self._database, self._model = database, model
        self._price, self._caps = price, caps

    async def idea(
        self, material: Material, run_id: UUID | None = None, halt: HaltSwitch | None = None
    ) -> CoverIdea | None:
        """The model's proposal for the book's covers; None if the call fails.

        Without a proposal, the book's genre and chance decide what is drawn. `run_id`: the run (the writing of the
        book) that needs the cover, if any. Raises CallsHalted if `halt` prevents the call.
        """
        db, book = self._database.http, material.book
        asked = await compute(cover_idea.fingerprint, material)
        if (stored := await cover_ideas.find(db, book.id, asked)) is not None:
            return CoverIdea.of(stored)
        try:
            idea = await cover_idea.propose(material, _PaidSteps(self, material, run_id, halt))
        except CallsHalted:
            raise
        except UpstreamAIError as error:
            log.warning("cover_not_designed", book_id=book.id, reason=str(error))
            return None
        await cover_ideas.save(db, book.id, asked, asdict(idea))
        return idea

    async def ask(
        self, request: TextRequest, material: Material, run_id: UUID | None, halt: HaltSwitch | None
    ) -> TextReply:
        """Send the request to the model. The cost is recorded even if the call fails or is cancelled."""
        book, budget = material.book, None
        spent: tuple[Spent, ...] = ()
        if not self._caps.none:
            purpose = Purpose(request.stage, book.account_id, book.id)
            budget = CostBudget(self._database.http, self._caps, self._price, purpose)
        try:
            reply = await self._model.complete(replace(request, halt=halt, budget=budget))
            spent = reply.spent
            return reply
        except (UpstreamAIError, asyncio.CancelledError) as ended:
            spent = spent_before(ended)
            raise
        finally:
            if spent:
                await asyncio.shield(self._charge(request.stage, spent, material, run_id))

    async def _charge(self, stage: str, spent: tuple[Spent, ...], material: Material, run_id: UUID | None) -> None:
        """Record the cost. If the calls are for a run (the writing of a book), wait until the database is available."""
        calls = tuple(
            model_calls.PaidCall(each.model, each.usage, self._price(each.model, each.usage), each.call_id)
            for each in spent
        )
        entry = model_calls.LedgerEntry(material.book.account_id, material.book.id, run_id, stage, None, calls)
        seconds = 0 if run_id is None else None
        await through_outages(lambda: model_calls.charge(self._database.http, entry), seconds=seconds)


class _PaidSteps(Steps):
    """Makes the model calls of a proposal. Replies are not stored, so repeating a request is a new, paid call."""

    def __init__(
        self, designer: CoverDesigner, material: Material, run_id: UUID | None, halt: HaltSwitch | None
    ) -> None:
        self._designer, self._material = designer, material
        self._run_id, self._halt = run_id, halt

    async def reply(self, request: TextRequest, *, attempt: int = 0) -> TextReply:
        return await self._designer.ask(request, self._material, self._run_id, self._halt)

    async def has(self, request: TextRequest) -> bool:
        return False

    def for_concurrent_calls(self) -> Steps:
        return self
