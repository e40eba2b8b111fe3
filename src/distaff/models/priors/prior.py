"""p(z) of the whole latent space: independent priors of all groups.

Text form: ``student_t:5``, ``mine:laplace:0.7``, or ``style=student_t:5,digit=learned_classes``.
"""

import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import cast

import torch
from torch import Tensor, nn

from distaff.data.images import Images
from distaff.foundation.binding import find_function, public_functions, types_of
from distaff.foundation.errors import DistaffError, unknown
from distaff.models.latents import TEMPERATURE, Group, LatentSpace, Quantized, Real
from distaff.models.posteriors import GroupPosterior, Posterior
from distaff.models.priors import named as kinds
from distaff.models.priors.discrete import Codebook, Relaxed
from distaff.models.priors.group import GroupPrior, StandardNormal

Kind = Callable[..., nn.Module]
STANDARD = ("normal", "uniform")
"""Default priors; selecting one is no error even if no group fits it."""


class Prior(nn.Module):
    """Independent priors of all groups, in the order of z; densities and samples are in coordinates u.

    Args:
        groups: prior of each group.
    """

    def __init__(self, groups: Mapping[str, nn.Module]) -> None:
        super().__init__()
        self.names = tuple(groups)
        self.parts = nn.ModuleList(groups.values())
        self.temperature = TEMPERATURE

    @classmethod
    def standard(cls, latents: LatentSpace) -> "Prior":
        """N(0, I) for real groups, equal class probabilities for discrete ones."""
        return cls({name: standard(group) for name, group in latents.groups.items()})

    @property
    def groups(self) -> dict[str, nn.Module]:
        """The prior of each group."""
        return dict(zip(self.names, self.parts, strict=True))

    @property
    def temperature(self) -> float:
        """Temperature of the relaxed densities, equal to that of the posteriors."""
        return self._temperature

    @temperature.setter
    def temperature(self, value: float) -> None:
        self._temperature = value
        for part in self._parts:
            part.temperature = value

    @property
    def codebooks(self) -> dict[str, nn.Parameter]:
        """The codebook (dims, V) of each group of quantised latents."""
        return {name: part.values for name, part in self.groups.items() if isinstance(part, Codebook)}

    def start_from(self, images: Images) -> None:
        """Initialise the priors from the data, before training starts."""
        for part in self._parts:
            part.start_from(images)

    def log_prob(self, u: Tensor) -> Tensor:
        """log p(z) (B,)."""
        return self.log_prob_groups(u).sum(-1)

    def log_prob_groups(self, u: Tensor) -> Tensor:
        """log p(z_g) (B, groups)."""
        return torch.stack([part.log_prob(c) for part, c in self._columns(u)], dim=-1)

    def log_prob_dims(self, u: Tensor) -> Tensor:
        """The marginals log p(z_d) (B, dims)."""
        return torch.cat([part.log_prob_dims(c) for part, c in self._columns(u)], dim=-1)

    def sample(self, count: int, like: Tensor) -> Tensor:
        """u (count, width) drawn from the prior, with the device and dtype of ``like``."""
        return torch.cat([part.sample(count, like) for part in self._parts], dim=-1)

    def kl(self, posterior: Posterior, u: Tensor) -> Tensor:
        """KL(q(z|x) ‖ p(z)) (B,): in closed form if there is one, else log q − log p at u ~ q(u|x)."""
        return self.kl_groups(posterior, u).sum(-1)

    def kl_groups(self, posterior: Posterior, u: Tensor) -> Tensor:
        """KL(q(z_g|x) ‖ p(z_g)) (B, groups), computed like ``kl``."""
        return torch.stack([prior.kl(q, c) for prior, q, c in self._beside(posterior, u)], dim=-1)

    def kl_dims(self, posterior: Posterior, u: Tensor) -> Tensor:
        """KL(q(z_d|x) ‖ p(z_d)) (B, dims) of the marginals, computed like ``kl``."""
        return torch.cat([prior.kl_dims(q, c) for prior, q, c in self._beside(posterior, u)], dim=-1)

    @property
    def _parts(self) -> list[GroupPrior]:
        return [cast(GroupPrior, part) for part in self.parts]

    def _split(self, u: Tensor) -> tuple[Tensor, ...]:
        return torch.split(u, [part.width for part in self._parts], dim=-1)

    def _columns(self, u: Tensor) -> Iterator[tuple[GroupPrior, Tensor]]:
        return zip(self._parts, self._split(u), strict=True)

    def _beside(self, posterior: Posterior, u: Tensor) -> Iterator[tuple[GroupPrior, GroupPosterior, Tensor]]:
        return zip(self._parts, posterior.parts.values(), self._split(u), strict=True)


