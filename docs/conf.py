"""The site of these pages: `python -m sphinx -W docs build/site` writes it."""

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS.parent), str(DOCS)]

import simstudy  # noqa: E402  # this repository's, whatever is installed

project = "simstudy"
author = "The simstudy authors"
copyright = author
release = version = simstudy.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "website.contents",
    "website.api",
]
exclude_patterns = ["templates"]
myst_heading_anchors = 4  # links to headings, as code hosts name them

autodoc_typehints = "none"  # docstrings say units and shapes; annotations would say less, at length
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
add_module_names = False
default_role = "code"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"simstudy {release}"
html_static_path = ["website/static"]
html_css_files = ["tables.css"]
html_copy_source = False
html_show_sourcelink = False
