"""An objective of your own in ten lines, trained and taken apart like those of the papers.

    python examples/own_recipe.py

The term below rewards latents that are either clearly used or clearly not: the entropy of how the KL is
shared among them is kept low. The same recipe works from the command line, in this folder:
``distaff train own_recipe:focused_vae --focus 2``.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from sprites import sprites

import distaff
from distaff.objectives import Objective, Step, Weight, kl, nll, term


@term
def spread(s: Step) -> torch.Tensor:
    """The entropy of the latents' shares of the KL, in nats."""
    each = s.kl_dims.mean(0)
    shares = each / each.sum()
    return -(shares * shares.clamp(min=1e-9).log()).sum()


def focused_vae(beta: Weight = 1.0, focus: Weight = 2.0) -> Objective:
    """β-VAE that prefers few latents.

    Args:
        beta: weight of the KL.
        focus: weight of the entropy of its shares.
    """
    return nll + beta * kl + focus * spread


SETTINGS = {
    "latents": 6,
    "network": "mlp",
    "steps": 300,
    "batch_size": 108,
    "learning_rate": 3e-3,
    "progress": False,
}

if __name__ == "__main__":
    print(f"minimised: {focused_vae()}")
    with TemporaryDirectory() as folder:
        for focus in (0.0, 2.0):
            out = Path(folder) / f"focus{focus:g}"
            distaff.train(focused_vae, sprites(), focus=focus, out=out, **SETTINGS)
            last = json.loads((out / "log.jsonl").read_text().splitlines()[-1])
            print(f"focus {focus:g}: nll {last['nll']:.2f}  kl {last['kl']:.2f}  spread {last['spread']:.2f}")
