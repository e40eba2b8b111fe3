"""Trade-offs, scores by setting and agreement: the drawn numbers are the table's."""

from types import SimpleNamespace

import numpy as np
import pytest

from distaff.foundation.errors import DistaffError
from distaff.studies import drawings
from distaff.studies.drawings.runs import label
from distaff.studies.study_run import StudyRun


def means(results, column, by=("recipe", "beta", "gamma")):
    """The table's mean over seeds for each setting, in the study's order."""
    return results.finished.groupby(list(by), sort=False, dropna=False)[column].mean().tolist()


def drawn_points(figure):
    """(x, y) of each curve's points, by its name."""
    return {c.get_label(): np.array(c.lines[0].get_data()) for c in figure.axes[0].containers}


def test_a_trade_off_has_the_means_of_the_table(shapes):
    figure = drawings.trade_off(shapes)
    points = drawn_points(figure)
    assert list(points) == ["beta_vae", "factor_vae"]
    x, y = np.concatenate(list(points.values()), axis=1)
    np.testing.assert_allclose(x, means(shapes, "reconstruction"))
    np.testing.assert_allclose(y, means(shapes, "factor_vae_score"))
    notes = [text.get_text() for text in figure.axes[0].texts]
    assert notes == ["1", "4", "1", "10"]


def test_curves_and_points_can_be_chosen(shapes):
    figure = drawings.trade_off(shapes, y="mig", curve="beta", point="seed", where={"recipe": "beta_vae"})
    points = drawn_points(figure)
    assert list(points) == ["1", "4"]
    table = shapes.finished[shapes.finished["beta"] == 4]
    np.testing.assert_allclose(points["4"], table[["reconstruction", "mig"]].to_numpy().T)
    assert figure.axes[0].get_ylabel() == "MIG"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"recipe": "ada_gvae", "pairs": "k=1"}, "ada_gvae · pairs k=1"),
        ({"recipe": "vae", "pairs": None}, "vae"),
        ({"beta": 4.0}, "no recipe or pairs"),
    ],
)
def test_a_run_is_named_by_the_settings_that_it_has(settings, words):
    assert label(SimpleNamespace(settings=settings), ["recipe", "pairs"]) == words


def test_every_seed_is_a_dot_beside_its_mean(shapes):
    axes = drawings.scores_by_setting(shapes, score="rmig").axes[0]
    dots = [line.get_ydata() for line in axes.get_lines() if len(line.get_ydata()) == 2]
    np.testing.assert_allclose(np.concatenate(dots), shapes.finished["rmig"])
    centres = [container.lines[0].get_ydata()[0] for container in axes.containers]
    np.testing.assert_allclose(centres, means(shapes, "rmig"))
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "4", "1", "10"]
    assert axes.get_xlabel() == "beta, gamma"
    alone = drawings.scores_by_setting(shapes, score="rmig", where={"beta": 4}).axes[0]
    assert alone.get_xlabel() == "recipe", "where recipes are all that is told apart, ticks are their names"


def test_agreement_scatters_the_tables_columns(shapes):
    axes = drawings.agreement(shapes, pairs=[["mig", "rmig"]]).axes[0]
    dots = np.concatenate([np.asarray(c.get_offsets()) for c in axes.collections])
    np.testing.assert_allclose(dots, shapes.finished[["mig", "rmig"]])
    with pytest.raises(DistaffError, match="hold two scores each"):
        drawings.agreement(shapes, pairs=[["mig"]])


def test_the_correlation_matrices_are_those_of_pandas(shapes):
    names = ["factor_vae_score", "mig", "rmig"]
    figure = drawings.correlation_of_scores(shapes, scores=names)
    for axes, method in zip(figure.axes, ("pearson", "kendall", "spearman"), strict=False):
        expected = shapes.finished[names].corr(method)
        np.testing.assert_allclose(axes.get_images()[0].get_array(), expected, atol=1e-9)


def test_the_factors_shares_make_up_the_score(shapes):
    drawn = drawings.scores_by_factor(shapes, score="rmig", normalize=False)
    figure, table = drawn.values()
    for recipe, row in table.set_index("runs").iterrows():
        expected = shapes.finished[shapes.finished["recipe"] == recipe]["rmig"].mean()
        assert row.mean() == pytest.approx(expected, rel=1e-5)
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    np.testing.assert_allclose(heights, table[["row", "column"]].to_numpy().ravel())


def test_what_is_not_there_is_said(shapes):
    with pytest.raises(DistaffError, match="did you mean 'mig'"):
        drawings.trade_off(shapes, y="mgi")
    with pytest.raises(DistaffError, match="did you mean 'gamma'"):
        drawings.trade_off(shapes, where={"gama": 1})
    with pytest.raises(DistaffError, match="no finished run with gamma = 99"):
        drawings.trade_off(shapes, where={"gamma": 99})


def test_chance_is_drawn_for_scores_that_read_factors(shapes):
    """What the codes of a run score against the factors of other rows; reconstruction reads none."""
    for figure in (drawings.trade_off(shapes, y="mig"), drawings.scores_by_setting(shapes, score="mig")):
        (band,) = figure.axes[0].patches
        assert band.get_label() == "shuffled factors"
        assert 0 <= band.get_y() + band.get_height() / 2 < 0.2
    assert not drawings.scores_by_setting(shapes, score="reconstruction").axes[0].patches
    (figure, _) = drawings.scores_by_factor(shapes, score="rmig").values()
    assert next(lines.get_label() for lines in figure.axes[0].collections) == "shuffled factors"


def test_scores_are_drawn_without_chance_where_the_data_are_gone(shapes, monkeypatch):
    def gone(run):
        raise DistaffError("the file is not here.")

    monkeypatch.setattr(StudyRun, "data", property(gone))
    figures = (drawings.trade_off(shapes, y="mig"), drawings.scores_by_setting(shapes, score="mig"))
    assert not any(figure.axes[0].patches for figure in figures)
