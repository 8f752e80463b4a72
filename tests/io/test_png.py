"""PNG files: other programs read the pixels that were given."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from taichimd.io.png import png_of


@pytest.mark.parametrize(("opacity", "mode"), [(255, "RGB"), (254, "RGBA")])
def test_pillow_reads_the_pixels_and_the_resolution(opacity, mode):
    pixels = np.random.default_rng(3).integers(0, 256, (31, 47, 4), dtype=np.uint8)
    pixels[..., 3] = 255
    pixels[5, 7, 3] = opacity

    with Image.open(BytesIO(png_of(pixels, 120.0))) as picture:
        picture.verify()
    with Image.open(BytesIO(png_of(pixels, 120.0))) as picture:
        found = np.asarray(picture)
        assert (picture.mode, picture.size) == (mode, (47, 31))
        # The file has whole pixels of a metre.
        assert picture.info["dpi"] == pytest.approx((120.0, 120.0), abs=0.5 * 0.0254)

    assert np.array_equal(found, pixels[..., : len(mode)])
