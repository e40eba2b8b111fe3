"""The exported page holds everything, and lets nothing else in."""

import base64
import io
import json
import re

import numpy as np
import pytest
from PIL import Image

from distaff.explore.standalone import COLUMNS, STARTS, STEPS, export_page, tiled
from distaff.runs.folder import RunFolder
from distaff.runs.latent_names import save_name


@pytest.fixture
def page(session, run, tmp_path) -> str:
    save_name(RunFolder(run), ["z0"], "z0", "</script><b>x & y")
    return export_page(session, tmp_path / "page.html").read_text(encoding="utf-8")


def content(page: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="frozen">(.*?)</script>', page, re.S)[1])


def test_it_is_one_file(page):
    assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(?!data:)', page)
    assert "STYLE" not in page
    assert "SCRIPTS" not in page


def test_its_policy_lets_in_this_script_and_style_alone(page):
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)[1]
    assert "default-src 'none'" in policy
    assert "connect-src" not in policy
    assert "unsafe" not in policy


def test_a_name_cannot_end_the_script(page):
    titles = {latent["name"]: latent["title"] for latent in content(page)["runs"][0]["latents"]}
    assert titles["z0"] == "</script><b>x & y"
    assert page.count("</script>") == 2


def test_its_pictures_are_the_models(page, session):
    start = content(page)["starts"][2]
    sheet = base64.b64decode(start["sheets"][0].removeprefix("data:image/png;base64,"))
    pixels = np.asarray(Image.open(io.BytesIO(sheet)))
    run, values = session.runs[0], start["values"][0]
    count = 3 * STEPS + 3
    row, column = divmod(count, COLUMNS)
    shown = pixels[row * 16 : (row + 1) * 16, column * 16 : (column + 1) * 16]
    np.testing.assert_array_equal(shown, run.decode([values])[0, ..., 0])
    np.testing.assert_array_equal(pixels[:16, 16:32], run.traverse(values, STEPS)[1, ..., 0])
    assert len(content(page)["starts"]) == STARTS


def test_tiles_lie_row_by_row():
    cells = np.arange(5, dtype=np.uint8).repeat(2 * 3).reshape(5, 2, 3, 1)
    np.testing.assert_array_equal(tiled(cells, 2)[::2, ::3, 0], [[0, 1], [2, 3], [4, 0]])
