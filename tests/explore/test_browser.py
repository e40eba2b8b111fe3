"""The page in a real browser: headless Chromium against a real server process."""

import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from distaff.explore.session import Session
from distaff.explore.standalone import export_page
from distaff.runs.folder import RunFolder
from distaff.runs.latent_names import save_name
from distaff.training.train import train
from tests.browser import chromium, needs_chromium
from tests.explore.conftest import SETTINGS, squares

pytestmark = needs_chromium
PICTURE = ".run >> nth={} >> .decoded canvas"


class Server:
    """``distaff explore`` in a process of its own."""

    def __init__(self, *arguments: object) -> None:
        command = [sys.executable, "-m", "distaff", "explore", *map(str, arguments), "--no-open"]
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env={**os.environ, "DISPLAY": ""}
        )
        self.said = ""
        self.address = ""
        while not self.address and (line := self.process.stderr.readline()):
            self.said += line
            self.address = "".join(re.findall(r"exploring at (\S+)", line))

    def stop(self) -> str:
        self.process.send_signal(signal.SIGINT)
        _, rest = self.process.communicate(timeout=60)
        return self.said + rest


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def served(trained, tmp_path_factory) -> Iterator[tuple[str, Path]]:
    """The address of a server, and the run that it shows."""
    run = Path(shutil.copytree(trained / "run", tmp_path_factory.mktemp("served") / "run"))
    server = Server(run, "--port", 0)
    assert server.address, server.said
    yield server.address, run
    server.stop()


def watched(browser: Browser, **options) -> tuple[Page, list[str]]:
    """A page, and what goes wrong in it: errors, refused content, requests to anywhere else."""
    page = browser.new_context(**options).new_page()
    page.set_default_timeout(20_000)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    return page, wrong


@pytest.fixture
def page(browser, served) -> Iterator[Page]:
    page, wrong = watched(browser, viewport={"width": 1280, "height": 900})
    page.goto(served[0])
    drawn(page)
    # What comes later would move sliders from under a pointer.
    expect(page.locator(".latent .row canvas").first).to_have_attribute("width", re.compile(r"\d"))
    expect(page.locator(".matrix .content p").first).to_be_attached()
    yield page
    page.context.close()
    assert [message for message in wrong if "422" not in message] == []


def drawn(page: Page, panel: int = 0) -> str:
    """The decoded picture, once there is one."""
    canvas = page.locator(PICTURE.format(panel))
    expect(canvas).to_have_attribute("width", re.compile(r"\d"))  # one that was never drawn on has none
    return canvas.evaluate("canvas => canvas.toDataURL()")


def differs(page: Page, before: str, panel: int = 0) -> str:
    """The decoded picture, once it is another than before."""
    script = "([canvas, before]) => canvas.toDataURL() !== before"
    handle = page.locator(PICTURE.format(panel)).element_handle()
    page.wait_for_function(script, arg=[handle, before])
    return drawn(page, panel)


def test_sliders_move_the_picture(page):
    for slider in page.get_by_role("slider").all()[:2]:
        before = drawn(page)
        slider.focus()
        page.keyboard.press("End")
        right = differs(page, before)
        page.keyboard.press("Home")
        differs(page, right)
        page.keyboard.press("0")


def test_a_pointer_drags_the_slider_and_the_row_follows(page):
    slider = page.get_by_role("slider").first
    before = drawn(page)
    box = slider.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 10, box["y"] + box["height"] / 2, steps=12)
    page.mouse.up()
    moved = differs(page, before)
    assert float(slider.input_value()) > 1.5
    page.locator(".latent .row canvas").first.click(position={"x": 5, "y": 5})
    differs(page, moved)
    assert float(slider.input_value()) < -1


def test_moving_one_latent_redraws_the_rows_of_the_others(page):
    row = page.locator(".latent .row canvas").nth(1)
    before = row.evaluate("canvas => canvas.toDataURL()")
    page.get_by_role("slider").first.press("End")
    script = "([canvas, before]) => canvas.toDataURL() !== before"
    page.wait_for_function(script, arg=[row.element_handle(), before])


