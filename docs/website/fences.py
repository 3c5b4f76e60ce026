"""Fenced Markdown blocks, the syntax for Sphinx directives in MyST pages."""


def fenced(info: str, *lines: str) -> str:
    """Return a fenced block with four backticks, so that it may contain shorter fences."""
    return "\n".join([f"````{info}", *lines, "````"])
