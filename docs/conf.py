"""Configuration of the documentation site: `python -m sphinx -W docs build/site` builds it."""

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS.parent), str(DOCS)]

import jaxtyping  # noqa: E402, F401  # so that annotations show the shapes of arrays
import numpy.typing as npt  # noqa: E402

npt.ArrayLike = type("ArrayLike", (), {"__module__": "numpy.typing"})  # by its name, not its parts

import simstudy  # noqa: E402  # the checkout, not an installed copy

project = "simstudy"
author = "The simstudy authors"
copyright = author
release = version = simstudy.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "website.accessible",
    "website.contents",
    "website.api",
    "website.formulas",
]
exclude_patterns = ["templates"]
myst_enable_extensions = ["dollarmath"]  # $...$ and $$...$$, as on GitHub
myst_heading_anchors = 4  # anchors as on GitHub

autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
add_module_names = False
default_role = "code"
napoleon_google_docstring = False
napoleon_use_rtype = True
napoleon_use_ivar = True
toc_object_entries_show_parents = "hide"

copybutton_prompt_text = ">>> |\\.\\.\\. "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_math_renderer = "mathml"
html_title = f"simstudy {release}"
html_static_path = ["website/static"]
html_css_files = ["tables.css"]
html_copy_source = False
html_show_sourcelink = False
