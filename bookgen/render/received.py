"""Pictures that come from outside: looked at before they are believed, and made anew."""

from __future__ import annotations

import io
import warnings

from PIL import Image, ImageOps

from bookgen.errors import InvalidInput

MAX_BYTES = 32 * 2**20
_MOST_PIXELS = 40_000_000
_LEAST_SIDE = 256
_FORMATS = ("PNG", "JPEG", "WEBP")


def received(data: bytes) -> Image.Image:
    """A PNG, JPEG or WebP as RGB pixels, upright and without metadata; whatever else it is, InvalidInput.

    Only the header is read before the size is known, so that a small file with a huge picture costs nothing.
    """
    if len(data) > MAX_BYTES:
        raise InvalidInput(image=[f"The picture has more than {MAX_BYTES // 2**20} MiB."])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
                _check_size(image.width, image.height)
                image.load()
                return _on_white(_upright(image))
    except InvalidInput:
        raise
    except Exception as error:  # Pillow promises none in particular for bytes that are not what they say
        raise InvalidInput(image=["This picture cannot be read."]) from error


def _upright(image: Image.Image) -> Image.Image:
    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # over metadata that nobody needs: the picture itself is good
        return image


def _check_size(width: int, height: int) -> None:
    if width * height > _MOST_PIXELS:
        raise InvalidInput(image=[f"The picture is too large: {width} × {height} pixels."])
    if min(width, height) < _LEAST_SIDE:
        raise InvalidInput(image=[f"The picture is too small: {width} × {height} pixels."])


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode == "RGB":
        return image
    rgba = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba).convert("RGB")