def standard(group: Group) -> nn.Module:
    """The default prior of a group: N(0, I), or equally likely classes or values."""
    if isinstance(group, Quantized):
        return Codebook(group)
    return StandardNormal(group.dims) if isinstance(group, Real) else Relaxed(group, learned=False)


def parse_prior(text: str, latents: LatentSpace) -> Prior:
    """Read a prior for a latent space.

    Items are separated by commas: ``name=kind:numbers`` for one group, ``kind:numbers`` for every group that
    the kind fits; a kind of your own is written ``module:function``. Other groups have N(0, I), or equally
    likely classes.
    """
    if text in STANDARD:
        return Prior.standard(latents)
    chosen: dict[str, nn.Module] = {}
    for item in text.split(","):
        name, named, call = (part.strip() for part in item.rpartition("="))
        kind, numbers = _find_kind(call)
        if named and name not in latents.groups:
            raise unknown("group of latents", name, latents.groups)
        groups = [name] if named else [g for g in latents.groups if _fits(kind, latents.groups[g])]
        if not groups and kind.__name__ not in STANDARD:
            raise DistaffError(f"the prior {kind.__name__!r} fits no group of {latents}.")
        for group in groups:
            if group in chosen:
                raise DistaffError(f"the prior {text!r} names the group {group!r} twice.")
            chosen[group] = _make(kind, numbers, group, latents.groups[group])
    return Prior({name: chosen.get(name) or standard(group) for name, group in latents.groups.items()})


def kinds_named(text: str) -> list[str]:
    """The kinds that the items of a prior name, in order: ``student_t``, ``mine:laplace``."""
    return [_split(item.rpartition("=")[2])[0] for item in text.split(",")]


def _find_kind(call: str) -> tuple[Kind, list[str]]:
    """The function that ``kind:numbers`` or ``module:function:numbers`` names, and the numbers as text."""
    name, rest = _split(call)
    return find_function("prior", name, kinds), rest


def _split(call: str) -> tuple[str, list[str]]:
    name, *rest = (part.strip() for part in call.split(":"))
    if rest and rest[0].isidentifier() and name not in public_functions(kinds):
        name, rest = f"{name}:{rest[0]}", rest[1:]
    return name, rest


def _make(kind: Kind, numbers: list[str], name: str, group: Group) -> nn.Module:
    if not _fits(kind, group):
        fitting = [k for k, function in public_functions(kinds).items() if _fits(function, group)]
        raise DistaffError(
            f"the prior {kind.__name__!r} does not fit {name}={group}: use one of {', '.join(fitting)}."
        )
    arguments = list(inspect.signature(kind).parameters)[1:]
    if len(numbers) > len(arguments):
        form = ":".join([kind.__name__, *(a.upper() for a in arguments)])
        raise DistaffError(f"the prior {kind.__name__!r} takes {len(arguments)} numbers: write {form}.")
    try:
        values = [float(number) for number in numbers]
    except ValueError:
        raise DistaffError(
            f"the prior {':'.join([kind.__name__, *numbers])!r} should have numbers after its name."
        ) from None
    made = kind(group, *values)
    if not isinstance(made, nn.Module):
        raise DistaffError(f"the prior {kind.__name__!r} returns {type(made).__name__}, not an nn.Module.")
    return made


def _fits(kind: Kind, group: Group) -> bool:
    first = next(iter(inspect.signature(kind).parameters), "")
    accepted = types_of(kind, extras=False).get(first)
    if accepted is None:
        raise DistaffError(
            f"the prior {kind.__name__!r} does not say which latents it fits: annotate its first argument, "
            "as in group: Gaussian."
        )
    options = typing.get_args(accepted) if isinstance(accepted, types.UnionType) else (accepted,)
    return isinstance(group, options)
