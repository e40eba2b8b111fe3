"""Latent traversals: decoded images while one latent varies and the others stay fixed."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from distaff.figures.checked_arrays import Array, filled, named, numbers, pictures, short
from distaff.figures.image_rows import grid_axes, label_width, paired
from distaff.figures.montage import show
from distaff.figures.style import PAGE, bare_figure, dress, label
from distaff.foundation.errors import DistaffError

SPACE = 0.12
"""Inches between panels."""


def traversals(
    images: Any,
    labels: Sequence[str],
    values: Sequence[float] | None = None,
    above: tuple[Any, Any] | None = None,
    *,
    sort_by: Any = None,
    top: int | None = None,
) -> Figure:
    """One row per latent, originals and reconstructions on top: the FactorVAE paper's Fig. 3, 6, 9, 11, 13.

    Args:
        images: (D, steps, C, H, W), the decoded images of each latent's traversal.
        labels: D texts to the left of the rows, such as ``"z3 · KL 2.31"``.
        values: the ``steps`` values of the latent, written below.
        above: originals (n, C, H, W) and their reconstructions; as many as fit are shown.
        sort_by: (D,) numbers (KL, informativeness, MI with a factor), to sort the rows from largest to
            smallest.
        top: number of rows to keep after sorting.

    Returns:
        A figure of D (or ``top``) rows, with two more above them if originals are given.

    See also: ``top_latents``, rows by factor; ``side_by_side``, several runs.

    >>> rows = np.random.default_rng(0).random((3, 9, 1, 16, 16))  # three latents, nine steps
    >>> figure = traversals(rows, ["z0", "z1", "z2"], np.linspace(-2, 2, 9), sort_by=[0.1, 2.3, 1.7], top=2)
    """
    rows = pictures("traversal images", images, "D steps")
    labels = named("labels", labels, len(rows))
    if sort_by is not None:
        order = ranked(sort_by, len(rows))
        rows, labels = rows[order], [labels[i] for i in order]
    if top is not None and top < 1:
        raise DistaffError(f"top must be 1 or more, not {top}.")
    rows, labels = rows[:top], labels[:top]
    ticks = None if values is None else value_labels(values, rows.shape[1])

    if above is None:
        return _figure(rows, labels, ticks)
    if not isinstance(above, tuple) or len(above) != 2:
        raise DistaffError("above is a pair of originals and their reconstructions, or None.")
    pairs = np.stack(paired(*above))[:, : rows.shape[1]]
    both = np.concatenate([_stretched(pairs, rows), _stretched(rows, rows)])
    return _figure(both, ["original", "reconstruction", *labels], ticks, [len(pairs)])


def top_latents(
    images: Mapping[str, Any],
    labels: Mapping[str, Sequence[str]],
    values: Sequence[float] | None = None,
) -> Figure:
    """For each factor, the traversals of its most informative latents: Do & Tran's Fig. 12 and 16.

    Args:
        images: factor → (k, steps, C, H, W), best latent first.
        labels: factor → k texts such as ``"z3 · 1.21 nats"``.
        values: the ``steps`` values of the latents.

    Returns:
        A figure of k rows per factor, with gaps between factors.

    See also: ``traversals``, every latent once; ``information_matrix``, on which the choice is based.

    >>> rows = np.random.default_rng(0).random((2, 9, 1, 16, 16))
    >>> figure = top_latents({"scale": rows}, {"scale": ["z3 · 1.21 nats", "z1 · 0.08 nats"]})
    """
    filled("images", images)
    if images.keys() != labels.keys():
        raise DistaffError(f"images are for {sorted(images)} but labels for {sorted(labels)}.")
    blocks = [pictures(f"images of {factor!r}", block, "k steps") for factor, block in images.items()]
    texts: list[str] = []
    for factor, block in zip(images, blocks, strict=True):
        first, *others = named(f"labels of {factor!r}", labels[factor], len(block))
        texts += [f"{factor}: {first}", *others]
    widest = max(blocks, key=lambda block: block.shape[1])
    ticks = None if values is None else value_labels(values, widest.shape[1])
    breaks = np.cumsum([len(block) for block in blocks])[:-1].tolist()
    return _figure(np.concatenate([_stretched(block, widest) for block in blocks]), texts, ticks, breaks)


def side_by_side(
    images: Mapping[str, Any],
    labels: Sequence[str] | Mapping[str, Sequence[str]],
    values: Sequence[float] | None = None,
) -> Figure:
    """The same traversal rows for several models or runs, one panel each.

    With rows in matching order, it shows latents that recur across runs (Do & Tran's A.18, Fig. 27, 28); with
    one observation per row and the same latent varied in all, it shows whether the rest stays the same, such
    as the identity of a digit while its thickness changes (HFVAE Fig. 7).

    Args:
        images: title of the panel → (R, steps, C, H, W).
        labels: R texts for all panels, written once, or title → R texts.
        values: the ``steps`` values of the latent.

    Returns:
        A figure with one panel of R rows per model.

    See also: ``traversals``, one model with its reconstructions; ``matched_latents``, the matching itself.

    >>> rows = np.random.default_rng(0).random((2, 5, 1, 16, 16))
    >>> figure = side_by_side({"seed 0": rows, "seed 1": rows}, ["x position", "scale"])
    """
    filled("images", images)
    grids = {name: pictures(f"images of {name!r}", rows, "R steps") for name, rows in images.items()}
    rows, steps = (max(grid.shape[axis] for grid in grids.values()) for axis in (0, 1))
    shared = not isinstance(labels, Mapping)
    given = labels if isinstance(labels, Mapping) else dict.fromkeys(grids, labels)
    if given.keys() != grids.keys():
        raise DistaffError(f"images are for {sorted(grids)} but labels for {sorted(given)}.")
    texts = {name: named("labels", given[name], len(grid)) for name, grid in grids.items()}
    beside = sum(label_width(text) for text in texts.values()) / (len(grids) if shared else 1)
    side = min((PAGE - beside - SPACE * len(grids)) / (len(grids) * steps), 0.6)
    shape = next(iter(grids.values())).shape
    width = side * steps * len(grids) + beside + SPACE * len(grids)
    figure = bare_figure((width, side * rows * shape[-2] / shape[-1] + 0.5))
    axes = figure.subplots(1, len(grids), squeeze=False)[0]
    for i, (one, (name, grid)) in enumerate(zip(axes, grids.items(), strict=True)):
        dress(one)
        ticks = None if values is None else value_labels(values, grid.shape[1], side)
        show(one, grid, None if shared and i else texts[name], ticks)
        label(one, title=name)
    return figure


def ranked(scores: Any, count: int) -> list[int]:
    """The indices of ``scores`` (count,), largest first; NaN goes last."""
    array = numbers("sort_by", scores, "D")
    if len(array) != count:
        raise DistaffError(f"sort_by has {len(array)} numbers for {count} rows.")
    order = np.argsort(-np.nan_to_num(array, nan=-np.inf), kind="stable")
    return [int(i) for i in order]


def value_labels(values: Sequence[float], steps: int, side: float = np.inf) -> list[str]:
    """The values of the steps as short texts, thinned out so that they do not touch.

    Where steps of ``side`` inches are too narrow, texts are left out, except those at the ends.
    """
    array = numbers("values", values, "steps")
    if len(array) != steps:
        raise DistaffError(f"values: {len(array)} of them for {steps} steps of traversal.")
    texts = [short(value) for value in array]
    wanted = max(label_width(texts) / side, 1 if steps <= 13 else 2)
    even = (k for k in range(1, steps) if (steps - 1) % k == 0 and k >= wanted)
    every = next(even, max(steps - 1, 1)) if np.isfinite(side) else int(wanted)
    return [text if i % every == 0 else "" for i, text in enumerate(texts)]


def _stretched(rows: Array, like: Array) -> Array:
    """Rows of colour images with as many columns as ``like``, filled up with white on the right."""
    if rows.shape[-2:] != like.shape[-2:]:
        raise DistaffError(
            f"some images are {rows.shape[-2:]} pixels and others {like.shape[-2:]}: all must have one size."
        )
    whole = np.ones((len(rows), like.shape[1], 3, *like.shape[-2:]))
    whole[:, : rows.shape[1]] = rows
    return whole


def _figure(
    rows: Array, labels: Sequence[str], ticks: Sequence[str] | None, breaks: Sequence[int] = ()
) -> Figure:
    figure, axes = grid_axes(rows, labels, ticks, breaks, margin=0.36 * (ticks is not None))
    if ticks is not None:
        label(axes, x="value of the latent")
    return figure
