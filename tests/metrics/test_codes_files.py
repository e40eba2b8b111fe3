"""``distaff evaluate FILE``: codes are scored as far as they go, anything else gets a sentence."""

import io
import zipfile

import numpy as np
import pytest

from distaff import cli
from distaff.metrics import evaluate, evaluate_file, read_codes

MEANS = np.random.default_rng(0).normal(size=(200, 3))


def run(capsys, *arguments: object) -> tuple[int, list[str]]:
    """The exit code and the lines printed; an exception that is not ours comes through."""
    code = 0
    try:
        cli.main(["evaluate", *map(str, arguments)])
    except SystemExit as stop:
        code = int(stop.code or 0)
    captured = capsys.readouterr()
    return code, (captured.out + captured.err).strip().splitlines()


def test_an_npy_file_is_scored_without_labels(tmp_path, capsys):
    np.save(tmp_path / "codes.npy", MEANS)
    codes, factors = read_codes(tmp_path / "codes.npy")
    np.testing.assert_array_equal(codes.means, MEANS)
    assert (codes.logvars, factors) == (None, None)
    found = evaluate_file(tmp_path / "codes.npy")
    assert [score.value for score in found.scores] == evaluate(MEANS)["value"].tolist()
    code, lines = run(capsys, tmp_path / "codes.npy")
    assert code == 0
    assert any(line.startswith("hoyer 0.") for line in lines)
    assert "mig: left out, it needs factors." in lines
    assert "wsepin: left out, it needs log-variances." in lines


def test_a_metric_that_is_named_says_what_it_needs(tmp_path, capsys):
    np.save(tmp_path / "codes.npy", MEANS)
    code, lines = run(capsys, tmp_path / "codes.npy", "--metrics", "mig")
    assert code == 2
    assert lines == [
        "distaff: mig needs factors: give the ground truth of each row, in an npz as an array named factors, "
        "or a file of labels or columns of a table as --factors."
    ]


def test_arrays_of_any_name(tmp_path, capsys):
    """By the names that are given with the file, or the only one that has none."""
    classes = np.arange(200) % 4
    both = np.stack([classes, classes % 2], axis=1)
    expected = evaluate(MEANS, {"quarter": classes, "half": classes % 2}, metrics=["mig"])["value"][0]
    np.savez(tmp_path / "states.npz", hidden=MEANS, quarter=classes, half=classes % 2, both=both)
    chosen = (tmp_path / "states.npz", "--metrics", "mig", "--latents", "hidden", "--factors")
    for factors in ("quarter,half", "both"):
        code, lines = run(capsys, *chosen, factors)
        assert code == 0
        assert any(line.startswith(f"mig {expected:.4f}") for line in lines), lines
    np.savez(tmp_path / "codes.npz", MEANS)
    np.savez(tmp_path / "labels.npz", both)
    files = (tmp_path / "codes.npz", "--factors", tmp_path / "labels.npz", "--metrics", "mig")
    code, lines = run(capsys, *files)
    assert code == 0
    assert any(line.startswith(f"mig {expected:.4f}") for line in lines), lines
    np.savez(tmp_path / "two.npz", MEANS, both)
    np.savez(tmp_path / "other.npz", hidden=MEANS[::-1])
    np.savez(tmp_path / "named.npz", mu=MEANS[::-1])
    for baseline in ("other", "named"):
        code, lines = run(capsys, *chosen, "both", "--baseline", tmp_path / f"{baseline}.npz")
        assert code == 0
        assert any(f"{baseline} 0." in line for line in lines), lines
    wrong = [
        (*chosen, "third"),
        (*chosen, "hidden"),
        (*chosen[:3], "--latents", "hiden"),
        (tmp_path / "two.npz",),
    ]
    for arguments in wrong:
        code, lines = run(capsys, *arguments)
        assert (code, len(lines)) == (2, 1), lines
    assert lines[0].endswith("it holds arr_0, arr_1; --latents names another.")


def damaged(content: bytes) -> bytes:
    return content[:60] + bytes(255 - byte for byte in content[60:90]) + content[90:]


def npz(**arrays) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def npy(array, **how) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, **how)
    return buffer.getvalue()


def zipped(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


HUGE = npy(np.zeros((1, 1))).replace(b"(1, 1), }", b"(9" + b"9" * 11 + b", 9), }")
BAD = {
    "empty.npy": b"",
    "text.npy": b"hello",
    "vector.npy": npy(np.zeros(9)),
    "scalar.npy": npy(np.float64(3)),
    "cube.npy": npy(np.zeros((2, 3, 4))),
    "words.npy": npy(np.array([["a", "b"]])),
    "records.npy": npy(np.zeros(3, dtype=[("a", float), ("b", int)])),
    "dates.npy": npy(np.zeros((3, 2), "datetime64[s]")),
    "complex.npy": npy(np.zeros((3, 2), complex)),
    "holes.npy": npy(np.full((5, 2), np.nan)),
    "pickled.npy": npy(np.array([[{}]], dtype=object), allow_pickle=True),
    "no_rows.npy": npy(np.zeros((0, 3))),
    "no_columns.npy": npy(np.zeros((3, 0))),
    "one_row.npy": npy(np.zeros((1, 3))),
    "cut.npy": npy(MEANS)[:300],
    "damaged.npy": damaged(npy(MEANS)),
    "header.npy": npy(MEANS).replace(b"descr", b"d(scr"),
    "huge.npy": HUGE,
    "text.npz": b"hello",
    "cut.npz": npz(means=MEANS)[:300],
    "damaged.npz": damaged(npz(means=MEANS)),
    "bare.npz": zipped("means.npy", b"hello"),
    "foreign.npz": zipped("means", b"hello"),
    "empty.npz": npz(),
    "other.npz": npz(images=MEANS),
    "scalars.npz": npz(category_a=np.float64(1)),
    "rows.npz": npz(means=MEANS, factors=np.zeros(7)),
    "names.npz": npz(means=MEANS, factors=np.arange(200)[:, None], factor_names=np.array(["a", "b"])),
    "logvars.npz": npz(means=MEANS, logvars=MEANS[:5]),
    "huge.npz": zipped("means.npy", HUGE),
    "notes.txt": b"hello",
    "table.csv": b"a,b\n1,2\n",
    "run.yaml": b"recipe: vae",
}


@pytest.mark.parametrize("name", BAD)
def test_whatever_is_no_codes_gets_a_sentence(tmp_path, capsys, name):
    (tmp_path / name).write_bytes(BAD[name])
    code, lines = run(capsys, tmp_path / name)
    assert code == 2, lines
    assert len(lines) == 1
    assert lines[0].startswith("distaff: ")


@pytest.mark.parametrize("name", ["absent.npy", "absent.npz", "absent", "folder.npz", "folder"])
def test_so_do_absent_files_and_folders_that_are_no_runs(tmp_path, capsys, name):
    if name.startswith("folder"):
        (tmp_path / name).mkdir()
    code, lines = run(capsys, tmp_path / name)
    assert code == 2
    assert len(lines) == 1
