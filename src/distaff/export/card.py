"""The model card: README.md in the form that the Hugging Face hub reads."""

from collections.abc import Mapping, Sequence
from typing import Any

from distaff._version import __version__
from distaff.foundation.files import yaml_text
from distaff.runs.config import RunConfig

PICTURE = "traversals.png"


def model_card(
    config: RunConfig, objective: str, step: int, scores: Sequence[Mapping[str, Any]], picture: bool
) -> str:
    """The card of a run: metadata, what it is, how it scores, how to use it, how it was trained.

    Args:
        config: the run.
        objective: what was minimised, in words.
        step: of the checkpoint.
        scores: as ``scores.json`` holds them, where a value that is not finite is null.
        picture: whether there is a traversal picture beside the card.
    """
    front = yaml_text(_metadata(config, scores))
    sections = [
        f"---\n{front}---",
        f"# {config.title}",
        f"A disentangled representation trained with distaff {__version__}: an encoder from observations "
        f"{_shape(config)} to the latents `{config.model.latents}`, and a decoder back.",
        f"![Latent traversals]({PICTURE})\n\n*One latent moved in each row.*" if picture else "",
        _use(config),
        "## Scores\n\n" + _table(scores) if scores else "",
        f"## Training\n\nMinimised: `{objective}` (step {step:,}).\n\n" + _settings(config),
        "## Limits\n\nThe latents are what this objective found in these data with this seed: another seed "
        "may find others, and none of them is a cause of anything. Scores hold for these data only.",
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _metadata(config: RunConfig, scores: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    image = len(config.data.shape) == 3
    task = "image-feature-extraction" if image else "feature-extraction"
    name = config.data.name
    metrics = [
        {"type": score["name"], "name": f"{score['name']} ({score['protocol']})", "value": score["value"]}
        for score in scores
        if score["value"] is not None
    ]
    result = {"task": {"type": task}, "dataset": {"name": name, "type": name}, "metrics": metrics}
    return {
        "library_name": "distaff",
        "pipeline_tag": task,
        "tags": ["disentanglement", "vae", "representation-learning", config.recipe.name],
        **({"model-index": [{"name": config.title, "results": [result]}]} if metrics else {}),
    }


def _use(config: RunConfig) -> str:
    things = "images" if len(config.data.shape) == 3 else "vectors"
    return (
        "## Use\n\n```python\nimport distaff\n\n"
        'model = distaff.load("path/to/this/folder")\n'
        f"codes = model.encode({things})  # means and log-variances, one row an observation\n"
        f"again = model.decode(model.to_z(codes))\n"
        f"rows = model.traverse({things}[0])  # each latent moved, the others held\n```"
    )


def _table(scores: Sequence[Mapping[str, Any]]) -> str:
    lines = ["| score | value | better | protocol |", "|---|---|---|---|"]
    for score in scores:
        value = "infinite" if score["value"] is None else f"{score['value']:.4f}"
        protocol = score["protocol"].replace("|", "\\|")
        lines.append(f"| {score['name']} | {value} | {score['direction']} | {protocol} |")
    return "\n".join(lines)


def _settings(config: RunConfig) -> str:
    plain = config.to_plain()
    shown = {key: plain[key] for key in ("recipe", "model", "training")}
    return f"```yaml\n{yaml_text(shown)}```"


def _shape(config: RunConfig) -> str:
    return "×".join(map(str, config.data.shape))
