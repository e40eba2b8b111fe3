"""HFVAE on MNIST: some real latents are pruned, and held back they leave digits to the classes."""

import pytest

from distaff.data import mnist
from distaff.foundation.errors import DistaffError
from tests.experiments.digits import SEEDS, agreement, class_figure, pruned


def _mnist_is_here() -> bool:
    try:
        return len(mnist.load()) == 60_000
    except DistaffError:
        return False


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not _mnist_is_here(), reason="needs MNIST's files: point DISTAFF_DATA at them"),
]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_published_objective_prunes_some_real_latents_and_uses_the_others(seed):
    assert 2 <= pruned(held_back=False, seed=seed) <= 6


@pytest.mark.parametrize("seed", SEEDS)
def test_the_classes_find_the_digits_once_the_real_latents_are_held_back(seed):
    assert agreement(True, seed, "test") > agreement(False, seed, "test") + 0.15
    assert agreement(True, seed, "test") > 0.5


def test_the_classes_are_drawn():
    assert len(class_figure(seed=0).axes) == 1
