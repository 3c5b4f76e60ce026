"""A page as a parser sees it."""

from html.parser import HTMLParser

VOID = {"meta", "img", "br", "hr", "link", "input", "wbr"}
UNSEEN = {"style", "script", "title"}


class Page(HTMLParser):
    """Tags, their attributes, and the text, with every tag closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.text, self.open = "", []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.texts.setdefault(tag, []).append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if UNSEEN.isdisjoint(self.open):
            self.text += data
        for tag in set(self.open):
            self.texts[tag][-1] += data

    def named(self, tag):
        """The attributes of every such tag."""
        return [attributes for name, attributes in self.tags if name == tag]

    def attributes(self, *names):
        return [v for _, attrs in self.tags for n, v in attrs.items() if n in names]

    def has_words(self, words):
        """Whether some words stand in the text, wherever its lines end."""
        return " ".join(words.split()) in " ".join(self.text.split())
