"""Pairs: what is shared is found or known, joined by its closed form, and untangles a turned world."""

import numpy as np
import pytest
import torch
from torch.distributions import Bernoulli, Categorical, Normal, kl_divergence

from distaff.data.arrays import from_array
from distaff.data.dataset import grid
from distaff.data.pairs import changed, find_pairs, listed, random, sequence
from distaff.data.splits import split
from distaff.foundation.errors import DistaffError
from distaff.models.latents import LatentSpace
from distaff.objectives import recipes
from distaff.objectives.pairs import Sharing, averaged, kl_between, multiplied
from distaff.objectives.step import Step
from distaff.training.train import resume, train
from tests import toys
from tests.objectives.rotated import alignment, turned_grid

MIXED = LatentSpace.parse("digit=concrete:3,style=gaussian:2,smile=bernoulli:2")
TINY = {"network": "tests.toys:mlp", "batch_size": 8, "progress": False, "accelerator": "cpu"}


def of_pairs(space: LatentSpace = MIXED, pairs: int = 40, seed: int = 0):
    torch.manual_seed(seed)
    return space.posterior(torch.randn(2 * pairs, space.parameters, dtype=torch.float64))


def halves(posterior):
    return posterior.map(lambda p: p.chunk(2)[0]), posterior.map(lambda p: p.chunk(2)[1])


def test_the_distance_of_two_posteriors_is_their_kl():
    first, second = halves(of_pairs())
    found = torch.cat([kl_between(first.parts[name], second.parts[name]) for name in MIXED.groups], 1)

    def normal(part):
        return Normal(part.mu, torch.exp(0.5 * part.logvar))

    expected = [
        kl_divergence(*(Categorical(logits=q.parts["digit"].logits) for q in (first, second)))[:, None],
        kl_divergence(*(normal(q.parts["style"]) for q in (first, second))),
        kl_divergence(*(Bernoulli(logits=q.parts["smile"].logits) for q in (first, second))),
    ]
    torch.testing.assert_close(found, torch.cat(expected, 1))


def test_averages_are_of_means_variances_and_probabilities():
    first, second = halves(of_pairs())
    style = averaged(first.parts["style"], second.parts["style"])
    a, b = first.parts["style"], second.parts["style"]
    torch.testing.assert_close(style.mu, (a.mu + b.mu) / 2)
    torch.testing.assert_close(style.logvar.exp(), (a.logvar.exp() + b.logvar.exp()) / 2)
    for name in ("digit", "smile"):
        a, b = first.parts[name], second.parts[name]
        torch.testing.assert_close(averaged(a, b).probabilities, (a.probabilities + b.probabilities) / 2)


@pytest.mark.parametrize("name", ["style", "digit", "smile"])
def test_products_are_the_normalised_root_of_both_densities(name):
    """log q₁₂(z) − ½ [log q₁(z) + log q₂(z)] is the same at every z."""
    a, b = (half.parts[name] for half in halves(of_pairs()))
    both = multiplied(a, b)
    if name == "style":
        points = torch.randn(7, 1, 2, dtype=torch.float64)
    elif name == "digit":
        points = torch.eye(3, dtype=torch.float64)[:, None]
    else:
        points = torch.tensor([0.0, 1.0], dtype=torch.float64)[:, None, None].expand(-1, 40, 2)
    gap = torch.stack([both.log_code_dims(z) - (a.log_code_dims(z) + b.log_code_dims(z)) / 2 for z in points])
    torch.testing.assert_close(gap, gap[:1].expand_as(gap))


@pytest.mark.parametrize("join", [averaged, multiplied])
def test_equal_members_stay_as_they_are(join):
    posterior = of_pairs().map(lambda p: p.chunk(2)[0].repeat(2, 1))
    joined = Sharing(join, known=True)(posterior, MIXED, torch.ones(40, 5, dtype=torch.bool))
    for name in ("style", "digit", "smile"):
        torch.testing.assert_close(joined.parts[name].mode(), posterior.parts[name].mode())
    torch.testing.assert_close(joined.parts["style"].logvar, posterior.parts["style"].logvar)


