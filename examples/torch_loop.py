"""A plain PyTorch loop, nothing of distaff's training: an Evaluator collects codes and scores each epoch.

python examples/torch_loop.py
"""

import torch
from sprites import sprites
from torch import nn
from torch.nn import functional as F

from distaff.metrics import Evaluator

LATENTS, EPOCHS = 4, 6

torch.manual_seed(0)
data = sprites()
images, factors = data.images[:].flatten(1), torch.as_tensor(data.factors)
encoder = nn.Sequential(
    nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 2 * LATENTS)
)
decoder = nn.Sequential(
    nn.Linear(LATENTS, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256)
)
adam = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], 2e-3)
evaluator = Evaluator(metrics=["factor_vae_score", "mig:chen18", "total_information"])

for epoch in range(EPOCHS):
    for _ in range(10):  # an epoch of so small a data set is too short to look at
        for rows in torch.randperm(len(images)).split(64):
            x = images[rows]
            mu, logvar = encoder(x).chunk(2, dim=1)
            z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
            # Sums over pixels and latents; only the batch is averaged.
            nll = F.binary_cross_entropy_with_logits(decoder(z), x, reduction="none").sum(1)
            kl = 0.5 * (mu**2 + logvar.exp() - logvar - 1).sum(1)
            loss = (nll + 2 * kl).mean()
            adam.zero_grad()
            loss.backward()
            adam.step()
    for rows in torch.arange(len(images)).split(100):  # any batches will do; the scores are of all of them
        mu, logvar = encoder(images[rows]).chunk(2, dim=1)
        evaluator.update(mu, factors[rows], logvar=logvar)
    if epoch % 2:
        scores = "  ".join(f"{s.name} {s.value:.3f}" for s in evaluator.scores().scores)
        print(f"epoch {epoch + 1:2}  loss {loss.item():6.2f}  {scores}")
    evaluator.reset()
