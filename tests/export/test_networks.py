"""Graphs of networks: for batches of any size, or one sentence."""

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from distaff import DistaffError
from distaff.export.formats import ONNX, PROGRAM, write_graphs
from distaff.training.train import train
from tests import toys

QUICK = {"steps": 1, "batch_size": 8, "progress": False, "accelerator": "cpu"}
MIXED = "digit=concrete:3,style=gaussian:2,smile=bernoulli:2"


@pytest.mark.parametrize("network", ["broadcast", "resnet", "kim_mnih"])
@pytest.mark.parametrize("form", [ONNX, PROGRAM], ids=["onnx", "program"])
def test_networks_are_exported_for_batches_of_any_size(tmp_path, network, form):
    pytest.importorskip("onnxruntime")
    model = train("vae", toys.tiny_images(16), network=network, latents=MIXED, **QUICK)
    for file in write_graphs(model, tmp_path, form):
        assert "agrees with torch to" in file.note


def pooling(shape, parameters):
    """An encoder that ends in the mean over the image."""
    layers = nn.Conv2d(shape[0], 8, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, parameters)
    return nn.Sequential(*layers)


def test_a_network_whose_values_are_called_as_an_output_is_exported(tmp_path):
    """ONNX knows each value by its name, and torch calls that of a pooling layer "mean"."""
    pytest.importorskip("onnxruntime")
    model = train("vae", toys.tiny_images(16), network=pooling, latents=2, **QUICK)
    for file in write_graphs(model, tmp_path, ONNX):
        assert "agrees with torch to" in file.note


class OfThree(nn.Module):
    """A decoder that is only right for batches of the size that graphs are traced with."""

    def __init__(self, decoder: nn.Module) -> None:
        super().__init__()
        self.decoder = decoder

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return self.decoder(z) + torch.zeros(len(z), 1, 1, 1)


@pytest.mark.parametrize("form", [ONNX, PROGRAM], ids=["onnx", "program"])
def test_what_cannot_be_exported_is_one_sentence(tmp_path, form):
    model = train("vae", toys.tiny_images(16), network="tests.toys:mlp", **QUICK)
    model.model.decoder = OfThree(model.model.decoder)
    with pytest.raises(DistaffError, match=r"the decoder cannot be exported .* nothing was written") as said:
        write_graphs(model, tmp_path / "out", form)
    assert "\n" not in str(said.value)
    assert not (tmp_path / "out").exists()


def test_models_of_counts_and_of_tables_are_exported(tmp_path):
    """Their encoders take logarithms of counts, which are checked on counts."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(3, (40, 5))
    kinds = rng.choice(["a", "b", "c"], 40)
    table = pd.DataFrame({"real": rng.normal(size=40), "count": counts[:, 0], "kind": kinds})
    table.loc[3, "real"] = np.nan
    likely = {
        "poisson": counts,
        "negative_binomial": counts,
        "auto": table,
        "gaussian": rng.normal(size=(40, 5)),
    }
    for likelihood, data in likely.items():
        model = train("vae", data, likelihood=likelihood, **QUICK)
        for file in write_graphs(model, tmp_path / likelihood, PROGRAM):
            assert "agrees with torch to" in file.note
