"""Every recipe moves its own quantity on a small world, against the same recipe with that weight at 0."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

from distaff.foundation.binding import public_functions
from distaff.models.representation import Representation
from distaff.objectives import recipes
from distaff.objectives.critics import CriticSettings
from distaff.objectives.densities import batch, independent_batch, weighted
from distaff.objectives.divergences import mmd_by_dimension, mmd_of_squares
from distaff.objectives.evidence import Evidence
from distaff.objectives.games import Game
from distaff.training.train import train
from tests import toys

CRITIC = CriticSettings(hidden=64, layers=2, learning_rate=1e-3)
DATA = toys.ring(500, side=16)


class Learnt:
    """What a trained model's codes say, exactly over the data set: one sample an observation."""

    def __init__(self, trained: Representation) -> None:
        torch.manual_seed(0)
        codes = trained.encode(DATA.images)
        self.trained = trained
        self.mu, self.logvar = (torch.tensor(v).double() for v in (codes.means, codes.logvars))
        sigma = (0.5 * self.logvar).exp()
        self.z = self.mu + sigma * torch.randn_like(self.mu)
        self.log_q = torch.distributions.Normal(self.mu, sigma).log_prob(self.z[:, None])

    def log_qz(self, dims: Any = slice(None)) -> Tensor:
        return self.log_q[..., dims].sum(-1).logsumexp(1) - math.log(len(self.mu))

    def information(self, dims: Any = slice(None)) -> float:
        own = self.log_q.diagonal(dim1=0, dim2=1).T[:, dims].sum(-1)
        return float((own - self.log_qz(dims)).mean())

    def tc(self) -> float:
        return float((self.log_qz() - sum(self.log_qz([d]) for d in range(self.mu.shape[1]))).mean())

    def log_pz(self) -> Tensor:
        return torch.distributions.Normal(0.0, 1.0).log_prob(self.z).sum(-1)

    def marginal_kl(self) -> float:
        return float((self.log_qz() - self.log_pz()).mean())

    def inclusive_kl(self) -> float:
        z = torch.randn(2000, self.mu.shape[1]).double()
        normal = torch.distributions.Normal(self.mu, (0.5 * self.logvar).exp())
        log_qz = normal.log_prob(z[:, None]).sum(-1).logsumexp(1) - math.log(len(self.mu))
        return float((torch.distributions.Normal(0.0, 1.0).log_prob(z).sum(-1) - log_qz).mean())

    def kl(self) -> float:
        return float(0.5 * (self.mu**2 + self.logvar.exp() - self.logvar - 1).sum(1).mean())

    def mmd(self) -> float:
        return float(mmd_by_dimension(self.z, torch.randn_like(self.z)))

    def mmd_joint(self) -> float:
        return float(mmd_of_squares(self.z, torch.randn_like(self.z)))

    def log_det(self) -> float:
        return float(self.logvar.sum(1).mean())

    def from_identity(self, between: bool) -> float:
        """Squared distance of Cov[mu], or of Cov[z], from the identity."""
        cov = torch.cov(self.mu.T) + (torch.diag(self.logvar.exp().mean(0)) if between else 0)
        return float((cov - torch.eye(len(cov))).square().sum())

    @torch.no_grad()
    def log_px(self) -> float:
        return float(Evidence("grid", 200)(self.trained.model, DATA.images[:200]).mean())


@dataclass(frozen=True)
class Row:
    """A recipe, its arguments with the weight at 0 and with the weight, and the quantity that must move."""

    recipe: str
    off: dict[str, Any]
    on: dict[str, Any]
    measure: Callable[[Learnt], float]
    moves: str
    by: float
    latents: int | str = 2
    baseline: str = ""
    settings: dict[str, Any] = field(default_factory=dict)


TC, MI = Learnt.tc, Learnt.information
WITH_CRITIC = {"critic": CRITIC}
GROUPS = "a=gaussian:1,b=gaussian:1"
GRID = {"evidence": Evidence("grid", 32)}

