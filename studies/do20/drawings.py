"""Figures of Do & Tran 2020 only: comparisons of estimators, one latent's means, planes of two latents."""

from collections.abc import Callable, Mapping

import numpy as np
from matplotlib.figure import Figure

from distaff import Codes, DistaffError, Representation, figures
from distaff.analysis import drawable
from distaff.figures import histogram, show, style
from distaff.figures.style import label, small_multiples
from distaff.metrics import Factors, informativeness, jemmig, mig, rmig
from distaff.studies import Results, Settings, Where, chosen, factors_of, grouped, one_each

Measure = Callable[[Codes, Factors], float]


def sampled_against_quantized(
    results: Results,
    *,
    curve: Settings = "recipe",
    where: Where = None,
    samples: int = 10_000,
    bins: int = 100,
) -> Figure:
    """JEMMIG and RMIG by sampling against those by quantization over [−4, 4]: Fig. 24.

    A quantized entropy exceeds the differential one by −log(bin width): this stays in JEMMIG and cancels in
    RMIG.
    """
    measures: list[Measure] = [
        lambda c, f: jemmig(c, f, estimate="sampled", samples=samples).value,
        lambda c, f: jemmig(c, f, bins=bins).value,
        lambda c, f: rmig(c, f, estimate="sampled", samples=samples).value,
        lambda c, f: rmig(c, f, bins=bins).value,
    ]
    found = _of_all_runs(results, curve, where, measures)
    first, second = ((f"{name}, sampled (nats)", f"{name}, quantized (nats)") for name in ("JEMMIG", "RMIG"))
    points = {
        pair: {name: (v[i], v[i + 1]) for name, v in found.items()} for pair, i in ((first, 0), (second, 2))
    }
    return figures.agreement(points, offsets={first: -np.log(8 / bins), second: 0.0})


def rmig_against_mig(results: Results, *, curve: Settings = "recipe", where: Where = None) -> Figure:
    """RMIG/H(y) against Chen's MIG, from q(z|x), and Locatello's, from binned means: Fig. 25."""
    measures: list[Measure] = [
        lambda c, f: mig(c, f, protocol="chen18").value,
        lambda c, f: mig(c, f, protocol="locatello19").value,
        lambda c, f: rmig(c, f, normalize=True).value,
    ]
    found = _of_all_runs(results, curve, where, measures)
    pairs = [("MIG (Chen 2018)", "RMIG"), ("MIG (Locatello 2019)", "RMIG")]
    points = {pair: {name: (v[i], v[2]) for name, v in found.items()} for i, pair in enumerate(pairs)}
    return figures.agreement(points, offsets=dict.fromkeys(pairs, 0.0))


def distributions_of_means(
    results: Results,
    *,
    latent: int | None = None,
    curve: Settings | None = None,
    where: Where = None,
    bins: int = 60,
) -> Figure:
    """The distribution of one latent's mean E_q(z|x)[z] over the data, one panel per setting: Fig. 22.

    Args:
        results: results of the study.
        latent: number of the latent; by default z*, each model's most informative one.
        curve: settings that distinguish panels; by default all that vary.
        where: settings that the runs must have.
        bins: number of bars over the range of all models.
    """
    means = {}
    for name, run in one_each(results, curve, None, where).items():
        codes = run.codes
        which = _by_information(codes)[0] if latent is None else latent
        if not 0 <= which < codes.means.shape[1]:
            raise DistaffError(f"{name} has no latent {which} among its {codes.means.shape[1]} real ones.")
        means[name] = codes.means[:, which].astype(np.float64)
    edges = np.histogram_bin_edges(np.concatenate(list(means.values())), bins)
    figure, axes = small_multiples(len(means), 3, height=1.6)
    text = f"mean of {'z*' if latent is None else f'z{latent}'} given x"
    for i, (one, (name, values)) in enumerate(zip(axes, means.items(), strict=True)):
        histogram(one, values, edges, style.PALETTE[0])
        label(one, x=text, y=None if i % 3 else "density", title=name)
    return figure


def interpolation_planes(
    results: Results,
    *,
    curve: Settings | None = None,
    where: Where = None,
    latents: int = 3,
    steps: int = 7,
) -> Mapping[str, Figure]:
    """Pairs of latents varied together from z = 0, one figure per run: Fig. 26.

    Args:
        results: results of the study.
        curve: settings that distinguish figures; by default all that vary.
        where: settings that the runs must have.
        latents: number of most informative latents; every pair of them gives a plane.
        steps: images per side.
    """
    drawn = {}
    for name, run in one_each(results, curve, None, where).items():
        model = run.model
        values = np.linspace(-model.model.latents.reach, model.model.latents.reach, steps)
        ticks = [""] * steps
        for i in (0, steps // 2, steps - 1):
            ticks[i] = f"{values[i]:.2g}".replace("-", "−")
        first = _by_information(run.codes)[:latents]
        pairs = [(a, b) for i, a in enumerate(first) for b in first[i + 1 :]]
        drawn[name], axes = small_multiples(len(pairs), 3, height=style.PAGE / max(2, min(len(pairs), 3)))
        for one, (down, across) in zip(axes, pairs, strict=True):
            show(one, _plane(model, down, across, values), ticks, ticks)
            label(one, x=model.names[across], y=model.names[down])
    return drawn


def _of_all_runs(
    results: Results, curve: Settings, where: Where, measures: list[Measure]
) -> dict[str, list[list[float]]]:
    """Group → measure → (runs,); a run's codes are read once and not kept."""
    found: dict[str, list[list[float]]] = {}
    for name, runs in grouped(chosen(results, where), curve).items():
        columns: list[list[float]] = [[] for _ in measures]
        for run in runs:
            codes, factors = run.codes, factors_of(run)
            for column, measure in zip(columns, measures, strict=True):
                column.append(measure(codes, factors))
        found[str(name)] = columns
    return found


def _by_information(codes: Codes) -> list[int]:
    """The latents from the most informative down."""
    known = np.array(list((informativeness(codes).per_latent or {}).values()))
    return [int(latent) for latent in np.argsort(-known, kind="stable")]


def _plane(model: Representation, down: int, across: int, values: np.ndarray) -> np.ndarray:
    """(n, n, C, H, W) images of two real latents at all pairs of values, the others at 0."""
    columns = [variable.columns.start for variable in model.model.latents.coded]
    z = np.zeros((len(values), len(values), model.model.latents.width), np.float32)
    z[..., columns[down]] = values[:, None]
    z[..., columns[across]] = values
    images = drawable(model.decode(z.reshape(-1, z.shape[-1])))
    return images.reshape(len(values), len(values), *images.shape[1:])
