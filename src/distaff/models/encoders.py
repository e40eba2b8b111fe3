"""Encoders without a decoder: a user's own ``nn.Module``, or a timm network by its name.

A network's name may stand for a pair of ``Networks`` or for an encoder alone. An encoder alone gets a decoder
of the library that works for any shape. If its output is not of the size of the posterior's parameters, it
also gets a linear layer on top.
"""

import copy
import inspect
import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from distaff.foundation.errors import DistaffError, unknown
from distaff.models import networks
from distaff.models.networks.any_size import image_sides
from distaff.models.networks.halving import Networks, Shape

TIMM = "timm:"
"""Prefix of the names of timm's encoders."""


def completed(make: Callable[..., Any], name: str) -> Callable[..., Networks]:
    """A function that makes ``Networks`` from the object that a network's name stands for.

    Args:
        make: function or class that takes (shape, parameters, width, outputs), (shape, parameters) or
            nothing, and returns ``Networks`` or an encoder; or an encoder, copies of which are trained.
        name: name for error messages.
    """

    def pair(shape: Shape, parameters: int, width: int, outputs: Shape | None = None) -> Networks:
        made = (
            copy.deepcopy(make)
            if isinstance(make, nn.Module)
            else _called(make, shape, parameters, width, outputs)
        )
        if not isinstance(made, nn.Module):
            return made  # type: ignore[no-any-return]  # a pair; if it is not one, the caller says so
        encoder = _with_head(made, shape, parameters, name)
        decode = {1: networks.mlp, 2: networks.conv1d}.get(len(shape), networks.resnet)
        return Networks(encoder, decode(shape, parameters, width, outputs).decoder)

    return pair


def _called(
    make: Callable[..., Any], shape: Shape, parameters: int, width: int, outputs: Shape | None
) -> Any:
    """Call a function or class with as many of these arguments as it takes."""
    whole = partial(make, shape, parameters, width, outputs=outputs)
    try:
        takes = inspect.signature(make).bind
    except (TypeError, ValueError):
        return whole()
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((shape, parameters, width), {"outputs": outputs}),
        ((shape, parameters), {}),
        ((), {}),
    ]
    for given, named in calls:
        try:
            takes(*given, **named)
        except TypeError:
            continue
        return make(*given, **named)
    return whole()


def _with_head(encoder: nn.Module, shape: Shape, parameters: int, name: str) -> nn.Module:
    """The encoder, with a linear layer on top unless it already outputs the posterior's parameters."""
    advice = ": another size may do, such as --resize 64, or another --network"
    given = _tried(encoder, shape, f"the encoder {name} does not take observations of the shape", advice)
    if not isinstance(given, Tensor) or given.ndim < 2 or len(given) != 2:
        what = f"a tensor {tuple(given.shape)}" if isinstance(given, Tensor) else f"a {type(given).__name__}"
        raise DistaffError(f"the encoder {name} gives {what} for two observations, not a tensor (2, …).")
    if given.shape == (2, parameters):
        return encoder
    return nn.Sequential(encoder, nn.Flatten(), nn.Linear(given[0].numel(), parameters))


def _tried(network: nn.Module, shape: Shape, refusal: str, advice: str = "") -> Any:
    """The output of a user's network for two observations of zeros; a network that fails is an error."""
    kept = network.training
    try:
        with torch.no_grad():
            return network.eval()(torch.zeros(2, *shape))
    except DistaffError:
        raise
    except Exception as problem:  # whatever it happens to meet
        raise DistaffError(f"{refusal} {tuple(shape)} ({_first_line(problem)}){advice}.") from problem
    finally:
        network.train(kept)


