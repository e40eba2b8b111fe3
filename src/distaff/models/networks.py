"""Encoders and decoders by paper; each function returns the pair for a shape and a latent space."""

from typing import NamedTuple

from torch import nn

from distaff.errors import DistaffError


class Networks(NamedTuple):
    """An encoder x (B, *shape) → (B, parameters) and a decoder z (B, width) → (B, *shape)."""

    encoder: nn.Module
    decoder: nn.Module


def kim_mnih(shape: tuple[int, ...], parameters: int, width: int, hidden: int | None = None) -> Networks:
    """The networks of FactorVAE's Tables 1–3, for images whose sides are divisible by 16.

    Args:
        shape: (C, H, W) of an image.
        parameters: encoder outputs.
        width: decoder inputs.
        hidden: units of the dense layers; by default 128 for one channel (2D Shapes), else 256.
    """
    if len(shape) != 3 or shape[1] % 16 or shape[2] % 16:
        raise DistaffError(
            f"kim_mnih networks need images with sides divisible by 16, not {tuple(shape)}: resize them."
        )
    channels, rows, columns = shape[0], shape[1] // 16, shape[2] // 16
    hidden = hidden or (128 if channels == 1 else 256)
    encoder = nn.Sequential(
        *_down(channels, 32),
        *_down(32, 32),
        *_down(32, 64),
        *_down(64, 64),
        nn.Flatten(),
        nn.Linear(64 * rows * columns, hidden),
        nn.ReLU(),
        nn.Linear(hidden, parameters),
    )
    decoder = nn.Sequential(
        nn.Linear(width, hidden),
        nn.ReLU(),
        nn.Linear(hidden, 64 * rows * columns),
        nn.ReLU(),
        nn.Unflatten(1, (64, rows, columns)),
        *_up(64, 64),
        *_up(64, 32),
        *_up(32, 32),
        nn.ConvTranspose2d(32, channels, 4, stride=2, padding=1),
    )
    return Networks(encoder, decoder)


def critic(
    width: int, hidden: int = 1000, layers: int = 6, slope: float = 0.2, outputs: int = 2
) -> nn.Module:
    """FactorVAE's discriminator: ``layers`` hidden layers of leaky ReLU, then ``outputs`` logits."""
    sizes = [width, *[hidden] * layers]
    blocks = [
        module
        for i in range(layers)
        for module in (nn.Linear(sizes[i], sizes[i + 1]), nn.LeakyReLU(slope, inplace=True))
    ]
    return nn.Sequential(*blocks, nn.Linear(sizes[-1], outputs))


def _down(inputs: int, outputs: int) -> tuple[nn.Module, ...]:
    return nn.Conv2d(inputs, outputs, 4, stride=2, padding=1), nn.ReLU(inplace=True)


def _up(inputs: int, outputs: int) -> tuple[nn.Module, ...]:
    return nn.ConvTranspose2d(inputs, outputs, 4, stride=2, padding=1), nn.ReLU(inplace=True)
