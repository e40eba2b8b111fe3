"""Labels as they come: names of rows, numbers among classes, gaps; each costs its own factor only."""

import numpy as np
import pandas as pd
import pytest

from distaff import DistaffError
from distaff.metrics import (
    Score,
    dci,
    dci_es,
    dcimig,
    downstream,
    evaluate,
    evaluate_scores,
    explicitness,
    factor_vae_score,
    fairness,
    infomec,
    irs,
    jemmig,
    knock_out,
    mcc,
    med,
    mig,
    mig_sup,
    minimality_sufficiency,
    modularity,
    rmig,
    sap,
    single_neuron,
    unified,
    z_diff,
    z_max_variance,
)
from distaff.metrics.catalogue import all_metrics
from distaff.metrics.factor_vae import Groups
from distaff.metrics.metric import card_of
from tests.metrics.toys import grid, perfect_codes, sharp

CLASSES = grid((3, 4, 5), repeats=4)
CODES = sharp(perfect_codes(CLASSES, 4))
NAMES = ["shape", "size", "hue"]
FRAME = pd.DataFrame(CLASSES, columns=NAMES)
BY_FACTOR = [mig, rmig, jemmig, sap, explicitness]


@pytest.mark.parametrize(
    "unique",
    [
        [f"photo-{n}.png" for n in range(len(FRAME))],
        pd.date_range("2024-01-01", periods=len(FRAME)),
        np.random.default_rng(0).permutation(len(FRAME)),
    ],
    ids=["names", "dates", "numbers"],
)
def test_labels_that_are_all_different_are_named_and_left_out(unique):
    table = evaluate(CODES, FRAME.assign(row=unique), metrics=["mig", "modularity"])
    plain = evaluate(CODES, FRAME, metrics=["mig", "modularity"])
    assert table["value"].tolist() == plain["value"].tolist()
    assert set(table["notes"]) == {"factor 'row' left out: the label differs in every row"}
    with pytest.raises(DistaffError, match=r"'row': the label differs in every row.*real=True"):
        mig(CODES, {"row": unique})


@pytest.mark.parametrize("metric", [mig, modularity, rmig])
def test_a_real_valued_factor_does_not_stop_the_others(metric):
    angle = np.random.default_rng(0).normal(size=len(FRAME))
    mixed, plain = metric(CODES, FRAME.assign(angle=angle)), metric(CODES, FRAME)
    assert mixed.value == plain.value
    assert mixed.per_factor == plain.per_factor
    assert mixed.notes[-len(plain.notes) - 1 :][0] == (
        "factor 'angle' left out: real-valued, and no bins were asked for"
    )
    with pytest.raises(DistaffError, match="factor_bins=20"):
        metric(CODES, {"angle": angle})


@pytest.mark.parametrize("metric", BY_FACTOR)
def test_a_missing_label_costs_a_row_of_its_own_factor_only(metric):
    gaps = FRAME.astype(float)
    gaps.loc[::3, "size"] = np.nan
    gaps.loc[:9, "hue"] = np.nan
    found = metric(CODES, gaps)
    alone = {name: metric(CODES[gaps[name].notna().to_numpy()], gaps[[name]].dropna()) for name in NAMES}
    assert found.per_factor == pytest.approx({name: score.value for name, score in alone.items()})
    assert found.value == pytest.approx(np.mean([score.value for score in alone.values()]))
    assert "factor 'size': 80 of 240 rows dropped, the label is missing" in found.notes


@pytest.mark.parametrize("metric", [mig_sup, dcimig, med, minimality_sufficiency])
def test_information_of_a_factor_is_that_of_the_rows_that_have_its_label(metric):
    gaps = FRAME.astype(float)
    gaps.loc[::3, "size"] = np.nan
    gaps.loc[:9, "hue"] = np.nan
    found = metric(CODES, gaps)
    one = found if isinstance(found, Score) else found[0]
    for k, name in enumerate(NAMES):
        own = mig(CODES[gaps[name].notna().to_numpy()], gaps[[name]].dropna(), bins=one.settings["bins"])
        matrix = own.details["mutual_information"][:, 0]
        assert one.details["mutual_information"][:, k] == pytest.approx(matrix, abs=1e-12)
    assert "factor 'size': 80 of 240 rows dropped, the label is missing" in one.notes


