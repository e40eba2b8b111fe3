"""What pages say of results: the models of the zoo, and the papers' claims by the runs that are kept.

    python docs/hooks/results.py

writes the parts of pages between ``<!-- written: NAME -->`` and ``<!-- end -->`` from
``src/distaff/zoo/models``, ``studies`` and ``docs/results``; a test holds them fresh.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from distaff.studies import Study
from distaff.studies.kept import KeptStudy, claims_by_paper, kept_studies
from distaff.studies.own_metrics import heading
from distaff.studies.verdicts import OUTCOMES
from distaff.zoo import ZooModel, models

ROOT = Path(__file__).parents[2]
RESULTS, STUDIES = ROOT / "docs" / "results", ROOT / "studies"
PAPERS = {
    "kim18": "Kim & Mnih 2018 (FactorVAE)",
    "esmaeili18": "Esmaeili et al. 2018 (HFVAE)",
    "do20": "Do & Tran 2020",
    "mathieu19": "Mathieu et al. 2019",
    "locatello20": "Locatello et al. 2020 (pairs, few labels)",
    "hsu23": "Hsu et al. 2023 (QLAE, ICA)",
    "all": "all",
}
MOST_SCORES = 8
"""Columns of scores that still fit a page."""


def zoo_table() -> str:
    """One row per model."""
    if not models():
        return "This version comes without models."
    headers = ("model", "recipe", "data", "steps", "chosen", "scores", "MB")
    return table(headers, [_model(model) for model in models().values()])


def claims_table() -> str:
    """How many claims of each paper hold, do not hold, are undecided, were not run."""
    counts = claims_by_paper(kept_studies(RESULTS))
    rows = [
        [PAPERS.get(row["paper"], row["paper"]), *list(row.values())[1:]] for row in counts.to_dict("records")
    ]
    return table(("paper", "claims", *OUTCOMES), rows)


def studies_table() -> str:
    """The verdicts of each study that makes claims, and how many of its runs there are."""
    rows = []
    for kept in kept_studies(RESULTS):
        found = [claim["verdict"] for claim in kept.claims]
        finished, count = kept.runs
        runs = f"{finished} of {count}" if count else "none"
        rows.append([kept.name, runs, len(found), *(found.count(one) for one in OUTCOMES)])
    return table(("study", "runs finished", "claims", *OUTCOMES), rows)


def decided() -> str:
    """The claims and scores of the studies at the papers' own scale that were run."""
    small = {study.name for study in _own_studies().values()}
    run = [kept for kept in kept_studies(RESULTS) if kept.name not in small and kept.table is not None]
    parts = ["\n\n".join([f"**{kept.name}**: {_runs(kept)}", *_tables(kept)]) for kept in run]
    return "\n\n".join(parts) or "None yet."


def small_studies() -> str:
    """A section per study of our own scale: what it is, how far it is, its claims and its scores."""
    kept = {one.name: one for one in kept_studies(RESULTS)}
    sections = []
    for path, study in _own_studies().items():
        results = kept.get(study.name)
        begun = results is not None and results.table is not None
        lines = [f"## {study.name}", f"`distaff study run {path}` · {study.about}"]
        absent = f"No runs are kept here yet, of {len(study.runs)}."
        lines.append(_runs(results) if begun and results else absent)
        if results is not None:
            lines += _tables(results)
        sections.append("\n\n".join(lines))
    return "\n\n".join(sections)


def scores_by_minute() -> str:
    """FactorVAE and β-TCVAE of both libraries at the same minutes of one thread."""
    from benchmarks.minutes import kept, scores

    headers = ("recipe", "library", "minutes", "steps", "FactorVAE score by seed", "mean", "MIG", "nats")
    rows = scores(kept(RESULTS / "score-by-minute.csv"))
    return table(headers, rows) if rows else "No runs are kept here yet."


def minutes_to_score() -> str:
    """How much sooner ours reaches a score."""
    from benchmarks.minutes import kept, ratios

    headers = ("recipe", "mean score", "minutes of distaff", "library", "its minutes", "times as many")
    rows = ratios(kept(RESULTS / "score-by-minute.csv"))
    return table(headers, rows) if rows else "Nothing to compare yet: both libraries need runs of one recipe."


def all_scores_of_quick_settings() -> str:
    """Every score of the quick settings with other objectives, mean ± standard deviation over seeds."""
    (kept,) = (one for one in kept_studies(RESULTS) if one.name == "quick-others")
    assert kept.table is not None
    runs = kept.table.assign(minutes=kept.table["seconds"] / 60)
    names = [*kept.scores, "minutes"]
    parts = []
    for start in range(0, len(names), MOST_SCORES):
        some = names[start : start + MOST_SCORES]
        groups = runs.groupby("recipe", sort=False)
        rows = [[f"`{recipe}`", *(_spread(part[name]) for name in some)] for recipe, part in groups]
        parts.append(table(["recipe", *some], rows))
    return "\n\n".join(parts)


