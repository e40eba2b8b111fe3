"""Claims: what a file may say, and what made tables decide."""

import json
import re

import numpy as np
import pytest
import yaml
from scipy import stats

from distaff.cli import main
from distaff.foundation.errors import DistaffError
from distaff.foundation.trust import trusting
from distaff.metrics import Score
from distaff.studies import check_claims
from distaff.studies.bootstrap import (
    difference_of,
    heights_at_equal,
    mean_of,
    rank_correlation_of,
    slope,
    spearman,
)
from distaff.studies.results import Results
from distaff.studies.study import Study
from distaff.studies.study_page import write_report
from distaff.studies.study_run import StudyRun
from distaff.studies.verdicts import judge

STUDY = {
    "name": "made",
    "data": "dsprites",
    "steps": 10,
    "seeds": 6,
    "runs": [{"recipe": "beta_vae", "beta": [1, 2, 4]}, {"recipe": "factor_vae", "gamma": [10, 40]}],
    "metrics": ["mig", "dci", "rmig", "total_correlation"],
}
HIGHER = {"metric": "mig", "of": {"recipe": "factor_vae"}, "than": {"recipe": "beta_vae"}}


def parse(claim, **changes) -> Study:
    return Study.parse(yaml.safe_dump({**STUDY, "claims": [{"says": "so", **claim}], **changes}))


class Made:
    """A study whose numbers come from a function of a run's settings and a column's name."""

    def __init__(self, monkeypatch, tmp_path):
        self.patch, self.folder = monkeypatch, tmp_path

    def results(self, claim, numbers, finished=lambda settings: True, logs=None, **changes):
        def scores(run):
            found = {"reconstruction", "kl", "mig", "rmig", "total_correlation"}
            made = {name: numbers(run.settings, name) for name in sorted(found)}
            return {
                name: Score(name, value, "p", per_factor={"shape": value / 2, "scale": value})
                for name, value in made.items()
            }

        def state(run):
            return "finished" if finished(run.settings) else "waiting"

        self.patch.setattr(StudyRun, "scores", property(scores))
        values = property(lambda run: {name: score.value for name, score in scores(run).items()})
        self.patch.setattr(StudyRun, "values", values)
        self.patch.setattr(StudyRun, "state", property(state))
        line = property(lambda run: {} if logs is None else logs(run.settings))
        self.patch.setattr(StudyRun, "last_line", line)
        return Results(parse(claim, **changes), self.folder)

    def verdict(self, *arguments, **options):
        results = self.results(*arguments, **options)
        (verdict,) = judge(results.study, results.table)
        return verdict


@pytest.fixture(autouse=True)
def drawings_are_trusted():
    """The study's folder, which is copied here, names a drawing of these tests."""
    with trusting("tests.studies.troubles"):
        yield


@pytest.fixture
def made(monkeypatch, tmp_path) -> Made:
    return Made(monkeypatch, tmp_path)


def noise(settings, scale=1.0) -> float:
    """Deterministic noise of a run."""
    words = [settings["seed"], int(settings.get("beta", 0)), int(settings.get("gamma", 0))]
    return scale * float(np.random.default_rng(words).normal())


def lifted(by, scale=0.01):
    return lambda s, name: by * (s["recipe"] == "factor_vae") + noise(s, scale)


def test_numbers_that_are_not_finite_leave_a_claim_undecided_and_say_so(monkeypatch, tmp_path):
    claim = {"within": {"metric": "total_correlation", "range": [0, 1]}}
    found = Made(monkeypatch, tmp_path).verdict(claim, lambda settings, name: np.inf)
    assert (found.outcome, found.note) == (
        "undecided",
        "no seed has a finite total_correlation in all its runs",
    )


def test_a_large_effect_holds_and_its_opposite_does_not(made):
    verdict = made.verdict({"higher": HIGHER, "published": [0.82, 0.73]}, lifted(1.0))
    assert verdict.text == "holds"
    assert verdict.seeds == 6
    assert verdict.low > 0.9
    assert verdict.high < 1.1
    assert verdict.probability == 1
    assert verdict.effect == pytest.approx(verdict.ours[0] - verdict.ours[1])
    assert verdict.claim.published == (0.82, 0.73)
    lower = made.verdict({"lower": HIGHER}, lifted(1.0))
    assert lower.text == "does not hold"
    assert lower.probability == 0
    assert (lower.effect, lower.low, lower.high) == (verdict.effect, verdict.low, verdict.high)