def test_shared_latents_are_found_on_a_linear_gaussian_world():
    """In x = f + noise with one factor of a pair changed, all but its latent are found to be shared."""
    data = from_array(np.zeros((125, 2)), grid((5, 5, 5)))
    rows = changed(data, 200, np.random.default_rng(0), k=1)
    f = torch.from_numpy(data.factors).double()
    space = LatentSpace.parse(3)
    first, second = (space.posterior(torch.cat([f[side], torch.full((200, 3), -4.0)], 1)) for side in rows.T)
    found = Sharing(averaged).shared(first, second, space)
    assert found.equal(f[rows[:, 0]] == f[rows[:, 1]])


def test_only_shared_latents_are_joined_and_for_both_members():
    posterior = of_pairs()
    first, second = halves(posterior)
    sharing = Sharing(averaged)
    shared = sharing.shared(first, second, MIXED)
    assert 0 < shared.float().mean() < 1
    joined = halves(sharing(posterior, MIXED))
    mask = shared[:, MIXED.group_dims["style"]]
    a, b = (half.parts["style"].mu for half in joined)
    torch.testing.assert_close(a[mask], b[mask])
    for half, own in zip(joined, (first, second), strict=True):
        torch.testing.assert_close(half.parts["style"].mu[~mask], own.parts["style"].mu[~mask])


def test_known_factors_belong_to_the_real_latents_first():
    posterior = of_pairs()
    same = torch.zeros(40, 2, dtype=torch.bool)
    joined = Sharing(averaged, known=True)(posterior, MIXED, same)
    torch.testing.assert_close(joined.parts["style"].mu, posterior.parts["style"].mu)
    a, b = halves(joined)
    torch.testing.assert_close(a.parts["digit"].logits, b.parts["digit"].logits)


def test_pairs_of_a_grid_differ_in_so_many_factors():
    data = from_array(np.zeros((24, 2)), grid((3, 2, 4)))
    rng = np.random.default_rng(0)
    for k in (1, 2, 3):
        first, second = changed(data, 500, rng, k=k).T
        differing = data.factors[first] != data.factors[second]
        assert (differing.sum(1) == k).all()
        assert differing.any(0).all()
    first, second = random(data, 4000, rng).T
    counts = np.bincount((data.factors[first] != data.factors[second]).sum(1), minlength=4) / 4000
    np.testing.assert_allclose(counts, [0, 0.5, 0.5, 0], atol=0.05)
    assert np.bincount(first, minlength=24).min() > 100


def test_a_partner_takes_every_other_class_alike():
    data = from_array(np.zeros((5, 2)), np.arange(5))
    first, second = changed(data, 20_000, np.random.default_rng(0)).T
    np.testing.assert_allclose(np.bincount((second - first) % 5) / 20_000, [0, *[0.25] * 4], atol=0.02)


def test_neighbours_of_a_sequence():
    data = listed("sequence", from_array(np.zeros((9, 2))))
    first, second = sequence(data, 300, np.random.default_rng(0)).T
    assert (second == first + 1).all()
    assert second.max() == 8


def test_pairs_of_an_array_and_of_a_file_are_drawn_in_either_order(tmp_path):
    pairs = np.array([[0, 3], [4, 1]])
    data = from_array(np.zeros((5, 2)), pairs=pairs)
    np.save(tmp_path / "mine.npy", pairs)
    for text in ("given", str(tmp_path / "mine.npy")):
        drawn = find_pairs(text, listed(text, data))(listed(text, data), 200, np.random.default_rng(0))
        assert set(map(tuple, drawn.tolist())) == {(0, 3), (3, 0), (4, 1), (1, 4)}


