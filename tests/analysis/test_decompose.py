"""The decomposition of a trained run against double sums by hand."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from torch.distributions import MultivariateNormal

from distaff.analysis.decompose import _critics, decompose, decompose_run
from distaff.analysis.whole_set import WholeSet
from distaff.cli import main
from distaff.data.arrays import from_array
from distaff.data.splits import some
from distaff.foundation.errors import DistaffError
from distaff.metrics import total_correlation, total_information
from distaff.metrics.sampled import Samples
from distaff.models import VAE, LatentSpace, Representation
from distaff.models.groups import Real
from distaff.models.likelihoods import UnitGaussian
from distaff.models.networks.halving import Networks
from distaff.models.priors.parsing import parse_prior
from distaff.objectives.critics import CriticSettings, DensityRatio
from distaff.objectives.densities import Shape, stratified
from distaff.objectives.evidence import iwae_bound
from distaff.runs import RunFolder
from distaff.runs.load import load
from distaff.training.train import train
from tests import toys

DATA = toys.ring(300, side=12)
SETTINGS = {"network": "tests.toys:mlp", "steps": 200, "batch_size": 50, "learning_rate": 5e-3}
QUICK = {"particles": 200, "bounded": 10, "progress": False}


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
    main(["decompose", str(run), "--samples", "64", "--particles", "50", "--bounded", "4"])
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


def sharp(trained, sigma):
    """The same with σ of its Gaussian latents set, and their means spread out over about 1."""
    last = [layer for layer in trained.model.encoder.modules() if isinstance(layer, torch.nn.Linear)][-1]
    first = 0
    with torch.no_grad():
        for group in trained.model.latents.groups.values():
            if isinstance(group, Real):
                spreads = slice(first + group.dims, first + 2 * group.dims)
                last.weight[spreads], last.bias[spreads] = 0, 2 * math.log(sigma)
            first += group.parameters
        last.weight *= 20
    return trained


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
    e = decompose(sharp(trained, sigma), DATA, density=stratified, samples=300, **QUICK).exact
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
    main(["decompose", str(out), "--samples", "64", "--particles", "20", "--bounded", "4"])
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


@torch.no_grad()
@pytest.mark.parametrize("latents", ["a=gaussian:1,b=gaussian:2", "c=concrete:3,z=gaussian:2"])
def test_of_a_sample_q_of_the_whole_set_is_estimated_by_stratified_weights(latents):
    """Against the weights of HFVAE's Eq. 13, over all pairs of the sample."""
    trained = sharp(untrained(latents), sigma=0.02)
    chosen = some(DATA, 120, seed=5)
    found = decompose(trained, DATA, density=stratified, observations=120, samples=120, seed=5, **QUICK)
    everything = trained.model.encode(chosen.images[:])
    codes = trained.encode(chosen.images)
    drawn = Samples(codes, 120, 5)
    step = WholeSet.of(trained.model, everything, drawn, chosen.images[:][drawn.rows], {}, 300)
    inverse = np.argsort(drawn.rows)  # the sample's own posterior on the diagonal
    posterior = everything.map(torch.Tensor.double)
    pairs = posterior.log_prob_dims(step.u[inverse][:, None])
    weights = stratified.log_weights(Shape(120, 120, 0, 300), pairs[..., 0])
    joint = (pairs.sum(-1) + weights).logsumexp(1)
    each = (pairs + weights[..., None]).logsumexp(1)
    torch.testing.assert_close(step.log_qz[inverse], joint, rtol=0, atol=1e-4)
    torch.testing.assert_close(step.log_qz_dims[inverse], each, rtol=0, atol=1e-4)
    assert found.exact["mutual_information"] > math.log(120) - 1  # where weights matter
    assert (found.observations, found.data_size, found.bounded) == (120, 300, 10)


def test_terms_by_a_sample_are_those_of_the_whole_set_and_not_of_the_sample_alone():
    trained = sharp(untrained("a=gaussian:1,b=gaussian:2"), sigma=0.02)
    how = {"density": stratified, "samples": 600, **QUICK}
    whole = decompose(trained, DATA, **how)
    by_sample = [decompose(trained, DATA, observations=100, seed=seed, **how) for seed in range(5)]
    alone = [decompose(trained, some(DATA, 100, seed), seed=seed, **how) for seed in range(5)]
    for name in ("mutual_information", "total_correlation", "marginal_kl"):
        near, far = (np.mean([one.exact[name] for one in found]) for found in (by_sample, alone))
        assert abs(near - whole.exact[name]) < 0.4 * abs(far - whole.exact[name])
    assert whole.exact["mutual_information"] > 3
    assert whole.standard_errors.keys() == {"nll", "elbo", "log_px"}  # the KL is in closed form


def test_standard_errors_of_a_sample_are_those_of_its_mean():
    """Over many samples of 75, the reconstruction term goes astray by as much as one of them says."""
    trained = untrained("gaussian:2")
    whole = decompose(trained, DATA, density=stratified, samples=2, particles=2, bounded=2, progress=False)
    some_of_it = [
        decompose(
            trained,
            DATA,
            density=stratified,
            observations=75,
            samples=2,
            particles=2,
            bounded=2,
            seed=seed,
            progress=False,
        )
        for seed in range(60)
    ]
    strays = np.array([found.nll - whole.nll for found in some_of_it])
    # Drawn without replacement, 75 of 300 stray by √(1 − 1/4) of s/√n.
    said = np.mean([found.standard_errors["nll"] for found in some_of_it]) * math.sqrt(0.75)
    assert np.sqrt(np.square(strays).mean()) == pytest.approx(said, rel=0.35)


