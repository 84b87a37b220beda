"""A cover on a page of different proportions."""

import io

import pytest
from PIL import Image

from bookgen.render.model import Picture
from bookgen.render.pictures import extended
from bookgen.render.trim import TRIMS


def cover() -> Picture:
    """Red on the left, blue on the right, and a circle in the middle that would show stretching."""
    image = Image.new("RGB", (1600, 2560), "#cc0000")
    image.paste("#0000cc", (800, 0, 1600, 2560))
    image.paste("#ffffff", (700, 1180, 900, 1380))
    out = io.BytesIO()
    image.save(out, "JPEG", quality=95)
    return Picture(out.getvalue(), 1600, 2560)


@pytest.mark.parametrize("trim", TRIMS.values(), ids=TRIMS)
def test_a_cover_fills_the_page_without_cropping_or_stretching(trim) -> None:
    page = extended(cover(), trim.width, trim.height)

    with Image.open(io.BytesIO(page.data)) as image:
        assert image.width / image.height == pytest.approx(trim.width / trim.height, abs=0.005)
        assert image.width >= 1600
        assert image.height >= 2560
        white = image.convert("L").point(lambda value: 255 * (value > 200)).getbbox()
        assert white is not None
        assert abs((white[2] - white[0]) - (white[3] - white[1])) <= 2
        left, right = image.getpixel((2, image.height // 2)), image.getpixel((image.width - 3, image.height // 2))
    assert left[0] > 150 > left[2]
    assert right[2] > 150 > right[0]


def test_a_picture_with_the_pages_proportions_keeps_its_bytes() -> None:
    original = cover()

    assert extended(original, 100, 160) is original
