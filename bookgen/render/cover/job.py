"""One cover from its words to its files: what a worker process does."""

from __future__ import annotations

import io
from dataclasses import dataclass

from PIL import Image

from bookgen.render.cover.front import draw_front, family_of
from bookgen.render.cover.raster import raster
from bookgen.render.cover.sheet import Copy
from bookgen.render.model import Picture

WIDTH, HEIGHT = 1600, 2560  # pixels: what shops ask of an e-book's cover
THUMBNAIL = 400  # pixels wide
_QUALITY = 90


@dataclass(frozen=True, slots=True)
class CoverJob:
    """`seed` is the book's, `variant` counts its covers, `style` may name a family of designs."""

    copy: Copy
    seed: str
    genre: str
    variant: int
    style: str = ""


@dataclass(frozen=True, slots=True)
class FinishedCover:
    picture: Picture
    thumbnail: Picture
    style: str


def make_cover(job: CoverJob) -> FinishedCover:
    family = family_of(job.seed, job.genre, job.variant, job.style)
    drawing = draw_front(job.copy, seed=job.seed, family=family, variant=job.variant, width=WIDTH, height=HEIGHT)
    image = raster(drawing)
    return FinishedCover(jpeg(image), thumbnail(image), family.name)


def thumbnail(image: Image.Image) -> Picture:
    height = max(1, round(image.height * THUMBNAIL / image.width))
    return jpeg(image.resize((THUMBNAIL, height), Image.Resampling.LANCZOS, reducing_gap=3.0))


def jpeg(image: Image.Image) -> Picture:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=_QUALITY, progressive=True, dpi=(300, 300))
    return Picture(out.getvalue(), image.width, image.height)
