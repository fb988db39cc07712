"""The page in a real browser: from disk, without a network, small, dark, printed."""

import base64
import json
import os
import shutil
from itertools import combinations, pairwise

import pytest

from kinlearn.report import write_page
from tests.report.sharing_dicts import SITUATIONS, make_result

selenium = pytest.importorskip("selenium", reason="selenium drives the browser")

from selenium import webdriver  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
    None,
)
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed"),
    pytest.mark.skipif(DRIVER is None, reason="no chromedriver is installed"),
]
FLAGS = (
    "--headless=new",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PHONE, SCREEN = 360, 1200
SHOWN = (
    "return [...document.querySelectorAll(arguments[0])]"
    ".filter(e => e.checkVisibility())"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    options.set_capability(
        "goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"}
    )
    for flag in FLAGS:
        options.add_argument(flag)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Address of a situation's page, written once."""
    folder, made = tmp_path_factory.mktemp("pages"), {}

    def address(name):
        if name not in made:
            path = folder / f"{len(made)}.html"
            made[name] = write_page(SITUATIONS[name](), path).as_uri()
        return made[name]

    return address


def _look(browser, address, *, width=SCREEN, dark=False, media="", opened=False):
    """Open a page as a reader with such a screen sees it."""
    features = [
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
        {"name": "prefers-reduced-motion", "value": "reduce"},  # clicks do not miss
    ]
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"media": media, "features": features}
    )
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    for log in ("performance", "browser"):
        browser.get_log(log)  # what came before is not this page's
    browser.get(address)
    if opened:
        browser.execute_script(
            "for (const one of document.querySelectorAll('details')) one.open = true"
        )


def _requests(browser):
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            yield message["params"]["request"]["url"]


@pytest.mark.parametrize("name", SITUATIONS)
@pytest.mark.parametrize("width", [PHONE, SCREEN])
def test_page_opens_from_disk_alone_and_fits(browser, pages, name, width):
    _look(browser, pages(name), width=width, opened=True)
    outside = [u for u in _requests(browser) if not u.startswith(("file:", "data:"))]
    assert outside == []
    assert browser.get_log("browser") == []
    page = browser.execute_script("return document.documentElement.scrollWidth")
    assert page <= width
    sentence = SITUATIONS[name]()["verdict"]["sentence"]
    shown = browser.find_element(By.TAG_NAME, "h1").text
    assert " ".join(shown.split()) == " ".join(
        sentence.encode(errors="replace").decode().split()
    )


@pytest.mark.parametrize("width", [PHONE, SCREEN])
@pytest.mark.parametrize("name", ["12 clinics", "139 schools", "3000 tasks"])
def test_charts_are_drawn(browser, pages, name, width):
    _look(browser, pages(name), width=width)
    boxes = browser.execute_script(
        SHOWN + ".map(e => e.getBoundingClientRect()).map(b => [b.width, b.height])",
        "svg:not(.definitions)",
    )
    assert len(boxes) > 20
    assert all(w > 3 and h > 3 for w, h in boxes)
    for charts in ("#models .strip .mark", "#tasks .strip .interval", "#affinity .heat",
                   "#distances .picture .mark", "#rows .picture .line"):  # fmt: skip
        sizes = browser.execute_script(
            SHOWN + ".map(e => e.getBoundingClientRect()).map(b => b.width)", charts
        )
        assert sizes, charts
        assert max(sizes) > 3, charts


def test_words_of_a_chart_are_large_enough_on_a_phone(browser, pages):
    _look(browser, pages("12 clinics"), width=PHONE)
    heights = browser.execute_script(
        SHOWN + ".map(e => e.getBoundingClientRect().height)", ".picture.narrow text"
    )
    assert len(heights) > 20
    assert min(heights) >= 9


