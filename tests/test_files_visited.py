"""Who follows a request through the code visits few files; ``benchmarks.files_visited`` counts them."""

import pytest

from benchmarks.files_visited import LIMITS, Journey, journeys


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict[str, Journey]:
    return journeys(tmp_path_factory.mktemp("journeys"))


@pytest.mark.parametrize("request_of_a_reader", LIMITS)
def test_a_request_visits_no_more_files_than_its_limit(found, request_of_a_reader):
    files = sorted(found[request_of_a_reader].calls)
    assert 0 < len(files) <= LIMITS[request_of_a_reader], "\n".join(files)


def test_a_request_begins_at_the_command_line(found):
    """Whatever runs is counted: the first and the last files of a journey are among those visited."""
    trained = found["distaff train, one step"].calls
    assert {"cli.py", "training/loop.py", "objectives/terms.py", "runs/checkpoints.py"} <= trained.keys()
    scored = found["distaff evaluate RUN"].calls
    assert {"cli.py", "analysis/evaluate.py", "models/vae.py"} <= scored.keys()
