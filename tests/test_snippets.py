"""What objects show in a notebook."""

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from distaff import Codes
from distaff.data import from_array
from distaff.foundation.snippets import MOST_ROWS, Bar, Curve, Strip, snippet
from distaff.metrics import evaluate_scores, mig
from distaff.models.representation import Representation
from distaff.studies import Study
from tests import toys

HOSTILE = "<script>alert('&')</script>\""


def rows_of(html: str) -> list[list[str]]:
    """The text of each cell of each row."""
    found = re.findall(r"<tr>(.*?)</tr>", html.partition("<tbody>")[2], re.S)
    return [
        [re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<td.*?>(.*?)</td>", row, re.S)] for row in found
    ]


def pictures_of(html: str) -> list[Image.Image]:
    sources = re.findall(r'src="data:image/png;base64,([^"]+)"', html)
    return [Image.open(io.BytesIO(base64.b64decode(source))) for source in sources]


def test_every_text_is_escaped():
    html = snippet(HOSTILE, HOSTILE, headers=[HOSTILE], rows=[[HOSTILE]], notes=[HOSTILE])
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 5


def test_bars_are_as_long_as_their_share():
    assert [Bar(value, 2.0).percent for value in (0.0, 0.5, 2.0, 5.0, -1.0)] == [0, 25, 100, 100, 0]
    assert Bar(float("nan")).percent == 0
    assert Bar(-0.5).text == "−0.500"


def test_long_tables_say_how_much_more_there_is():
    html = snippet("t", rows=[(n,) for n in range(MOST_ROWS + 7)])
    assert len(rows_of(html)) == MOST_ROWS
    assert "7 more" in html


@pytest.mark.parametrize(("channels", "shown"), [(1, 3), (3, 3), (2, 3), (4, 3)])
def test_a_strip_is_the_images_side_by_side(channels, shown):
    images = np.random.default_rng(0).random((2, channels, 5, 6))
    (picture,) = pictures_of(snippet("t", rows=[(Strip(images),)]))
    pixels = np.asarray(picture) / 255
    assert pixels.shape == (5, 2 * (6 + 2), 4)
    expected = images[1] if channels in (1, 3, 4) else images[1].mean(0, keepdims=True)
    np.testing.assert_allclose(pixels[:, 8:14, 0], expected[0], atol=0.003)
    np.testing.assert_array_equal(pixels[:, 6:8, 3], 0)
    if channels == 4:
        np.testing.assert_allclose(pixels[:, 8:14, 3], images[1, 3], atol=0.003)


def test_a_curve_runs_from_its_lowest_to_its_highest():
    points = [
        tuple(map(float, point.split(","))) for point in Curve(np.array([0.0, 1.0, 0.5])).points.split()
    ]
    assert points == [(0.0, 23.0), (50.0, 1.0), (100.0, 12.0)]


def test_a_data_set_is_a_contact_sheet():
    factors = np.indices((2, 3)).reshape(2, -1).T
    images = np.arange(6.0).reshape(6, 1, 1) / 5 * np.ones((6, 8, 8))
    html = from_array(images, factors, ["row", "column"])._repr_html_()
    assert [row[0] for row in rows_of(html)] == ["row", "column"]
    assert [picture.width // 10 for picture in pictures_of(html)] == [2, 3], "as many images as classes"
    assert "6 × (1, 8, 8)" in html
    assert rows_of(from_array(np.arange(12.0).reshape(4, 3))._repr_html_())[2] == [
        "2",
        "6.5",
        "3.354",
        "2",
        "11",
    ]


def test_codes_show_the_divergence_of_each_latent():
    means = np.array([[0.0, 2.0], [0.0, -2.0]])
    html = Codes(means, np.zeros((2, 2)), latents=("still", "moving"))._repr_html_()
    # KL(N(m, 1) ‖ N(0, 1)) = m²/2.
    assert rows_of(html) == [["still", "0", "0", "0.000"], ["moving", "0", "2", "2.000"]]
    assert rows_of(Codes(means)._repr_html_())[1] == ["z1", "0", "2.000"]


def test_scores_show_their_values_and_breakdowns():
    factors = np.random.default_rng(0).integers(0, 4, (500, 2))
    score = mig(factors.astype(float), factors)
    shown = rows_of(score._repr_html_())
    assert [row[0] for row in shown] == ["all", *score.per_factor]
    assert shown[1][1] == f"{score.per_factor['factor0']:.3f}"
    found = evaluate_scores(factors.astype(float), factors, metrics=["mig", "sap"])
    assert [row[:2] for row in rows_of(found._repr_html_())] == [
        [s.name, f"{s.value:.3f}"] for s in found.scores
    ]


def test_a_model_shows_its_latents_those_that_do_most_first():
    data = toys.tiny_images(32)
    model = Representation(toys.model(data), data.shape, titles={"z1": "size"})
    html = model._repr_html_()
    names = [row[0] for row in rows_of(html)]
    assert sorted(names) == ["size", "z0", "z2", "z3"]
    moved = model.traverse(values=np.linspace(-2, 2, 7).tolist())
    first = np.asarray(pictures_of(html)[0])[:, : data.shape[2], 0] / 255
    most = int(np.argmax(moved.std(axis=1).mean(axis=(1, 2, 3))))
    assert model.titles.get(f"z{most}", f"z{most}") == names[0]
    np.testing.assert_allclose(first, moved[most, 0, 0], atol=0.003)


def test_a_study_shows_its_settings():
    study = Study.parse(
        "{name: two, data: dsprites, steps: 30, seeds: 3, runs: [{recipe: beta_vae, beta: [1, 4]}]}"
    )
    assert rows_of(study._repr_html_()) == [["beta_vae", "1.0", "3", "30"], ["beta_vae", "4.0", "3", "30"]]
