"""A report about a run: one HTML page that needs no network."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from distaff import figures
from distaff.analysis.encoding import SAMPLE, Encoded, encode_run, sample_size
from distaff.analysis.evaluate import evaluate_encoded, mixed
from distaff.data.dataset import Dataset
from distaff.data.images import FloatImages
from distaff.figures.html import Block, Code, Facts, Picture, Table, Text, page
from distaff.foundation.errors import kept_if_allowed
from distaff.foundation.files import write_text
from distaff.metrics import Score
from distaff.models.representation import Representation
from distaff.objectives.objective import Objective
from distaff.objectives.schedules import Schedule, weight_at, weight_text
from distaff.runs.config import RunConfig
from distaff.runs.folder import RunFolder, TrainedRun, run_folder
from distaff.runs.latent_names import read_names
from distaff.runs.log import read_log
from distaff.runs.pictures import drawable, random_images, titled, traversals
from distaff.runs.zoo import seeds_of
from distaff.training.validation import PREFIX


def report_run(
    run: str | Path,
    *,
    observations: int | str = SAMPLE,
    out: str | Path | None = None,
    progress: bool = True,
) -> Path:
    """Write a page about a run: its scores, traversals, reconstructions, curves and settings.

    Args:
        run: the run folder, or zoo:NAME.
        observations: number of observations to score, chosen at random, or all; a smaller data set is scored
            entirely.
        out: file of the page; by default report.html in the run folder.
        progress: show a progress bar while the data set is encoded.
    """
    folder, count = run_folder(run), sample_size(observations)
    trained = TrainedRun.open(folder)
    config, data = trained.config, trained.config.data.reopen()
    encoded = encode_run(trained, data, progress, count)
    scores = evaluate_encoded(encoded, data).scores
    blocks = [
        _summary(trained, scores),
        *_pictures(trained, data, encoded),
        _scores(scores, encoded, config, read_names(folder)),
        Text(str(config.goal()), title="What was minimised"),
        Code(config.to_yaml(), title="Settings (run.yaml)", folded=True),
        Code(_commands(folder, data), title="Look closer"),
    ]
    path = Path(out) if out is not None else folder.path / "report.html"
    write_text(path, page(config.title, blocks))
    return path


def _summary(trained: TrainedRun, scores: Sequence[Score]) -> Facts:
    config, log = trained.config, read_log(trained.folder.log)
    seconds = log[-1]["seconds"] if log else float("nan")
    given = {k: v for k, v in config.recipe.arguments.items() if not isinstance(v, dict)}
    weights = {k: weight_text(v, trained.step) if isinstance(v, str) else v for k, v in given.items()}
    average = config.training.average
    return Facts(
        {
            **{score.name.replace("_", " "): round(score.value, 3) for score in scores},
            **_other_seeds(config),
            **weights,
            **({} if average is None else {"model": f"moving average of the weights, decay {average:g}"}),
            "steps": f"{trained.step:,} of {config.training.steps:,}",
            "training": f"{seconds:.1f} s" if seconds < 60 else f"{seconds / 60:.1f} min",
            "observations": f"{config.data.size:,}",
            "seed": config.training.seed,
        }
    )


def _other_seeds(config: RunConfig) -> dict[str, str]:
    """The range of scores of these settings over seeds, if a model of the zoo was chosen from them."""
    origin = seeds_of(config)
    if origin is None or len(origin.scores) < 2:
        return {}
    values = sorted(origin.scores.values())
    name = f"{origin.by.replace('_', ' ')}, {len(values)} seeds of these settings"
    return {name: f"{values[0]:.3g} to {values[-1]:.3g}"}


def _pictures(trained: TrainedRun, data: Dataset, encoded: Encoded) -> list[Block]:
    folder, model = trained.folder, trained.model
    kl, given = encoded.kl_per_latent, read_names(folder)
    drawings = _images(model, data, encoded, given) if len(data.shape) == 3 else {}
    if kl is not None and np.isfinite(kl).all():  # infinite for a deterministic latent
        bars = figures.kl_bars(kl, titled(model.names, given))
        drawings["kl"] = (bars, "KL of each latent: near 0 is unused")
    log = read_log(folder.log)
    if len(log) > 1:
        drawings["curves"] = _curves(log, trained.config)
    with kept_if_allowed(folder.figures):
        for name, (figure, _) in drawings.items():
            figures.save(figure, folder.figures / f"{name}.png")
    return [Picture(figure, alt=caption, title=caption) for figure, caption in drawings.values()]


def _curves(log: Sequence[Mapping[str, float]], config: RunConfig) -> tuple[Figure, str]:
    """Each term during training, with its value on held-out data if there are any; then schedules."""
    names = [name for name in log[0] if name not in ("step", "seconds") and not name.startswith(PREFIX)]
    steps = [line["step"] for line in log]
    curves = {name: _values(log, name) for name in names}
    beside = {
        name: _values(log, PREFIX + name) for name in (*names, "elbo") if any(PREFIX + name in x for x in log)
    }
    if "elbo" in beside and {"nll", "kl"} <= curves.keys():
        pairs = zip(curves["nll"], curves["kl"], strict=True)
        curves = {"elbo": [-nll - kl for nll, kl in pairs], **curves}
    shown = {name: values for name, values in beside.items() if name in curves}
    curves |= {
        name: [weight_at(weight, int(step)) for step in steps] for name, weight in _scheduled(config).items()
    }
    caption = "Training curves; dashed, the held-out data" if shown else "Training curves"
    return figures.training_curves(steps, curves, beside=shown), caption


def _scheduled(config: RunConfig) -> dict[str, Schedule]:
    """Weights and the temperature, if scheduled; the learning rate is in the log."""
    goal = config.goal()
    terms = goal.terms if isinstance(goal, Objective) else ()
    found = {f"weight of {weighted.term.name}": weighted.weight for weighted in terms}
    found["temperature"] = getattr(config.model, "temperature", 1.0)
    return {name: weight for name, weight in found.items() if isinstance(weight, Schedule)}


def _values(log: Sequence[Mapping[str, float]], name: str) -> list[float]:
    return [line.get(name, float("nan")) for line in log]


def _images(
    model: Representation, data: Dataset, encoded: Encoded, names: Mapping[str, str]
) -> dict[str, tuple[Figure, str]]:
    kl, originals = encoded.kl_per_latent, random_images(data, 10)
    drawn = drawable(model.sample(20))
    order = "" if kl is None else ", sorted by KL to the prior"
    drawings = {
        "traversals": (
            traversals(model, data, kl, encoded.typical, names=names),
            f"Latent traversals{order}",
        ),
        "reconstructions": (
            figures.reconstructions(originals, drawable(model.reconstruct(FloatImages(originals)))),
            "Originals and their reconstructions",
        ),
        "samples": (figures.samples(drawn, columns=10), "Decoded draws of the prior"),
    }
    if model.model.latents.noise:
        varied = np.concatenate([originals[:, None], drawable(model.vary_noise(originals, 9))], axis=1)
        caption = "Originals, then what is generated from their codes with other noise each time"
        drawings["noise"] = (figures.image_grid(varied), caption)
    return drawings


def _scores(scores: Sequence[Score], encoded: Encoded, config: RunConfig, names: Mapping[str, str]) -> Table:
    rows = [
        (score.name, score.value, score.direction, score.protocol, _breakdown(score, names))
        for score in scores
    ]
    whole = encoded.rows is None
    scored = f"{len(encoded.codes):,} of the {config.data.size:,} observations, chosen at random"
    errors = {score.name: score.details.get("standard_error") for score in scores}
    sentences = ["Over the whole data set." if whole else f"Over {scored}."]
    sentences += [] if mixed(config) is None else [f"{mixed(config)}.".capitalize()]
    sentences += [f"Standard error of {name}: {error:.3g}." for name, error in errors.items() if error]
    notes = dict.fromkeys(f"{note[:1].upper()}{note[1:]}." for score in scores for note in score.notes)
    caption = " ".join([*sentences, *notes])
    headers = ("score", "value", "better", "protocol", "by factor or latent")
    return Table(headers, rows, title="Scores", caption=caption)


def _breakdown(score: Score, names: Mapping[str, str]) -> str:
    latents = score.per_latent or {}
    parts = {**(score.per_factor or {}), **dict(zip(titled(latents, names), latents.values(), strict=True))}
    return ", ".join(f"{name} {value:.3f}" for name, value in parts.items())


def _commands(folder: RunFolder, data: Dataset) -> str:
    path = shlex.quote(str(folder.path))
    drawn = [f"distaff traverse {path} --out traversals.png"] if len(data.shape) == 3 else []
    commands = [f"distaff explore {path}", f"distaff evaluate {path}", *drawn, f"tensorboard --logdir {path}"]
    return "\n".join(commands)
