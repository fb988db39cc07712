"""Numbers and names in sentences."""

import pytest

from kinlearn.audit.statistics._verdict import figures, listing, percent, plural


@pytest.mark.parametrize(
    ("noun", "n", "expected"),
    [
        ("school", 2, "schools"),
        ("school", 1, "school"),
        ("school", 0, "schools"),
        ("class", 3, "classes"),
        ("box", 2, "boxes"),
        ("branch", 2, "branches"),
        ("city", 2, "cities"),
        ("survey", 2, "surveys"),
        ("users", 2, "users"),
        ("users", 1, "users"),
        ("Y", 2, "Ys"),
        ("site_id", 2, "tasks"),
        ("site_id", 1, "task"),
        ("", 2, "tasks"),
        ("3", 1, "task"),
    ],
)
def test_plural(noun, n, expected):
    assert plural(noun, n) == expected


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (0, ""),
        (2, "0, 1"),
        (6, "0, 1, 2, 3, 4, 5"),
        (7, "0, 1, 2, 3, 4, 5, 6"),
        (9, "0, 1, 2, 3, 4, 5 and 3 more"),
    ],
)
def test_listing(n, expected):
    assert listing(range(n)) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0.74, 0.78), ["0.74", "0.78"]),
        ((0.7441, 0.7562), ["0.744", "0.756"]),
        ((0.74012, 0.74058), ["0.7401", "0.7406"]),
        ((10.23, 9.81), ["10.2", "9.8"]),
        ((12345.6, 12001.2), ["12346", "12001"]),
        ((2.1e-9, 1.4e-9), ["2.1e-09", "1.4e-09"]),
        ((-0.012, 0.034), ["-0.012", "0.034"]),
        ((0.5, 0.5), ["0.50", "0.50"]),
        ((0.7, 0.7 + 1e-9), ["0.70000", "0.70000"]),
        ((0.0, 0.0), ["0", "0"]),
        ((-0.0, 0.4), ["0.00", "0.40"]),
        ((0.05,), ["0.050"]),
    ],
)
def test_figures_show_that_they_differ(values, expected):
    assert figures(*values) == expected


def test_percent_does_not_show_rounding():
    assert percent(0.95) == "95%"
    assert percent(0.999) == "99.9%"
