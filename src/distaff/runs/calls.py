"""What a run calls: a recipe with its arguments, and the reader of a data set with its options."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import SkipValidation
from torch.utils.data import Dataset as TorchDataset

from distaff.data import tables
from distaff.data.dataset import Dataset
from distaff.data.folder_scan import shape_of
from distaff.data.frameworks import from_object
from distaff.data.opening import find_reader, names, open_told
from distaff.data.sizes import resized
from distaff.foundation.binding import bind, find_function, public_functions, to_plain
from distaff.foundation.errors import DistaffError, shown, told_if_it_fails, unknown
from distaff.foundation.files import ending, named_path
from distaff.foundation.text import told_options
from distaff.models.likelihoods import COUNTED
from distaff.objectives import recipes
from distaff.objectives.games import Game
from distaff.objectives.labels import LOSSES
from distaff.objectives.objective import Objective
from distaff.runs.former_versions import renamed_data
from distaff.runs.sections import TrainingSettings
from distaff.runs.settings import AUTO, DataSettings

Data = str | Path | Dataset | np.ndarray[Any, Any] | TorchDataset[Any]
"""Everything that can be trained on: a name, a file, a folder, or data in Python."""
Goal = Objective | Game
"""The return type of recipes: an ``Objective`` for VAEs, or a ``Game`` for GANs."""
IN_MEMORY = ("categorical", "columns", "counts", "factors", "matrix", "range", "signals", "standardise")
"""Options of data in memory, in addition to ``resize`` and ``fit``."""


@dataclass(frozen=True)
class RecipeCall:
    """A recipe and its arguments.

    Args:
        name: name of a recipe of the library, or ``module:function``.
        arguments: all arguments, as plain values.
    """

    name: str
    arguments: Mapping[str, Any]

    @classmethod
    def of(cls, recipe: str | Callable[..., Goal], arguments: Mapping[str, Any]) -> tuple["RecipeCall", Goal]:
        """The call with its defaults filled in, and its result."""
        function = find_recipe(recipe)
        if isinstance(recipe, str):
            name = recipe
        else:
            own = public_functions(recipes).get(recipe.__qualname__) is recipe
            # The library's recipes have one name, in whichever file they are written.
            name = f"{recipes.__name__ if own else recipe.__module__}:{recipe.__qualname__}"
        bound = bind(function, arguments)
        with told_if_it_fails("recipe", function):
            goal = function(**bound)
        if not isinstance(goal, Goal):
            raise DistaffError(
                f"the recipe {name} returns {type(goal).__name__}, not an Objective or a Game."
            )
        return cls(name, to_plain(bound)), goal

    def with_defaults(self) -> "RecipeCall":
        """The call with defaults for arguments that the library's recipe has gained since."""
        function = public_functions(recipes).get(self.name)
        return self if function is None else RecipeCall(self.name, to_plain(bind(function, self.arguments)))

    def goal(self) -> Goal:
        """The objective or game that the recipe returns."""
        return self.of(self.name, self.arguments)[1]


def find_recipe(recipe: str | Callable[..., Goal]) -> Callable[..., Goal]:
    """A recipe by its name, as ``module:function``, or as the function itself."""
    if isinstance(recipe, str):
        return find_function("recipe", recipe, recipes)
    if not hasattr(recipe, "__qualname__"):
        what = f"the objective {recipe}" if isinstance(recipe, Goal) else shown(recipe)
        if isinstance(recipe, partial):
            name = getattr(recipe.func, "__name__", "the function")
            given = ", ".join(f"{key}={value!r}" for key, value in recipe.keywords.items())
            what = f"functools.partial of {name}: give {name} itself, and beside it its arguments"
            what += given and f", such as {given}"
        raise DistaffError(
            f"a recipe is a name, such as vae, or a function that returns an objective, not {what}."
        )
    return recipe


def labelled_goal(goal: Goal, training: TrainingSettings) -> Goal:
    """A recipe's goal, with the label loss added if there are labels."""
    if training.labels is None:
        return goal
    if isinstance(goal, Game):
        raise DistaffError("labels go with recipes of VAEs: leave them out for a GAN.")
    return goal + training.label_weight * LOSSES[training.label_loss]