def test_minimality_is_the_mean_of_latents_that_are_at_most_1():
    """Labels where the latent varies, and none where it rests: it knows more of them than it says in all."""
    latent = np.r_[np.arange(15.0), np.zeros(900)][:, None]
    labels = np.column_stack([np.r_[np.arange(15.0), np.full(900, np.nan)], np.arange(915) % 2])
    minimality, _ = minimality_sufficiency(latent, labels)
    assert minimality.per_latent == {"z0": 1.0}
    assert minimality.value == 1.0


@pytest.mark.parametrize("metric", [factor_vae_score, z_diff, irs])
def test_a_factor_is_held_fixed_among_the_rows_that_have_its_label(metric):
    quick = {z_diff: {"pairs": 5, "points": 300, "test": 100}}.get(metric, {})
    gaps = FRAME.astype(float)
    gaps.loc[FRAME["size"] == 0, "hue"] = np.nan
    gaps.loc[::2, "shape"] = np.nan
    assert not gaps[["shape", "hue"]].dropna().empty
    found = metric(perfect_codes(CLASSES), gaps, **quick)
    assert found.value == pytest.approx(1.0)
    assert "factor 'shape': 120 of 240 rows dropped, the label is missing" in found.notes


def test_only_metrics_of_several_labels_of_a_row_need_them_all():
    cards = {name: card_of(function) for name, function in all_metrics().items()}
    whole = {n for n, card in cards.items() if card.inputs == "codes and factors" and not card.by_factor}
    assert whole == {"fairness", "z_max_variance"}


def test_groups_hold_no_row_without_a_label():
    groups = Groups(np.array([1, -1, 0, 1, -1, 0, 1]), 2)
    rng = np.random.default_rng(0)
    assert groups.counts.tolist() == [2, 3]
    rows = groups.anchors(200, rng)
    assert set(rows) == {0, 2, 3, 5, 6}
    assert (groups.classes[groups.companions(rows, 5, rng)] == groups.classes[rows][:, None]).all()


def test_matrices_keep_the_order_of_the_factors():
    gaps = FRAME.astype(float)
    gaps.loc[::3, "shape"] = np.nan
    found = mig(CODES, gaps).details
    assert found["best_latent"] == {"shape": "z0", "size": "z1", "hue": "z2"}
    assert found["mutual_information"].argmax(axis=0).tolist() == [0, 1, 2]
    assert found["factor_entropies"] == pytest.approx(np.log([3, 4, 5]), abs=1e-3)


def test_a_factor_with_hardly_any_label_stops_only_what_needs_all():
    gaps = FRAME.astype(float)
    gaps.loc[1:, "hue"] = np.nan
    with pytest.raises(DistaffError, match="'hue' lacks most of them"):
        z_max_variance(CODES, gaps)
    for metric in (mig, modularity):
        with pytest.raises(DistaffError, match="factor 'hue' has 1 labels"):
            metric(CODES, gaps)


def listed(found):
    return [found] if isinstance(found, Score) else list(found)


@pytest.mark.parametrize("metric", [fairness, z_max_variance])
def test_a_label_of_a_factor_that_is_left_out_costs_no_row(metric):
    gaps = FRAME.assign(depth=np.where(np.arange(len(FRAME)) % 4, np.nan, np.linspace(0, 1.5, len(FRAME))))
    one, plain = metric(CODES, gaps), metric(CODES, FRAME)
    table = evaluate(CODES, gaps, metrics=[metric.__name__])
    for score, expected, value in zip(listed(one), listed(plain), table["value"], strict=True):
        assert score.value == expected.value == value
        assert not any("dropped" in note for note in score.notes)


@pytest.mark.parametrize("missing", [np.nan, None])
def test_a_factor_without_any_label_is_named(missing):
    gaps = FRAME.assign(hue=missing)
    with pytest.raises(DistaffError, match="factor 'hue' has 0 labels"):
        mig(CODES, gaps)
    for bins in (None, 5):
        table = evaluate(CODES, gaps, metrics=["mig"], factor_bins=bins)
        assert "factor 'hue' left out: fewer than two values" in table["notes"][0]


@pytest.mark.parametrize("still", [7, "red", 0.5])
def test_a_factor_that_never_varies_is_left_out_of_a_table_and_named(still):
    others = FRAME.drop(columns="hue")
    half = np.arange(len(FRAME)) % 2 == 0
    for column in (still, pd.Series([still] * len(FRAME)).where(half)):
        table = evaluate(CODES, FRAME.assign(hue=column), metrics=["mig", "mcc"])
        assert table["value"].tolist() == evaluate(CODES, others, metrics=["mig", "mcc"])["value"].tolist()
        assert table["notes"].str.contains("factor 'hue' left out: fewer than two values").all()
    with pytest.raises(DistaffError, match="factor 'hue' has only one value"):
        evaluate(CODES, {"hue": [still] * len(FRAME)}, metrics=["mig"])