@pytest.mark.parametrize("prior", ["normal", "student_t:4"])
def test_standard_errors_of_the_whole_set_are_those_of_one_draw_an_observation(prior):
    """x = W z + N(0, I), z ~ N(0, I), and the exact posterior: log p(x) is known, the bound strays by draws.

    With another prior the KL is drawn too.
    """
    torch.manual_seed(0)
    weight = torch.linalg.qr(torch.randn(3, 2))[0] * torch.tensor([2.0, 0.5])
    precision = 1 + weight.square().sum(0)
    encoder, decoder, space = nn.Linear(3, 4), nn.Linear(2, 3, bias=False), LatentSpace.parse(2)
    with torch.no_grad():
        encoder.weight[:2], encoder.weight[2:] = (weight / precision).T, 0
        encoder.bias[:2], encoder.bias[2:] = 0, -precision.log()
        decoder.weight[:] = weight
    model = VAE(Networks(encoder, decoder), space, parse_prior(prior, space), UnitGaussian)
    x = torch.randn(200, 2) @ weight.T + torch.randn(200, 3)
    quick = {"density": stratified, "samples": 200, "particles": 8, "bounded": 8, "progress": False}
    trained, data = Representation(model, (3,)), from_array(x.numpy())
    found = [decompose(trained, data, seed=seed, **quick) for seed in range(60)]
    for name in ("nll", "kl"):
        said = [one.standard_errors.get(name, 0.0) for one in found]
        assert np.std([getattr(one, name) for one in found]) == pytest.approx(
            np.mean(said), rel=0.3, abs=1e-6
        )
    if prior == "normal":
        log_px = MultivariateNormal(torch.zeros(3), torch.eye(3) + weight @ weight.T).log_prob(x).mean()
        strays = np.array([one.log_px - float(log_px) for one in found])
        said = np.mean([one.standard_errors["log_px"] for one in found])
        assert np.sqrt(np.square(strays).mean()) == pytest.approx(said, rel=0.3)


def test_the_command_takes_a_sample_by_default_and_says_so(run, capsys, monkeypatch):
    flags = ["--samples", "64", "--particles", "20", "--bounded", "4", "--no-progress"]
    main(["decompose", str(run), "--observations", "100", *flags])
    printed = capsys.readouterr().out
    assert "by sample" in printed
    assert "100 of the 300 observations" in printed
    assert "±" in printed
    kept = json.loads((run / "decomposition.json").read_text())
    assert (kept["observations"], kept["data_size"]) == (100, 300)
    assert kept["standard_errors"].keys() == {"nll", "kl", "elbo", "log_px"}
    main(["decompose", str(run), "--observations", "all", *flags])
    printed = capsys.readouterr().out
    assert "chosen at random" not in printed
    assert json.loads((run / "decomposition.json").read_text())["observations"] == 300
    with pytest.raises(SystemExit):
        main(["decompose", str(run), "--observations", "most", *flags])
    assert "or all" in capsys.readouterr().err


def test_the_bound_is_the_elbo_and_its_distance_from_it(run):
    """All observations bounded: the mean of the bounds themselves, but for the draws of the ELBO."""
    trained = load(run)
    quick = {"density": stratified, "samples": 300, "particles": 300, "progress": False}
    bound = iwae_bound(trained.model, DATA.images[:], 300).mean()
    everywhere = decompose(trained, DATA, bounded=300, **quick)
    assert everywhere.log_px == pytest.approx(float(bound), abs=0.3)
    few = [decompose(trained, DATA, bounded=8, seed=seed, **quick) for seed in range(3)]
    for found in few:
        assert found.log_px == pytest.approx(float(bound), abs=4 * found.standard_errors["log_px"] + 0.3)


def test_critics_are_those_beside_the_trained_model_and_fit_their_settings(tmp_path):
    critic = CriticSettings(hidden=8, layers=1)
    early = {"hold_out": 0.3, "patience": 1, "validate_every": 1, "learning_rate": 0.5, "steps": 40}
    train("factor_vae", DATA, out=tmp_path, critic=critic, progress=False, **SETTINGS | early)
    folder = RunFolder(tmp_path)
    (best,), last = folder.best.iterdir(), max(folder.checkpoints.iterdir())
    assert best.name < last.name
    config = folder.read()
    ratios = [part.term for part in config.goal().terms if isinstance(part.term, DensityRatio)]
    (network,) = _critics(folder, config.model.latents, ratios).values()
    kept = load_file(best / "training.safetensors")
    for name, weights in network.state_dict().items():
        assert weights.equal(kept[f"critic.total_correlation/{name}"])
    wider = replace(config, recipe=replace(config.recipe, arguments={"critic": {"hidden": 9, "layers": 1}}))
    ratios = [part.term for part in wider.goal().terms if isinstance(part.term, DensityRatio)]
    with pytest.raises(DistaffError, match=r"do not fit the model that run\.yaml describes"):
        _critics(folder, config.model.latents, ratios)
