import numpy as np
import pytest

from distaff.figures.sensitivity import metric_sensitivity
from distaff.foundation.errors import DistaffError
from tests.figures.drawings import texts


def test_sensitivity_draws_mean_and_standard_deviation_over_seeds():
    runs = np.array([[0.6, 0.7], [0.8, 0.7]])
    figure = metric_sensitivity(
        [100, 800], {"score": {50: runs, 100: runs + 0.1}}, x_label="votes", series="L"
    )
    (axes,) = figure.axes
    line, _, (bars,) = axes.containers[0]
    np.testing.assert_allclose(line.get_xydata(), [[100, 0.7], [800, 0.7]])
    np.testing.assert_allclose(
        bars.get_segments()[0][:, 1], 0.7 + np.array([-1, 1]) * np.std([0.6, 0.8], ddof=1)
    )
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_xscale()) == ("votes", "score", "log")
    assert texts(figure.legends[0].get_texts()) == ["50", "100"]
    assert figure.legends[0].get_title().get_text() == "L"


def test_sensitivity_has_a_panel_a_metric():
    models = {"FactorVAE": [1.0, 2.0], "β-VAE": [2.0, 3.0]}
    figure = metric_sensitivity(
        [50, 100], {"RMIG": models, "JEMMIG (nats)": models}, x_label="bins", logarithmic=False
    )
    assert [axes.get_ylabel() for axes in figure.axes] == ["RMIG", "JEMMIG (nats)"]
    assert not figure.axes[0].containers[0].has_yerr, "one seed has no spread"
    with pytest.raises(DistaffError, match="3 values per seed, but there are 2 points"):
        metric_sensitivity([50, 100], {"RMIG": {"a": [1, 2, 3]}}, x_label="bins")
