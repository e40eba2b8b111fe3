"""Densities, divergences, likelihoods and latent kinds of a user's own, named as ``module:name``."""

import pytest

import distaff
from distaff.foundation.errors import DistaffError
from distaff.models import LatentSpace, groups, latent_kinds, likelihoods
from distaff.models.by_name import classes_of
from distaff.objectives import Density, Divergence, densities, divergences
from tests import toys
from tests.objectives import outside

PLACE = "tests.objectives.outside"


def test_a_run_of_things_from_outside_trains_resumes_and_loads(tmp_path):
    data = toys.ring(40)
    settings = {"network": "tests.toys:mlp", "batch_size": 8, "progress": False}
    out = tmp_path / "run"
    distaff.train(
        "alpha_beta_vae",
        data,
        out=out,
        steps=3,
        divergence=f"{PLACE}:second_moment",
        density=f"{PLACE}:mean_density",
        latents=f"a={PLACE}:UnitWidth:2,b=gaussian:1",
        likelihood=f"{PLACE}:Laplace",
        **settings,
    )
    written = (out / "run.yaml").read_text()
    for name in ("second_moment", "mean_density", "UnitWidth:2", "Laplace"):
        assert f"{PLACE}:{name}" in written
    assert "second_moment" in (out / "log.jsonl").read_text()
    trained = distaff.load(out)
    assert isinstance(trained.model.latents.groups["a"], outside.UnitWidth)
    assert trained.model.likelihood.__self__ is outside.Laplace
    assert (trained.encode(data.images).logvars[:, :2] == 0).all()


def test_their_texts_give_them_back():
    density = Density.parse(f"{PLACE}:mean_density")
    assert Density.parse(str(density)) == density
    divergence = Divergence.parse(f"{PLACE}:second_moment")
    assert Divergence.parse(str(divergence)) == divergence
    assert divergence.name == "second_moment"
    space = LatentSpace.parse(f"{PLACE}:UnitWidth:2")
    assert list(space.groups) == ["unitwidth"]
    assert LatentSpace.parse(str(space)) == space


def test_what_is_there_is_found():
    assert set(densities.DENSITIES) >= {"stratified", "exact"}
    assert all(density.name == name for name, density in densities.DENSITIES.items())
    assert all(divergence.name == name for name, divergence in divergences.DIVERGENCES.items())
    assert set(likelihoods.KINDS) >= {"bernoulli", "gaussian", "unit_gaussian", "laplace", "poisson"}
    assert set(latent_kinds.KINDS) >= {"gaussian", "point", "uniform", "concrete", "bernoulli", "quantized"}
    assert set(classes_of(vars(outside), "read", "log_prob")) == {"laplace"}


@pytest.mark.parametrize("parse", [Density.parse, Divergence.parse, likelihoods.find_likelihood])
def test_what_is_something_else_or_nowhere_is_refused(parse):
    with pytest.raises(DistaffError, match="is no"):
        parse(f"{PLACE}:number")
    with pytest.raises(DistaffError, match="cannot be imported"):
        parse(f"{PLACE}:nothing")


def test_a_uniform_latent_is_no_kind_of_gaussian():
    assert not issubclass(latent_kinds.Uniform, groups.Gaussian)
    assert issubclass(latent_kinds.Uniform, groups.Real)
