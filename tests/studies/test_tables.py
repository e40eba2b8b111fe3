"""Tables over settings, correlations of scores, and selection without labels."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from distaff import studies
from distaff.foundation.errors import DistaffError
from distaff.metrics import udr
from distaff.studies.bootstrap import mean_of
from distaff.studies.results import Results
from distaff.studies.selection import metric_correlations, udr_agreement, udr_scores
from distaff.studies.study import Study
from distaff.studies.tables import _summary, group_table


def test_means_and_intervals_are_those_of_the_runs(done):
    made = group_table(done, metrics=["mig"])
    assert list(made.columns) == ["recipe", "beta", "metric", "n", "mean", "low", "high"]
    assert len(made) == 3
    assert "Student" in made.attrs["interval"]
    values = done.table.query("recipe == 'beta_vae' and beta == 8")["mig"]
    row = made[made["beta"] == 8].iloc[0]
    low, high = stats.t.interval(0.95, 1, values.mean(), values.std(ddof=1) / np.sqrt(2))
    assert row[["n", "mean", "low", "high"]].tolist() == pytest.approx([2, values.mean(), low, high])


def test_groups_may_be_coarser_and_the_interval_another(done):
    made = studies.table(done.folder, group_by="recipe", metric="mig,wsepin", interval="bootstrap")
    assert list(made["n"]) == [4, 4, 2, 2]
    assert "bootstrap" in made.attrs["interval"]
    values = done.table.query("recipe == 'beta_vae'")["mig"]
    effect = mean_of(dict(enumerate(values)))
    assert made.loc[0, ["mean", "low", "high"]].tolist() == pytest.approx([effect.value, *effect.interval])


@pytest.mark.parametrize("interval", ["t", "bootstrap"])
@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_intervals_cover_as_often_as_the_documentation_says(interval, seeds):
    """The plain bootstrap covers 75, 84 and 89% of normal means, and 70, 79 and 87% of skewed ones."""
    random = np.random.default_rng(seeds)
    for draw, mean, least in ((random.normal, 0.0, 0.91), (random.exponential, 1.0, 0.85)):
        found = [_summary(pd.Series(draw(size=seeds)), interval) for _ in range(400)]
        assert least <= np.mean([low <= mean <= high for _, _, low, high in found]) <= 0.985


def test_one_seed_has_no_interval():
    for interval in ("t", "bootstrap"):
        count, mean, low, high = _summary(pd.Series([0.5]), interval)
        assert (count, mean) == (1, 0.5)
        assert np.isnan([low, high]).all()


@pytest.mark.parametrize("interval", ["t", "bootstrap"])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_the_mean_of_an_infinite_score_is_infinite_and_has_no_interval(interval):
    assert _summary(pd.Series([1.0, np.nan, np.inf]), interval)[:2] == (2, np.inf)
    assert np.isnan(_summary(pd.Series([np.inf, np.inf]), interval)[2:]).all()


def test_wrong_names_get_their_near_misses(done):
    with pytest.raises(DistaffError, match="unknown setting 'recip': did you mean 'recipe'"):
        studies.table(done.folder, group_by="recip")
    with pytest.raises(DistaffError, match="unknown score 'migg': did you mean 'mig'"):
        studies.table(done.folder, metric="migg")


def test_correlations_of_known_columns():
    x = np.arange(1.0, 9)
    table = pd.DataFrame({"x": x, "square": x**2, "down": -x, "same": 1.0, "gap": [np.nan, *x[1:]]})
    spearman = metric_correlations(table, "spearman")
    assert spearman.loc["x", "square"] == pytest.approx(1)
    assert spearman.loc["x", "down"] == pytest.approx(-1)
    assert spearman.loc["x", "gap"] == pytest.approx(1)
    assert np.isnan(spearman.loc["x", "same"])
    assert metric_correlations(table, "kendall").loc["square", "down"] == pytest.approx(-1)
    pearson = metric_correlations(table, "pearson", ["x", "square"])
    assert pearson.shape == (2, 2)
    assert pearson.loc["x", "square"] == pytest.approx(np.corrcoef(x, x**2)[0, 1])
    with pytest.raises(DistaffError, match="did you mean 'kendall'"):
        metric_correlations(table, "kendal")


def test_udr_compares_the_seeds_of_a_setting(done):
    scores = udr_scores(done)
    assert len(scores) == 6
    assert scores["udr"].is_monotonic_decreasing
    pair = done.runs(recipe="beta_vae", beta=1)
    expected = udr({run.key: run.codes for run in pair})
    found = scores.set_index("run")["udr"]
    for run in pair:
        assert found[run.key] == pytest.approx(expected[run.key].value)


def test_udr_beside_the_labelled_scores(done):
    scores = udr_scores(done)
    agreement = udr_agreement(done, scores).set_index("score")
    joined = done.table.set_index("run").loc[scores["run"], "mig"].to_numpy()
    expected = stats.spearmanr(scores["udr"], joined)[0]
    assert agreement.loc["mig", "correlation"] == pytest.approx(expected, nan_ok=True)
    assert agreement.loc["mig", "n"] == 6


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ({"step": 9, "nll": "much"}, 6),
        ({"step": 9, "nll": [1]}, 6),
        ({"step": 9, "nll": 10**400}, 6),
        ({"step": 9, "nll": 1, "seconds": 10**400}, 6),
        ({"step": 10**30, "nll": 1}, 1e30),
    ],
)
def test_lines_of_a_log_that_are_none_neither_stop_a_table_nor_its_file(tmp_path, line, step):
    study = Study.parse(
        "{name: x, data: pinwheel, steps: 8, runs: [vae], metrics: [hoyer], common: {log_every: 2},"
        "claims: [{says: a, within: {metric: log.nll, range: [0, 9]}}]}"
    )
    (run,) = Results(study, tmp_path).all_runs
    run.folder.path.mkdir(parents=True)
    run.folder.log.write_text(json.dumps({"step": 6, "nll": 2.5}) + "\n" + json.dumps(line) + "\n")
    table = Results(study, tmp_path).write()
    assert table["step"].tolist() == [step]
    assert float(run.last_line["nll"]) in (2.5, 1)
