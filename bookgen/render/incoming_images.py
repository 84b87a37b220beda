"""Checks image files from outside and re-encodes them."""

from __future__ import annotations

import io
import warnings

from PIL import Image, ImageOps

from bookgen.errors import InvalidInput

MAX_BYTES = 32 * 2**20
_MAX_PIXELS = 40_000_000
_MIN_SIDE = 256
_FORMATS = ("PNG", "JPEG", "WEBP")


def received(data: bytes) -> Image.Image:
    """Decode a PNG, JPEG or WebP to RGB, upright and without metadata. Raises InvalidInput for anything else.

    The size is checked after reading only the header, so a small file with a huge picture costs nothing.
    """
    if len(data) > MAX_BYTES:
        raise InvalidInput(image=[f"The picture is larger than {MAX_BYTES // 2**20} MiB. Reduce it and try again."])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
                _check_size(image.width, image.height)
                image.load()
                return _on_white(_upright(image))
    except InvalidInput:
        raise
    except Exception as error:  # Pillow documents no particular errors for invalid files
        raise InvalidInput(image=["This picture cannot be read. Use a PNG, JPEG or WebP file."]) from error


def _upright(image: Image.Image) -> Image.Image:
    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # only the metadata is broken; the picture itself is usable
        return image


def _check_size(width: int, height: int) -> None:
    if width * height > _MAX_PIXELS:
        raise InvalidInput(
            image=[f"The picture is too large: {width} × {height} pixels. At most {_MAX_PIXELS:,} pixels are allowed."]
        )
    if min(width, height) < _MIN_SIDE:
        raise InvalidInput(
            image=[f"The picture is too small: {width} × {height} pixels. Each side needs at least {_MIN_SIDE} pixels."]
        )


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode == "RGB":
        return image
    rgba = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba).convert("RGB")
