"""Imports only go down through the house, whatever is imported is declared, and no file is too long."""

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
ROOMS = [
    {"_version", "foundation"},
    {"codes"},
    {"mixtures"},
    {"data", "metrics", "figures"},
    {"models"},
    {"objectives"},
    {"runs"},
    {"training"},
    {"analysis"},
    {"explore", "export", "studies", "zoo"},
    {"estimator"},
    {"cli"},
    {"__init__", "__main__"},
]
"""From the ground up; those of one floor do not know each other."""
LONGEST = 300


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


def test_every_room_has_its_floor():
    found = {path.name.removesuffix(".py") for path in SOURCE.iterdir() if path.name != "__pycache__"}
    assert found - {"py.typed"} == set().union(*ROOMS)


@pytest.mark.parametrize("floor", range(len(ROOMS)))
def test_imports_only_go_down(floor):
    """A room imports only rooms of the floors below, and so do those: no room is above itself."""
    below = set().union(*ROOMS[:floor])
    for room in ROOMS[floor]:
        files = [*(SOURCE / room).rglob("*.py")] or [SOURCE / f"{room}.py"]
        for file in files:
            assert not imported_rooms(file) - below - {room}, file


def test_a_file_fits_in_a_head():
    """CONTRIBUTING.md: files have at most 300 lines."""
    lengths = {file: len(file.read_text().splitlines()) for file in SOURCE.rglob("*.py")}
    assert not [f"{file}: {lines}" for file, lines in lengths.items() if lines > LONGEST]


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