@pytest.mark.parametrize("text", ["sequence", "given", "mine.npy"])
def test_parts_of_a_data_set_keep_the_pairs_that_they_hold(text, tmp_path, monkeypatch):
    """What a file or a sequence names are rows of the whole, not of what is left of it."""
    monkeypatch.chdir(tmp_path)
    pairs = np.stack([np.arange(0, 58), np.arange(2, 60)], axis=1)
    np.save("mine.npy", pairs)
    if text == "sequence":
        pairs = np.stack([np.arange(59), np.arange(1, 60)], axis=1)
    data = from_array(np.arange(60.0)[:, None], pairs=pairs if text == "given" else None)
    meant = {frozenset(pair) for pair in pairs.tolist()}
    for part in split(listed(text, data), 0.4, seed=1):
        number = part.images[:][:, 0].numpy().astype(int)
        drawn = find_pairs(text, part)(part, 2000, np.random.default_rng(0))
        found = {frozenset(pair) for pair in number[drawn].tolist()}
        assert found == {pair for pair in meant if pair <= set(number.tolist())}
    with pytest.raises(DistaffError, match="comes without pairs, or without any whose members are both in"):
        find_pairs(text, listed(text, data).subset([0, 5, 10]))


def test_pairs_by_factors_need_no_whole_grid():
    data = from_array(np.zeros((120, 2)), grid((5, 4, 3, 2)))
    part = data.subset(np.flatnonzero(np.random.default_rng(1).random(120) < 0.4).repeat(2))
    for k in (1, 3):
        first, second = changed(part, 500, np.random.default_rng(0), k=k).T
        assert ((part.factors[first] != part.factors[second]).sum(1) == k).all()
        assert len(set(first.tolist())) > 0.8 * len(part)
    first, second = random(part, 3000, np.random.default_rng(0)).T
    counts = np.bincount((part.factors[first] != part.factors[second]).sum(1), minlength=5) / 3000
    np.testing.assert_allclose(counts, [0, 1 / 3, 1 / 3, 1 / 3, 0], atol=0.04)
    with pytest.raises(DistaffError, match="too few observations that differ in exactly that many factors"):
        find_pairs("k=1", data.subset([0, 119, 7]))
    with pytest.raises(DistaffError, match="need factors of classes"):
        find_pairs("k=1", from_array(np.zeros((9, 2)), np.linspace(0, 1.5, 9)))


@pytest.mark.parametrize("pairs", ["k=1", "sequence"])
def test_pairs_go_with_held_out_data(pairs, tmp_path):
    data = turned_grid((4, 4, 4))
    settings = {"latents": 3, "likelihood": "unit_gaussian", "pairs": pairs, "hold_out": 0.4, **TINY}
    train("ada_gvae", data, steps=2, validate_every=2, log_every=1, out=tmp_path / "run", **settings)
    assert "held_out.elbo" in (tmp_path / "run/log.jsonl").read_text()


@pytest.mark.parametrize(
    ("recipe", "pairs", "message"),
    [
        ("ada_gvae", "k=9", "has 3 that vary, so k is 1 to 3"),
        ("ada_gvae", "k=one", "k is how many factors differ"),
        ("ada_gvae", "rndom", "did you mean 'random'"),
        ("ada_gvae", "given", "comes without pairs"),
        ("ada_gvae", "none.npy", "there is no file of pairs"),
        ("beta_vae", "random", "recipes that learn from them"),
    ],
)
def test_pairs_that_do_not_fit_are_refused_in_one_sentence(recipe, pairs, message):
    with pytest.raises(DistaffError, match=message):
        train(recipe, turned_grid((3, 3, 3)), latents=3, steps=1, pairs=pairs, **TINY)


def test_pairs_out_of_range_are_refused():
    with pytest.raises(DistaffError, match="name row 5, but the rows are 0 … 4"):
        from_array(np.zeros((5, 2)), pairs=[[0, 5]])
    with pytest.raises(DistaffError, match=r"whole numbers of shape \(P, 2\)"):
        from_array(np.zeros((5, 2)), pairs=[0, 1, 2])


@pytest.mark.parametrize(
    ("latents", "data", "message"),
    [
        (2, turned_grid((3, 3, 3)), "each of the 3 factors takes a latent of its own"),
        ("point:3", turned_grid((3, 3, 3)), "compare posteriors"),
        (3, from_array(np.zeros((9, 2)), pairs=[[0, 1]]), "use ada_gvae"),
    ],
)
def test_what_known_pairs_need_is_said(latents, data, message):
    with pytest.raises(DistaffError, match=message):
        train("gvae", data, latents=latents, steps=1, **TINY)


