"""Makes covers and pictures from their requests. Runs in a worker process."""

from __future__ import annotations

from PIL import Image

from bookgen.render.cover.families import DESIGNS
from bookgen.render.cover.job import CoverJob, FinishedCover, FinishedPicture, PictureJob, ReceivedJob
from bookgen.render.cover.over_picture import lettered
from bookgen.render.cover.variants import draw_front, draw_scene, family_in, family_of, scene_of
from bookgen.render.incoming_images import received
from bookgen.render.model import Picture
from bookgen.render.pdf.raster import raster
from bookgen.render.pictures import jpeg

WIDTH, HEIGHT = 1600, 2560  # pixels; the cover size that e-book shops require
SCENE = 1500, 1000  # pixels of a picture within a chapter, which is five inches wide at 300 dpi
THUMBNAIL = 400  # pixels wide
PICTURE_STYLE = "picture"


def make_cover(job: CoverJob) -> FinishedCover:
    if job.picture is not None:
        image, style = received(job.picture), PICTURE_STYLE
        image = lettered(image, job.copy, seed=job.seed, width=WIDTH, height=HEIGHT)
    else:
        chosen = family_in(job.style) or DESIGNS.get(job.family)
        family = chosen or family_of(job.seed, job.genre, job.variant, avoided=job.avoided)
        drawing = draw_front(
            job.copy,
            seed=job.seed,
            family=family,
            variant=job.variant,
            width=WIDTH,
            height=HEIGHT,
            subject=job.subject,
        )
        image, style = raster(drawing), family.name
    return FinishedCover(jpeg(image, progressive=True), _thumbnail(image), style)


def make_picture(job: PictureJob) -> FinishedPicture:
    family = scene_of(job.seed, job.genre, job.variant)
    width, height = SCENE
    drawing = draw_scene(seed=f"{job.seed} {job.variant}", family=family, width=width, height=height)
    return FinishedPicture(jpeg(raster(drawing), progressive=True), family.shows)


def keep_picture(job: ReceivedJob) -> FinishedPicture:
    return FinishedPicture(jpeg(received(job.file), progressive=True))


def _thumbnail(image: Image.Image) -> Picture:
    height = max(1, round(image.height * THUMBNAIL / image.width))
    return jpeg(image.resize((THUMBNAIL, height), Image.Resampling.LANCZOS, reducing_gap=3.0), progressive=True)
