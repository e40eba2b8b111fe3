"""Put finished runs into the zoo, chosen by a rule that was stated before they were made.

    python -m zoo.shelve runs/zoo-dsprites                                   # a study, by zoo/rules.yaml
    python -m zoo.shelve runs/a runs/b runs/c --name vae-mnist --by factor_vae_score
    python -m zoo.shelve runs/hearts/all-images --further beta_vae-dsprites

The second takes runs that differ in their seeds alone; the third replaces a model by a run that has trained
it further (``--start zoo:NAME``, directly or by way of others). Runs must be scored. ``--half`` rounds the
weights to half precision; ``--shelf DIR`` writes elsewhere than into the package.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from distaff import DistaffError
from distaff.data import names
from distaff.runs import RunConfig, RunFolder
from distaff.runs.folder import TrainedRun
from distaff.runs.hub import CONFIG, read_config, shared_sections
from distaff.runs.zoo import ORIGIN, PREFIX, SHELF, Origin
from distaff.studies import Results, Verdict, check_claims
from distaff.studies.grid import has_settings
from zoo.model_folder import write_folder
from zoo.rule import Rule, choose, rank, read_rules, scores_of


def shelve_study(folder: Path, rules: list[Rule], shelf: Path = SHELF, half: bool = False) -> list[Path]:
    """Write the models that the rules take from a study."""
    results = Results.read(folder)
    own = [rule for rule in rules if rule.study == results.study.name]
    if not own:
        raise DistaffError(f"no rule in zoo/rules.yaml is about the study {results.study.name}.")
    verdicts = check_claims(folder)
    written = []
    for rule in own:
        runs = [run for run in results.all_runs if has_settings(run.settings, rule.where or {})]
        waiting = [run.key for run in runs if run.state != "finished"]
        if waiting:
            raise DistaffError(f"{rule.name}: not all seeds are finished: {', '.join(waiting)}.")
        written += shelve_runs([run.folder for run in runs], rule, shelf, half, verdicts)
    return written


def shelve_runs(
    runs: list[RunFolder],
    rule: Rule,
    shelf: Path = SHELF,
    half: bool = False,
    verdicts: list[Verdict] | None = None,
) -> list[Path]:
    """Write the models that a rule takes of runs that differ in their seeds alone."""
    ranked = rank(runs, rule.by)
    claims = [{"says": one.claim.says, "verdict": one.text} for one in verdicts or []]
    written: dict[int, Path] = {}
    for choice in rule.take:
        one = choose(ranked, choice)
        if one.seed in written:
            continue
        trained = TrainedRun.open(one.folder)
        data = trained.config.data
        origin = Origin(
            str(data.spec), data.options, rule.by, choice, scores_of(ranked), rule.study, claims, half
        )
        place = rule.place(shelf, choice)
        write_folder(trained, origin, place)
        written[one.seed] = place
    return list(written.values())


def shelve_further(run: RunFolder, name: str, shelf: Path = SHELF) -> Path:
    """Replace a model by a run that has trained it further; how it was chosen stays as it is."""
    place, folder, between = shelf / name, run, list[RunConfig]()
    while (start := str(folder.read().training.start)) != f"{PREFIX}{name}":
        folder = RunFolder(Path(start))
        if not folder.config.is_file():
            raise DistaffError(f"{run.path} did not begin with {PREFIX}{name}: its first start is {start}.")
        between.insert(0, folder.read())
    if not (place / ORIGIN).is_file():
        raise DistaffError(f"there is no model {name} in {shelf}.")
    origin = Origin.read(place)
    followed = [shared_sections(config) for config in (read_config(place / CONFIG)[0], *between)]
    write_folder(TrainedRun.open(run), replace(origin, before=[*origin.before, *followed]), place)
    return place


def main(arguments: list[str] | None = None) -> None:
    """The command."""
    flags = argparse.ArgumentParser("python -m zoo.shelve", description=(__doc__ or "").splitlines()[0])
    flags.add_argument("runs", nargs="+", type=Path, help="a study's folder, or run folders of one setting")
    flags.add_argument("--name", help="of the model, where run folders are given")
    flags.add_argument("--by", help="the score that ranks them, where run folders are given")
    flags.add_argument("--take", nargs="+", choices=["median", "best"], default=["median"])
    flags.add_argument("--further", metavar="NAME", help="the model that the run has trained further")
    flags.add_argument("--half", action="store_true", help="round the weights to half precision")
    flags.add_argument("--shelf", type=Path, default=SHELF, help="where models go")
    asked = flags.parse_args(arguments)
    try:
        if asked.further:
            if len(asked.runs) > 1:
                raise DistaffError("give one run with --further.")
            written = [shelve_further(RunFolder(asked.runs[0]), asked.further, asked.shelf)]
        elif (asked.runs[0] / "study.yaml").is_file():
            written = [
                p for study in asked.runs for p in shelve_study(study, read_rules(), asked.shelf, asked.half)
            ]
        elif asked.name and asked.by:
            folders = [RunFolder(path) for path in asked.runs]
            for folder in folders:
                if folder.read().data.spec not in names():
                    raise DistaffError(f"{folder.path} was trained on data that have no name in distaff.")
            rule = Rule(asked.name, asked.by, asked.take)
            written = shelve_runs(folders, rule, asked.shelf, asked.half)
        else:
            raise DistaffError("give a study's folder, or run folders with --name and --by.")
    except DistaffError as problem:
        sys.exit(f"zoo.shelve: {problem}")
    for place in written:
        size = sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
        print(f"{place}: {size / 1e6:.1f} MB")
    print("now: python docs/hooks/results.py, which writes docs/zoo.md")


if __name__ == "__main__":
    main()
