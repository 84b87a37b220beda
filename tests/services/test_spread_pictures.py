"""Pictures of children's books and their workers."""

from __future__ import annotations

import pytest

from bench.render import corpus
from bookgen.errors import UpstreamAIError
from bookgen.providers.text import HaltSwitch
from bookgen.render.pool import RenderPool
from bookgen.services.picture_marks import PictureMarks
from bookgen.services.spread_pictures import Painter

BOOK, _ = corpus.book(corpus.Corpus("painting", chapters=1, words=200))


async def test_a_picture_that_takes_too_long_is_tried_once() -> None:
    pool = RenderPool(workers=1, timeout=0.001)

    with pytest.raises(UpstreamAIError, match="could not be processed") as failed:
        await Painter(None, pool, PictureMarks()).sheet(BOOK, None, HaltSwitch())

    assert failed.value.retryable
    await pool.close()
