"""A study file that is not what it was when its folder was begun."""

import warnings

import pytest
import yaml

from distaff import studies
from distaff.studies.commands import write_page
from distaff.studies.results import Results

COMMON = {"batch_size": 16, "network": "mlp:hidden=8,layers=1", "latents": 2, "accelerator": "cpu"}


@pytest.fixture
def study(tiny, tmp_path, here):
    """Runs the study with some keys of its file changed, and gives its keys and what was said."""
    content = {"name": "s", "data": str(tiny), "steps": 2, "common": COMMON, "metrics": ["mig"]}
    content |= {"runs": [{"recipe": "beta_vae", "beta": [1, 2]}]}

    def call(does=studies.run, **changes):
        content.update(changes)
        file = tmp_path / "s.yaml"
        file.write_text(yaml.safe_dump(content))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            does(file, out=tmp_path / "out", **({"progress": False} if does is studies.run else {}))
        keys = [run.key for run in Results.read(tmp_path / "out").all_runs]
        return keys, [str(one.message) for one in said if "the study has changed" in str(one.message)]

    return call


def test_runs_that_are_new_and_runs_that_stay_behind_are_said_once(study, tmp_path):
    (first, second), said = study()
    assert not said
    keys, (line,) = study(runs=[{"recipe": "beta_vae", "beta": [2, 3]}])
    assert keys[0] == second
    assert f"1 run is new ({keys[1]})" in line
    assert f"1 run is no longer part of it ({first}); nothing is removed" in line
    assert study()[1] == []
    former = tmp_path / "out/study-1.yaml"
    assert f"distaff study table {former} --out {tmp_path / 'out'}" in line
    table = studies.table(former, out=tmp_path / "out", metric="mig")
    assert list(table["beta"]) == [1, 2]
    assert list(table["n"]) == [1, 1]


def test_more_steps_are_other_runs_and_the_page_says_so_too(study, tmp_path):
    before, _ = study()
    after, (line,) = study(write_page, steps=3)
    assert not set(before) & set(after)
    assert "2 runs are new" in line
    assert "2 runs, 2 of them finished, are no longer part of it" in line
    back, (line,) = study(steps=2)
    assert back == before
    assert line.endswith(f"begun: 2 runs are part of it again ({', '.join(back)}).")
    assert not (tmp_path / "out/study-2.yaml").exists(), "nothing was begun by the second file"


def test_more_metrics_are_said_and_what_changes_nothing_is_not(study):
    study()
    assert study(about="Another sentence.")[1] == []
    assert "begun: its runs are scored by sap too." in study(metrics=["mig", "sap"])[1][0]


def test_a_damaged_file_of_a_folder_is_replaced(study, tmp_path):
    study()
    (tmp_path / "out/study.yaml").write_text("runs: [")
    keys, said = study()
    assert (len(keys), said) == (2, [])
