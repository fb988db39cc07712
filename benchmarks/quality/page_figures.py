"""Pictures of pages that are drawn from records, each with a hash of its figures.

``python -m benchmarks.quality.pages`` draws those whose figures changed. The hash
stands at the end of the SVG: a test sees the difference without drawing anything.
"""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.environment import RECORDS
from benchmarks.field import picture
from benchmarks.quality import al_stouhi_pictures, cai_pictures, papers_figures

__all__ = ["FIGURES", "Figure", "is_drawn"]

_MARK = re.compile(r"<!-- figures: (\w+) -->\s*$")


@dataclass(frozen=True)
class Figure:
    """A picture.

    Parameters
    ----------
    data : callable
        ``data(folder)`` gives the figures in the records of a folder, as JSON types.
    draw : callable
        ``draw(data, path)`` draws them as SVG.
    """

    data: Callable
    draw: Callable

    def code(self, folder=RECORDS):
        """Hash of the figures.

        Parameters
        ----------
        folder : path-like, default=RECORDS
            Of the files of records.

        Returns
        -------
        str
            Twelve hexadecimal digits.
        """
        return self._code(self.data(folder))

    @staticmethod
    def _code(data):
        text = json.dumps(data, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def draw_into(self, path, folder=RECORDS):
        """Draw, and write the hash behind the picture.

        Parameters
        ----------
        path : path-like
            Of the SVG.
        folder : path-like, default=RECORDS
            Of the files of records.
        """
        data = self.data(folder)
        self.draw(data, path)
        with open(path, "a", encoding="utf-8") as stream:
            stream.write(f"<!-- figures: {self._code(data)} -->\n")


def is_drawn(path, figure, folder=RECORDS):
    """Whether a picture shows what the records have.

    Parameters
    ----------
    path : path-like
        Of the SVG.
    figure : Figure
        What it should show.
    folder : path-like, default=RECORDS
        Of the files of records.

    Returns
    -------
    bool
        False also if there is no picture.
    """
    path = Path(path)
    if not path.is_file():
        return False
    found = _MARK.search(path.read_text(encoding="utf-8"))
    return found is not None and found[1] == figure.code(folder)


FIGURES = {
    name: Figure(data, draw)
    for name, (data, draw) in {
        "field.svg": (picture.data, picture.draw),
        **al_stouhi_pictures.PICTURES,
        **cai_pictures.PICTURES,
        **papers_figures.PICTURES,
    }.items()
}
