"""Uploaded images, prepared for the model."""

import io
from dataclasses import replace

import numpy as np
from PIL import Image, ImageOps

from distaff.codes import FloatArray
from distaff.data.bringing_in import bring_in
from distaff.data.images import Scaled
from distaff.foundation.errors import DistaffError

LARGEST_UPLOAD = 20 << 20
"""Largest size of a file in bytes."""

LARGEST_IMAGE = 16_000_000
"""Largest number of pixels of an image, which needs some 200 MB in total to process."""

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM")


def read_upload(
    data: bytes, shape: tuple[int, ...], like: Scaled | None = None, largest: int = LARGEST_IMAGE
) -> FloatArray:
    """The image as float32 (C, H, W) in [0, 1], prepared as the model's own images were.

    Args:
        data: content of the file.
        shape: shape of the model's images.
        like: how the model's images were prepared; if they were not scaled, the middle is cut out.
        largest: largest number of pixels; it is read from the header before anything is decoded.
    """
    if len(shape) != 3 or shape[0] not in (1, 3, 4):
        raise DistaffError("this run was not trained on grey or RGB images, so no image can start from it.")
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            if image.width * image.height > largest:
                raise DistaffError(f"the image has {image.width}×{image.height} pixels, too many to accept.")
            picture = ImageOps.exif_transpose(image)
            how = like or Scaled(shape)
            if picture.mode.startswith(("I", "F")) and (shape[0] > 1 or not _known_range(picture, how)):
                picture = _in_bytes(picture)
            found = bring_in(picture, shape, replace(how, fit=how.fit or "crop"))
    except DistaffError:
        raise
    except Exception as problem:  # on damaged bytes, decoders raise errors of many kinds
        raise DistaffError(f"that file is not an image: use one of {', '.join(FORMATS)}.") from problem
    return np.ascontiguousarray(found.images[0].numpy())


def _known_range(image: Image.Image, how: Scaled) -> bool:
    """Whether black and white of a deep image are known: given for the run, or those of 16 bits or of 0–1."""
    if how.told or image.mode.startswith("I;16"):
        return True
    values = np.asarray(image)
    return image.mode == "F" and bool(values.min() >= 0 and values.max() <= 1)


def _in_bytes(image: Image.Image) -> Image.Image:
    """A grey image of 16 or 32 bits with 8 bits, from its darkest to its brightest."""
    values = np.asarray(image, np.float64)
    low, high = float(values.min()), float(values.max())
    top = 65535.0 if low >= 0 and 255 < high <= 65535 and image.mode != "F" else high
    low = 0.0 if low >= 0 else low
    return Image.fromarray(((values - low) / max(top - low, 1e-9) * 255).astype(np.uint8))
