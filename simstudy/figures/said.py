"""What a figure says of itself, as one text for who reads it beside the figure or instead of it."""

from typing import Any


def caption_of(figure: Any) -> str:
    """Title and caption of a figure in one line; empty where it has neither.

    Parameters
    ----------
    figure
        A plotnine ggplot, a composition of them, whose parts speak one after the other, or a
        matplotlib Figure, which has a title and no caption.
    """
    said = (" ".join(str(text).split()) for text in _texts(figure) if text)
    return " ".join(_as_sentence(text) for text in dict.fromkeys(said))


def _texts(figure: Any) -> list[Any]:
    if hasattr(figure, "items") and not callable(figure.items):  # of a composition
        return [text for part in figure.items for text in _texts(part)]
    if hasattr(figure, "labels"):
        return [getattr(figure.labels, name, None) for name in ("title", "subtitle", "caption")]
    return [figure.get_suptitle()] if hasattr(figure, "get_suptitle") else []


def _as_sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
