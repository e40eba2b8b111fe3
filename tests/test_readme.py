"""The README's tables say exactly what works today: a row for all that is public, none for anything else."""

import re
from pathlib import Path

import pytest

from distaff.data import names
from distaff.foundation.binding import public_functions
from distaff.metrics.catalogue import all_metrics
from distaff.models import infogan_networks, networks
from distaff.models.latents import KINDS, NOISE
from distaff.models.priors import kinds as priors
from distaff.objectives import recipes

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def rows(heading: str) -> set[str]:
    """The names in the first column of the table under a heading; several may share a row."""
    section = README.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return {name for line in lines for name in re.findall(r"`([^`]+)`", line.split("|")[1])}


@pytest.mark.parametrize(
    ("heading", "exist"),
    [
        ("Recipes", set(public_functions(recipes))),
        ("Metrics", set(all_metrics())),
        ("Data", set(names())),
        ("Latents and priors", {*KINDS, NOISE, *public_functions(priors)}),
        ("Networks", {*public_functions(networks), *public_functions(infogan_networks)}),
    ],
)
def test_the_tables_are_honest(heading, exist):
    assert rows(heading) == exist
