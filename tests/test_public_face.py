"""Users import from ``distaff`` and its rooms alone, and every public name is written down.

``public_names.txt`` holds the names, one per line, so that a change of the API is seen in review. After
such a change write it again: ``python -m tests.test_public_face > tests/public_names.txt``.
"""

import ast
import doctest
import inspect
import re
import textwrap
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import distaff
from distaff.studies import drawings

ROOT = Path(__file__).parents[1]
KNOWN = Path(__file__).with_name("public_names.txt")
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
SCRIPTS = [*sorted((ROOT / "examples").rglob("*.py")), *sorted((ROOT / "studies").rglob("*.py"))]


@cache
def public_modules() -> dict[str, frozenset[str]]:
    """The public names of distaff, of its rooms, of what modules those export, and of data sets."""
    found = {"distaff": frozenset(distaff.__all__)}
    for room in _modules_among(distaff):
        found[room.__name__] = frozenset(room.__all__)
        for shelf in _modules_among(room):
            found[shelf.__name__] = frozenset(_defined_in(shelf))
    names = distaff.data.names()
    found["distaff.data"] |= frozenset(names)
    return found | dict.fromkeys((f"distaff.data.{name}" for name in names), frozenset({"ABOUT", "load"}))


def _modules_among(module: ModuleType) -> list[ModuleType]:
    values = (getattr(module, name) for name in module.__all__)
    return [value for value in values if isinstance(value, ModuleType)]


def _defined_in(module: ModuleType) -> list[str]:
    """The names of an exported module: its ``__all__``, or what it defines; constants only of the style."""
    if module is drawings:
        return [*drawings.all_drawings(), "all_drawings"]
    if hasattr(module, "__all__"):
        return list(module.__all__)
    inside = f"{module.__name__}."
    own = [n for n, v in vars(module).items() if f"{getattr(v, '__module__', None)}.".startswith(inside)]
    constants = [name for name in vars(module) if name.isupper() and module is distaff.figures.style]
    return [name for name in (*own, *constants) if not name.startswith("_")]


def all_names() -> list[str]:
    return sorted(f"{module}.{name}" for module, names in public_modules().items() for name in names)


def private_names(code: str) -> list[str]:
    """What a piece of Python takes from distaff that is not public."""
    public, found, tree = public_modules(), [], ast.parse(code)
    meant = {}  # name in the code → the public module that it stands for

    def take(module: str, name: str) -> str:
        if name not in public.get(module, ()):
            found.append(f"{module}.{name}")
        return f"{module}.{name}"

    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "distaff":
                    found += [alias.name] * (alias.name not in public)
                    meant[alias.asname or "distaff"] = alias.name if alias.asname else "distaff"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "distaff":
            for alias in node.names:
                meant[alias.asname or alias.name] = take(node.module, alias.name)

    def resolve(node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return meant.get(node.id)
        if isinstance(node, ast.Attribute) and (module := resolve(node.value)) in public:
            return take(module, node.attr)
        return None

    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            resolve(node)
    return sorted(set(found))


def code_of(page: Path) -> str:
    """The Python blocks of a page, one after the other."""
    found = re.findall(r"^( *)```python\b[^\n]*\n(.*?)^\1```", page.read_text("utf-8"), re.M | re.S)
    return "\n".join(textwrap.dedent(block) for _, block in found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_show_public_names_only(page):
    """In code and in sentences alike."""
    assert not private_names(code_of(page))
    text = re.sub(r"^( *)```.*?^\1```", "", page.read_text("utf-8"), flags=re.M | re.S)
    for name in re.findall(r"`(distaff(?:\.[A-Za-z_]\w*)+)", text):
        assert not private_names(f"import distaff\n{name}"), name


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_and_studies_import_public_names_only(script):
    assert not private_names(script.read_text("utf-8"))


def test_a_private_name_is_seen_however_it_is_taken():
    assert private_names("from distaff.metrics.mig import mig") == ["distaff.metrics.mig.mig"]
    assert private_names("import distaff.runs.folder") == ["distaff.runs.folder"]
    assert private_names("from distaff import foundation") == ["distaff.foundation"]
    assert private_names("import distaff as d\nd.runs.folder.RunFolder") == ["distaff.runs.folder"]
    assert private_names("from distaff import figures as f\nf.montage.show(1)") == ["distaff.figures.montage"]
    assert private_names("from distaff.data.dsprites import outlines") == ["distaff.data.dsprites.outlines"]
    fine = (
        "import distaff\nfrom distaff.figures import style\nstyle.PAGE\ndistaff.data.dsprites.load().images"
    )
    assert not private_names(fine)


def test_the_public_names_are_those_in_the_file():
    known, now = set(KNOWN.read_text().split()), set(all_names())
    assert now == known, f"new: {sorted(now - known)}; gone: {sorted(known - now)}; see the top of this test"


def test_every_public_name_exists():
    for module, names in public_modules().items():
        for name in names:
            place = distaff
            for part in f"{module}.{name}".split(".")[1:]:
                place = getattr(place, part)


def test_what_dir_shows_is_what_is_public():
    for module in (distaff, *(room for room in _modules_among(distaff) if "__dir__" in vars(room))):
        shown = {name for name in dir(module) if not re.fullmatch("__.*__", name)}
        assert shown == public_modules()[module.__name__] - {"__version__"}, module


@pytest.mark.parametrize("room", [distaff, *_modules_among(distaff)], ids=lambda room: room.__name__)
def test_a_room_says_what_it_is_for_and_how_to_add_to_it(room):
    assert re.search("add|another|one more|new", inspect.getdoc(room)) or room is distaff
    assert len(inspect.getdoc(room).splitlines()) > 3
    example = doctest.DocTestParser().get_doctest(room.__doc__, {}, room.__name__, room.__file__, 0)
    assert not doctest.DocTestRunner().run(example).failed


if __name__ == "__main__":
    print("\n".join(all_names()))
