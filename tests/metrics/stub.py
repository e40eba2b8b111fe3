"""Writes ``distaff/metrics/__init__.pyi``, from which type checkers and editors know metrics' arguments.

python -m tests.metrics.stub
"""

import subprocess
import sys
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Union, get_args, get_origin

import distaff.metrics
from distaff.metrics.catalogue import all_metrics

STUB = Path(distaff.metrics.__file__).with_suffix(".pyi")
HEAD = '''"""The public face, for type checkers; written by ``python -m tests.metrics.stub``."""

from collections.abc import Mapping, Sequence
from typing import Literal

from numpy.typing import ArrayLike

'''


def stub() -> str:
    """The text of the stub: where other public things come from, and one signature per metric."""
    others = [getattr(distaff.metrics, name) for name in distaff.metrics.__all__ if name not in all_metrics()]
    lines = [f"from {thing.__module__} import {thing.__name__} as {thing.__name__}" for thing in others]
    lines.append("from distaff.metrics.inputs import CodesLike, FactorsLike")
    return HEAD + "\n".join(lines) + "\n\n" + "\n".join(map(_written, all_metrics().values()))


def _written(function: Any) -> str:
    shape = signature(function)
    parts, starred = [], False
    for name, parameter in shape.parameters.items():
        if parameter.kind is Parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        default = "" if parameter.default is Parameter.empty else f" = {parameter.default!r}"
        parts.append(f"{name}: {_kind(parameter.annotation)}{default}")
    return f"def {function.__name__}({', '.join(parts)}) -> {_kind(shape.return_annotation)}: ...\n"


def _kind(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    if get_origin(annotation) is Union:
        return " | ".join("None" if part is type(None) else _kind(part) for part in get_args(annotation))
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation.__name__
    return str(annotation).replace("typing.", "").replace("collections.abc.", "")


if __name__ == "__main__":
    STUB.write_text(stub(), "utf-8")
    for command in (["check", "--select", "I", "--fix"], ["format"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, STUB], check=True)