@dataclass(frozen=True)
class DataCall:
    """Which data set to open.

    Args:
        spec: a known name, a file, a folder, an array, a ``Dataset``, or data of another library
            (``from_object``).
        file: the official file of a named data set.
        options: further arguments of the data set's ``load``.
    """

    spec: Annotated[Data, SkipValidation]
    file: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def told(cls, data: Data, how: DataSettings) -> "DataCall":
        """The data given to ``train``, with its data settings, which are options if not at their defaults."""
        names = ("resize", "fit", "range", "skip_bad", "correlate", "leave_out")
        flags = {name: getattr(how, name) for name in names}
        given = {name: value for name, value in flags.items() if value is not None and value is not False}
        options = told_options(how.data_options, **given) if how.data_options else given
        return cls(data, None if how.file is None else str(how.file), options)

    @classmethod
    def of(cls, data: Any) -> "DataCall":
        """The call that a study file describes, as ``dsprites`` or ``{spec: mnist, part: test}``."""
        given = dict(data) if isinstance(data, Mapping) else {"spec": data}
        spec = renamed_data(given.pop("spec", None))
        if not isinstance(spec, str):
            raise DistaffError(
                f"data is a name, a path, or a mapping with a spec such as {{spec: mnist}}, not {data!r}."
            )
        return cls(spec, given.pop("file", None), given)

    @property
    def text(self) -> str:
        """The call as text, such as ``mnist, part=test``."""
        told = {"file": self.file, **self.options}
        return ", ".join(
            [str(self.spec), *(f"{key}={value}" for key, value in told.items() if value is not None)]
        )

    @property
    def located(self) -> "DataCall":
        """The same call with absolute paths, for processes in another folder."""
        return replace(self, spec=_absolute(str(self.spec)), file=self.file and _absolute(self.file))

    @property
    def place(self) -> str | None:
        """The name, or the absolute path, of the data; None for data in memory."""
        if not isinstance(self.spec, str | Path):
            return None
        here = str(self.spec) not in names() and named_path(self.spec).exists()
        return str(Path(self.spec).resolve()) if here else str(self.spec)

    def open(self, likelihood: str = AUTO, standardise: bool = True) -> Dataset:
        """The data set.

        Args:
            likelihood: requested likelihood; data for likelihoods of counts or bits are not standardised.
            standardise: whether to bring vectors of files and arrays to mean 0 and variance 1; those of named
                data sets, and of a ``Dataset``, are never changed.
        """
        place, own = self.place, _ways(likelihood, standardise)
        if place is None:
            return self._in_memory(self.spec, own)
        known = own if _may_hold_vectors(Path(place)) else {}
        return open_told(place, self.file, {**known, **self.options})

    def shape(self) -> tuple[int, ...] | None:
        """The shape that images will have, if it is known before they are decoded."""
        spec = self.spec
        if not isinstance(spec, str | Path) or str(spec) in names():
            return None
        if not named_path(spec).is_dir() and ending(Path(spec)) not in (".zip", ".tar", ".tgz", ".gz"):
            return None
        _, told, _ = find_reader(spec, self.file, self.options)
        side = told.get("resize")
        return shape_of(**told) if side is None else (3, side, side)

    def _in_memory(self, data: Any, own: Mapping[str, Any]) -> Dataset:
        options = dict(self.options)
        side, fit = options.pop("resize", None), options.pop("fit", "squash")
        if isinstance(data, Dataset):
            if options:
                raise DistaffError(f"{', '.join(options)} go with files, not with a Dataset.")
            dataset = data
        else:
            for name in options:
                if name not in IN_MEMORY:
                    raise unknown("option of data in memory", name, IN_MEMORY)
            dataset = from_object(data, **{**own, **options})
        return dataset if side is None else resized(dataset, int(side), fit, "range" not in options)


def _ways(likelihood: str, standardise: bool) -> dict[str, Any]:
    counted = {"counts": "all"} if likelihood in COUNTED else {}
    return {"standardise": standardise and likelihood != "bernoulli", **counted}


def _absolute(place: str) -> str:
    """The absolute path if the path exists; a name is returned unchanged."""
    return str(Path(place).resolve()) if Path(place).exists() else place


def _may_hold_vectors(path: Path) -> bool:
    return ending(path) in (*tables.SUFFIXES, ".npz", ".npy", ".h5", ".hdf5")
