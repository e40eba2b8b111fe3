import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from distaff.figures import image_grid, kl_bars
from distaff.figures.html import Code, Facts, Link, Picture, Table, Text, page
from distaff.foundation.errors import DistaffError
from tests.browser import CHROMIUM, needs_chromium

HOSTILE = "<script>alert('&')</script>\""


class Elements(HTMLParser):
    """The tags of a page with their attributes, and the text inside each."""

    def __init__(self, html):
        super().__init__()
        self.found, self.open = [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes), []))
        if tag not in ("meta", "img"):
            self.open.append(self.found[-1])

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag, f"</{tag}> closes another tag"

    def handle_data(self, data):
        for element in self.open:
            element[2].append(data)

    def texts(self, tag):
        return ["".join(text) for name, _, text in self.found if name == tag]

    def attributes(self, tag):
        return [attributes for name, attributes, _ in self.found if name == tag]


def test_every_text_is_escaped_wherever_it_stands():
    blocks = [
        Facts({HOSTILE: HOSTILE}, HOSTILE),
        Table([HOSTILE], [[HOSTILE], [Link(HOSTILE, "a.html?b=\"'&")]], HOSTILE, HOSTILE),
        Picture(kl_bars([1.0]), HOSTILE, HOSTILE, HOSTILE),
        Code(HOSTILE, HOSTILE, folded=True),
        Text(HOSTILE, HOSTILE),
    ]
    elements = Elements(page(HOSTILE, blocks))
    assert not elements.open, "every tag is closed"
    assert len(elements.texts("script")) == 1, "only the page's own"
    for tag in ("title", "h1", "dt", "dd", "caption", "figcaption", "code", "p"):
        assert elements.texts(tag) == [HOSTILE], tag
    assert elements.texts("h2") == [HOSTILE] * 5
    assert elements.attributes("img")[0]["alt"] == HOSTILE
    assert {"href": "a.html?b=\"'&"} in elements.attributes("a")