def test_classes_are_walked_by_buttons_and_arrows(page):
    page.locator("details.unused").evaluate_all("all => all.forEach(one => { one.open = true })")
    classes = page.get_by_role("radio", name=re.compile("class"))
    expect(classes).to_have_count(3)
    checked = [box.is_checked() for box in classes.all()].index(True)
    before = drawn(page)
    classes.nth((checked + 1) % 3).check()
    after = differs(page, before)
    page.keyboard.press("ArrowRight")
    differs(page, after)
    assert classes.nth((checked + 2) % 3).is_checked()


def test_latents_without_information_are_folded_away(page):
    shown = page.locator(".used .latent .information").all_inner_texts()
    assert shown
    assert all(float(text.split()[0]) >= 0.1 for text in shown)


def test_names_persist(page, served):
    field = page.get_by_role("textbox", name="Name of").first
    latent = page.locator(".latent code").first.inner_text()
    field.fill("x position")
    field.press("Enter")
    expect(page.locator("#message")).to_contain_text("x position")
    assert json.loads((served[1] / "names.json").read_text()) == {latent: "x position"}
    page.reload()
    expect(page.get_by_role("textbox", name=f"Name of {latent}")).to_have_value("x position")
    expect(page.get_by_role("slider", name=f"{latent}, x position")).to_have_count(1)


def test_a_bad_upload_shows_a_message_and_a_good_one_starts(page, tmp_path):
    (tmp_path / "notes.png").write_text("no image")
    before = drawn(page)
    page.set_input_files("#file", tmp_path / "notes.png")
    expect(page.locator("#message")).to_contain_text("not an image")
    expect(page.locator("#message")).to_have_class("wrong")
    assert drawn(page) == before
    Image.fromarray(np.kron(squares()[0][3, 0] * 255, np.ones((9, 5))).astype(np.uint8)).save(
        tmp_path / "a.webp"
    )
    page.set_input_files("#file", tmp_path / "a.webp")
    expect(page.locator("#message")).to_have_text("Starting from a.webp.")
    expect(page.locator(".original .label")).to_have_text("your image")
    differs(page, before)


def test_observations_are_picked_by_number_and_by_chance(page):
    page.fill("#index", "3")
    page.keyboard.press("Enter")
    expect(page.locator(".original .label")).to_have_text("squares 3")
    expect(page.locator(".about")).to_have_text("row 0 · column 3")
    page.reload()
    expect(page.locator(".original .label")).to_have_text("squares 3")
    page.fill("#index", "999999")
    page.keyboard.press("Enter")
    assert page.locator("#index").evaluate("field => field.validity.rangeOverflow")
    page.get_by_role("button", name="Random").click()
    page.get_by_role("button", name="Prior’s centre").click()
    expect(page.locator(".original")).to_be_hidden()


def test_the_keyboard_reaches_everything(page):
    page.keyboard.press("j")
    first = page.get_by_role("slider").first
    expect(first).to_be_focused()
    page.keyboard.press("j")
    expect(first).not_to_be_focused()
    page.keyboard.press("k")
    expect(first).to_be_focused()
    start = first.input_value()
    page.keyboard.press("PageUp")
    assert first.input_value() != start
    page.keyboard.press("0")
    assert first.input_value() == start
    page.keyboard.press("n")
    expect(page.get_by_role("textbox", name="Name of").first).to_be_focused()
    page.keyboard.type("jjj")  # letters, not shortcuts
    page.keyboard.press("Escape")
    expect(first).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_text("next and previous latent")).to_be_visible()


def test_the_matrix_of_factors_is_a_table(page):
    table = page.get_by_role("table")
    expect(table.get_by_role("columnheader", name="row")).to_be_visible()
    expect(table.locator("tbody tr")).to_have_count(4)


