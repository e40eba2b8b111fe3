"""p(z) of the whole latent space: independent priors of all groups.

Text form: ``student_t:5``, ``mine:laplace:0.7``, or ``style=student_t:5,digit=learned_classes``.
"""

import inspect
import types
import typing
from collections.abc import Callable

from torch import nn

from distaff.foundation.binding import find_function, public_functions, types_of
from distaff.foundation.errors import DistaffError, unknown
from distaff.models.latent_kinds import Group
from distaff.models.latents import LatentSpace
from distaff.models.priors import named as kinds
from distaff.models.vae import Prior, standard

Kind = Callable[..., nn.Module]
STANDARD = ("normal", "uniform")
"""Default priors; selecting one is no error even if no group fits it."""


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