# What each metric knows of every factor by itself: the entry of its details, and the axis of factors.
MATRICES = [
    (modularity, "original", "mutual_information", 1),
    (modularity, "correct", "mutual_information", 1),
    (dci, "esmaeili18", "importances", 1),
    (dci, "eastwood18", "importances", 1),
    (dci, "locatello19", "importances", 1),
    (infomec, "hsu23", "nmi", 0),
    (mcc, "khemakhem20", "correlations", 1),
    (mcc, "khemakhem20-spearman", "correlations", 1),
    (dci_es, "eastwood23", "losses", 1),
    (single_neuron, "mahon23", "mutual_information", 1),
    (knock_out, "mahon23", "accuracies", 0),
    (unified, "information", "matrix", 1),
    (unified, "svm", "matrix", 1),
]
# Products of matrices of other widths are rounded otherwise: in float32 for the masses of q(z|x).
ROUNDING = {(modularity, "correct"): 1e-7, (dci_es, "eastwood23"): 1e-10}
NOISY = sharp(
    perfect_codes(CLASSES, 4) + 0.3 * np.random.default_rng(0).normal(size=(len(CLASSES), 4)), sigma=0.3
)


@pytest.mark.parametrize(("metric", "protocol", "key", "axis"), MATRICES)
def test_a_missing_label_leaves_what_is_known_of_the_other_factors(metric, protocol, key, axis):
    gaps = FRAME.astype(float)
    gaps.loc[::3, "size"] = np.nan
    there = gaps["size"].notna().to_numpy()

    def first(found):
        return found if isinstance(found, Score) else found[0]

    whole, found = (first(metric(NOISY, labels, protocol=protocol)) for labels in (FRAME, gaps))
    # The rows without a label are as good as not there for the factor that lacks it.
    own = first(metric(NOISY[there], FRAME[there], protocol=protocol))
    for k, expected in enumerate([whole, own, whole]):
        column, wanted = (np.take(score.details[key], k, axis=axis) for score in (found, expected))
        assert column == pytest.approx(wanted, rel=0, abs=ROUNDING.get((metric, protocol), 1e-14))
    assert np.abs(np.take(whole.details[key] - found.details[key], 1, axis=axis)).max() > 1e-6
    assert "factor 'size': 80 of 240 rows dropped, the label is missing" in found.notes


def test_the_map_of_the_weak_form_is_fitted_factor_by_factor():
    gaps = FRAME.astype(float)
    gaps.loc[::3, "size"] = np.nan
    there = gaps["size"].notna().to_numpy()
    whole, found, own = (
        mcc(codes, labels, protocol="khemakhem20-weak").per_factor
        for codes, labels in ((NOISY, FRAME), (NOISY, gaps), (NOISY[there], FRAME[there]))
    )
    expected = {"shape": whole["shape"], "size": own["size"], "hue": whole["hue"]}
    assert found == pytest.approx(expected, abs=1e-12)


def test_predictions_of_a_factor_are_of_its_own_rows():
    gaps = FRAME.astype(float)
    gaps.loc[::3, "size"] = np.nan
    there = gaps["size"].notna().to_numpy()
    whole, found, own = (
        downstream(codes, labels).accuracy
        for codes, labels in ((NOISY, FRAME), (NOISY, gaps), (NOISY[there], FRAME[there]))
    )
    expected = {"shape": whole.per_factor["shape"], "hue": whole.per_factor["hue"]}
    assert found.per_factor == expected | {"size": own.per_factor["size"]}
    accuracies = found.details["accuracies"]
    assert list(accuracies) == ["10", "100", "107", "160"]
    assert np.isnan(accuracies["160"]).tolist() == [False, True, False]
    assert accuracies["107"][1] == found.per_factor["size"]


