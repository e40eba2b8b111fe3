"""The documentation says what is so: its code runs, its commands parse, its links and names exist."""

import functools
import importlib.util
import inspect
import re
import shlex
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import numpy as np
import pytest
import tyro
import yaml
from sklearn.model_selection import GridSearchCV

import distaff
from distaff import cli, estimator
from distaff.data.arrays import load
from distaff.foundation.binding import public_functions
from distaff.metrics.catalogue import all_metrics
from distaff.objectives import recipes
from distaff.studies import Study
from distaff.studies import choose as choose  # imported here, before a test replaces what it calls
from distaff.studies import commands as studies
from distaff.training import train as training

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
COMMAND = re.compile(r"distaff [a-z].*")


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    found = re.findall(rf"^( *)```{language}\b[^\n]*\n(.*?)^\1```", page.read_text("utf-8"), re.M | re.S)
    return [textwrap.dedent(block) for _, block in found]


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^( *)```.*?^\1```", "", page.read_text("utf-8"), flags=re.M | re.S)


def headings(page: Path) -> list[str]:
    return re.findall(r"^#+ (.+)$", prose(page), re.M)


def anchors(page: Path) -> set[str]:
    """What mkdocs makes of a page's headings."""
    plain = (re.sub(r"[^\w\s-]", "", heading.replace("`", "")) for heading in headings(page))
    return {re.sub(r"[\s-]+", "-", text.strip().lower()) for text in plain}


@pytest.fixture
def quick(tmp_path, monkeypatch):
    """A folder to work in where training takes two steps and dSprites is a handful of noise."""
    rng = np.random.default_rng(0)
    tiny = tmp_path / "tiny.npz"
    factors = np.stack(np.indices((8, 8)).reshape(2, -1).repeat(2, axis=1), axis=1)
    np.savez(tiny, images=rng.random((128, 16, 16)), factors=factors, factor_names=["row", "column"])
    train, resume = training.train, training.resume

    @functools.wraps(train)
    def few_steps(recipe, data="dsprites", *, steps=2, batch_size=8, **settings):
        data = tiny if isinstance(data, str) and data == "dsprites" else data
        return train(recipe, data, steps=min(steps, 2), batch_size=min(batch_size, 8), **settings)

    @functools.wraps(resume)
    def few_more(folder, data=None, *, steps=2, **settings):
        return resume(folder, data, steps=min(steps, 3), **settings)

    opened = distaff.data.open_dataset
    monkeypatch.setattr(training, "train", few_steps)
    monkeypatch.setattr(training, "resume", few_more)
    monkeypatch.setattr(estimator, "train", few_steps)
    for name in ("run", "table"):  # studies take long: that they are called rightly is enough
        real = getattr(studies, name)
        called = functools.partial(inspect.signature(real).bind)
        monkeypatch.setattr(studies, name, functools.wraps(real)(called))
    monkeypatch.setattr(
        distaff.data,
        "open_dataset",
        lambda spec, **o: load(tiny) if spec == "dsprites" else opened(spec, **o),
    )
    monkeypatch.chdir(tmp_path)
    return tiny


def run_page(page: Path, monkeypatch) -> types.ModuleType:
    """The page's code as a module ``mine``, as a reader would have it in a file of her own."""
    module = types.ModuleType("mine")
    monkeypatch.setitem(sys.modules, "mine", module)
    if page.name == "README.md":
        rng = np.random.default_rng(0)
        mu, factors = rng.normal(size=(300, 3)), rng.integers(0, 4, (300, 2))
        known = {"images": rng.random((40, 16, 16)), "mu": mu, "logvar": mu - 3, "factors": factors}
        vars(module).update(known, X=mu[:40], GridSearchCV=GridSearchCV)
    for number, block in enumerate(blocks(page, "python")):
        exec(compile(block, f"{page.name}, block {number}", "exec"), vars(module))
    return module


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name
)
def test_the_code_of_a_page_runs(page, quick, monkeypatch):
    run_page(page, monkeypatch)


class Parsed(Exception):
    """A command's flags were understood."""


def commands() -> list[str]:
    """Every command line that any page shows."""
    found = set()
    for page in PAGES:
        lines = [line for block in blocks(page, "sh") for line in block.replace("\\\n", " ").splitlines()]
        lines += re.findall(r"`([^`]+)`", prose(page))
        found |= {line.partition(" #")[0].strip() for line in lines if COMMAND.match(line)}
    return sorted(line for line in found if not re.search(r"\b(COMMAND|RECIPE|NAME)\b", line))


