"""Batches of any form give the table of all rows at once, or one sentence when they come."""

import numpy as np
import pandas as pd
import pytest
import torch

from distaff import Codes, DistaffError
from distaff.metrics import Evaluator, as_factors, evaluate
from tests.metrics.toys import grid, perfect_codes, sharp

CLASSES = grid((3, 4, 5), repeats=4)
CODES = sharp(perfect_codes(CLASSES, 4))
FRAME = pd.DataFrame({"shape": np.array(["oval", "10", "2"])[CLASSES[:, 0]], "b": CLASSES[:, 1] / 4})
FEW = ["mig", "factor_vae_score", "hoyer"]
PIECES = np.array_split(np.random.default_rng(0).permutation(len(CLASSES)), 7)


def as_rows(frame):
    return [list(row) for row in frame.itertuples(index=False)]


@pytest.mark.parametrize(
    "form",
    [
        lambda frame: frame,
        lambda frame: frame.reset_index(drop=True),
        lambda frame: frame.to_dict("list"),
        lambda frame: {name: frame[name].to_numpy() for name in frame},
        lambda frame: frame.to_dict("records"),
        lambda frame: frame.to_records(index=False),
        lambda frame: frame.astype({"shape": pd.CategoricalDtype(["10", "2", "oval"])}),
    ],
    ids=["frame", "reset", "lists", "arrays", "records", "recarray", "categories"],
)
def test_batches_of_every_form_equal_one_call(form):
    evaluator, order = Evaluator(metrics=FEW), np.concatenate(PIECES)
    for rows in PIECES:
        mu, logvar = torch.tensor(CODES.means[rows], requires_grad=True), torch.tensor(CODES.logvars[rows])
        evaluator.update(mu, form(FRAME.iloc[rows]), logvar=logvar)
    whole = evaluate(CODES[order], FRAME.iloc[order], metrics=FEW)
    pd.testing.assert_frame_equal(evaluator.compute(), whole)
    evaluator.reset()
    with pytest.raises(DistaffError, match="seen no batch"):
        evaluator.compute()


def test_rows_without_names_are_numbered_as_in_one_call():
    evaluator, order = Evaluator(metrics=["mig"]), np.concatenate(PIECES)
    for rows in PIECES:
        evaluator.update(CODES[rows], as_rows(FRAME.iloc[rows]))
    whole = evaluate(CODES[order], as_rows(FRAME.iloc[order]), metrics=["mig"])
    pd.testing.assert_frame_equal(evaluator.compute(), whole)


def test_buffers_may_be_used_again():
    evaluator, mu, factors = Evaluator(metrics=["mig"]), np.empty((60, 4)), np.empty((60, 3), int)
    for rows in np.array_split(np.arange(240), 4):
        mu[:], factors[:] = CODES.means[rows], CLASSES[rows]
        evaluator.update(mu, factors)
    assert evaluator.compute()["value"][0] == evaluate(CODES.means, CLASSES, metrics=["mig"])["value"][0]


def test_log_variances_beside_codes_are_not_lost():
    evaluator = Evaluator(metrics=["total_information"])
    evaluator.update(Codes(CODES.means), logvar=np.zeros((240, 4)))
    assert evaluator.scores().scores[0].notes == ()


def test_single_rows_are_a_batch():
    evaluator = Evaluator(metrics=["mig"])
    for row in range(len(CODES)):
        evaluator.update(CODES.means[row : row + 1], CLASSES[row : row + 1])
    assert evaluator.compute()["value"][0] == evaluate(CODES.means, CLASSES, metrics=["mig"])["value"][0]


OTHER_LATENTS = Codes(CODES.means, CODES.logvars, {"c": np.eye(3)[CLASSES[:, 0]]})


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ((CODES,), "give factors with all batches or with none"),
        ((CODES.means, CLASSES), "other latents"),
        ((OTHER_LATENTS, CLASSES), "other latents"),
        ((CODES, CLASSES[:-1]), "240 rows of codes but 239"),
        ((CODES, CLASSES[:, :2]), "they must be the same in all"),
        ((CODES, {"a": CLASSES[:, 0]}), "they must be the same in all"),
        ((CODES, np.empty((240, 0))), "factor names must differ"),
        ((CODES, as_factors(CLASSES)), "give a batch's factors unconverted"),
        ((CODES, CLASSES[None]), r"matrix \(N, K\)"),
        ((np.full((240, 4), np.nan), CLASSES), "nan at row 0"),
        ((torch.zeros(3, 4, 5), CLASSES), r"matrix \(N, D\)"),
        ((None, CLASSES), r"matrix \(N, D\)"),
    ],
)
def test_a_batch_that_does_not_fit_is_refused_and_leaves_the_others(batch, message):
    evaluator = Evaluator(metrics=["mig"])
    evaluator.update(CODES, CLASSES)
    with pytest.raises(DistaffError, match=message):
        evaluator.update(*batch)
    assert evaluator.compute()["value"][0] == evaluate(CODES, CLASSES, metrics=["mig"])["value"][0]


def test_categories_of_one_group_may_not_change_in_number():
    evaluator = Evaluator(metrics=["mig"])
    evaluator.update(OTHER_LATENTS, CLASSES)
    two = Codes(CODES.means, CODES.logvars, {"c": np.eye(2)[CLASSES[:, 0] % 2]})
    with pytest.raises(DistaffError, match="other latents"):
        evaluator.update(two, CLASSES)


def test_ordered_categories_that_differ_between_batches_are_refused():
    evaluator = Evaluator(metrics=["mig"])
    for names in (["a", "b"], ["b", "a"]):
        kind = pd.Categorical.from_codes(CLASSES[:, 0] % 2, names, ordered=True)
        evaluator.update(CODES, pd.DataFrame({"k": kind}))
    with pytest.raises(DistaffError, match="categories of a factor differ"):
        evaluator.compute()