@pytest.mark.parametrize("name", ["12 clinics", "unicode names", "3000 tasks"])
def test_words_in_charts_stay_inside(browser, pages, name):
    for width in (PHONE, SCREEN):
        _look(browser, pages(name), width=width, opened=True)
        outside = browser.execute_script(
            """
            const found = [];
            for (const picture of document.querySelectorAll(".picture")) {
              if (!picture.checkVisibility()) continue;
              const box = picture.getBoundingClientRect();
              for (const text of picture.querySelectorAll("text")) {
                const b = text.getBoundingClientRect();
                if (b.left < box.left - 1 || b.right > box.right + 1)
                  found.push(text.textContent);
              }
            }
            return found;
            """
        )
        assert outside == []


def test_dark_mode_and_paper(browser, pages):
    def colours():
        style = "const s = getComputedStyle(document.body);"
        return browser.execute_script(style + "return [s.backgroundColor, s.color]")

    def lightness(colour):
        return sum(int(part) for part in colour.strip("rgb()").split(",")[:3]) / 765

    _look(browser, pages("12 clinics"))
    paper, ink = colours()
    assert lightness(paper) > 0.9 > 0.3 > lightness(ink)
    _look(browser, pages("12 clinics"), dark=True)
    paper, ink = colours()
    assert lightness(paper) < 0.2 < 0.8 < lightness(ink)
    _look(browser, pages("12 clinics"), dark=True, media="print")
    paper, ink = colours()
    assert paper == "rgba(0, 0, 0, 0)"  # the paper itself
    assert lightness(ink) < 0.3


# Least contrast of each kind of words on the page, as WCAG 2 counts it
CONTRAST = """
const parse = c => c.match(/[\\d.]+/g).map(Number);
const channel = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const weights = [0.2126, 0.7152, 0.0722];
const light = c => weights.reduce((sum, w, k) => sum + w * channel(c[k]), 0);
const ratio = (a, b) => {
  const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
};
const ground = element => {
  for (let e = element; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] > 0) return c;
  }
  return [255, 255, 255];
};
const found = [];
for (const e of document.body.querySelectorAll("*")) {
  const words = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
  if (!words || !e.checkVisibility() || e.closest("script,style,title,desc")) continue;
  const style = getComputedStyle(e);
  let back = ground(e), front = parse(e.closest("svg") ? style.fill : style.color);
  const level = /on-(\\d)/.exec(e.getAttribute("class") || "");
  if (level && e.closest("svg")) {
    const cell = e.closest("svg").querySelector(".level-" + level[1]);
    back = parse(getComputedStyle(cell).fill);
  }
  const r = ratio(front, back);
  if (r < 4.5) found.push([r, e.tagName, e.getAttribute("class"), e.textContent]);
}
return found;
"""


@pytest.mark.parametrize("dark", [False, True])
def test_contrast_is_enough(browser, pages, dark):
    _look(browser, pages("12 clinics"), dark=dark, opened=True)
    assert browser.execute_script(CONTRAST) == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("lowest", [0.0, -1.0])
def test_contrast_of_every_level_of_a_map(browser, tmp_path, dark, lowest):
    result = make_result()
    steps = [lowest + (1 - lowest) * k / 65 for k in range(66)]
    matrix = [[1.0] * 12 for _ in range(12)]
    for (i, j), step in zip(combinations(range(12), 2), steps, strict=True):
        matrix[i][j] = matrix[j][i] = step
    result["relatedness"]["affinity"]["matrix"] = matrix
    address = write_page(result, tmp_path / "page.html").as_uri()
    _look(browser, address, dark=dark)
    levels = browser.execute_script(
        "return new Set([...document.querySelectorAll('#affinity .value')]"
        ".map(e => e.getAttribute('class'))).size"
    )
    assert levels == 9
    assert browser.execute_script(CONTRAST) == []