def test_every_command_shown_is_understood(quick, monkeypatch, capsys):
    run_page(DOCS / "extending.md", monkeypatch)
    real = tyro.cli

    def parse(*arguments, **options):
        real(*arguments, **options)
        raise Parsed

    monkeypatch.setattr(tyro, "cli", parse)
    assert len(commands()) > 20
    for line in commands():
        _, name, *arguments = shlex.split(line)
        assert name in cli.COMMANDS, line
        if not arguments:  # spoken of, not shown
            continue
        with pytest.raises((Parsed, SystemExit)) as stopped:
            cli.main([name, *arguments])
        code = getattr(stopped.value, "code", 0)
        assert not code, f"{line}\n{capsys.readouterr().err}"


@pytest.mark.parametrize("block", blocks(DOCS / "studies.md", "yaml"))
def test_study_files_shown_are_read(block):
    assert Study.parse(block).runs


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target, _, anchor in (link.partition("#") for link in re.findall(r"\]\(([^)\s]+)\)", prose(page))):
        if target.startswith("http") or re.match(r"api/\w+\.md$", target):
            continue
        place = (page.parent / target).resolve() if target else page
        assert place.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in anchors(place), f"{page.name} links to {target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_of_the_library_exist(page):
    for name in re.findall(r"`(distaff(?:\.[A-Za-z_]\w*)+)", prose(page)):
        found = distaff
        for part in name.split(".")[1:]:
            found = getattr(found, part, None) or importlib.import_module(f"{found.__name__}.{part}")


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name != "comparison.md"], ids=lambda page: page.name
)
def test_files_of_the_repository_that_pages_speak_of_exist(page):
    rooms = "|".join(path.name for path in (ROOT / "src/distaff").iterdir() if path.is_dir())
    tops = f"(?:src|docs|tests|studies|benchmarks|examples|{rooms})"
    for name in re.findall(rf"`({tops}/[\w./-]+\.(?:md|py|txt))`", prose(page)):
        assert (ROOT / name).exists() or (ROOT / "src/distaff" / name).exists(), f"{page.name}: {name}"


@pytest.mark.parametrize(
    ("page", "exist"), [("recipes.md", public_functions(recipes)), ("metrics.md", all_metrics())]
)
def test_every_recipe_and_every_metric_has_its_section(page, exist):
    text = (DOCS / page).read_text("utf-8")
    sections = {heading for heading in headings(DOCS / page) if re.fullmatch("[a-z_][a-z0-9_]*", heading)}
    assert sections == set(exist)
    kind = page.removesuffix("s.md")
    for name in exist:
        section = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert f"<!-- from the code: {kind} {name} -->" in section
        assert len(section.split()) > 30, f"{name} wants more than its table"


def test_every_command_has_its_section():
    page = DOCS / "command-line.md"
    sections = {heading for heading in headings(page) if heading in cli.COMMANDS}
    assert sections == set(cli.COMMANDS)
    for name in sections:
        section = page.read_text("utf-8").partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert section.strip(), f"the section on {name} is empty"


def test_every_page_is_in_the_navigation():
    shown = re.findall(r"- ([\w-]+\.md)", (ROOT / "mkdocs.yml").read_text())
    assert sorted(shown) == sorted(page.name for page in DOCS.glob("*.md"))


def test_the_citation_file_has_what_its_format_asks_for():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["authors"] == [{"name": "The distaff developers"}]


@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="mkdocs is not installed: make docs")
def test_the_site_builds_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "recipes.html").read_text("utf-8")
    assert "35.0 total_correlation" in page
    assert "from the code" not in page
    outside = re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=.?(https?://[^\s\">]+)", page)
    assert not outside, "the site must need no network"


def test_no_file_has_marks_of_an_unfinished_merge():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    texts = [
        ROOT / name for name in listed.stdout.split("\0") if name.endswith((".md", ".py", ".yaml", ".toml"))
    ]
    marks = re.compile(r"^(<<<<<<< |>>>>>>> )", re.M)
    assert [path for path in texts if path.exists() and marks.search(path.read_text("utf-8"))] == []
