"""How the documentation is built; `make docs` runs it, with warnings as errors.

Nothing is fetched from the network, at build time or by the finished pages.
"""

import sys
from pathlib import Path

import kinlearn

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]  # for tests.surface

project = "kinlearn"
author = "The kinlearn developers"
copyright = author
release = version = kinlearn.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "numpydoc",
    "myst_parser",
    # ours, in _ext
    "api_pages",
    "mathml",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "auto_examples/**/*.ipynb"]
default_role = "py:obj"  # `name` in a docstring: a link where there is such a page

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "smartquotes"]
myst_heading_anchors = 3

autosummary_generate = False  # api_pages writes all pages
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"  # names of classes are long
numpydoc_show_class_members = False  # api_pages lists them

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "auto_examples",
    "doc_module": ("kinlearn",),
    "backreferences_dir": "api/generated/backreferences",
    "reference_url": {"kinlearn": None},
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
    "within_subsection_order": "FileNameSortKey",
}

html_theme = "pydata_sphinx_theme"
html_title = "kinlearn"
html_static_path = ["_static"]
html_css_files = ["kinlearn.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "kinlearn"},
    "navbar_align": "left",
    "header_links_before_dropdown": 9,  # all parts, none in a menu
    "navbar_persistent": ["search-button"],  # its field would take a second line
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": False,
}
html_sidebars = {"index": []}
