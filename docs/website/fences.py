"""Fenced blocks of Markdown, which is how its pages give Sphinx a directive."""


def fenced(info: str, *lines: str) -> str:
    """A block that may hold shorter fences."""
    return "\n".join([f"````{info}", *lines, "````"])
