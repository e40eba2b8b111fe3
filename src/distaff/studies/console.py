"""The commands ``distaff study …`` and their output."""

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distaff.foundation.errors import unknown
from distaff.foundation.flags import parse_flags
from distaff.foundation.process import importing
from distaff.foundation.trust import trusted_modules, trusting

if TYPE_CHECKING:
    import pandas as pd

    from distaff.studies.results import Results

FAILED = 1
HELP = """usage: distaff study COMMAND [flags]; distaff study COMMAND --help says more.

  run FILE      do all runs of a study file that are not done yet: --scale 0.05 for a trial,
                --workers 2 for two at once, --ray for Ray here, --ray ADDRESS for a cluster
  status STUDY  show the progress of each run
  table STUDY   scores by setting, with intervals: --group-by recipe,gamma --metric mig
  select STUDY  rank its runs, the best first: --metric dci --labels 100, or without labels
                --metric udr or --metric centrality
  claims STUDY  check whether the runs support the paper's claims; writes claims.json;
                claims docs/results counts the verdicts of all results kept there
  keep STUDY    copy the table and the verdicts to docs/results, or --into DIR; --join adds the runs
                to those kept there, such as other seeds from another machine
  report STUDY  write one HTML page

STUDY is the study's folder (runs/NAME) or its file."""


def main(arguments: Sequence[str], say: Callable[[str], None]) -> None:
    """Run one of the commands; ``say`` receives messages that are not part of the result."""
    name, *rest = arguments or ["--help"]
    if name in ("-h", "--help"):
        return print(HELP)
    with importing():
        from distaff.studies import commands
        from distaff.studies.choosing import select

    actions: dict[str, Callable[..., Any]] = {
        "run": commands.run,
        "status": commands.status,
        "table": commands.table,
        "select": select,
        "claims": commands.check_claims,
        "keep": commands.keep,
        "report": commands.write_page,
    }
    if name not in actions:
        raise unknown("study command", name, actions)
    call = parse_flags(f"distaff study {name}", _with_address(rest), actions[name], trusted_modules)
    with trusting(call.pop("trust")):
        _do(name, call, actions[name], say)
    return None


def _do(name: str, call: dict[str, Any], action: Callable[..., Any], say: Callable[[str], None]) -> None:
    from distaff.studies import commands
    from distaff.studies.kept import claims_by_paper, holds_kept, kept_studies
    from distaff.studies.verdict_table import show_verdicts
    from distaff.studies.verdicts import FEWEST, judge, write_claims

    if name == "claims" and holds_kept(Path(call["study"])):
        return print(claims_by_paper(kept_studies(call["study"])).to_string(index=False))
    found = action(**call)
    if name in ("report", "keep"):
        say(f"written: {found}")
    elif name == "claims":
        show_verdicts(found)
    elif name == "run":
        results = commands.find(call["file"], scale=call["scale"], out=call["out"])
        verdicts = judge(results.study, found)
        write_claims(results.study, verdicts, results.folder)
        show_verdicts(verdicts, stderr=True)
        _say_what_lacks(results, say)
        _end(found, results.folder, say)
    else:
        if name == "table" and (few := found["n"] < FEWEST).any():
            found.loc[few, ["low", "high"]] = float("nan")
            found.attrs["interval"] += f"; below {FEWEST} seeds there are too few seeds for one"
        print(found.to_string(index=False, na_rep="–", float_format="{:.4g}".format))
        if name == "select" and len(found) > 1:
            behind = found["behind"]
            say(f"the best is {behind[1]:.4g} ahead of the next and {behind.max():.4g} of the last")
        for note in [*found.attrs.get("left_out", []), *filter(None, [found.attrs.get("interval")])]:
            say(note)
    return None


def _with_address(arguments: Sequence[str]) -> list[str]:
    """Replace ``--ray`` without an address by ``--ray local``."""
    given = list(arguments)
    if "--ray" in given:
        after = given.index("--ray") + 1
        if after == len(given) or given[after].startswith("--"):
            given.insert(after, "local")
    return given


def _say_what_lacks(results: "Results", say: Callable[[str], None]) -> None:
    """Name the metrics that finished runs have no score of, each with its reason."""
    lacking = Counter(pair for run in results.all_runs for pair in run.skipped.items())
    for (metric, reason), count in lacking.items():
        say(f"no {metric} of {count:,} of {len(results.all_runs):,} runs: {reason}")


def _end(table: "pd.DataFrame", folder: Path, say: Callable[[str], None]) -> None:
    """Report the result of a study; the command fails if any run is not finished."""
    failed = table[table["state"] == "failed"]
    for error, runs in failed.groupby("error", sort=False):
        say(f"failed: {', '.join(runs['run'])}: {error}")
    finished = (table["state"] == "finished").sum()
    if len(table):
        say(f"{finished} of {len(table)} runs finished: {folder / 'study.parquet'}")
    say(f"look at it with: distaff study report {folder}")
    if finished < len(table):
        sys.exit(FAILED)
