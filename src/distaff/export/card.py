"""The model card: README.md in the form that the Hugging Face hub reads."""

import math
from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from distaff._version import __version__
from distaff.foundation.files import yaml_text
from distaff.metrics import Score
from distaff.runs.config import RunConfig
from distaff.runs.hub import shared_sections

PICTURE = "traversals.png"


def model_card(config: RunConfig, objective: str, step: int, scores: Sequence[Score], picture: bool) -> str:
    """The card of a run: metadata, description, scores, usage and training.

    Returns:
        Markdown, preceded by the metadata as YAML.
    """
    environment = Environment(
        loader=PackageLoader("distaff.export", "assets"),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    shared = shared_sections(config)
    modules = sorted({name.partition(":")[0] for name in config.code})
    return environment.get_template("card.md").render(
        config=config,
        metadata=yaml_text(_metadata(config, scores)),
        objective=objective,
        picture=PICTURE if picture else None,
        scores=[(score.name, _value(score), score.direction, _protocol(score)) for score in scores],
        settings=yaml_text({key: shared[key] for key in ("recipe", "model", "training")}),
        step=step,
        trust=f', trust="{",".join(modules)}"' if modules else "",
        things="images" if len(config.data.shape) == 3 else "vectors",
        version=__version__,
    )


def _value(score: Score) -> str:
    if math.isnan(score.value):
        return "–"
    return "infinite" if math.isinf(score.value) else f"{score.value:.4f}"


def _protocol(score: Score) -> str:
    """The protocol of a score, with the size of the sample if there was one."""
    size = score.settings.get("observations")
    return score.protocol if size is None else f"{score.protocol}, {size:,} observations"


def _metadata(config: RunConfig, scores: Sequence[Score]) -> dict[str, Any]:
    task = "image-feature-extraction" if len(config.data.shape) == 3 else "feature-extraction"
    name = config.data.name
    metrics = [
        {"type": score.name, "name": f"{score.name} ({_protocol(score)})", "value": score.value}
        for score in scores
        if math.isfinite(score.value)
    ]
    result = {"task": {"type": task}, "dataset": {"name": name, "type": name}, "metrics": metrics}
    return {
        "library_name": "distaff",
        "pipeline_tag": task,
        "tags": ["disentanglement", "vae", "representation-learning", config.recipe.name],
        **({"model-index": [{"name": config.title, "results": [result]}]} if metrics else {}),
    }