def test_noise_is_undecided_with_its_seeds(made):
    verdict = made.verdict({"higher": HIGHER}, lambda s, name: noise(s))
    assert verdict.text == "undecided at 6 seeds"
    assert verdict.low < 0 < verdict.high
    assert 0.025 < verdict.probability < 0.975


def test_too_few_seeds_decide_nothing(made):
    verdict = made.verdict({"higher": HIGHER}, lifted(1.0), finished=lambda s: s["seed"] < 2)
    assert verdict.text == "undecided at 2 seeds"
    assert verdict.effect == pytest.approx(1, abs=0.05)
    one = made.verdict({"higher": HIGHER}, lifted(1.0), seeds=1)
    assert one.text == "undecided at 1 seed"
    assert np.isnan([one.low, one.high, one.probability]).all()
    three = made.verdict({"higher": HIGHER}, lifted(1.0), finished=lambda s: s["seed"] < 3)
    assert three.text == "holds"


def test_groups_without_runs_are_not_run(made):
    verdict = made.verdict(
        {"higher": HIGHER, "needs": "celeba"}, lifted(1.0), finished=lambda s: s["recipe"] == "beta_vae"
    )
    assert (verdict.text, verdict.note) == ("not run", "it needs celeba")


def test_a_seed_counts_once_all_its_runs_are_finished(made):
    """The mean of seeds that have β = 1 alone would be of another setting."""
    values = {1: 0.0, 2: 0.0, 4: 9.0}
    verdict = made.verdict(
        {"within": {"metric": "mig", "range": [2.9, 3.1], "for": {"recipe": "beta_vae"}}},
        lambda s, name: values.get(s.get("beta"), 0.0) + noise(s, 0.01),
        finished=lambda s: s["seed"] < 4 or s.get("beta") == 1,
    )
    assert (verdict.text, verdict.seeds) == ("holds", 4)


def test_pairing_by_seed_matters(made):
    """Seeds that shift both groups alike hide the effect, unless they are drawn for both at once."""

    def numbers(settings, name):
        return 100 * settings["seed"] + lifted(1.0)(settings, name)

    assert made.verdict({"higher": HIGHER}, numbers).text == "holds"
    apart = [
        {"recipe": "beta_vae", "beta": 1, "seeds": [0, 1, 2, 3]},
        {"recipe": "factor_vae", "seeds": [4, 5, 6, 7]},
    ]
    unpaired = made.verdict(
        {"higher": HIGHER},
        lambda s, name: 100 * (s["seed"] % 4) + lifted(1.0)(s, name),
        runs=apart,
    )
    assert unpaired.effect == pytest.approx(1, abs=0.05)
    assert unpaired.text == "undecided at 4 seeds"


def test_paired_and_single_seeds_count_in_one_difference():
    first, second = {0: 1.0, 1: 2.0, 2: 6.0}, {1: 0.0, 2: 3.0, 3: 4.0, 4: 5.0}
    effect = difference_of(first, second)
    assert effect.value == pytest.approx(3.0 - 3.0)
    assert effect.seeds == 3
    same = difference_of(first, {seed: value - 2 for seed, value in first.items()})
    assert same.interval == pytest.approx((2, 2))


def test_at_equal_reconstruction(made):
    """Both recipes lie on lines score = reconstruction / 10, the second one 0.5 lower, at other places."""

    def numbers(settings, name):
        shift = settings["seed"] / 7
        x = {1: 10, 2: 30, 4: 50}.get(settings.get("beta")) or {10: 20, 40: 40}[settings["gamma"]]
        if name == "reconstruction":
            return x + shift
        return (x + shift) / 10 - 0.5 * (settings["recipe"] == "factor_vae") + noise(settings, 1e-3)

    claim = {**HIGHER, "at_equal": "reconstruction_error"}
    verdict = made.verdict({"lower": claim}, numbers)
    assert verdict.text == "holds"
    assert verdict.effect == pytest.approx(-0.5, abs=0.01)
    assert verdict.note == "at equal reconstruction"
    assert made.verdict({"lower": HIGHER}, numbers).effect == pytest.approx(-0.5, abs=0.01)

    far = made.verdict(
        {"lower": claim}, lambda s, name: numbers(s, name) + 100 * (s["recipe"] == "factor_vae")
    )
    assert far.text == "undecided at 0 seeds"
    assert "no reconstruction in common" in far.note


