"""A manuscript with its settings, and its printed pages as soon as a writer asks for them."""

from __future__ import annotations

from functools import cached_property

from bookgen.render.cover.job import CoverDesign
from bookgen.render.layout.compose import lay_out, paginate
from bookgen.render.layout.page import Layout, Pagination
from bookgen.render.layout.spreads import for_spreads, lay_out_spreads, paginate_spreads
from bookgen.render.model import Manuscript
from bookgen.render.settings import ExportSettings

_KEPT = 64
_paginations: dict[str, Pagination] = {}


class Edition:
    """`key` is the same for every format of one book: what this process has laid out it does not lay out again."""

    def __init__(
        self, manuscript: Manuscript, settings: ExportSettings, key: str, cover_design: CoverDesign | None = None
    ) -> None:
        self.manuscript = manuscript
        self.cover_design = cover_design
        self.settings = for_spreads(settings, manuscript.ages) if manuscript.ages else settings
        self._key = key

    @cached_property
    def layout(self) -> Layout:
        lay = lay_out_spreads if self.manuscript.ages else lay_out
        layout = lay(self.manuscript, self.settings)
        self._keep(layout.pagination)
        return layout

    @property
    def pagination(self) -> Pagination:
        """Where the printed pages begin, whether or not this machine has the fonts to print them."""
        known = _paginations.get(self._key)
        count = paginate_spreads if self.manuscript.ages else paginate
        return known or self._keep(count(self.manuscript, self.settings))

    def _keep(self, pagination: Pagination) -> Pagination:
        while len(_paginations) >= _KEPT:
            del _paginations[next(iter(_paginations))]
        _paginations[self._key] = pagination
        return pagination
