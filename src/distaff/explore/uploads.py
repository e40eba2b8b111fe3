"""Uploaded images, prepared for the model."""

import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from distaff.data.pictures import Fit, fitted
from distaff.foundation.errors import DistaffError

LARGEST_UPLOAD = 20 << 20
"""Largest size of a file in bytes."""

LARGEST_IMAGE = 16_000_000
"""Largest number of pixels of an image, which needs some 200 MB in total to process."""

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM")


def read_upload(
    data: bytes, shape: tuple[int, ...], fit: Fit = "crop", largest: int = LARGEST_IMAGE
) -> NDArray[np.float32]:
    """The image as float32 (C, H, W) in [0, 1]: turned upright, made grey or RGB, scaled.

    Transparent parts become white.

    Args:
        data: content of the file.
        shape: shape of the model's images.
        fit: what to do if the proportions differ: crop, pad or squash, as for the model's own images.
        largest: largest number of pixels; it is read from the header before anything is decoded.
    """
    if len(shape) != 3 or shape[0] not in (1, 3):
        raise DistaffError("this run was not trained on grey or RGB images, so no image can start from it.")
    channels, height, width = shape
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            if image.width * image.height > largest:
                raise DistaffError(f"the image has {image.width}×{image.height} pixels, too many to accept.")
            upright = ImageOps.exif_transpose(image)
            picture = _flat(upright).convert("L" if channels == 1 else "RGB")
    except DistaffError:
        raise
    except Exception as problem:  # on damaged bytes, decoders raise errors of many kinds
        raise DistaffError(f"that file is not an image: use one of {', '.join(FORMATS)}.") from problem
    scaled = fitted(picture, (height, width), fit)
    pixels = np.asarray(scaled, np.float32).reshape(height, width, channels) / 255
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))


def _flat(image: Image.Image) -> Image.Image:
    """The image with 8 bits per channel and no transparency."""
    if image.mode.startswith(("I", "F")):  # 16 or 32 bits: from its darkest to its brightest
        values = np.asarray(image, np.float64)
        low, high = float(values.min()), float(values.max())
        top = 65535.0 if low >= 0 and 255 < high <= 65535 and image.mode != "F" else high
        low = 0.0 if low >= 0 else low
        return Image.fromarray(((values - low) / max(top - low, 1e-9) * 255).astype(np.uint8))
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    return image