def test_heights_are_those_of_the_lines_between_points():
    steep = np.array([[2.0, 2.0], [0.0, 0.0], [4.0, 4.0]])
    flat = np.array([[1.0, 5.0], [9.0, 5.0]])
    assert heights_at_equal(steep, flat) == pytest.approx((2.5, 5.0))
    point = np.array([[3.0, 7.0]])
    assert heights_at_equal(point, steep) == pytest.approx((7.0, 3.0))
    assert heights_at_equal(point, np.array([[3.1, 7.0]])) is None
    twice = np.array([[3.0, 1.0], [3.0, 2.0]])
    assert heights_at_equal(twice, steep) == pytest.approx((1.5, 3.0))


def test_a_trend_within_seeds(made):
    claim = {"metric": "mig", "over": "beta", "direction": "falling", "for": {"recipe": "beta_vae"}}

    def numbers(settings, name):
        return 50 * settings["seed"] - np.log2(settings.get("beta", 1)) + noise(settings, 0.01)

    verdict = made.verdict({"trend": claim}, numbers)
    assert verdict.text == "holds"
    assert verdict.effect == pytest.approx(-1, abs=0.02)  # log2 of 1, 2, 4 falls by 1 from value to value
    assert verdict.ours[0] - verdict.ours[1] == pytest.approx(2, abs=0.04)
    assert "β" not in verdict.note
    assert "beta 1 to 4; mean Spearman correlation within seeds -1.00" in verdict.note
    assert made.verdict({"trend": {**claim, "direction": "rising"}}, numbers).text == "does not hold"
    assert made.verdict({"trend": claim}, lambda s, name: noise(s)).outcome == "undecided"


def test_columns_logged_terms_and_factors(made):
    claim = {"column": "critic_tc", "than": {"column": "total_correlation"}, "for": {"recipe": "factor_vae"}}
    logs = {"total_correlation": 0.2}
    verdict = made.verdict({"lower": claim}, lambda s, name: 3 + noise(s, 0.1), logs=lambda s: logs)
    assert verdict.text == "holds"
    assert verdict.ours == pytest.approx((0.2, 3), abs=0.2)
    parts = {"column": "rmig.shape", "than": {"column": "rmig.scale"}}
    factors = made.verdict({"lower": parts}, lambda s, name: 3 + noise(s, 0.1))
    assert factors.text == "holds"
    assert factors.ours[0] * 2 == pytest.approx(factors.ours[1])
    gone = made.verdict({"within": {"metric": "log.nll", "range": [0, 1]}}, lambda s, name: 0.0)
    assert (gone.text, gone.note) == ("undecided at 0 seeds", "the finished runs have no log.nll")


def test_a_value_within_a_range(made):
    claim = {"metric": "mig", "range": [0.5, 1.5]}
    assert made.verdict({"within": claim}, lambda s, name: 1 + noise(s, 0.01)).text == "holds"
    assert made.verdict({"within": claim}, lambda s, name: 2 + noise(s, 0.01)).text == "does not hold"
    edge = made.verdict({"within": claim}, lambda s, name: 1.5 + noise(s, 0.1))
    assert edge.outcome == "undecided"
    assert 0 < edge.probability < 1


def test_a_difference_within_a_range(made):
    """That two groups are alike is a claim too: the interval of their difference lies in the range."""
    alike = {**HIGHER, "range": [-0.1, 0.1]}
    assert made.verdict({"within": alike}, lifted(0.0)).text == "holds"
    assert made.verdict({"within": alike}, lifted(1.0)).text == "does not hold"
    assert made.verdict({"within": alike}, lifted(0.0, scale=1.0)).outcome == "undecided"


def test_a_rank_correlation(made):
    def numbers(settings, name):
        common = noise(settings)
        return common if name == "mig" else np.exp(common) + noise({**settings, "gamma": 7}, 0.05)

    claim = {"metrics": ["mig", "rmig"], "at_least": 0.5}
    verdict = made.verdict({"correlation": claim}, numbers)
    assert verdict.text == "holds"
    assert verdict.note == "over 30 runs"
    assert 0.5 < verdict.low < verdict.effect <= verdict.high <= 1
    opposite = {"metrics": ["mig", "rmig"], "at_most": 0}
    assert made.verdict({"correlation": opposite}, numbers).text == "does not hold"