def test_nothing_comes_from_outside():
    html = page(
        "A run",
        [Picture(kl_bars([1.0]), "bars"), Picture(image_grid(np.ones((2, 1, 4, 4))), "grid", kind="png")],
    )
    sources = [image["src"] for image in Elements(html).attributes("img")]
    assert [source.partition(";")[0] for source in sources] == ["data:image/svg+xml", "data:image/png"]
    assert not re.search(r'(?:src|href)="(?!data:|#)', html)
    policy = next(meta["content"] for meta in Elements(html).attributes("meta") if "http-equiv" in meta)
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_links_that_could_run_code_are_refused():
    for address in ("javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "file:///etc/passwd"):
        with pytest.raises(DistaffError, match="links lead to"):
            page("t", [Table(["run"], [[Link("x", address)]])])
    fine = page(
        "t", [Table(["a"], [[Link("x", "runs/a:b/report.html")], [Link("x", "https://example.org")]])]
    )
    assert 'href="runs/a:b/report.html"' in fine


def cells(column):
    elements = Elements(page("t", [Table(["h"], [[cell] for cell in column])]))
    return elements.texts("td"), [one.get("data-sort") for one in elements.attributes("td")]


def test_numbers_of_a_column_get_equal_decimals_and_missing_ones_a_dash():
    texts, keys = cells([48.2, 45.634, None, float("nan"), -1.0])
    assert texts == ["48.20", "45.63", "–", "–", "−1.00"]
    assert keys == ["48.2", "45.634", None, None, "-1.0"]


def test_cells_of_every_kind():
    assert cells([35.0, 4.0])[0] == ["35", "4"]
    assert cells([1e-7, 123456.0])[0] == ["1e−07", "1.235e+05"]
    assert cells([(0.8, 0.75, 0.85)]) == (["0.80 [0.75, 0.85]"], ["0.8"])
    assert cells([300_000])[0] == ["300\N{NARROW NO-BREAK SPACE}000"]
    assert cells([True, False])[0] == ["yes", "no"]
    assert cells([np.int64(3), np.float32(0.5)]) == (["3", "0.5"], ["3", "0.5"])
    assert cells([float("inf"), float("-inf")])[1] == ["Infinity", "-Infinity"]
    assert cells([Link("run 7", "run.html")]) == (["run 7"], ["run 7"])


def test_only_columns_of_numbers_sort_as_numbers():
    rows = [["a", 1, None, True], ["b", "two", 2.0, False]]
    headers = Elements(page("t", [Table(list("wxyz"), rows)])).attributes("th")
    assert [header.get("class") for header in headers] == [None, None, "number", None]


def test_a_ragged_table_is_refused():
    with pytest.raises(DistaffError, match="row 1 of the table has 1 cells for 2 headers"):
        page("t", [Table(["a", "b"], [[1, 2], [3]])])


def test_contents_lead_to_every_titled_block():
    html = page("t", [Text("a", "One"), Text("b"), Code("c", "Two"), Facts({"d": 1}, "Three")])
    elements = Elements(html)
    targets = [link["href"].removeprefix("#") for link in elements.attributes("a")]
    assert elements.texts("a") == ["One", "Two", "Three"]
    assert targets == [heading["id"] for heading in elements.attributes("h2")]
    assert not Elements(page("t", [Text("a", "One")])).attributes("nav")


def test_neighbouring_pictures_share_a_row_and_text_makes_paragraphs():
    picture = Picture(kl_bars([1.0]), "bars")
    elements = Elements(page("t", [picture, picture, Text("one\nline\n\ntwo\n\n\n\nthree"), picture]))
    assert [one["class"] for one in elements.attributes("div")] == ["pictures", "pictures"]
    assert elements.texts("p") == ["one\nline", "two", "three"]


def test_images_keep_their_place_while_loading():
    figure = kl_bars([1.0])
    image = Elements(page("t", [Picture(figure, "bars")])).attributes("img")[0]
    width, height = figure.get_size_inches()
    assert int(image["width"]) / int(image["height"]) == pytest.approx(width / height, rel=0.01)


@needs_chromium
def test_in_a_browser_images_load_and_tables_sort(tmp_path):
    rows = [["z10", 0.5], ["z9", None], ["z1", 10.0], ["b", (9.0, 8.0, 10.0)], ["a", -2.0]]
    (tmp_path / "page.html").write_text(
        page(
            "A run",
            [
                Table(["name", "score"], rows),
                Picture(kl_bars([1.0]), "bars"),
                Picture(kl_bars([1.0]), "bars", kind="png"),
            ],
        )
    )
    (tmp_path / "driver.html").write_text("""
        <iframe src="page.html"></iframe><pre></pre>
        <script>
          const say = text => document.querySelector("pre").append(text + "\\n");
          document.querySelector("iframe").onload = event => {
            const inner = event.target.contentDocument;
            const cells = () => [...inner.querySelectorAll("td:first-child")];
            const names = () => cells().map(cell => cell.textContent).join(" ");
            const [name, score] = inner.querySelectorAll("th button");
            say([...inner.images].map(image => image.complete && image.naturalWidth > 0));
            say(getComputedStyle(inner.querySelector("main")).maxWidth);
            for (const button of [score, score, name, name]) { button.click(); say(names()); }
            say(inner.querySelector("th").getAttribute("aria-sort"));
          };
        </script>""")
    command = [
        *(
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
        ),
        *(
            "--disable-web-security",
            "--allow-file-access-from-files",
            f"--user-data-dir={tmp_path / 'profile'}",
        ),
        *("--virtual-time-budget=5000", "--dump-dom", Path(tmp_path / "driver.html").as_uri()),
    ]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    said = Elements("".join(re.findall(r"<pre>.*</pre>", dom, flags=re.S))).texts("pre")[0].splitlines()
    assert said == [
        "true,true",
        "1152px",
        "z1 b z10 a z9",
        "a z10 b z1 z9",
        "a b z1 z9 z10",
        "z10 z9 z1 b a",
        "descending",
    ]
