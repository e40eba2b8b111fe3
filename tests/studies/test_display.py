"""What a terminal shows of a study while it is under way."""

import io

from rich.console import Console

from distaff.studies.display import Display


def test_a_terminal_shows_what_is_under_way_and_the_best_run_so_far(done):
    first, second, third, *_ = done.all_runs
    screen = Console(file=io.StringIO(), width=200)
    screen.print(Display(done, visible=False)._table([first, second], [third]))
    text = screen.file.getvalue()
    assert "6 of 6 finished, 2 under way, 1 waiting" in text
    rows = {line.split()[0]: line for line in text.splitlines() if line.split()}
    for run in (first, second):
        assert "scoring" in rows[run.key]
        assert f"{run.last_line['loss']:.4g}" in rows[run.key]
    scores = done.finished.set_index("run")["mig"]
    assert f"best so far: {scores.idxmax()}  mig {scores.max():.4g}" in text


def test_a_run_tells_its_steps_and_their_time(done):
    for run, seconds in zip(done.all_runs, done.table["seconds"], strict=True):
        assert (run.step, run.seconds) == (20, seconds)
