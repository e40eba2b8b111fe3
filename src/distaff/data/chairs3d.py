"""3D Chairs: 1,393 chairs, each rendered from 62 sides."""

import re
from pathlib import Path

import numpy as np

from distaff.data.about import About, RemoteFile, find
from distaff.data.arrays import with_factors
from distaff.data.dataset import Dataset
from distaff.data.decoding import decoded
from distaff.data.images import ByteImages
from distaff.data.pictures import open_pictures
from distaff.foundation.errors import DistaffError

ABOUT = About(
    summary="86,366 renderings of 1,393 chairs in colour, from 31 azimuths and 2 elevations.",
    source="https://www.di.ens.fr/willow/research/seeing3Dchairs/",
    licence="see the source",
    citation="Aubry, Maturana, Efros, Russell & Sivic (2014), Seeing 3D chairs",
    count=86_366,
    shape=(3, 64, 64),
    factors={"chair": 1393, "elevation": 2, "azimuth": 31},
    files=(RemoteFile("rendered_chairs.tar", "https://www.di.ens.fr/willow/research/seeing3Dchairs/data/"),),
)
VIEW = re.compile(r"(?:^|/)([^/]+)/renders/image_\d+_p(\d+)_t(\d+)_r\d+\.png$")


def load(
    file: str | Path | None = None, resize: int = 64, crop: int | None = None, skip_bad: bool = False
) -> Dataset:
    """3D Chairs with the factors chair, elevation and azimuth (in degrees).

    Args:
        file: ``rendered_chairs.tar``, or the folder it unpacks to.
        resize: pixels per side to which the 600×600 renderings are scaled.
        crop: side in pixels of a square to cut from the middle first.
        skip_bad: leave out images that do not decode, instead of stopping at the first.
    """
    usual = ("rendered_chairs", "rendered_chairs.tar")
    place = Path(file) if file is not None else find("chairs3d", ABOUT, None, *usual)
    with open_pictures(place) as pictures:
        views = sorted(
            (match[1], int(match[2]), int(match[3]), name)
            for name in pictures.names
            if (match := VIEW.search(name))
        )
        if not views:
            raise DistaffError(
                f"{place} holds no renderings named CHAIR/renders/image_NNN_pPPP_tTTT_rRRR.png."
            )
        chairs, elevations, azimuths, names = zip(*views, strict=True)
        images, good = decoded(pictures, names, "RGB", (resize, resize), crop, skip_bad)
    data = Dataset(ByteImages(images, channels_last=True), name="chairs3d")
    data = with_factors(
        data,
        [np.array(chairs), np.array(elevations), np.array(azimuths)],
        ["chair", "elevation", "azimuth"],
    )
    return data.subset(good) if skip_bad else data