def stated_loss(model, x, eps, recipe, beta, same):
    """The loss as disentanglement_lib has it: two bins of the KL, or a label; half of both members' ELBOs."""
    first, second = (model.encoder(member) for member in x.chunk(2))
    (m1, l1), (m2, l2) = first.chunk(2, 1), second.chunk(2, 1)
    v1, v2 = l1.exp(), l2.exp()
    apart = v1 / v2 + (m2 - m1) ** 2 / v2 - 1 + l2 - l1
    low, high = apart.min(1, keepdim=True).values, apart.max(1, keepdim=True).values
    own = torch.floor(2 * (apart - low) / (high - low)) >= 1 if recipe.startswith("ada") else ~same
    if "ml" in recipe:
        v = 2 * v1 * v2 / (v1 + v2)
        m = (m1 / v1 + m2 / v2) * v * 0.5
    else:
        m, v = (m1 + m2) / 2, (v1 + v2) / 2
    total = 0.0
    for member, mu, var, noise in zip(x.chunk(2), (m1, m2), (v1, v2), eps.chunk(2), strict=True):
        mu, var = torch.where(own, mu, m), torch.where(own, var, v)
        logits = model.decoder(mu + var.sqrt() * noise)
        error = torch.clamp(logits, min=0) - logits * member + torch.log1p(torch.exp(-logits.abs()))
        kl = 0.5 * (mu**2 + var - var.log() - 1)
        total = total + 0.5 * (error.flatten(1).sum(1).mean() + beta * kl.sum(1).mean())
    return total


@pytest.mark.parametrize("recipe", ["ada_gvae", "ada_ml_vae", "gvae", "ml_vae"])
def test_the_loss_is_that_of_the_authors_code(recipe):
    data = toys.ring(40)
    model = toys.model(data).double()
    x = data.images[:32].double()
    same = torch.rand(16, model.latents.dims, generator=torch.Generator().manual_seed(1)) < 0.5
    objective = getattr(recipes, recipe)(beta=3)
    output = objective.output(model, x, same)
    (part,) = output.posterior.parts.values()
    eps = (output.z - part.mu) / torch.exp(0.5 * part.logvar)
    found = objective(Step(model, output, 0, 40))["loss"]
    torch.testing.assert_close(found, stated_loss(model, x, eps, recipe, 3, same))
    ours, stated = (
        torch.autograd.grad(loss, list(model.encoder.parameters()), retain_graph=True)
        for loss in (found, stated_loss(model, x, eps.detach(), recipe, 3, same))
    )
    for a, b in zip(ours, stated, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("recipe", ["ada_gvae", "ada_ml_vae", "gvae", "ml_vae"])
def test_a_run_of_pairs_resumes_exactly(recipe, tmp_path):
    data = turned_grid((3, 3, 3))
    settings = {"latents": 3, "likelihood": "unit_gaussian", "pairs": "k=1", **TINY}
    whole = train(recipe, data, steps=6, **settings)
    train(recipe, data, steps=3, out=tmp_path / "run", **settings)
    again = resume(tmp_path / "run", data, steps=6, progress=False)
    for ours, theirs in zip(again.model.parameters(), whole.model.parameters(), strict=True):
        assert ours.equal(theirs)


def test_pairs_untangle_what_single_observations_do_not():
    data = turned_grid()
    settings = {"latents": 3, "likelihood": "unit_gaussian", "steps": 400, "learning_rate": 5e-3}
    settings |= {**TINY, "batch_size": 64}
    found = {}
    for recipe, extra in {"vae": {}, "ada_gvae": {"pairs": "k=1"}, "ml_vae": {"pairs": "k=1"}}.items():
        means = train(recipe, data, **settings, **extra).encode(data.images).means
        found[recipe] = alignment(means, data.factors)
        if recipe == "ml_vae":
            own = np.abs(np.corrcoef(means.T, data.factors.T)[:3, 3:].diagonal())
            assert own.min() > 0.9, "factor k belongs to latent k"
    assert found["vae"] < 0.95
    assert found["ada_gvae"] > 0.98
