"""A manuscript with its export settings, and its page layout on demand."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from bookgen.render.cover.job import CoverDesign
from bookgen.render.fonts.families import BY_SETTING
from bookgen.render.fonts.typeface import has_alphabet
from bookgen.render.layout.compose import Composer
from bookgen.render.layout.page import Layout, Pagination
from bookgen.render.layout.spreads import SpreadComposer, for_spreads
from bookgen.render.model import Manuscript
from bookgen.render.settings import ExportSettings

_KEPT = 64
_paginations: dict[str, Pagination] = {}


class Edition:
    """A manuscript with its settings.

    `key` identifies the manuscript and the settings, whatever the file format, so that all formats share one cached
    pagination.
    """

    def __init__(
        self, manuscript: Manuscript, settings: ExportSettings, key: str, cover_design: CoverDesign | None = None
    ) -> None:
        if not has_alphabet(BY_SETTING[settings.font], manuscript.language):
            settings = replace(settings, font="sans")
        self.manuscript = manuscript
        self.cover_design = cover_design
        self.settings = for_spreads(settings, manuscript.ages) if manuscript.ages else settings
        self._composer = SpreadComposer if manuscript.ages else Composer
        self._key = key

    @cached_property
    def layout(self) -> Layout:
        layout = self._composer(self.manuscript, self.settings).layout()
        self._keep(layout.pagination)
        return layout

    @property
    def pagination(self) -> Pagination:
        """Where the pages of the printed book begin. Unlike `layout`, it accepts characters that no font has."""
        if known := _paginations.get(self._key):
            return known
        return self._keep(self._composer(self.manuscript, self.settings, measuring=True).pagination())

    def _keep(self, pagination: Pagination) -> Pagination:
        while len(_paginations) >= _KEPT:
            del _paginations[next(iter(_paginations))]
        _paginations[self._key] = pagination
        return pagination