def bounds_table() -> str:
    """The ELBO's parts and the IWAE bound of models of the zoo, as ``distaff decompose`` found them."""
    headers = (
        "model",
        "chosen",
        "reconstruction",
        "KL",
        "total correlation",
        "log p(x) ≥, IWAE",
        "particles",
    )
    rows = []
    for file in sorted((RESULTS / "decompositions").glob("*.json")):
        found = json.loads(file.read_text())
        error = found["standard_errors"]
        rows.append(
            [
                f"`zoo:{file.stem}`",
                models()[file.stem].origin.history,
                f"{found['nll']:.1f} ± {error['nll']:.1f}",
                f"{found['kl']:.1f}",
                f"{found['exact']['total_correlation']:.2f}",
                f"{found['log_px']:.1f} ± {error['log_px']:.1f}",
                f"{found['particles']:,}",
            ]
        )
    return table(headers, rows)


PARTS: dict[str, Callable[[], str]] = {
    function.__name__: function
    for function in (
        *(zoo_table, claims_table, studies_table, decided, small_studies),
        *(scores_by_minute, minutes_to_score, all_scores_of_quick_settings, bounds_table),
    )
}
PAGES = tuple(
    ROOT / "docs" / f"{name}.md" for name in ("zoo", "reproduction", "benchmarks", "quick-training")
)


def filled(text: str) -> str:
    """A page with every written part as it should be."""

    def part(found: re.Match[str]) -> str:
        return f"<!-- written: {found[1]} -->\n\n{PARTS[found[1]]()}\n\n<!-- end -->"

    return re.sub(r"<!-- written: (\w+) -->\n.*?<!-- end -->", part, text, flags=re.S)


def table(headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table; a bar within a cell is escaped."""
    lines = [
        list(headers),
        ["---"] * len(headers),
        *([str(cell).replace("|", "\\|") for cell in row] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _model(model: ZooModel) -> list[str]:
    recipe = model.config.recipe.name + (f" ({model.weights})" if model.weights else "")
    chosen = f"seed {model.config.training.seed}, {model.origin.history}"
    scores = "; ".join(model.score_texts)
    size = f"{model.size / 1e6:.1f}"
    return [f"`zoo:{model.name}`", recipe, model.config.data.name, f"{model.steps:,}", chosen, scores, size]


def _own_studies() -> dict[str, Study]:
    files = [file for folder in ("small", "zoo") for file in sorted((STUDIES / folder).glob("*.yaml"))]
    return {str(file.relative_to(ROOT)): Study.read(file, check_drawings=False) for file in files}


def _runs(kept: KeptStudy) -> str:
    finished, count = kept.runs
    assert kept.table is not None
    done = kept.table[kept.table["state"] == "finished"]
    steps = ", ".join(f"{int(value):,}" for value in sorted(set(kept.table["steps"])))
    hours = done["seconds"].sum() / 3600
    scale = "" if kept.scale == 1 else f" at {kept.scale:g} of the file's steps"
    return f"{finished} of {count} runs finished{scale}: {steps} steps each, {hours:.1f} hours in all."


def _tables(kept: KeptStudy) -> list[str]:
    found = []
    if kept.claims and kept.table is not None:
        headers = ("claim", "verdict", "published", "ours", "effect, 95% interval", "P(as claimed)", "seeds")
        found.append(table(headers, map(_claim, kept.claims)))
    if kept.table is not None and kept.scores:
        starts = range(0, len(kept.scores), MOST_SCORES)
        found += [_scores(kept, kept.table, kept.scores[i : i + MOST_SCORES]) for i in starts]
    return found


def _claim(claim: Mapping[str, Any]) -> list[str]:
    note = f" ({claim['note']})" if claim.get("note") else ""
    low, high = claim["interval"]
    effect = _number(claim["effect"])
    effect += f" [{_number(low)}, {_number(high)}]" if low is not None else ""
    published, ours = (", ".join(map(_number, claim[name])) or "–" for name in ("published", "ours"))
    probability = _number(claim["probability"])
    return [claim["says"] + note, claim["verdict"], published, ours, effect, probability, str(claim["seeds"])]


def _scores(kept: KeptStudy, runs: pd.DataFrame, scores: Sequence[str]) -> str:
    """Mean ± standard deviation over the seeds of each setting."""
    settings = kept.settings or ["recipe"]
    finished = runs[runs["state"] == "finished"]
    rows = []
    for values, part in finished.groupby(settings, dropna=False, sort=False):
        cells = [_spread(part[name].dropna()) for name in scores]
        rows.append([*map(_setting, values), len(part), *cells])
    return table([*settings, "runs", *map(heading, scores)], rows)


def _spread(values: "pd.Series[float]") -> str:
    if not len(values):
        return "–"
    return f"{values.mean():.4g}" + (f" ± {values.std():.2g}" if len(values) > 1 else "")


def _setting(value: Any) -> str:
    if pd.isna(value):
        return "–"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def main() -> None:
    """Write the pages."""
    sys.path.insert(0, str(ROOT))  # studies name metrics of their own
    for page in PAGES:
        page.write_text(filled(page.read_text("utf-8")), "utf-8")
        print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()
