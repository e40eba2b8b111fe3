"""The network that distinguishes samples of q(z) from those of a reference."""

from torch import nn

from distaff.models.kernels import ByColumns, ColumnLinear


def critic(
    width: int, hidden: int = 1000, layers: int = 6, slope: float = 0.2, outputs: int = 2
) -> nn.Module:
    """FactorVAE's discriminator: ``layers`` hidden layers of leaky ReLU, then ``outputs`` logits."""
    sizes = [width, *[hidden] * layers]
    blocks = [
        module
        for i in range(layers)
        for module in (ColumnLinear(sizes[i], sizes[i + 1]), nn.LeakyReLU(slope, inplace=True))
    ]
    return ByColumns(*blocks, ColumnLinear(sizes[-1], outputs))
