"""The time of each layer: forward and backward passes of the Kim–Mnih networks and the critic.

``python -m benchmarks.layers`` prints a table: milliseconds, share of the total, and fraction of the SGEMM
rate of the same process. Each layer gets the input that it has in a training step.
"""

import distaff.training  # noqa: F401  # isort: skip  (as the command line does: before torch)

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from benchmarks.timing import seconds
from distaff.models.critic import critic
from distaff.models.networks import kim_mnih
from distaff.models.networks.halving import channels_last

BATCH, LATENTS, ROUNDS = 64, 10, 30
SGEMM = 1024


@dataclass(frozen=True)
class Layer:
    """A layer in a training step.

    Args:
        name: network and position of the layer.
        module: the layer.
        given: input of the layer.
        flops: floating-point operations of the forward pass; 0 for elementwise layers.
        first: whether nothing below it needs a gradient.
    """

    name: str
    module: nn.Module
    given: Tensor
    flops: float
    first: bool

    def forward(self) -> Tensor:
        with torch.enable_grad():
            result: Tensor = self.module(self.given.detach().requires_grad_(not self.first))
        return result

    def both(self) -> None:
        out = self.forward()
        if out.requires_grad:
            out.backward(torch.ones_like(out))


def layers() -> Iterator[Layer]:
    """All layers of the encoder, the decoder and the critic, in order."""
    encoder, decoder = kim_mnih((1, 64, 64), 2 * LATENTS, LATENTS)
    images = torch.rand(BATCH, 1, 64, 64).to(memory_format=torch.channels_last)
    z = torch.randn(BATCH, LATENTS)
    networks = {"encoder": (encoder, images), "decoder": (decoder, z), "critic": (critic(LATENTS), z)}
    for network, (module, x) in networks.items():
        for place, (part, given, out) in enumerate(met(channels_last(module), x)):
            name = f"{network} {place} {type(part).__name__}"
            yield Layer(name, part, given, flops(part, given, out), network == "encoder" and place == 0)


def met(module: nn.Module, x: Tensor) -> list[tuple[nn.Module, Tensor, Tensor]]:
    """The layers of a network with their inputs and outputs."""
    found: list[tuple[nn.Module, Tensor, Tensor]] = []

    def note(part: nn.Module, given: tuple[Tensor, ...], out: Tensor) -> None:
        found.append((part, given[0].clone(), out.clone()))

    for leaf in module.modules():
        if isinstance(leaf, nn.ReLU | nn.LeakyReLU):
            leaf.inplace = False  # otherwise its input would be overwritten
        if not list(leaf.children()):
            leaf.register_forward_hook(note)
    with torch.no_grad():
        module(x)
    for leaf in module.modules():
        leaf._forward_hooks.clear()
    return found


def flops(part: nn.Module, given: Tensor, out: Tensor) -> float:
    """Operations of a forward pass: two per weight and position, 0 for layers without weights."""
    weights = sum(p.numel() for p in part.parameters() if p.dim() > 1)
    places = min(x[0, 0].numel() for x in (given, out)) if given.dim() > 2 else 1
    return 2.0 * BATCH * weights * places


def main() -> None:
    a, b = torch.randn(SGEMM, SGEMM), torch.randn(SGEMM, SGEMM)
    found = list(layers())
    candidates: dict[str, Callable[[], object]] = {"sgemm": lambda: a @ b}
    for layer in found:
        candidates[f"{layer.name} forward"] = layer.forward
        candidates[f"{layer.name} both"] = layer.both
    taken = seconds(candidates, ROUNDS)
    rate = 2 * SGEMM**3 / taken["sgemm"]
    total = sum(taken[f"{layer.name} both"] for layer in found)
    print(f"{torch.get_num_threads()} threads, SGEMM at {rate / 1e9:.0f} GFLOP/s, batch {BATCH}")
    print("| layer | forward, ms | backward, ms | share | of the SGEMM rate |\n|---|---|---|---|---|")
    for layer in found:
        forward, both = taken[f"{layer.name} forward"], taken[f"{layer.name} both"]
        passes = 2 if layer.first else 3
        reached = f"{passes * layer.flops / both / rate:.2f}" if layer.flops else "–"
        times = f"{1e3 * forward:.2f} | {1e3 * (both - forward):.2f}"
        print(f"| {layer.name} {tuple(layer.given.shape[1:])} | {times} | {both / total:.0%} | {reached} |")
    print(f"\n{1e3 * total:.1f} ms in all")


if __name__ == "__main__":
    main()
