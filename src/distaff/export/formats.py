"""Graphs as files: ONNX and programs of ``torch.export``; each file is run and compared before it is kept."""

import importlib.util
import io
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from distaff.export.graphs import Array, Graph, Run, graphs_of
from distaff.foundation.errors import DistaffError, reason
from distaff.foundation.files import atomic_file
from distaff.models.representation import Representation

TRACED_WITH = 3
"""Size of the batch that a graph is traced with; the file accepts any size."""


@dataclass(frozen=True)
class Format:
    """A kind of file.

    Args:
        suffix: ending of the file's name.
        write: function from a graph to the file's bytes.
        read: function from those bytes to a function to compare with; None if its runtime is not installed.
    """

    suffix: str
    write: Callable[[Graph], bytes]
    read: Callable[[bytes], Run | None]


@dataclass(frozen=True)
class Written:
    """A file or folder that was written, and a note about it."""

    path: Path
    note: str

    def __str__(self) -> str:
        return f"{self.path}: {self.note}"


def write_graphs(
    trained: Representation, target: str | Path, form: Format, overwrite: bool = False
) -> list[Written]:
    """Write encoder and decoder, both or neither.

    ``target`` is a folder for ``encoder`` and ``decoder``, or a file name to insert these words into.
    """
    paths = {name: _place(Path(target), name, form.suffix) for name in ("encoder", "decoder")}
    refuse_existing(paths.values(), overwrite)
    with torch.random.fork_rng(), _quiet():
        torch.manual_seed(0)
        exported = {graph.name: _exported(graph, form) for graph in graphs_of(trained)}
    with ExitStack() as both:
        for name, (content, _) in exported.items():
            both.enter_context(atomic_file(paths[name])).write_bytes(content)
    return [Written(paths[name], agreement) for name, (_, agreement) in exported.items()]


def _exported(graph: Graph, form: Format) -> tuple[bytes, str]:
    """The bytes of a file, and how well it agrees; exporters and runtimes raise errors of many kinds."""
    try:
        content = form.write(graph)
        run = form.read(content)
        if run is None:
            return content, "not checked: no onnxruntime"
        return content, f"agrees with torch to {graph.difference(run):.1e}"
    except (DistaffError, MemoryError):
        raise
    except Exception as problem:
        raise DistaffError(
            f"the {graph.name} cannot be exported as {form.suffix}, so nothing was written: a layer of this "
            f"network may not be exportable for batches of any size ({reason(problem)[:300]})."
        ) from problem


def refuse_existing(paths: Iterable[Path], overwrite: bool) -> None:
    """Raise an error that names the existing files, unless they may be replaced."""
    there = [str(path) for path in paths if path.exists()]
    if there and not overwrite:
        raise DistaffError(f"{', '.join(there)} exists already: choose another place or add --overwrite.")


def to_onnx(graph: Graph) -> bytes:
    """The graph as an ONNX model in one file, for batches of any size."""
    missing = [name for name in ("onnx", "onnxscript") if importlib.util.find_spec(name) is None]
    if missing:
        raise DistaffError(f"ONNX needs {' and '.join(missing)}: pip install 'distaff[onnx]'.")
    x = graph.example(TRACED_WITH)
    program = torch.onnx.export(
        graph.module,
        (x,),
        dynamo=True,
        verbose=False,
        input_names=[graph.takes],
        dynamic_shapes=({0: torch.export.Dim("batch")},),
    )
    assert program is not None
    _name_outputs(program, list(graph(x)))
    content: bytes = program.model_proto.SerializeToString()
    return content


def _name_outputs(program: torch.onnx.ONNXProgram, names: list[str]) -> None:
    """Name a graph's outputs; torch names a value within by its operation, such as pooling's ``mean``."""
    graph = program.model.graph
    for value in (value for node in graph.all_nodes() for value in node.outputs if value.name in names):
        value.name = f"{value.name}.inner"
    for output, name in zip(graph.outputs, names, strict=True):
        output.name = name


def run_onnx(content: bytes) -> Run | None:
    """An ONNX model in onnxruntime, on the CPU."""
    try:
        import onnxruntime
    except ImportError:
        return None
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    (takes,) = session.get_inputs()
    names = [output.name for output in session.get_outputs()]
    return lambda x: dict(zip(names, session.run(None, {takes.name: x}), strict=True))


def to_program(graph: Graph) -> bytes:
    """The graph as a ``torch.export`` program (.pt2), for batches of any size."""
    batch = ({0: torch.export.Dim("batch")},)
    program = torch.export.export(graph.module, (graph.example(TRACED_WITH),), dynamic_shapes=batch)
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    return buffer.getvalue()


def run_program(content: bytes) -> Run:
    """A ``torch.export`` program as a function."""
    module = torch.export.load(io.BytesIO(content)).module()

    def run(x: Array) -> dict[str, Array]:
        with torch.inference_mode():
            return {name: tensor.numpy() for name, tensor in module(torch.from_numpy(x)).items()}

    return run


ONNX = Format(".onnx", to_onnx, run_onnx)
PROGRAM = Format(".pt2", to_program, run_program)


def _place(target: Path, name: str, suffix: str) -> Path:
    """``DIR/encoder.onnx``, or ``m.encoder.onnx`` for ``m.onnx``."""
    if target.suffix == suffix:
        return target.with_suffix(f".{name}{suffix}")
    if target.is_file():
        raise DistaffError(f"{target} is a file: name a folder, or a file that ends in {suffix}.")
    return target / f"{name}{suffix}"


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide the exporters' internal messages from the user."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
