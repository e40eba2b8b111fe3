"""The script that trains a model further until it draws hearts: the images it chooses and its measure."""

import numpy as np

from distaff.codes import Codes
from distaff.data import dsprites
from studies.zoo.hearts import HEART, hull, notches, worst_drawn


class Drawing:
    """A model that draws what a function makes of an image."""

    def __init__(self, draw):
        self.draw = draw

    def encode(self, x):
        self.x = x[:, 0].numpy() > 0.5
        return Codes(np.zeros((len(x), 1)))

    def decode(self, means):
        return np.stack([self.draw(image) for image in self.x])[:, None].astype(float)


def test_perfect_drawings_have_the_whole_notch_and_convex_ones_none_of_it():
    data = dsprites.load()
    assert set(notches(Drawing(lambda image: image), data, count=4).values()) == {1.0}
    assert set(notches(Drawing(hull), data, count=4).values()) == {0.0}


def test_only_hearts_have_a_notch():
    data = dsprites.load()
    filled = [np.mean([x.sum() / hull(x).sum() for x in large(data, shape)]) for shape in range(3)]
    assert filled[HEART] < 0.97 < min(filled[:HEART])


def test_images_drawn_worst_are_those_whose_drawings_differ_most():
    data = dsprites.load()

    def all_but_hearts(image):
        return image if image.sum() > 0.97 * hull(image).sum() else ~image

    rows = worst_drawn(Drawing(all_but_hearts), data, count=600)
    assert len(rows) == 60
    assert list(rows) == sorted(set(rows))
    assert set(data.factors[rows, data.names.index("shape")]) == {HEART}


def large(data, shape):
    same = np.flatnonzero((data.factors[:, 0] == shape) & (data.factors[:, 1] == 5))
    return data.images[same[::4000]][:, 0].numpy() > 0.5
