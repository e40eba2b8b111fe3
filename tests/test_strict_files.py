"""No JSON or YAML that the library writes holds NaN or infinity: all commands on a run with many of them."""

import json
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

from distaff import cli
from distaff.foundation.errors import DistaffError
from distaff.foundation.files import json_text, write_json, yaml_text
from distaff.foundation.untrusted_files import parse_json, parse_yaml
from tests import toys
from tests.studies.conftest import without_workers

METRICS = "total_correlation,total_information,informativeness,misjed,mig,rmig"
QUICK = ["--steps", "4", "--batch-size", "16", "--log-every", "2", "--accelerator", "cpu"]
STUDY = """
data: {data}
steps: 4
common: {{batch_size: 16, network: tests.toys:mlp, latents: "point:2", log_every: 2}}
runs:
  - recipe: wae
metrics: [total_correlation, mig]
"""


def test_json_is_read_to_the_last_digit():
    rng = np.random.default_rng(0)
    numbers = np.frombuffer(rng.bytes(8 * 2000), np.float64)
    values = [float(number) for number in numbers if math.isfinite(number)]
    values += [2**63 - 1, -(2**70), 0.1 + 0.2, -0.0, 5e-324, "é\u2028\U0001f600", None, True, {"a": [{}]}]
    assert repr(parse_json(json.dumps(values))) == repr(values)
    assert math.isnan(parse_json("NaN"))


def refuse(constant: str) -> float:
    raise AssertionError(f"a JSON file holds {constant}")


def check_json(text: str) -> None:
    json.loads(text, parse_constant=refuse)


def check_yaml(text: str) -> None:
    def walk(value: object) -> None:
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            walk(item)
        assert not isinstance(value, float) or math.isfinite(value)

    walk(yaml.safe_load(text))


def check_folder(folder: Path) -> set[str]:
    """Parse every JSON and YAML below a folder, pages and cards included; the names of what was found."""
    found = set()
    for path in folder.rglob("*"):
        text = path.read_text(encoding="utf-8") if path.suffix in READERS else ""
        for part in READERS.get(path.suffix, lambda _: [])(text):
            found.add(path.name)
            (check_yaml if path.suffix in (".yaml", ".md") else check_json)(part)
    return found


READERS = {
    ".json": lambda text: [text],
    ".jsonl": str.splitlines,
    ".yaml": lambda text: [text],
    ".md": lambda text: re.findall(r"\A---\n(.*?)---", text, re.S),
    ".html": lambda text: re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.S),
}


SEEN: set[str] = set()
"""The commands that were run."""


def run(*arguments: object, code: int = 0) -> None:
    """A command that ends with a code; whether the doctor finds fault does not matter here."""
    ended = 0
    try:
        cli.main([str(argument) for argument in arguments])
    except SystemExit as stop:
        ended = int(stop.code or 0)
    assert ended == code or arguments[0] == "doctor", arguments
    SEEN.add(str(arguments[0]))


@pytest.mark.filterwarnings("ignore")
def test_every_command_writes_numbers_that_any_reader_can_read(tmp_path, monkeypatch):
    """Point latents have an infinite KL."""
    monkeypatch.chdir(tmp_path)
    without_workers(monkeypatch)
    places = np.stack(np.meshgrid(np.arange(8), np.arange(8), indexing="ij"), -1).reshape(-1, 2)
    images = toys.tiny_images(64).images[:].numpy()
    np.savez("data.npz", images=images, factors=places, factor_names=["row", "column"])
    model = ["--latents", "point:2", "--network", "tests.toys:mlp"]
    run("train", "wae", "--data", "data.npz", "--out", "run", *model, *QUICK)
    run("resume", "run", "--steps", 6)
    run("evaluate", "run", "--metrics", METRICS, "--bootstrap", 20)
    run("decompose", "run", "--samples", 32, "--particles", 10, "--bounded", 4)
    run("traverse", "run")
    run("report", "run")
    run("doctor", "run", "--observations", 32)
    run("explore", "run", "--export", "explorer.html")
    run("export", "run", "--hub", "hub")
    run("encode", "run", "--data", "data.npz", "--out", "new.npz")
    shutil.copytree("run", "copy")
    run("compare", "run", "copy", "--trust", "tests.toys", "--out", "compare.html")
    bad = ["--data", "data.npz", "--out", "bad", "--network", "tests.toys:mlp", "--learning-rate", "1e30"]
    run("train", "beta_vae", *bad, *QUICK, code=2)
    codes = np.random.default_rng(0).normal(size=(64, 3))
    np.savez("codes.npz", means=codes, logvars=np.full_like(codes, -np.inf), factors=places)
    run("evaluate", "codes.npz", "--metrics", METRICS, "--out", "codes.json")
    Path("study.yaml").write_text(STUDY.format(data=tmp_path / "data.npz"))
    run("study", "run", "study.yaml", "--out", "study")
    run("study", "report", "study")
    few = ["--minutes", "0.001", "--recipes", "beta_vae:0.1:0.3", "--seeds", 2, "--latents", 3]
    run("choose", "data.npz", *few, "--network", "mlp", "--out", "choice", "--no-progress")
    for listing in (["recipes"], ["presets"], ["metrics"], ["data", "list"], ["zoo"]):
        run(*listing)
    assert cli.COMMANDS.keys() == SEEN, "a command is not tried here"
    found = check_folder(tmp_path)
    wanted = {"run.yaml", "log.jsonl", "scores.json", "decomposition.json", "checkpoint.json", "config.json"}
    assert wanted | {"explorer.html", "README.md", "diverged.json", "codes.json", "study.yaml"} <= found
    assert "null" in Path("run/scores.json").read_text(), "the run has nothing that is not finite"


def test_what_is_not_finite_is_null_at_any_depth(tmp_path):
    value = {"a": math.inf, "b": [1.5, (math.nan, {"c": -math.inf})], "d": np.float64("nan"), "e": "NaN"}
    assert json.loads(json_text(value)) == {"a": None, "b": [1.5, [None, {"c": None}]], "d": None, "e": "NaN"}
    write_json(tmp_path / "x.json", value)
    check_json((tmp_path / "x.json").read_text())


def test_settings_that_are_not_finite_are_refused_by_name(tmp_path):
    with pytest.raises(DistaffError, match="gamma is inf"):
        yaml_text({"recipe": {"arguments": [{"gamma": math.inf}]}})
    assert yaml.safe_load(yaml_text({"beta": 4.0, "name": "β"})) == {"beta": 4.0, "name": "β"}


@pytest.mark.parametrize("text", ['{"a": [1%s]}', "-1%s", '{"%s": 1, "b": -1%s}'])
def test_whole_numbers_that_no_float_can_hold_are_refused(text):
    digits = "0" * 400
    for parse in (parse_json, parse_yaml):
        with pytest.raises(DistaffError, match="holds a whole number of over 300 digits"):
            parse(text.replace("%s", digits))
    assert parse_json(json.dumps(digits).encode()) == digits
    assert parse_yaml(f"- {10**300}") == [10**300]
