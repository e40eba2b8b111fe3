"""Codes of many latents: what is left out and why, and that work in pieces changes nothing."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from distaff.metrics import evaluate, evaluate_scores, mig, pieces
from distaff.metrics.catalogue import all_metrics, metrics_table
from distaff.metrics.metric import card_of

LATENT_BY_LATENT = [
    *("dcimig", "factor_vae_score", "hoyer", "irs", "mcc", "med", "mig", "mig_sup", "single_neuron"),
    *("minimality_sufficiency", "modularity", "unified", "z_max_variance"),
]
DRAWN_IN_PIECES = {"factor_vae_score", "z_max_variance"}
"""Their votes are drawn piece by piece: other pieces are other draws."""
WIDE = 4200


def wide(rows, latents, seed=0):
    """Sparse codes, of which the first three know one factor each."""
    rng = np.random.default_rng(seed)
    classes = rng.integers([3, 4, 2], size=(rows, 3))
    z = rng.exponential(size=(rows, latents)) * (rng.random((rows, latents)) < 0.1)
    z[:, :3] = classes
    return z.astype(np.float32), classes


def test_thousands_of_latents_give_every_metric_of_single_latents_and_a_sentence_for_each_other():
    announced = {}
    z, classes = wide(96, WIDE)
    found = evaluate_scores(z, classes, announce=lambda name, why: announced.update({name: why}))
    assert {score.metric for score in found.scores} == set(LATENT_BY_LATENT)
    assert all(np.isfinite(score.value) for score in found.scores)
    for name, reason in announced.items():
        limit = card_of(all_metrics()[name]).limits[None]
        assert reason.startswith(f"it {limit[1]}, which takes too long for {WIDE} latents")
        assert f"(the limit is {limit[0]}): name it" in reason
    assert {name for name, reason in found.skipped.items() if "log-variances" not in reason} == set(announced)


def test_a_named_metric_is_had_whatever_it_takes():
    z, classes = wide(40, 260)
    assert not evaluate_scores(z, classes, metrics=["dci"]).skipped


def test_the_table_of_metrics_tells_limits():
    table = metrics_table().set_index("metric")["latents"]
    assert table["dci"] == "up to 256"
    assert table["mig"] == "any (locatello19), up to 64 (chen18)"
    assert table["hoyer"] == "any"


@pytest.mark.parametrize(
    "name",
    [
        *(name for name in LATENT_BY_LATENT if name not in DRAWN_IN_PIECES),
        "pairwise_information",
        "partial_information",
        "hoyer:mathieu19-code",
        "mcc:khemakhem20-spearman",
        "infomec",
    ],
)
def test_work_in_small_pieces_changes_nothing(name, monkeypatch):
    z, classes = wide(120, 9)

    def scored():
        found = evaluate_scores(z, classes, metrics=[name]).scores
        return [(score.value, score.per_latent, score.per_factor) for score in found]

    whole = scored()
    monkeypatch.setattr(pieces, "BUDGET", 250)
    for one, other in zip(whole, scored(), strict=True):
        for before, after in zip(one, other, strict=True):
            assert after == pytest.approx(before, abs=1e-12)


def test_tables_of_posteriors_in_small_pieces_change_nothing(monkeypatch):
    z, classes = wide(120, 5)
    before = evaluate(z, classes, logvar=np.full_like(z, -2), metrics=["jemmig", "informativeness"])["value"]
    monkeypatch.setattr("distaff.metrics.quantized.BUDGET", 2000)
    after = evaluate(z, classes, logvar=np.full_like(z, -2), metrics=["jemmig", "informativeness"])["value"]
    assert after.tolist() == pytest.approx(before.tolist(), abs=1e-5)


def test_tables_of_wide_codes_are_never_there_all_at_once(monkeypatch):
    rng = np.random.default_rng(0)
    z, classes = rng.normal(size=(60, 1500)).astype(np.float32), rng.integers(25, size=(60, 2))
    monkeypatch.setattr(pieces, "BUDGET", 100_000)
    tracemalloc.start()
    mig(z, classes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8e6  # all tables would take 1,500 × 20 × 50 numbers: 12 MB, and more to read them


def test_sparse_codes_score_as_dense_ones():
    z, classes = wide(100, 20)
    names = ["mig", "mcc", "hoyer"]
    for kind in (sparse.csr_matrix, sparse.csc_array):
        found = evaluate(kind(z), classes, metrics=names)
        dense = evaluate(z, classes, metrics=names)["value"].tolist()
        assert found["value"].tolist() == pytest.approx(dense, rel=1e-12)  # sums may go in another order


def test_pieces_cover_everything_once():
    for count, cost in [(0, 5), (1, 10**9), (10, 1), (17, 10**6)]:
        assert np.concatenate([*pieces.blocks(count, cost), []]).tolist() == list(range(count))
        assert [i for s in pieces.slices(count, cost) for i in range(s.start, s.stop)] == list(range(count))