@pytest.mark.parametrize("name", ["12 clinics", "3000 tasks"])
def test_prints_to_paper(browser, pages, name):
    _look(browser, pages(name))
    answer = browser.execute_cdp_cmd(
        "Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69}
    )
    printed = base64.b64decode(answer["data"])
    assert printed.startswith(b"%PDF")
    sheets = printed.count(b"/Type /Page\n") or printed.count(b"/Type /Page")
    assert 3 <= sheets <= 30
    _look(browser, pages(name), media="print", width=650)
    assert browser.execute_script(SHOWN + ".length", "nav, details") == 0
    assert browser.execute_script(SHOWN + ".length", ".picture.wide") > 0
    width = "return document.documentElement.scrollWidth"
    assert browser.execute_script(width) <= 650


@pytest.mark.parametrize("name", ["12 clinics", "139 schools", "nothing scored"])
def test_pictures_have_names_and_headings_are_in_order(browser, pages, name):
    _look(browser, pages(name), opened=True)
    for picture in browser.execute_script(SHOWN, "svg:not([aria-hidden])"):
        assert picture.aria_role in ("image", "img")
        assert picture.accessible_name
    levels = browser.execute_script(
        "return [...document.querySelectorAll('h1,h2,h3,h4')].map(e => +e.tagName[1])"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    assert browser.execute_script("return document.documentElement.lang") == "en"
    # every chart has the sentence that says how to read it, and its numbers
    bare = browser.execute_script(
        "return [...document.querySelectorAll('figure')].filter("
        "f => !f.querySelector('figcaption').textContent.startsWith('How to read it'))"
    )
    assert bare == []
    assert all(
        browser.execute_script("return arguments[0].closest('section, details')"
                               ".querySelector('table') !== null", figure)
        for figure in browser.find_elements(By.TAG_NAME, "figure")
    )  # fmt: skip


def test_tables_stay_tables_on_a_phone(browser, pages):
    _look(browser, pages("12 clinics"), width=PHONE)
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = [node["role"]["value"] for node in nodes if not node["ignored"]]
    assert roles.count("table") >= 3
    # 11 scored tasks and 7 contenders, at least
    assert roles.count("rowheader") >= 18


def test_markup_in_names_is_inert(browser, pages):
    _look(browser, pages("hostile names"), opened=True)
    assert browser.execute_script("return window.hacked") is None
    names = browser.execute_script(
        "return [...document.querySelectorAll('.gains .task bdi')]"
        ".map(e => e.textContent)"
    )
    assert "<script>window.hacked = 1</script>" in names
    assert browser.execute_script("return document.scripts.length") == 1


def _column(browser, css):
    return browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)",
        css,
    )


def test_a_click_sorts_a_table(browser, pages):
    _look(browser, pages("12 clinics"))
    start = _column(browser, ".gains tbody .task")
    heading = browser.find_element(By.CSS_SELECTOR, ".gains th.rows button")
    heading.click()
    rows = [int(text) for text in _column(browser, ".gains tbody .rows")]
    assert rows == sorted(rows)
    heading.click()
    assert [int(t) for t in _column(browser, ".gains tbody .rows")] == rows[::-1]
    browser.find_element(By.CSS_SELECTOR, ".gains th.task button").click()
    assert _column(browser, ".gains tbody .task") == start


def test_everything_is_there_without_scripts(browser, pages):
    off = "Emulation.setScriptExecutionDisabled"
    browser.execute_cdp_cmd(off, {"value": True})
    try:
        _look(browser, pages("12 clinics"))
        assert browser.find_elements(By.CSS_SELECTOR, "th button") == []
        rows = browser.find_elements(By.CSS_SELECTOR, ".gains tbody tr")
        assert len(rows) == 11
        assert all(row.is_displayed() for row in rows)
        browser.find_element(By.CSS_SELECTOR, "#tasks summary").click()
        table = browser.find_element(By.CSS_SELECTOR, "#tasks details table")
        assert table.is_displayed()
    finally:
        browser.execute_cdp_cmd(off, {"value": False})