TABLE = [
    Row("vae", {"lam": 0.0}, {}, Learnt.kl, "down", 1.0, baseline="wae"),
    Row("beta_vae", {"beta": 0.0}, {"beta": 4.0}, Learnt.kl, "down", 1.0),
    Row("structured_beta_vae", {"beta": 0.0}, {"beta": 4.0}, Learnt.kl, "down", 1.0, GROUPS),
    Row(
        "annealed_vae",
        {"gamma": 0.0},
        {"gamma": 30.0, "capacity": 3.0},
        lambda m: abs(m.kl() - 3),
        "down",
        1.0,
    ),
    Row(
        "factor_vae", {"gamma": 0.0}, {"gamma": 20.0}, TC, "down", 0.1, settings={**WITH_CRITIC, "steps": 400}
    ),
    Row(
        "factor_vae_prior",
        {"gamma": 0.0},
        {"gamma": 10.0},
        Learnt.marginal_kl,
        "down",
        0.1,
        settings=WITH_CRITIC,
    ),
    Row("aae", {"gamma": 0.0}, {"gamma": 5.0}, Learnt.marginal_kl, "down", 0.3, settings=WITH_CRITIC),
    Row("info_dropout", {"beta": 0.0}, {"beta": 5.0}, MI, "down", 0.5),
    Row("info_dropout", {"gamma": 0.0}, {"gamma": 10.0}, TC, "down", 0.1),
    Row(
        "dip_vae_i",
        {"diagonal": 0.0, "off_diagonal": 0.0},
        {},
        lambda m: m.from_identity(False),
        "down",
        0.05,
    ),
    Row(
        "dip_vae_ii",
        {"diagonal": 0.0, "off_diagonal": 0.0},
        {},
        lambda m: m.from_identity(True),
        "down",
        0.05,
    ),
    Row("beta_tcvae", {"beta": 0.0}, {"beta": 10.0}, TC, "down", 0.1),
    Row("beta_tcvae", {"beta": 0.0}, {"beta": 10.0}, TC, "down", 0.1, settings={"density": weighted}),
    Row("batch_tc_vae", {"beta": 0.0}, {"beta": 10.0}, TC, "down", 0.1, settings={"density": batch}),
    Row(
        "batch_tc_vae",
        {"beta": 0.0},
        {"beta": 10.0},
        TC,
        "down",
        0.1,
        settings={"density": independent_batch},
    ),
    Row("info_vae", {"lam": 1.0}, {"lam": 200.0}, Learnt.mmd_joint, "down", 0.01),
    Row("wae", {"lam": 0.0}, {"lam": 100.0}, Learnt.mmd_joint, "down", 0.01),
    Row("wae_gan", {"lam": 0.0}, {"lam": 10.0}, Learnt.mmd_joint, "down", 0.01, settings=WITH_CRITIC),
    Row("anchor_vae", {"lam": 0.0}, {"lam": 1.0}, lambda m: m.information([0]), "up", 0.3),
    Row("hfvae", {"beta": 0.0}, {"beta": 20.0}, TC, "down", 0.1, GROUPS),
    Row("hfvae", {"gamma": 0.0}, {"gamma": 20.0}, TC, "down", 0.1),
    Row("alpha_beta_vae", {"alpha": 0.0}, {"alpha": 100.0}, Learnt.mmd, "down", 0.01),
    Row(
        "alpha_beta_vae",
        {"alpha": 0.0},
        {"alpha": 20.0},
        Learnt.inclusive_kl,
        "down",
        0.1,
        settings={"divergence": "inclusive_kl"},
    ),
    Row("max_entropy_vae", {"beta": 1.0}, {"beta": 1.5}, Learnt.log_det, "up", 0.5),
    Row("ablated_elbo", {}, {"without": 1, **GRID}, MI, "down", 1.0, latents=1, baseline="vae"),
    Row("ablated_elbo", {}, {"without": 2}, MI, "up", 0.3, latents=1, baseline="vae"),
    Row("ablated_elbo", {}, {"without": 3, **GRID}, Learnt.log_px, "down", 1.0, latents=1, baseline="vae"),
    Row("ablated_elbo", {}, {"without": 4}, Learnt.marginal_kl, "up", 0.3, latents=1, baseline="vae"),
]


@cache
def learnt(recipe: str, latents: int | str, *arguments: tuple[str, Any]) -> Learnt:
    usual = {"steps": 200, "batch_size": 100, "learning_rate": 5e-3, "log_every": 200, "progress": False}
    call = usual | dict(arguments)
    trained = train(recipe, DATA, latents=latents, network="tests.toys:mlp", **call)
    return Learnt(trained)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.recipe}-{row.on}")
def test_its_own_quantity_moves_against_weight_0(row):
    shared = {} if row.baseline else row.settings
    off = learnt(row.baseline or row.recipe, row.latents, *{**shared, **row.off}.items())
    on = learnt(row.recipe, row.latents, *{**row.settings, **row.on}.items())
    before, after = row.measure(off), row.measure(on)
    if row.measure is TC:
        assert on.information() > 0.5, "a collapsed code has no total correlation to lower"
    assert (after - before if row.moves == "up" else before - after) > row.by, (before, after)


def test_every_recipe_has_a_row():
    """Games have no quantity of z to move: tests/training/test_gan_learner.py is theirs.

    Recipes of pairs have tests/objectives/test_pairs.py, auto-encoders tests/models/test_ica.py and
    tests/models/test_quantized.py.
    """
    goals = {name: recipe() for name, recipe in public_functions(recipes).items()}
    elsewhere = {name for name, goal in goals.items() if isinstance(goal, Game) or goal.sharing is not None}
    assert {row.recipe for row in TABLE} == set(goals) - elsewhere - {"ae", "qlae"}