def test_statistics_are_those_of_other_libraries():
    random = np.random.default_rng(3)
    pairs = random.normal(size=(20, 2)).round(1)
    assert spearman(pairs) == pytest.approx(stats.spearmanr(*pairs.T)[0])
    assert slope(*pairs.T) == pytest.approx(stats.linregress(*pairs.T).slope)
    assert spearman(np.array([[1.0, 2], [1, 3]])) == 0
    points = {0: pairs[:9], 1: pairs[9:]}
    assert rank_correlation_of(points).value == pytest.approx(stats.spearmanr(*pairs.T)[0])


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_intervals_of_means_cover_as_often_as_they_say(seeds):
    """Of normal values close to 95%; the plain bootstrap of five covers 83%."""
    random = np.random.default_rng(seeds)
    covered = []
    for _ in range(400):
        low, high = mean_of(dict(enumerate(random.normal(2.0, 1.0, seeds)))).interval
        covered.append(low <= 2.0 <= high)
    assert 0.91 <= np.mean(covered) <= 0.985


def test_intervals_of_differences_cover_paired_and_not():
    random = np.random.default_rng(8)
    covered = {"paired": [], "apart": []}
    for _ in range(300):
        shift, other, first, second = random.normal(size=(4, 6))
        for kind, offset, theirs in (("paired", 0, shift), ("apart", 10, other)):
            ours = dict(enumerate(first + shift + 1))
            low, high = difference_of(ours, {i + offset: v for i, v in enumerate(second + theirs)}).interval
            covered[kind].append(low <= 1 <= high)
    assert 0.91 <= np.mean(covered["paired"]) <= 0.99
    assert 0.91 <= np.mean(covered["apart"]) <= 0.995


@pytest.mark.parametrize("seeds", [3, 5])
@pytest.mark.parametrize("seed_effect", [0.0, 3.0])
@pytest.mark.parametrize("alone", [1, 2])
def test_intervals_of_differences_cover_if_some_seeds_are_not_paired(seeds, seed_effect, alone):
    """One or two seeds of each group whose other run is not finished: alone, they seemed not to vary."""
    random = np.random.default_rng(alone)
    covered = []
    for _ in range(120):
        shift = seed_effect * random.normal(size=seeds + alone)
        first, second = (random.normal(size=seeds) + part for part in (shift[:seeds] + 1, shift[alone:]))
        effect = difference_of(dict(enumerate(first)), dict(enumerate(second, start=alone)))
        covered.append(effect.interval[0] <= 1 <= effect.interval[1])
        assert np.mean(effect.draws) == pytest.approx(effect.value, abs=0.02 * (1 + np.ptp(effect.draws)))
    assert np.mean(covered) >= 0.91


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({"higer": HIGHER}, "claim 1: unknown key of a claim 'higer': did you mean 'higher'"),
        ({}, "claim 1: a claim has one of higher, lower, .*this one has none"),
        ({"higher": HIGHER, "lower": HIGHER}, "has both higher and lower"),
        ({"says": "", "higher": HIGHER}, "a claim is a mapping that says what is claimed"),
        ({"higher": [1]}, "higher is a mapping"),
        ({"higher": {**HIGHER, "off": {}}}, "unknown key of higher 'off': did you mean 'of'"),
        ({"higher": {**HIGHER, "range": [0, 1]}}, "unknown key of higher 'range'"),
        ({"within": HIGHER}, "within needs the key 'range'"),
        (
            {"within": {"metrc": "mig", "range": [0, 1]}},
            "unknown key of within 'metrc': did you mean 'metric'",
        ),
        ({"higher": {"metric": "mig", "of": {}}}, "higher needs the key 'than'"),
        ({"higher": {**HIGHER, "metric": "migg"}}, "unknown metric 'migg': did you mean 'mig'"),
        ({"higher": {**HIGHER, "metric": "sap"}}, "unknown metric 'sap'"),
        ({"higher": {**HIGHER, "metric": "dci"}}, "unknown metric 'dci'"),
        ({"higher": {**HIGHER, "metric": "rmig.shap"}}, "unknown factor 'shap': did you mean 'shape'"),
        ({"higher": {**HIGHER, "metric": "log.nl"}}, "unknown metric 'log.nl': did you mean 'log.nll'"),
        ({"higher": {**HIGHER, "metric": "critic_tc"}}, "unknown metric 'critic_tc'"),  # β-VAE has no critic
        ({"higher": {**HIGHER, "at_equal": "recon"}}, "unknown metric 'recon'"),
        ({"higher": {**HIGHER, "of": {"gama": 10}}}, "unknown setting 'gama': did you mean 'gamma'"),
        ({"higher": {**HIGHER, "of": {"gamma": 11}}}, "the study has no run with gamma = 11"),
        ({"lower": {"column": "mig", "than": {"colum": "kl"}}}, "as in than: {column: kl}"),
        ({"trend": {"metric": "mig", "over": "beta", "direction": "up"}}, "direction must be"),
        ({"trend": {"metric": "mig", "over": "recipe", "direction": "rising"}}, "over several numbers"),
        ({"trend": {"metric": "mig", "over": "bta", "direction": "rising"}}, "unknown setting 'bta'"),
        ({"within": {"metric": "mig", "range": [2, 1]}}, "a range is two numbers"),
        ({"within": {"metric": "mig", "range": ["a", 1]}}, "range must be"),
        ({"correlation": {"metrics": ["mig", "kl"]}}, "at_least or at_most"),
        ({"higher": HIGHER, "published": "many"}, "published must be"),
    ],
)
def test_what_is_wrong_with_a_claim_is_said_before_training(claim, message):
    with pytest.raises(DistaffError, match=message.replace("{", r"\{").replace("[", r"\[")) as error:
        parse(claim)
    assert "\n" not in str(error.value)