def check_pair(pair: Networks, shape: Shape, parameters: int, width: int, outputs: Shape, name: str) -> None:
    """Raise an error if a user's networks give outputs of a wrong shape, which broadcasting might hide."""
    for part, network, inputs, wanted in (
        ("encoder", pair.encoder, shape, (parameters,)),
        ("decoder", pair.decoder, (width,), outputs),
    ):
        with torch.random.fork_rng(devices=[]):
            given = _tried(network, inputs, f"the {part} of {name} does not take numbers of shape")
        if not isinstance(given, Tensor) or given.shape != (2, *wanted):
            got = tuple(given.shape[1:]) if isinstance(given, Tensor) else f"a {type(given).__name__}"
            raise DistaffError(f"the {part} of {name} gives {got}: it has to give {tuple(wanted)}.")


def timm_encoder(name: str, download: bool = True) -> Callable[..., nn.Module]:
    """The timm encoder of that name, such as ``resnet18`` or ``vit_tiny_patch16_224``.

    Without ``download``, a pretrained one starts without its weights.
    """

    def encoder(shape: Shape, parameters: int, pretrained: bool = False) -> nn.Module:
        """A timm network, for images of any size that it accepts.

        Args:
            shape: shape of an image.
            parameters: number of outputs.
            pretrained: whether training starts from timm's weights, which are downloaded.
        """
        sides = image_sides(shape, TIMM + name)
        create = _timm(name).create_model
        fetched = pretrained and download
        about = {"pretrained": fetched, "in_chans": shape[0], "num_classes": parameters}
        try:
            try:  # transformers are made for one size, which has to be given
                made = create(name, img_size=sides, **about)
            except TypeError:
                made = create(name, **about)
        except Exception as problem:  # whatever the hub or a network of timm's happens to meet
            if fetched:
                raise DistaffError(
                    f"timm's weights of {name} could not be downloaded ({_first_line(problem)}): leave "
                    "pretrained=true out to start without them."
                ) from problem
            raise DistaffError(
                f"timm cannot make {name} for images {tuple(shape)} ({_first_line(problem)}): another size "
                "may do, such as --resize 64, or another of timm's networks."
            ) from problem
        config = made.pretrained_cfg
        return nn.Sequential(Normalise(shape[0], config.get("mean", ()), config.get("std", ())), made)

    return encoder


class Normalise(nn.Module):
    """(x − mean) / std of each channel, with the statistics of the images that a network was pretrained on.

    Args:
        channels: number of channels of the images.
        mean: mean of each channel; for another number of channels, the average of these is used.
        std: standard deviation of each channel, likewise.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, channels: int, mean: tuple[float, ...], std: tuple[float, ...]) -> None:
        super().__init__()
        for name, values in (("mean", mean or (0.5,)), ("std", std or (0.5,))):
            each = values if len(values) == channels else [statistics.fmean(values)] * channels
            self.register_buffer(name, torch.tensor(each).reshape(-1, 1, 1), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """x (B, channels, H, W) in 0–1, the same shape."""
        return (x - self.mean) / self.std


def _timm(name: str) -> Any:
    """The timm package; a name that it does not have is an error."""
    try:
        import timm
    except ModuleNotFoundError as problem:
        if problem.name != "timm":
            raise _broken(problem) from problem
        raise DistaffError(
            f"--network {TIMM}{name} needs a package that is not installed: pip install 'distaff[timm]'."
        ) from problem
    except Exception as problem:  # torchvision built for another torch fails in many ways
        raise _broken(problem) from problem
    if not timm.is_model(name.partition(".")[0]):
        error = unknown("network of timm", name, timm.list_models())
        near = str(error).partition(" Known:")[0]
        raise DistaffError(
            f"{near.rstrip(':')}{'' if near.endswith('?') else '.'} timm.list_models() has them all."
        )
    return timm


def _broken(problem: Exception) -> DistaffError:
    return DistaffError(
        f"timm is installed but cannot be imported ({_first_line(problem)}): install a torchvision that was "
        "built for this torch."
    )


def _first_line(problem: Exception) -> str:
    return (str(problem).strip() or type(problem).__name__).partition("\n")[0].rstrip(".")
