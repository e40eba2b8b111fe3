"""Made images, and what a figure shows of them."""

import numpy as np


def distinct(*shape, channels=1, side=16):
    """Images of one grey each, all different: where a grey is found tells which image is there."""
    count = int(np.prod(shape))
    greys = np.linspace(0.1, 0.9, count).reshape(*shape, 1, 1, 1)
    return np.broadcast_to(greys, (*shape, channels, side, side)).copy()


def drawn(axes):
    """The picture on axes."""
    return np.asarray(axes.get_images()[0].get_array())


def texts(artists):
    """What some text artists say."""
    return [artist.get_text() for artist in artists]
