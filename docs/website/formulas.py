"""Formulas as MathML: browsers show it themselves, without JavaScript and without a network."""

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

LOG = logging.getLogger(__name__)


def mathml(latex: str, display: str) -> str:
    r"""Return a formula as MathML; `display` is "inline" or "block".

    Raises
    ------
    ValueError
        If the formula cannot be read, or has a command that is unknown.
    """
    try:
        made = convert(latex, display=display)
    except Exception as error:  # the library has no common one
        raise ValueError(f"{latex!r} is no formula: {type(error).__name__}") from error
    if "\\" in made:
        raise ValueError(f"{latex!r} has a command that latex2mathml does not know")
    return made


def _written(display: str) -> Any:
    """Return the visitor of a formula's node."""

    def visit(writer: Any, node: nodes.Element) -> None:
        try:
            writer.body.append(mathml(node.astext(), display))
        except ValueError as error:
            LOG.warning("%s", error, location=node)
        raise nodes.SkipNode

    return visit


def setup(app: Any) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_html_math_renderer("mathml", (_written("inline"), None), (_written("block"), None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
