"""Latents, priors, likelihoods and networks through ``train``: 20 steps, resumed exactly, evaluated."""

import numpy as np
import pytest
import torch
import yaml

from distaff.analysis.encoding import encode, encode_run
from distaff.analysis.evaluate import evaluate_encoded, evaluate_run
from distaff.analysis.report import report_run
from distaff.data.arrays import from_array
from distaff.data.dataset import Dataset
from distaff.foundation.binding import public_functions
from distaff.foundation.errors import DistaffError
from distaff.models.latents import LatentSpace
from distaff.models.priors import named as kinds
from distaff.models.priors.parsing import parse_prior
from distaff.models.representation import Representation
from distaff.models.vae import VAE
from distaff.runs import pictures
from distaff.runs.folder import RunFolder, TrainedRun
from distaff.runs.load import load
from distaff.runs.pictures import traversals
from distaff.training.train import resume, train
from tests import toys

QUICK = {"batch_size": 16, "log_every": 5, "checkpoint_every": 5, "progress": False, "accelerator": "cpu"}
TINY = {"network": "tests.toys:mlp", **QUICK}
MIXED = "digit=concrete:3,style=gaussian:2,smile=bernoulli:2"
GAUSSIAN_PRIORS = [k for k in public_functions(kinds) if k not in ("uniform", "learned_classes")]


def vectors(count: int = 200, dims: int = 3) -> Dataset:
    return from_array(np.random.default_rng(0).normal(size=(count, dims)).astype(np.float32))


def grey_images() -> Dataset:
    return from_array(np.random.default_rng(0).integers(0, 256, (32, 1, 16, 16), np.uint8))


def state(model) -> dict[str, torch.Tensor]:
    return model.model.state_dict()


def assert_resumes_exactly(tmp_path, recipe: str, data: Dataset, **settings) -> None:
    """12 steps, then up to 20, against 20 at once: every weight and buffer is the same, on disk too."""
    whole = train(recipe, data, steps=20, **settings)
    train(recipe, data, steps=12, out=tmp_path / "run", **settings)
    longer = resume(tmp_path / "run", data, steps=20, accelerator="cpu", progress=False)
    loaded = load(tmp_path / "run")
    for other in (longer, loaded):
        assert state(other).keys() == state(whole).keys()
        for name, value in state(whole).items():
            assert torch.equal(value, state(other)[name]), name
        assert other.model.temperature == whole.model.temperature


@pytest.mark.parametrize("prior", GAUSSIAN_PRIORS)
def test_each_prior_trains_and_resumes_exactly(tmp_path, prior):
    assert_resumes_exactly(tmp_path, "vae", toys.tiny_images(), latents=2, prior=prior, **TINY)


def test_a_mixed_space_with_a_critic_and_learned_priors_resumes_exactly(tmp_path):
    assert_resumes_exactly(
        tmp_path,
        "factor_vae",
        toys.tiny_images(),
        latents=MIXED,
        prior="style=learned_anisotropic,learned_classes",
        temperature="linear:1:0.5:15",
        critic={"hidden": 16, "layers": 1},
        **TINY,
    )


@pytest.mark.parametrize("latents", ["digit=concrete:8", "bits=bernoulli:3"])
def test_discrete_latents_alone_carry_what_there_is_to_tell(latents):
    """One quadrant of four is lit: 8 classes or 3 bits are enough to tell which, and training finds that.

    The KL comes in slowly: at its full weight from the start, classes are slow to break their symmetry.
    """
    quadrants = np.kron(np.eye(4).reshape(4, 2, 2), np.ones((3, 3)))
    images = np.random.default_rng(0).permutation(quadrants.repeat(64, 0)).astype(np.float32)
    settings = {"beta": "linear:0:1:300", "learning_rate": 3e-3, **TINY}
    trained = train("beta_vae", images, steps=400, latents=latents, **settings)
    codes = trained.to_z(trained.encode(images))
    assert len(np.unique(codes, axis=0)) == 4
    assert np.abs(trained.reconstruct(images)[:, 0] - images).mean() < 0.1


@pytest.mark.parametrize("network", ["hfvae_celeba", "mathieu_dcgan"])
def test_batch_norm_networks_resume_exactly_and_encode_in_eval_mode(tmp_path, network):
    data = toys.tiny_images()
    assert_resumes_exactly(tmp_path, "vae", data, latents=2, network=network, **QUICK)
    model = load(tmp_path / "run")
    images = data.images[:9].numpy()
    np.testing.assert_allclose(model.encode(images[:1]).means, model.encode(images).means[:1], atol=1e-5)