def test_labels_that_no_row_has_all_of_are_scored_all_the_same():
    classes = grid((3, 4, 5), repeats=10)
    gaps = pd.DataFrame(classes, columns=NAMES).astype(float)
    tenth = np.random.default_rng(0).permutation(len(gaps)) % 10
    for k, name in enumerate(NAMES):
        gaps.loc[tenth != k, name] = np.nan
    assert not gaps.notna().all(axis=1).any()
    assert gaps.isna().mean().tolist() == [0.9] * 3
    wanted = ["modularity", "dci", "infomec", "mcc", "dci_es", "single_neuron", "unified", "downstream"]
    found = evaluate_scores(sharp(perfect_codes(classes)), gaps, metrics=wanted)
    for score in found.scores:
        assert f"factor 'hue': {9 * len(gaps) // 10} of {len(gaps)} rows dropped, the label is missing" in (
            score.notes
        )
    values = {score.name: score.value for score in found.scores}
    perfect = ("dci_disentanglement", "dci_completeness", "infoe", "mcc", "modularity")
    assert min(values[name] for name in perfect) > 0.7, values


def test_a_message_about_few_rows_names_the_factor_they_have_labels_of():
    gaps = FRAME.astype(float)
    gaps.loc[10:, "shape"] = np.nan
    gaps.loc[:4, "shape"] = 1
    with pytest.raises(DistaffError, match="where 'shape' has labels: 10 rows are too few to train"):
        mcc(CODES, gaps)


def test_intervals_are_of_the_same_rows():
    gaps = FRAME.astype(float)
    gaps.loc[::3, "size"] = np.nan
    wanted = ["mig", "modularity", "mcc"]
    for score in evaluate_scores(CODES, gaps, metrics=wanted, bootstrap=10).scores:
        assert score.interval[0] <= score.value <= score.interval[1]


@pytest.mark.parametrize("kind", [np.asarray, np.ndarray.tolist, lambda y: y.astype(np.int8), pd.DataFrame])
def test_minus_one_beside_classes_is_a_missing_label(kind):
    """The rule of data sets: −1 is missing beside at least two classes of 0 and more, and else a class."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 2))
    y = np.stack([np.digitize(z[:, 0], [-0.5, 0.5]), np.digitize(z[:, 1], [0])], axis=1)
    some = y.copy()
    some[:50, 0] = -1
    found, as_nan = mig(z, kind(some)), mig(z, np.where(some < 0, np.nan, some))
    assert found.value == as_nan.value
    assert "50 of 300 rows dropped" in " ".join(found.notes)
    signs = np.where(y[:, 1:] > 0, 1, -1)
    assert mig(z, kind(signs)).value == mig(z, y[:, 1:]).value


def test_minus_one_as_a_text_or_a_category_is_a_class_and_a_missing_number_is_said():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 1))
    y = np.digitize(z[:, 0], [-0.5, 0.5])
    texts, categories = (y - 1).astype(str), pd.Categorical(y - 1)
    for labels in (texts, texts.astype(object), categories, pd.Series(categories.astype(str))):
        assert mig(z, {"turn": labels}).value == mig(z, y).value
    for numbers in (y - 1, (y - 1).astype(object), (y - 1.0)):
        assert any(
            "'turn': -1 is taken as a missing label" in note for note in mig(z, {"turn": numbers}).notes
        )
    assert not any("-1" in note for note in mig(z, {"turn": np.where(y == 0, np.nan, y - 1)}).notes)


def test_scores_that_read_names_as_numbers_say_that_other_names_would_give_others():
    """A latent that knows the cell's type, by two ways of calling the types."""
    types = np.repeat(np.arange(4), 30)
    z = types[:, None] + 0.1 * np.random.default_rng(0).normal(size=(120, 1))
    said = "factor 'type' read as 0, 1, … in the order of the names: other names would give another score"
    scores = {}
    for names in ("BCDE", "DBEC"):
        frame = pd.DataFrame({"type": np.array(list(names))[types], "half": np.array(list("xy"))[types // 2]})
        for labels in (frame, frame.astype("category")):
            found = evaluate_scores(z, labels, metrics=["mcc", "r2", "dci", "mig"]).scores
            assert [said in score.notes for score in found] == [True] * 5 + [False]
        scores[names] = [score.value for score in found]
    assert np.subtract(*scores.values())[1] > 0.3  # R²
    assert np.subtract(*scores.values())[-1] == pytest.approx(0)  # MIG
    ordered = pd.DataFrame({"type": pd.Categorical(frame["type"], list("DBEC"), ordered=True)})
    for labels in (ordered, {"type": types}, {"type": types.astype(str)}, {"type": types > 1}):
        assert all(
            said not in score.notes for score in evaluate_scores(z, labels, metrics=["r2", "dci"]).scores
        )