def test_claims_are_a_list():
    with pytest.raises(DistaffError, match="claims must be a list"):
        Study.parse(yaml.safe_dump({**STUDY, "claims": {"says": "so"}}))


def test_claims_do_not_change_the_runs():
    assert parse({"higher": HIGHER}).runs == Study.parse(yaml.safe_dump(STUDY)).runs


CLAIMS = """
claims:
  - says: β raises nothing (Fig. 1)
    higher: {metric: mig, of: {beta: 8}, than: {beta: 1}}
    published: [0.5, 0.25]
  - {says: Scores are numbers, within: {metric: mig, range: [-1, 1]}, needs: celeba}
"""


@pytest.fixture
def folder(done, tmp_path):
    """The finished study again, now with claims."""
    (tmp_path / "study.yaml").write_text(done.study.to_yaml() + CLAIMS)
    (tmp_path / "runs").symlink_to(done.folder / "runs")
    return tmp_path


def test_the_command_prints_verdicts_and_writes_them(folder, capsys):
    main(["study", "claims", str(folder)])
    printed = capsys.readouterr().out
    lines = printed.splitlines()
    assert lines[0].startswith("undecided at 2 seeds: β raises nothing (Fig. 1): effect ")
    assert "published 0.5, 0.25" in lines[0]
    assert lines[-1] == "claims: 2 undecided"
    content = json.loads((folder / "claims.json").read_text(), parse_constant=pytest.fail)
    first, second = content["claims"]
    assert (first["verdict"], first["seeds"], first["published"]) == ("undecided", 2, [0.5, 0.25])
    table = Results.read(folder).table
    means = [table[table["beta"] == beta]["mig"].mean() for beta in (8, 1)]
    assert first["ours"] == pytest.approx(means)
    assert first["effect"] == pytest.approx(means[0] - means[1])
    assert second["needs"] == ["celeba"]
    assert [one.as_dict()["verdict"] for one in check_claims(folder)] == ["undecided"] * 2


def test_on_a_terminal_it_is_a_table(folder, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    main(["study", "claims", str(folder)])
    plain = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert plain.splitlines()[0].split() == ["verdict", "claim", "published", "ours", "effect", "P"]
    assert "0.5, 0.25" in plain


def test_running_a_study_ends_with_its_verdicts(folder, capsys):
    main(["study", "run", str(folder)])
    said = capsys.readouterr().err
    assert "undecided at 2 seeds: β raises nothing" in said
    assert (folder / "claims.json").exists()


def test_the_page_shows_them_first(folder):
    html = write_report(Results.read(folder)).read_text()
    assert html.index("β raises nothing (Fig. 1)") < html.index("runs finished")
    for content in ("undecided at 2 seeds", "0.5, 0.25", "P(as claimed)"):
        assert content in html


def test_a_study_without_claims_says_so(done, capsys, tmp_path):
    (tmp_path / "study.yaml").write_text(done.study.to_yaml())
    main(["study", "claims", str(tmp_path)])
    assert "makes no claims" in capsys.readouterr().out
    assert "P(as claimed)" not in write_report(Results.read(tmp_path)).read_text()
