"""Figures that follow the reader's colour scheme: one SVG, which holds its colours for dark pages itself."""

import colorsys
import re

from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from distaff.figures.style import ON_DARK_CELL, ON_LIGHT_CELL, render

CARD = "#1d2126"
"""What white becomes: the dark page's colour behind figures, ``--card`` in page.css."""
GREY = 0.15
"""Saturation below which a colour is a grey, and changes places with its opposite."""
VISIBLE = 0.55
"""Lightness that colours have at least on a dark page."""
SMOOTH = "image-rendering:crisp-edges;image-rendering:pixelated"


def svg_for_both_schemes(figure: Figure) -> bytes:
    """The figure as SVG whose paper, text and lines follow the reader's colour scheme; its photographs stay.

    Photographs are stored pixel by pixel, for the browser to scale: a fraction of what scaled ones take.
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
    # Black is what nothing is said of.
    sheet = (
        f"<style>@media (prefers-color-scheme: dark){{svg{{fill:{in_the_dark('#000000')}}}{rules}}}</style>"
    )
    return drawn.replace("<defs>", f"{sheet}<defs>", 1).encode("utf-8")


def in_the_dark(colour: str) -> str:
    """The colour that does on dark paper what this one does on white: greys are turned round, others lighter.

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
