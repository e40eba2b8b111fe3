"""The README is short, and the tables it sends readers to say exactly what works today."""

import importlib.util
import re
from pathlib import Path

import pytest

from distaff.data import names
from distaff.foundation.binding import public_functions
from distaff.metrics.catalogue import all_metrics
from distaff.models import infogan_networks, networks
from distaff.models.latent_kinds import KINDS
from distaff.models.latents import NOISE
from distaff.models.priors import named as priors
from distaff.objectives import recipes

ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "hooks" / "tables.py")
tables = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tables)


def rows(page: str, mark: str) -> set[str]:
    """The names in the first column of the table that a mark of a page stands for."""
    text = f"<!-- from the code: {mark} -->"
    assert text in (ROOT / "docs" / page).read_text(encoding="utf-8")
    lines = [line for line in tables.fill(text).splitlines() if re.match(r"\| \[?`", line)]
    return {name.partition(":")[0] for line in lines for name in re.findall(r"`([^`]+)`", line.split("|")[1])}


@pytest.mark.parametrize(
    ("page", "mark", "exist"),
    [
        ("recipes.md", "recipe_table", set(public_functions(recipes))),
        ("metrics.md", "metric_table", set(all_metrics())),
        ("data-sets.md", "data_table", set(names())),
        ("latents-and-priors.md", "latent_table", {*KINDS, NOISE}),
        ("latents-and-priors.md", "prior_table", set(public_functions(priors))),
        ("latents-and-priors.md", "network_table", set(public_functions(networks))),
        ("infogan.md", "generator_table", set(public_functions(infogan_networks))),
    ],
)
def test_the_tables_are_honest(page, mark, exist):
    assert rows(page, mark) == exist


def test_the_readme_is_a_screenful_and_a_half():
    assert len((ROOT / "README.md").read_bytes()) <= 8000
