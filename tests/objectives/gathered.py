"""Run by test_gathering.py in two real processes: gradients of terms that look at the whole batch."""

import sys
from functools import partial

import torch
from lightning_fabric import Fabric

from distaff.objectives.densities import DENSITIES
from distaff.objectives.divergences import DIVERGENCES
from distaff.objectives.moments import of_means, of_samples, squared_covariances
from distaff.objectives.objective import Term
from distaff.objectives.step import Processes, Step
from distaff.objectives.terms import (
    AnchoredInformation,
    mutual_information,
    tc_between_groups,
    tc_within_groups,
    total_correlation,
)
from distaff.training.learner import average_gradients, gather
from tests import toys
from tests.objectives import worlds

BATCH, DATA_SIZE, DIMS = 8, 50, 4
ON_DENSITIES: list[Term] = [
    mutual_information,
    total_correlation,
    tc_between_groups,
    tc_within_groups,
    AnchoredInformation((1, 2)),
]
CASES: list[tuple[str, Term]] = [
    *((density, term) for density in ("stratified", "chen_stratified", "batch") for term in ON_DENSITIES),
    *(("stratified", divergence) for divergence in DIVERGENCES.values()),
    ("stratified", squared_covariances(of_means)),
    ("stratified", squared_covariances(of_samples)),
]


def gradients(fabric: Fabric) -> list[torch.Tensor]:
    """The gradients of each case to the encoder, the process having its share of one and the same batch."""
    torch.manual_seed(0)
    latents = worlds.space(2, 2)
    model = worlds.model_of(latents).double()
    model.encoder = toys.mlp((6,), latents.parameters, latents.width, hidden=8).encoder.double()
    x, noise = torch.randn(BATCH, 6).double(), torch.randn(BATCH, DIMS).double()
    prior_z = torch.randn(BATCH, DIMS).double()
    size = BATCH // fabric.world_size
    share = slice(fabric.global_rank * size, (fabric.global_rank + 1) * size)
    found = []
    for density, term in CASES:
        posterior = model.encode(x[share])
        spread = torch.cat([part.logvar for part in posterior.parts.values()], 1)
        z = posterior.mode() + (0.5 * spread).exp() * noise[share]
        output = model.output(x[share], posterior, z)
        processes = Processes(fabric.global_rank, partial(gather, fabric))
        step = Step(model, output, 0, DATA_SIZE, density=DENSITIES[density], processes=processes)
        step.__dict__["prior_u"] = prior_z[share]
        model.zero_grad()
        fabric.backward(term(step))
        average_gradients(fabric, model)
        found.append(torch.cat([p.grad.flatten() for p in model.encoder.parameters()]))
    return found


def main(out: str) -> None:
    fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp")
    fabric.launch()
    found = gradients(fabric)
    if fabric.is_global_zero:
        torch.save(found, out)


if __name__ == "__main__":
    main(sys.argv[1])
