"""Signatures and docstrings that decorators make, for the API reference, which otherwise reads sources."""

import inspect
from importlib import import_module
from typing import Any

from griffe import Docstring, Extension, Function, Parameter, ParameterKind, Parameters, Parser

KINDS = {kind.value: kind for kind in ParameterKind}


class MadeSignatures(Extension):
    """Functions with a signature of their own are shown as ``help`` shows them."""

    def on_function(self, *, func: Function, **_: Any) -> None:
        """Take parameters, result and docstring from the function itself."""
        if not func.decorators or not func.parent or not func.parent.is_module:
            return
        made = getattr(import_module(func.parent.path), func.name)
        shape = vars(made).get("__signature__") if inspect.isfunction(made) else None
        if shape is None:
            return
        func.parameters = Parameters(
            *(
                Parameter(
                    name,
                    annotation=_words(p.annotation),
                    kind=KINDS[p.kind.description],
                    default=None if p.default is p.empty else repr(p.default),
                )
                for name, p in shape.parameters.items()
            )
        )
        func.returns = _words(shape.return_annotation)
        func.docstring = Docstring(inspect.getdoc(made) or "", parent=func, parser=Parser.google)


def _words(annotation: Any) -> str:
    words = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return (
        words.replace("distaff.metrics.score.", "")
        .replace("distaff.metrics.result.", "")
        .replace("collections.abc.", "")
    )
