"""The kernel with gradients, for Gaussian groups and for any other kind beside them."""

import pytest
import torch

from distaff.mixtures.pairs import log_each, log_joint, log_pairs
from distaff.models.groups import GaussianPosterior, Posterior


class OtherKind:
    """A Gaussian that does not look like one: only what every group's posterior has."""

    def __init__(self, inner):
        self.inner = inner
        self.width = inner.width

    def log_prob_pairs(self, z):
        return self.inner.log_prob_pairs(z)

    def map(self, change):
        return OtherKind(self.inner.map(change))


def posterior(mu, logvar, kinds):
    parts = {}
    for place, kind in enumerate(kinds):
        columns = slice(2 * place, 2 * place + 2)
        part = GaussianPosterior(mu[:, columns], logvar[:, columns])
        parts[f"g{place}"] = OtherKind(part) if kind == "other" else part
    return Posterior(parts)


@pytest.mark.parametrize(
    "kinds", [("gaussian", "gaussian"), ("gaussian", "other"), ("other", "gaussian"), ("other", "other")]
)
def test_any_mixture_of_kinds_is_the_sum_by_hand_with_its_gradient(kinds):
    torch.manual_seed(0)
    mu, logvar, z = (torch.randn(5, 4).double().requires_grad_() for _ in range(3))
    log_weights = torch.randn(5, 5).double()
    q = torch.distributions.Normal(mu, (0.5 * logvar).exp()).log_prob(z[:, None])
    torch.testing.assert_close(log_pairs(posterior(mu, logvar, kinds).paired_with(z)), q.permute(2, 0, 1))
    joint = (q.sum(-1) + log_weights).logsumexp(1)
    each = (q + log_weights[..., None]).logsumexp(1)
    for ours, expected in ((log_joint, joint), (log_each, each)):
        found = ours(posterior(mu, logvar, kinds).paired_with(z), log_weights)
        torch.testing.assert_close(found, expected)
        for a, b in zip(
            torch.autograd.grad(found.sin().sum(), (mu, logvar, z)),
            torch.autograd.grad(expected.sin().sum(), (mu, logvar, z), retain_graph=True),
            strict=True,
        ):
            torch.testing.assert_close(a, b)


def test_densities_are_taken_in_single_precision_under_autocast():
    torch.manual_seed(0)
    mu, logvar, z = torch.randn(8, 4), torch.randn(8, 4) - 4, torch.randn(8, 4)
    q, weights = posterior(mu, logvar, ("gaussian", "other")).paired_with(z), torch.zeros(8, 8)
    expected = log_joint(q, weights), log_each(q, weights), log_pairs(q)
    with torch.autocast("cpu", torch.bfloat16):
        found = log_joint(q, weights), log_each(q, weights), log_pairs(q)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b)
