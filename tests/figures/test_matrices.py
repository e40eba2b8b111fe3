import itertools

import numpy as np
import pytest

from distaff.figures import matrices
from distaff.foundation.errors import DistaffError
from tests.figures.drawings import drawn, texts

MATRIX = np.array([[0.1, 1.5], [0.8, 0.0], [0.3, 0.2]])


def test_information_matrix_shows_latents_by_factors_on_one_scale():
    figure = matrices.information_matrix({"q(z|x)": MATRIX, "means": 2 * MATRIX}, ["shape", "scale"])
    first, second, bar = figure.axes
    np.testing.assert_array_equal(drawn(first), MATRIX)
    np.testing.assert_array_equal(drawn(second), 2 * MATRIX)
    assert first.get_images()[0].get_clim() == second.get_images()[0].get_clim() == (0, 3)
    assert texts(first.get_yticklabels()) == ["z0", "z1", "z2"]
    assert texts(first.get_xticklabels()) == ["shape", "scale"]
    assert texts(first.texts) == [".10", "1.50", ".80", ".00", ".30", ".20"]
    assert bar.get_ylabel() == "I(z; y) (nats)"


def test_cells_of_large_matrices_stay_unwritten():
    figure = matrices.correlation_matrices({"": np.eye(13)})
    assert not figure.axes[0].texts


def test_names_that_would_touch_are_thinned_out():
    (axes, _) = matrices.correlation_matrices({"": np.eye(100)}).axes
    names = texts(axes.get_yticklabels())
    step = int(names[1].removeprefix("z"))
    assert step > 1
    assert names == [f"z{i}" for i in range(0, 100, step)]
    np.testing.assert_array_equal(axes.get_yticks(), range(0, 100, step))


def test_misjed_map_orders_latents_by_informativeness():
    misjed = np.arange(9.0).reshape(3, 3) / 10
    figure = matrices.misjed_map({"AAE": misjed}, informativeness={"AAE": [0.1, 0.9, 0.5]})
    assert (
        texts(figure.axes[0].get_yticklabels())
        == texts(figure.axes[0].get_xticklabels())
        == ["z1", "z2", "z0"]
    )
    assert drawn(figure.axes[0])[0, 2] == misjed[1, 0]
    np.testing.assert_array_equal(drawn(matrices.misjed_map({"AAE": misjed}).axes[0]), misjed)


def test_correlations_keep_the_scale_from_minus_one_to_one():
    figure = matrices.correlation_matrices({"samples": np.eye(3), "means": 0.5 * np.eye(3)}, ["a", "b", "c"])
    assert figure.axes[1].get_images()[0].get_clim() == (-1, 1)
    assert figure.axes[2].get_ylabel() == "correlation"


def test_match_latents_finds_the_best_assignment_whatever_the_sign():
    similarity = np.random.default_rng(0).uniform(-1, 1, (4, 4))
    best = max(
        itertools.permutations(range(4)),
        key=lambda order: sum(abs(similarity[i, j]) for i, j in enumerate(order)),
    )
    pairs = matrices.match_latents(similarity)
    assert sorted(pairs) == list(enumerate(best))
    strengths = [abs(similarity[pair]) for pair in pairs]
    assert strengths == sorted(strengths, reverse=True)


def test_matched_latents_frames_the_pairs_on_the_diagonal():
    similarity = np.array([[0.0, 0.1, -0.9], [0.8, 0.0, 0.1]])
    figure = matrices.matched_latents(similarity, runs=("seed 0", "seed 1"))
    axes = figure.axes[0]
    assert texts(axes.get_yticklabels()) == ["z0", "z1"]
    assert texts(axes.get_xticklabels()) == ["z2", "z0", "z1"]
    np.testing.assert_array_equal(np.diag(drawn(axes)[:, :2]), [-0.9, 0.8])
    assert [patch.get_xy() for patch in axes.patches] == [(-0.5, -0.5), (0.5, 0.5)]
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("seed 0", "seed 1")


def test_wrong_shapes_are_refused():
    with pytest.raises(DistaffError, match="1 names for 2"):
        matrices.information_matrix({"": MATRIX}, ["shape"])
    with pytest.raises(DistaffError, match="matrices is empty"):
        matrices.information_matrix({}, [])
    with pytest.raises(DistaffError, match="square"):
        matrices.correlation_matrices({"a": MATRIX})
    with pytest.raises(DistaffError, match="2 informativeness values for 3 latents"):
        matrices.misjed_map({"a": np.eye(3)}, informativeness={"a": [1, 2]})
    with pytest.raises(DistaffError, match="informativeness is for"):
        matrices.misjed_map({"a": np.eye(3)}, informativeness={"b": [1, 2, 3]})
    with pytest.raises(DistaffError, match=r"shape \(D, E\)"):
        matrices.match_latents([1, 2])
