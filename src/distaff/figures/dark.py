"""Figures that follow the reader's colour scheme: one SVG that contains its colours for dark pages."""

import colorsys
import re

from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from distaff.figures.style import ON_DARK_CELL, ON_LIGHT_CELL, render

CARD = "#1d2126"
"""The replacement for white: the colour behind figures on dark pages, ``--card`` in page.css."""
GREY = 0.15
"""Saturation below which a colour is treated as a grey, and inverted."""
VISIBLE = 0.55
"""Minimum lightness of colours on a dark page."""
SMOOTH = "image-rendering:crisp-edges;image-rendering:pixelated"


def svg_for_both_schemes(figure: Figure) -> bytes:
    """The figure as SVG whose background, text and lines, but not photographs, follow the colour scheme.

    Photographs are stored at their own resolution and scaled by the browser, which takes far fewer bytes.
    """
    photographs = [image for image in figure.findobj(AxesImage) if _is_photograph(image)]
    scaling = [image.get_interpolation() for image in photographs]
    for image in photographs:
        image.set_interpolation("none")
    try:
        drawn = render(figure, "svg").decode("utf-8")
    finally:
        for image, before in zip(photographs, scaling, strict=True):
            image.set_interpolation(before)
    drawn = drawn.replace(SMOOTH, "")
    used = sorted(set(re.findall(r"(fill|stroke): (#[0-9a-f]{6})", drawn)))
    rules = "".join(
        f'[style*="{part}: {colour}"]{{{part}:{in_the_dark(colour)}!important}}'
        for part, colour in used
        if colour not in (ON_LIGHT_CELL, ON_DARK_CELL)
    )
    # Elements without a colour are black.
    sheet = (
        f"<style>@media (prefers-color-scheme: dark){{svg{{fill:{in_the_dark('#000000')}}}{rules}}}</style>"
    )
    return drawn.replace("<defs>", f"{sheet}<defs>", 1).encode("utf-8")


def in_the_dark(colour: str) -> str:
    """The equivalent of a colour on a dark background: greys are inverted, other colours lightened.

    >>> in_the_dark("#ffffff") == CARD, in_the_dark("#0072b2"), in_the_dark("#e69f00")
    (True, '#1aacff', '#ffb81a')
    """
    if colour == "#ffffff":
        return CARD
    hue, lightness, saturation = colorsys.rgb_to_hls(*to_rgb(colour))
    if saturation < GREY:
        grey = 0.93 - 0.8 * lightness
        return str(to_hex((grey, grey, grey)))
    return str(to_hex(colorsys.hls_to_rgb(hue, max(lightness, VISIBLE), saturation)))


def _is_photograph(image: AxesImage) -> bool:
    array = image.get_array()
    return array is not None and array.ndim == 3
