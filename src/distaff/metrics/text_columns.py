"""Scores as columns of text, for human-readable tables."""

from collections.abc import Callable, Sequence

from distaff.metrics.score import Null, Score

Cell = str | None


def text_columns(scores: Sequence[Score]) -> dict[str, list[Cell]]:
    """Heading → one text per score, or None if it has none; columns without any text are left out.

    >>> from distaff.metrics import mig
    >>> factors = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10
    >>> text_columns([mig(factors, factors)])
    {'score': ['mig'], 'value': ['1.000'], 'better': ['higher'], 'protocol': ['locatello19']}
    """
    nulls = [score.null or Null() for score in scores]
    baselines = list(dict.fromkeys(name for null in nulls for name in null.baselines))
    columns: dict[str, list[Cell]] = {
        "score": [score.name for score in scores],
        "value": [_value(score) for score in scores],
        "95% interval": [
            None if score.interval is None else "{:.3f} to {:.3f}".format(*score.interval) for score in scores
        ],
        "shuffled": _numbers([null.mean for null in nulls]),
        **{name: _numbers([null.baselines.get(name) for null in nulls]) for name in baselines},
        "of the gap": _numbers([score.gap for score in scores], "{:.0%}".format),
        "better": [score.direction for score in scores],
        "protocol": [score.protocol for score in scores],
    }
    return {heading: cells for heading, cells in columns.items() if any(cell is not None for cell in cells)}


def _value(score: Score) -> str:
    error = f" ± {score.details['standard_error']:.2g}" if "standard_error" in score.details else ""
    return f"{score.value:.3f}{error}"


def _numbers(values: Sequence[float | None], text: Callable[[float], str] = "{:.3f}".format) -> list[Cell]:
    return [None if value is None else text(value) for value in values]
