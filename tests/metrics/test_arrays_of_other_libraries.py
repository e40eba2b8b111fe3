"""Arrays and tables of JAX, torch, polars and Arrow give what numpy arrays of the same numbers give."""

from collections import namedtuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

from distaff import Codes, DistaffError
from distaff.metrics import as_factors, evaluate, mig, rmig

RNG = np.random.default_rng(0)
CLASSES = np.indices((3, 4)).reshape(2, -1).T.repeat(10, axis=0)
MEANS = (CLASSES + 0.3 * RNG.normal(size=CLASSES.shape)).astype(np.float32)
LOGVARS = np.log(RNG.uniform(0.01, 2, size=MEANS.shape) * [1e-2, 1])


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn"])
def test_small_floats_of_jax_and_torch_are_the_numbers_that_they_round_to(name):
    kinds = pytest.importorskip("ml_dtypes")
    small = MEANS.astype(getattr(kinds, name))  # as numpy sees an array of JAX
    rounded = small.astype(np.float32)
    assert (rounded != MEANS).any()
    assert mig(small, CLASSES).value == mig(rounded, CLASSES).value
    assert mig(torch.tensor(MEANS).to(getattr(torch, name)), CLASSES).value == mig(rounded, CLASSES).value
    assert as_factors(CLASSES.astype(small.dtype)).indices.tolist() == CLASSES.tolist()


class Polars:
    """A table as polars has it: named columns, and a way to pandas."""

    def __init__(self, frame):
        self.frame, self.columns = frame, list(frame)

    def to_pandas(self):
        return self.frame


@pytest.mark.parametrize("table", [pa.Table.from_pandas, Polars])
def test_tables_of_other_libraries_keep_the_names_of_their_columns(table):
    codes = table(pd.DataFrame(MEANS, columns=["hue", "size"]))
    labels = pd.DataFrame({"row": CLASSES[:, 0], "column": pd.Categorical(CLASSES[:, 1].astype(str))})
    score = rmig(Codes(MEANS, LOGVARS, latents=("hue", "size")), labels)
    found = evaluate(codes, table(labels), logvar=table(pd.DataFrame(LOGVARS)), metrics=["rmig"])
    assert found["value"].tolist() == [score.value]
    assert mig(codes, table(labels)).details["best_latent"] == {"row": "hue", "column": "size"}


def test_rows_that_are_named_tuples_name_the_factors():
    row = namedtuple("Row", ["shape", "size"])
    assert as_factors([row(*labels) for labels in CLASSES]).names == ("shape", "size")


@pytest.mark.parametrize(
    "call",
    [
        lambda means, logvars: evaluate(means, logvar=logvars, metrics=["informativeness"]),
        lambda means, logvars: Codes(means, logvars),
        lambda means, logvars: evaluate(
            Codes(MEANS, latents=("hue", "size")), logvar=logvars, metrics=["informativeness"]
        ),
    ],
)
def test_log_variances_are_not_paired_with_the_means_of_another_latent(call):
    means = pd.DataFrame(MEANS, columns=["hue", "size"])
    call(means, pd.DataFrame(LOGVARS, columns=["hue", "size"]))
    call(means, pd.DataFrame(LOGVARS, columns=["hue_logvar", "size_logvar"]))
    with pytest.raises(DistaffError, match=r"in another order \(size, hue and not hue, size\)"):
        call(means, pd.DataFrame(LOGVARS[:, ::-1], columns=["size", "hue"]))
