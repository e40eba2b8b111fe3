"""Imports go one way: data → models → objectives → training → what uses them all."""

import ast
import itertools
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import distaff

SOURCE = Path(distaff.__file__).parent
ROOMS = {
    "data": {"data"},
    "models": {"data", "models"},
    "objectives": {"data", "models", "objectives"},
    "training": {"data", "models", "objectives", "training"},
    "metrics": {"metrics"},
    "figures": {"figures"},
}


def imported_rooms(file: Path) -> set[str]:
    names = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "distaff":
            names += [f"distaff.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} imports relatively"
            names.append(node.module or "")
    parts = [name.split(".") for name in names]
    return {part[1] for part in parts if part[0] == "distaff" and len(part) > 1}


@pytest.mark.parametrize("room", ROOMS)
def test_imports_go_one_way(room):
    everything = {path.stem for path in SOURCE.iterdir() if not path.name.startswith("_")}
    users = {
        "cli",
        "decomposition",
        "doctor",
        "estimator",
        "evaluation",
        "explore",
        "export",
        "naming",
        "report",
        "studies",
    }
    above = (set(ROOMS) | users) & everything
    files = list((SOURCE / room).rglob("*.py"))
    assert files
    for file in files:
        assert not (imported_rooms(file) & above) - ROOMS[room], file


def test_whatever_is_imported_is_declared():
    """A package that only comes along with another one may be gone with that one's next version."""
    project = tomllib.loads((SOURCE.parent.parent / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *itertools.chain(*project["optional-dependencies"].values())]
    declared = {normalised(re.split("[^A-Za-z0-9._-]", text)[0]) for text in wanted}
    names = packages_distributions()
    imported = {name for file in SOURCE.rglob("*.py") for name in imported_packages(file)}
    assert {"torch", "numpy", "yaml"} <= imported
    for package in imported - set(sys.stdlib_module_names) - {"distaff", "_typeshed"}:
        found = {normalised(distribution) for distribution in names.get(package, [package])}
        assert found & declared, f"{package} is imported and not declared"


def imported_packages(file: Path) -> set[str]:
    """The packages that a file imports, at its top or within functions, by the name they are imported by."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found


def normalised(distribution: str) -> str:
    return re.sub("[-_.]+", "-", distribution).lower()
