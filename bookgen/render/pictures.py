"""Converts pictures for the files: JPEG, cropped or extended to the page, in the colours of the medium."""

from __future__ import annotations

import io

from PIL import Image, ImageChops

from bookgen.render.model import Picture

_SAME = 0.01  # of a side; a picture this close to the page's proportions is used as it is


def grey(original: Picture) -> Picture:
    with Image.open(io.BytesIO(original.data)) as image:
        return original if image.mode == "L" else jpeg(image.convert("L"), xmp=_xmp(image))


def inked(original: Picture) -> Picture:
    """The picture in CMYK. Black replaces what the other inks have in common, so their sum never exceeds 200 %."""
    with Image.open(io.BytesIO(original.data)) as image:
        if image.mode == "L":
            return original
        colours = [ImageChops.invert(band) for band in image.convert("RGB").split()]
        black = ImageChops.darker(ImageChops.darker(colours[0], colours[1]), colours[2])
        inks = [ImageChops.subtract(colour, black) for colour in colours]
        return jpeg(Image.merge("CMYK", (*inks, black)), xmp=_xmp(image))


def extended(original: Picture, width: float, height: float) -> Picture:
    """The picture extended to the proportions of a page, with its edge colours. Nothing is cut or stretched."""
    wide = max(original.width, round(original.height * width / height))
    tall = max(original.height, round(original.width * height / width))
    if wide - original.width < original.width * _SAME and tall - original.height < original.height * _SAME:
        return original
    with Image.open(io.BytesIO(original.data)) as opened:
        image, xmp = opened.convert("RGB"), _xmp(opened)
    if wide > original.width:
        return jpeg(_widened(image, wide), xmp=xmp)
    upright = _widened(image.transpose(Image.Transpose.TRANSPOSE), tall)
    return jpeg(upright.transpose(Image.Transpose.TRANSPOSE), xmp=xmp)


def _widened(image: Image.Image, wide: int) -> Image.Image:
    """The image widened to `wide` columns. The added columns repeat its edges."""
    page, left = Image.new("RGB", (wide, image.height)), (wide - image.width) // 2
    page.paste(image.crop((0, 0, 1, image.height)).resize((left, image.height)), (0, 0))
    right = image.crop((image.width - 1, 0, image.width, image.height))
    page.paste(right.resize((wide - image.width - left, image.height)), (left + image.width, 0))
    page.paste(image, (left, 0))
    return page


def covering(original: Picture, width: float, height: float, *, printed: bool) -> Picture:
    """The picture cropped to the proportions of a page. `width` and `height` are in points.

    `printed`: enlarge it to at least 300 pixels per inch.
    """
    share = width / height
    wide = min(original.width, round(original.height * share))
    tall = min(original.height, round(original.width / share))
    least = round(width / 72 * 300) if printed else 0
    whole = original.width - wide < original.width * _SAME and original.height - tall < original.height * _SAME
    if whole and original.width >= least:
        return original
    with Image.open(io.BytesIO(original.data)) as opened:
        image, xmp = opened.convert("RGB"), _xmp(opened)
    left, top = (image.width - wide) // 2, (image.height - tall) // 2
    cut = image.crop((left, top, left + wide, top + tall))
    if wide < least:
        cut = cut.resize((least, round(least / share)), Image.Resampling.LANCZOS)
    return jpeg(cut, xmp=xmp)


def printable(original: Picture, width: float) -> Picture:
    """The picture, enlarged if needed to 300 pixels per inch at `width` points."""
    least = round(width / 72 * 300)
    if original.width >= least:
        return original
    with Image.open(io.BytesIO(original.data)) as image:
        height = round(original.height * least / original.width)
        return jpeg(image.convert("RGB").resize((least, height), Image.Resampling.LANCZOS), xmp=_xmp(image))


def reduced(original: Picture, most: int) -> Picture:
    """The picture, reduced to at most `most` pixels in width, for screens."""
    if original.width <= most:
        return original
    with Image.open(io.BytesIO(original.data)) as image:
        image.draft("RGB", (most, most))
        height = max(1, round(original.height * most / original.width))
        return jpeg(image.convert("RGB").resize((most, height), Image.Resampling.LANCZOS), xmp=_xmp(image))


def _xmp(image: Image.Image) -> bytes:
    """The picture's XMP packet with its mark of origin, to copy into derived pictures. Empty if there is none."""
    return bytes(image.info.get("xmp", b""))


def jpeg(
    image: Image.Image, *, quality: int = 90, optimize: bool = True, progressive: bool = False, xmp: bytes = b""
) -> Picture:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality, optimize=optimize, progressive=progressive, dpi=(300, 300), xmp=xmp)
    return Picture(out.getvalue(), image.width, image.height)