@pytest.mark.parametrize("prior", ["learned_anisotropic", "full_covariance", "learned_classes"])
def test_learned_priors_are_trained_with_the_model(prior):
    settings = {"latents": "a=gaussian:2,d=concrete:3", "prior": prior, "learning_rate": 1e-2, **TINY}
    early = train("vae", toys.tiny_images(), steps=1, **settings).model.prior
    late = train("vae", toys.tiny_images(), steps=20, **settings).model.prior
    moved = [
        not torch.allclose(a, b, atol=1e-3)
        for a, b in zip(early.parameters(), late.parameters(), strict=True)
    ]
    assert moved
    assert all(moved)


def test_an_anisotropic_prior_is_the_datas_and_a_checkpoint_carries_it(tmp_path):
    data = toys.tiny_images()
    train("vae", data, steps=5, latents=3, prior="anisotropic", out=tmp_path / "run", **TINY)
    x = data.images[:].flatten(1).double()
    s = torch.linalg.svdvals(x - x.mean(0))[:3]
    (part,) = load(tmp_path / "run").model.prior.parts
    torch.testing.assert_close(part.logvar.exp().double(), 3 * s / s.sum(), rtol=1e-4, atol=1e-5)


def test_the_temperature_follows_its_schedule(tmp_path):
    settings = {"latents": MIXED, "temperature": "linear:1:0.5:10", "out": tmp_path / "run", **TINY}
    trained = train("vae", toys.tiny_images(), steps=6, **settings)
    assert trained.model.temperature == pytest.approx(0.75)
    assert load(tmp_path / "run").model.temperature == pytest.approx(0.75)
    content = yaml.safe_load((tmp_path / "run/run.yaml").read_text())["model"]
    assert content == {
        "latents": MIXED,
        "prior": "normal",
        "temperature": "linear:1:0.5:10",
        "network": "tests.toys:mlp",
        "likelihood": "bernoulli",
    }


@pytest.mark.parametrize(
    ("data", "network", "likelihood"),
    [
        (toys.tiny_images(64), "kim_mnih", "bernoulli"),
        (grey_images(), "kim_mnih:grey=true", "bernoulli"),
        (toys.tiny_images(64, side=28), "hfvae_mlp", "bernoulli"),
        (vectors(dims=2), "pinwheel", "gaussian"),
        (vectors(dims=5), "mlp", "gaussian"),
    ],
)
def test_the_data_choose_network_and_likelihood(tmp_path, data, network, likelihood):
    trained = train("vae", data, steps=2, latents=2, out=tmp_path / "run", **QUICK)
    content = yaml.safe_load((tmp_path / "run/run.yaml").read_text())["model"]
    assert (content["network"], content["likelihood"]) == (network, likelihood)
    assert trained.reconstruct(data.images[:3].numpy()).shape == (3, *data.shape)


def test_grey_images_get_256_units_whoever_names_the_network_and_keep_them(tmp_path):
    """FactorVAE's Table 3: 3D Faces are grey, and the dense layers have 256 units."""
    for network in ("auto", "kim_mnih"):
        folder = tmp_path / network
        train("vae", grey_images(), steps=1, out=folder, **{**QUICK, "network": network})
        dense = [m for m in load(folder).model.encoder if isinstance(m, torch.nn.Linear)]
        assert [layer.out_features for layer in dense] == [256, 20]


def test_a_run_of_version_0_1_keeps_the_relu_that_its_network_had(tmp_path):
    data = toys.tiny_images()
    network = "mathieu_dsprites:relu=true"
    train("vae", data, steps=3, latents=2, out=tmp_path / "run", network=network, **QUICK)
    x = data.images[:5].numpy()
    expected = load(tmp_path / "run").encode(x).means
    file = tmp_path / "run/run.yaml"
    written = yaml.safe_load(file.read_text())
    written["model"]["network"], written["made_with"]["distaff"] = "mathieu_dsprites", "0.1.0"
    file.write_text(yaml.safe_dump(written))
    np.testing.assert_array_equal(load(tmp_path / "run").encode(x).means, expected)
    with pytest.raises(DistaffError, match="network is mathieu_dsprites:relu=true there"):
        train("vae", data, steps=3, latents=2, out=tmp_path / "run", network="mathieu_dsprites", **QUICK)


