"""``distaff doctor``: says in plain words what is wrong with a run, and what to try."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from distaff.analysis.doctor import checks
from distaff.analysis.doctor.finding import Finding, Severity
from distaff.analysis.doctor.run_evidence import RunEvidence
from distaff.foundation.binding import public_functions
from distaff.metrics.options import SampleCount, Seed
from distaff.runs.calls import Data
from distaff.runs.folder import run_folder

__all__ = ["Diagnosis", "Finding", "Severity", "diagnose"]


@dataclass(frozen=True)
class Diagnosis:
    """The findings of all checks, the worst first.

    Args:
        run: the run folder, or zoo:NAME.
        findings: problems, then notes.
        checked: names of all checks.
    """

    run: Path
    findings: Sequence[Finding]
    checked: Sequence[str]

    @property
    def healthy(self) -> bool:
        """Whether there are no problems; there may be notes."""
        return not any(finding.severity is Severity.PROBLEM for finding in self.findings)

    def __str__(self) -> str:
        checked = f"{len(self.checked)} checks: {', '.join(self.checked).replace('_', ' ')}"
        count = sum(finding.severity is Severity.PROBLEM for finding in self.findings)
        verdict = "nothing wrong" if self.healthy else f"{count} problem{'s' * (count > 1)}"
        return "\n\n".join([f"{self.run}: {verdict} ({checked})", *map(str, self.findings)])


def diagnose(
    run: str | Path, data: Data | None = None, *, observations: SampleCount = 1024, seed: Seed = 0
) -> Diagnosis:
    """Say in plain words what is wrong with a run and what to try.

    Args:
        run: the run folder, or zoo:NAME.
        data: the data set, for runs whose data were given in Python.
        observations: number of random observations on which the model is tested.
        seed: seed of their choice.
    """
    folder = run_folder(run)
    folder.read()
    evidence = RunEvidence(folder, data, observations, seed)
    found = [check(evidence) for check in public_functions(checks).values()]
    findings = [
        finding for severity in Severity for finding in found if finding and finding.severity is severity
    ]
    return Diagnosis(folder.path, findings, list(public_functions(checks)))
