"""The decomposition of a trained run against double sums by hand."""

import json
import math

import numpy as np
import pytest
import torch

from distaff.analysis.decompose import decompose, decompose_run
from distaff.cli import main
from distaff.objectives.critics import CriticSettings
from distaff.objectives.densities import stratified
from distaff.runs.load import load
from distaff.training.train import train
from tests import toys

DATA = toys.ring(300, side=12)
SETTINGS = {"network": "tests.toys:mlp", "steps": 200, "batch_size": 50, "learning_rate": 5e-3}
QUICK = {"particles": 200, "observations": 10, "progress": False}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "factor"
    critic = CriticSettings(hidden=32, layers=2, learning_rate=1e-3)
    images = folder.parent / "ring.npz"
    np.savez(images, images=DATA.images[:].numpy())
    train(
        "factor_vae",
        str(images),
        out=folder,
        latents="a=gaussian:1,b=gaussian:2",
        gamma=1.0,
        critic=critic,
        progress=False,
        **SETTINGS,
    )
    return folder


def test_exact_terms_are_the_double_sum_over_the_data_set(run):
    trained = load(run)
    found = decompose(trained, DATA, density=stratified, samples=300, **QUICK)
    codes = trained.encode(DATA.images)
    torch.manual_seed(1)
    mu, sigma = torch.tensor(codes.means).double(), torch.tensor(codes.logvars).double().div(2).exp()
    draws = []
    for _ in range(20):
        z = mu + sigma * torch.randn_like(mu)
        log_q = torch.distributions.Normal(mu, sigma).log_prob(z[:, None])

        def log_qz(dims, log_q=log_q):
            return log_q[..., dims].sum(-1).logsumexp(1) - math.log(300)

        whole, first, rest = log_qz([0, 1, 2]), log_qz([0]), log_qz([1, 2])
        own = log_q.diagonal(dim1=0, dim2=1).sum(0)
        draws.append(
            torch.stack([own - whole, whole - first - rest, rest - log_qz([1]) - log_qz([2])]).mean(1)
        )
    information, between, within = torch.stack(draws).mean(0).tolist()
    assert found.exact["mutual_information"] == pytest.approx(information, abs=0.2)
    assert found.exact["tc_between_groups"] == pytest.approx(between, abs=0.15)
    assert found.exact["tc_within_groups"] == pytest.approx(within, abs=0.15)
    assert information > 1


def test_the_parts_add_up(run):
    found = decompose_run(run, samples=300, **QUICK)
    e = found.exact
    parts = e["tc_between_groups"] + e["tc_within_groups"] + e["dimension_kl"]
    assert parts == pytest.approx(e["marginal_kl"], abs=1e-3)
    assert e["mutual_information"] + e["marginal_kl"] == pytest.approx(found.kl, abs=0.3)
    assert sum(found.kl_per_latent.values()) == pytest.approx(found.kl, rel=1e-5)
    assert found.log_px > -found.nll - found.kl
    assert set(found.critic) == {"total_correlation"}
    assert found.density == "stratified"
    # A batch of 50 of 300 sees few neighbours: by Jensen its log q(z) is low and its information high.
    assert found.minibatch["mutual_information"] > e["mutual_information"]


def test_the_command_prints_the_table_and_keeps_it(run, capsys):
    main(["decompose", str(run), "--samples", "64", "--particles", "50", "--observations", "4"])
    out = capsys.readouterr().out
    for word in ("exact", "stratified", "critic", "mutual_information", "kl of z0", "ELBO", "IWAE 50"):
        assert word in out
    kept = json.loads((run / "decomposition.json").read_text())
    assert kept["particles"] == 50
    assert set(kept["exact"]) == set(kept["minibatch"])