@pytest.mark.parametrize("width", [320, 390, 768, 1440])
def test_no_width_scrolls_sideways(browser, served, width):
    page, wrong = watched(browser, viewport={"width": width, "height": 800})
    page.goto(served[0])
    drawn(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.get_by_role("slider").first.bounding_box()["width"] > 100
    page.context.close()
    assert wrong == []


def test_a_page_of_another_origin_gets_nothing(browser, served):
    page, _ = watched(browser)
    page.route("http://evil.example/", lambda route: route.fulfill(body="<p>hello", content_type="text/html"))
    page.goto("http://evil.example/")
    script = "address => fetch(address + 'api/session').then(() => 'read', () => 'refused')"
    assert page.evaluate(script, served[0]) == "refused"
    page.context.close()


def test_two_runs_stand_side_by_side(browser, trained, run):
    with socket.socket() as taken:  # the port that is asked for first
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        server = Server(trained / "run", run, "--port", port)
    assert f":{port}/" not in server.address
    page, wrong = watched(browser, viewport={"width": 1280, "height": 900})
    page.goto(server.address)
    first, second = drawn(page, 0), drawn(page, 1)
    assert first == second  # copies of one run at one observation
    page.locator(".run >> nth=1").get_by_role("slider").first.press("End")
    differs(page, second, 1)
    assert drawn(page, 0) == first
    page.context.close()
    said = server.stop()
    assert server.process.returncode == 0
    assert said.endswith("stopped.\n")
    assert "Traceback" not in said
    assert wrong == []


def test_the_exported_page_works_without_a_network(browser, run, tmp_path):
    save_name(RunFolder(run), ["z0"], "z0", "<b>bold</b>")
    path = export_page(Session.open([run]), tmp_path / "page.html")
    page, wrong = watched(browser, offline=True, viewport={"width": 1280, "height": 900})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url[:60]))
    page.goto(path.as_uri())
    before = drawn(page)
    slider = page.get_by_role("slider").first
    slider.press("Home")
    slider.press("ArrowRight")  # wherever it started, now it has moved
    second = differs(page, before)
    slider.press("End")
    differs(page, second)
    assert float(slider.input_value()) == pytest.approx(float(slider.get_attribute("max")), abs=1e-3)
    page.get_by_role("radio", name="squares").nth(3).check()
    differs(page, before)
    expect(page.get_by_role("textbox", name="Name of z0")).to_have_value("<b>bold</b>")
    expect(page.get_by_role("button", name="Random")).to_be_hidden()
    page.context.close()
    assert wrong == []
    assert [address for address in asked if not address.startswith(("file:", "data:", "blob:"))] == []


@pytest.mark.parametrize("kind", ["signals", "table"])
def test_curves_and_bars_follow_the_colour_scheme(browser, kind, tmp_path):
    rng = np.random.default_rng(0)
    waves = np.sin(np.linspace(0, 6, 30) * rng.uniform(1, 3, (40, 2, 1)))
    np.save(tmp_path / "waves.npy", waves if kind == "signals" else waves[:, 0, :5])
    options = {"data_options": {"signals": True}} if kind == "signals" else {}
    train("vae", str(tmp_path / "waves.npy"), latents=2, out=tmp_path / "run", **SETTINGS, **options)
    path = export_page(Session.open([tmp_path / "run"]), tmp_path / "page.html")
    papers = {}
    for scheme in ("light", "dark"):
        page, wrong = watched(browser, color_scheme=scheme)
        page.goto(path.as_uri())
        drawn(page)
        canvases = [
            page.locator(place).first for place in (".decoded canvas", ".row canvas", "#starts canvas")
        ]
        pixels = [np.asarray(Image.open(io.BytesIO(one.screenshot())).convert("L")) for one in canvases]
        papers[scheme] = [np.median(one) for one in pixels]
        page.context.close()
        assert wrong == []
    assert min(papers["light"]) > 240, "paper is white by day"
    assert max(papers["dark"]) < 60, "and dark by night"