def test_a_run_of_version_0_1_keeps_the_anchors_that_it_numbered_in_the_order_of_z(tmp_path):
    latents = "digit=concrete:3,style=gaussian:2"
    train(
        "anchor_vae", toys.tiny_images(), anchors=("digit", 1), latents=latents, steps=3, out=tmp_path, **TINY
    )
    file = tmp_path / "run.yaml"
    written = yaml.safe_load(file.read_text())
    assert written["recipe"]["arguments"]["anchors"] == ["digit", 1]
    written["recipe"]["arguments"]["anchors"], written["made_with"]["distaff"] = [0, 2], "0.1.0"
    file.write_text(yaml.safe_dump(written))
    for steps in (4, 5):
        resume(tmp_path, toys.tiny_images(), steps=steps, accelerator="cpu", progress=False)
        anchors = RunFolder(tmp_path).read().recipe.arguments["anchors"]
        assert [str(anchor) for anchor in anchors] == ["digit", "z1"]


def test_a_run_of_version_0_1_finds_the_pinwheel_that_was_the_default_then(tmp_path):
    then = {"radial": 0.1, "tangential": 0.3}
    train("vae", "pinwheel", steps=3, latents=2, out=tmp_path / "run", data_options=then, **QUICK)
    file = tmp_path / "run/run.yaml"
    written = yaml.safe_load(file.read_text())
    written["data"]["options"], written["made_with"]["distaff"] = {}, "0.1.0"
    file.write_text(yaml.safe_dump(written))
    resume(tmp_path / "run", steps=4, accelerator="cpu", progress=False)
    assert yaml.safe_load(file.read_text())["data"]["options"] == then
    resume(tmp_path / "run", steps=5, accelerator="cpu", progress=False)


def test_a_gaussian_likelihood_learns_vectors():
    """A line in three dimensions: the means come near, and the nll below that of its plain normal fit."""
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(500, 1)) * [1.0, 2.0, -1.0] + 0.05 * rng.normal(size=(500, 3))).astype(np.float32)
    trained = train("vae", from_array(x), steps=600, latents=2, learning_rate=3e-3, **QUICK)
    errors = trained.reconstruct(x) - x
    assert np.abs(errors).mean() < 0.3 * np.abs(x).mean()


def test_images_under_a_gaussian_likelihood_are_reported(tmp_path):
    np.savez(tmp_path / "tiny.npz", images=toys.tiny_images().images[:].numpy())
    train("vae", str(tmp_path / "tiny.npz"), steps=5, likelihood="gaussian", out=tmp_path / "run", **QUICK)
    assert report_run(tmp_path / "run", progress=False).exists()


def test_pictures_show_images_with_a_range_as_the_model_sees_them(tmp_path, monkeypatch):
    scans = np.random.default_rng(0).integers(0, 4096, (20, 1, 16, 16)).astype(np.float64)
    model = train("vae", scans, range="0:4095", steps=20, latents=2, **TINY)
    data, drawn = from_array(scans, range="0:4095"), {}
    monkeypatch.setattr(
        pictures.figures, "traversals", lambda images, *_, **how: drawn.update(how, rows=images)
    )
    traversals(model, data, np.zeros(2), index=3)
    originals, again = drawn["above"]
    rows = [
        int(np.square(data.images[:].numpy() - original).sum((1, 2, 3)).argmin()) for original in originals
    ]
    np.testing.assert_allclose(again, model.reconstruct(scans[rows]), atol=1e-6)
    np.testing.assert_allclose(drawn["rows"], model.traverse(scans[3]), atol=1e-6)


def test_a_run_with_discrete_latents_is_evaluated_traversed_and_reported(tmp_path):
    factors = np.random.default_rng(0).integers(0, 3, (256, 2))
    np.savez(tmp_path / "tiny.npz", images=toys.tiny_images().images[:].numpy(), factors=factors)
    latents = "digit=concrete:12,style=gaussian:2,smile=bernoulli:2"
    train("vae", str(tmp_path / "tiny.npz"), steps=20, latents=latents, out=tmp_path / "run", **TINY)
    scores = {score.name: score for score in evaluate_run(tmp_path / "run", progress=False).scores}
    names = ["z0", "z1", "digit", "smile0", "smile1"]
    assert list(scores["kl"].per_latent) == names
    assert scores["kl"].value == pytest.approx(sum(scores["kl"].per_latent.values()), rel=1e-4)
    data = from_array(toys.tiny_images().images[:].numpy(), factors)
    run = TrainedRun.open(RunFolder(tmp_path / "run"))
    fresh, cached = encode_run(run, data, progress=False), encode_run(run, data, progress=False)
    assert cached.codes.names == tuple(names)
    for name, probabilities in fresh.codes.categories.items():
        np.testing.assert_array_equal(cached.codes.categories[name], probabilities)
    figure = traversals(load(tmp_path / "run"), data, cached.kl_per_latent)
    texts = [text.get_text() for axes in figure.axes for text in axes.get_yticklabels()]
    assert any("digit (12 classes)" in text for text in texts)
    assert "digit" in report_run(tmp_path / "run", progress=False).read_text()


