"""Tables that were measured, printed or put into their part of a page."""

from pathlib import Path

BEGIN, END = "<!-- measured{} -->", "<!-- end of what is measured -->"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def print_or_put(found: str, arguments: list[str], part: str = "") -> None:
    """What was measured, printed, or put into its part of the page that is named.

    Raises
    ------
    SystemExit
        Where the page has no such part.
    """
    if not arguments:
        print(found)
        return
    page = Path(arguments[0])
    try:
        before, _, after = around(page.read_text(), part)
    except LookupError as lacking:
        raise SystemExit(f"{page}: {lacking}. Found:\n\n{found}") from None
    page.write_text(f"{before}\n\n{found}\n\n{after}")


def around(page: str, part: str = "") -> tuple[str, str, str]:
    """A page up to what was measured, that, and what comes after it, with the lines that say so.

    Raises
    ------
    LookupError
        Where the page has no such part.
    """
    begin = BEGIN.format(part and f": {part}")
    before, begins, rest = page.partition(begin)
    shown, ends, after = rest.partition(END)
    if not (begins and ends):
        raise LookupError(f"no line {begin!r} with {END!r} after it")
    return before + begins, shown, ends + after
