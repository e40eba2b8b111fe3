"""Imports go one way: data → models → objectives → training → what uses them all."""

import ast
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
    above = (
        set(ROOMS) | {"cli", "decomposition", "evaluation", "explore", "naming", "report", "studies"}
    ) & everything
    files = list((SOURCE / room).rglob("*.py"))
    assert files
    for file in files:
        assert not (imported_rooms(file) & above) - ROOMS[room], file
