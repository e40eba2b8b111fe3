"""The decomposition of a trained run against double sums by hand."""

import json
import math

import numpy as np
import pytest
import torch

from distaff.analysis.decompose import decompose, decompose_run
from distaff.cli import main
from distaff.metrics import total_correlation, total_information
from distaff.models import VAE, LatentSpace, Representation
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


def untrained(latents):
    """A model as it starts: its codes need not be good to be measured."""
    torch.manual_seed(0)
    space = LatentSpace.parse(latents)
    return Representation(VAE(toys.mlp(DATA.shape, space.parameters, space.width), space), DATA.shape)


@pytest.mark.parametrize(
    "latents", ["gaussian:3", "a=gaussian:1,b=gaussian:2", "a=gaussian:2,p=point:1", "point:2"]
)
def test_information_and_total_correlation_are_the_numbers_of_the_metrics(latents):
    trained = untrained(latents)
    found = decompose(trained, DATA, density=stratified, samples=250, seed=3, **QUICK)
    codes = trained.encode(DATA.images)
    tc = total_correlation(codes, samples=250, seed=3)
    assert found.exact["total_correlation"] == pytest.approx(tc.value, rel=1e-9, abs=1e-9)
    information = total_information(codes, samples=250, seed=3)
    assert found.exact["mutual_information"] == pytest.approx(information.value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("sigma", [1e-6, 1e-3, 1e-1])
def test_exact_information_is_never_above_log_n_however_sharp_the_posteriors(sigma):
    trained = untrained("gaussian:3")
    with torch.no_grad():
        last = [layer for layer in trained.model.encoder.modules() if isinstance(layer, torch.nn.Linear)][-1]
        last.weight[3:] = 0
        last.bias[3:] = 2 * math.log(sigma)
    e = decompose(trained, DATA, density=stratified, samples=300, **QUICK).exact
    assert 0 < e["mutual_information"] <= math.log(300) + 1e-4
    parts = e["total_correlation"] + e["dimension_kl"]
    assert parts == pytest.approx(e["marginal_kl"], abs=1e-3)


def test_relaxed_latents_are_the_double_sum_too():
    """Of the relaxed densities of classes and bits, which metrics take at a class."""
    trained = untrained("c=concrete:3,z=gaussian:2,b=bernoulli:2")
    e = decompose(trained, DATA, density=stratified, samples=3000, **QUICK).exact
    torch.manual_seed(1)
    with torch.no_grad():
        q = trained.model.encode(DATA.images[:]).map(torch.Tensor.double)
    draws = []
    for _ in range(10):
        pairs = q.log_prob_dims((u := q.rsample())[:, None])
        log_qz = pairs.sum(-1).logsumexp(1) - math.log(300)
        log_qz_dims = pairs.logsumexp(1) - math.log(300)
        draws.append(torch.stack([q.log_prob(u) - log_qz, log_qz - log_qz_dims.sum(-1)]).mean(1))
    information, tc = torch.stack(draws).mean(0).tolist()
    assert e["mutual_information"] == pytest.approx(information, abs=0.05)
    assert e["total_correlation"] == pytest.approx(tc, abs=0.05)


def test_of_an_encoder_without_noise_what_is_defined_is_given_and_the_rest_is_null_with_a_reason(
    tmp_path, capsys
):
    critic = CriticSettings(hidden=16, layers=1)
    images = tmp_path / "ring.npz"
    np.savez(images, images=DATA.images[:].numpy())
    out = tmp_path / "aae"
    settings = SETTINGS | {"steps": 5}
    train("aae", str(images), out=out, latents="point:2", critic=critic, progress=False, **settings)
    main(["decompose", str(out), "--samples", "64", "--particles", "20", "--observations", "4"])
    printed = capsys.readouterr().out
    assert "nan" not in printed
    assert " inf" not in printed
    assert "σ = 0" in printed
    text = (out / "decomposition.json").read_text()
    kept = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert "σ = 0" in kept["undefined"]
    assert math.isfinite(kept["nll"])
    assert math.isfinite(kept["critic"]["marginal_kl"])
    # 300 codes of which no two are alike: to know z is to know x.
    assert kept["exact"]["mutual_information"] == pytest.approx(math.log(300), abs=0.05)
    assert math.isfinite(kept["exact"]["total_correlation"])
    nothing = [kept["kl"], kept["log_px"], *kept["kl_per_latent"].values(), *kept["minibatch"].values()]
    assert nothing == [None] * len(nothing)
    assert kept["exact"]["marginal_kl"] is kept["exact"]["dimension_kl"] is None
