"""Take the picture of a report for the README; needs Chromium.

`.venv/bin/python docs/make_report_picture.py` compares all models on the demonstration
data first, which takes about five minutes; with the path of a report behind it, it
takes the picture of that one. Two parts of the page are shown side by side, as the
browser draws them.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from kinlearn.audit import compare_sharing, default_contenders
from kinlearn.datasets import load_demo

TARGET = Path(__file__).parent / "_static" / "report.png"
WIDTH, HEIGHT = 1500, 845
WINDOW = 1000  # higher than the picture: a part of it is the window's own
PARTS = ("", "#tasks")  # the top of the page, and who gains
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
COLORS = 48  # enough for a page of text and two colours
MOST_BYTES = 150_000

PAGE = """<!doctype html>
<style>
  body {{ margin: 0; display: flex; gap: 12px; background: #c9ced1; }}
  iframe {{ border: 0; flex: 1; height: {height}px; }}
</style>
{frames}
"""


def compare(page):
    """Write the report of all contenders on the demonstration data."""
    X, y = load_demo(as_frame=True, return_X_y=True)
    models = default_contenders(X, y, task="clinic", on_request=True)
    result = compare_sharing(X, y, task="clinic", estimators=models, n_jobs=2)
    result.to_html(page)


def photograph(page, target):
    """Save a picture of both parts of the page."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit(f"None of {', '.join(BROWSERS)} is installed.")
    with tempfile.TemporaryDirectory() as folder:
        sources = [f"{page.resolve().as_uri()}{part}" for part in PARTS]
        frames = "".join(
            f'<iframe src="{source}" scrolling="no"></iframe>' for source in sources
        )
        wrapper = Path(folder, "both.html")
        wrapper.write_text(PAGE.format(height=WINDOW, frames=frames), encoding="utf-8")
        command = [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--force-prefers-reduced-motion",
            f"--user-data-dir={folder}/profile",
            f"--window-size={WIDTH},{WINDOW}",
            "--virtual-time-budget=5000",
            f"--screenshot={folder}/both.png",
            wrapper.as_uri(),
        ]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        with Image.open(f"{folder}/both.png") as picture:
            part = picture.convert("RGB").crop((0, 0, WIDTH, HEIGHT))
            few_colors = part.quantize(COLORS, dither=Image.Dither.NONE)
            few_colors.save(target, optimize=True)
    if (size := target.stat().st_size) > MOST_BYTES:
        sys.exit(f"{target} has {size:,} bytes; at most {MOST_BYTES:,} are wanted.")


def main(arguments):
    """Make a report unless there is one, and take its picture."""
    if arguments:
        photograph(Path(arguments[0]), TARGET)
        return
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        compare(page)
        photograph(page, TARGET)


if __name__ == "__main__":
    main(sys.argv[1:])