def test_a_prior_that_does_not_factorise_reports_the_joint_kl():
    data = toys.tiny_images()
    space = LatentSpace.parse(2)
    prior = parse_prior("full_covariance", space)
    (part,) = prior.parts
    part.below.data[1, 0] = 2.0
    model = VAE(toys.mlp(data.shape, space.parameters, space.width), space, prior)
    encoded = encode(Representation(model, data.shape), data, progress=False)
    q = torch.distributions.MultivariateNormal(
        torch.tensor(encoded.codes.means), torch.diag_embed(torch.tensor(encoded.codes.logvars).exp())
    )
    p = torch.distributions.MultivariateNormal(torch.zeros(2), scale_tril=part.cholesky.detach())
    expected = torch.distributions.kl_divergence(q, p).mean()
    kl = next(score for score in evaluate_encoded(encoded, data).scores if score.name == "kl")
    assert kl.value == pytest.approx(float(expected), rel=1e-4)
    assert kl.value > 1.2 * sum(kl.per_latent.values())


def test_vectors_are_evaluated_and_reported_but_not_traversed(tmp_path):
    data = vectors(dims=2)
    np.savez(tmp_path / "points.npz", images=data.images[:].numpy())
    train("vae", str(tmp_path / "points.npz"), steps=10, latents=2, out=tmp_path / "run", **QUICK)
    assert "kl" in [score.name for score in evaluate_run(tmp_path / "run", progress=False).scores]
    assert report_run(tmp_path / "run", progress=False).exists()
    with pytest.raises(DistaffError, match="holds vectors"):
        traversals(load(tmp_path / "run"), data, np.zeros(2))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prior": "student:5"}, "did you mean 'student_t'"),
        ({"prior": "x=normal"}, "unknown group of latents 'x'"),
        ({"temperature": 0}, "temperature must stay positive"),
        ({"temperature": "linear:1:0:10"}, "temperature must stay positive"),
        ({"temperature": "warm"}, "neither a number nor linear"),
        ({"likelihood": "bernouli"}, "did you mean 'bernoulli'"),
        ({"likelihood": "bernoulli"}, "outside \\[0, 1\\].*likelihood='gaussian'"),
        ({"network": "kim_mnih"}, "divisible by 16, not \\(3,\\).*network='mlp'"),
        ({"prior": "anisotropic", "latents": 4}, "vary along 3 directions"),
    ],
)
def test_bad_settings_are_one_sentence(changes, message):
    with pytest.raises(DistaffError, match=message) as error:
        train("vae", vectors(), steps=2, **{**QUICK, **changes})
    assert "\n" not in str(error.value)


def test_a_deterministic_encoder_trains_evaluates_and_reports(tmp_path):
    np.savez(tmp_path / "tiny.npz", images=toys.tiny_images().images[:].numpy())
    run, data = tmp_path / "run", str(tmp_path / "tiny.npz")
    trained = train("wae", data, steps=20, latents="point:3", out=run, **TINY)
    x = toys.tiny_images().images[:4].numpy()
    assert np.isneginf(trained.encode(x).logvars).all()
    np.testing.assert_array_equal(trained.model(torch.tensor(x)).z.detach(), trained.encode(x).means)
    scores = {score.name: score.value for score in evaluate_run(run, progress=False).scores}
    assert scores["kl"] == np.inf
    assert report_run(run, progress=False).exists()


def test_a_deterministic_encoder_has_no_kl_to_minimise(tmp_path):
    with pytest.raises(DistaffError, match="the term 'kl' became non-finite at step 0"):
        train("vae", toys.tiny_images(), steps=20, latents="point:3", **TINY)


def test_a_network_may_be_given_as_the_function_itself(tmp_path):
    data = toys.tiny_images()
    settings = {"steps": 2, "latents": 2, **QUICK}
    train("vae", data, network=toys.mlp, out=tmp_path / "run", **settings)
    config = RunFolder(tmp_path / "run").read()
    assert config.model.network == "tests.toys:mlp"
    with pytest.raises(DistaffError, match="at the top of a module"):
        train("vae", data, network=lambda *_: None, **settings)
    with pytest.raises(DistaffError, match="at the top of a module"):
        train("vae", data, network=torch.nn.Linear(2, 2), **settings)
