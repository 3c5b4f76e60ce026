"""What all pages have in common: colours that can be read, one script, and no way to others."""

import itertools
import re

import pytest

from simstudy.output.report.pages import SCRIPTS, content_hash, link, page, template_text

STYLE = template_text("style.css")
READABLE = 4.5  # of WCAG 2.2, success criterion 1.4.3, for text of any size
TEXTS = ("ink", "soft", "link", "green", "red", "amber", "purple")
GROUNDS = ("page", "raised")


def colours(mode):
    """The style's colours by name: of paper, of the dark, or of the light."""
    blocks = re.findall(r"(@media [^{]*\{)?\s*:root \{([^}]*)\}", STYLE)
    (block,) = [text for media, text in blocks if mode in (media or "light")]
    return dict(re.findall(r"--([a-z]+): (#[0-9a-f]+);", block))


def luminance(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    shares = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in shares]
    return sum(weight * x for weight, x in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(first, second):
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", ["light", "dark", "print"])
def test_every_text_stands_out_from_what_is_behind_it(mode):
    assert contrast("#777777", "#fff") == pytest.approx(4.48, abs=0.005)
    named = colours(mode)
    assert set(named) == {*TEXTS, *GROUNDS, "line"}
    for text, ground in itertools.product(TEXTS, GROUNDS):
        assert contrast(named[text], named[ground]) >= READABLE, (text, ground)


def test_the_style_has_no_other_colours_and_loads_nothing_nor_does_the_script():
    rules = re.sub(r"--[a-z]+: #[0-9a-f]+;", "", STYLE) + template_text("index.css")
    assert set(re.findall(r"#[0-9a-f]{3,8}\b", rules)) == {"#fff"}, "behind figures"
    for name in ("style.css", "index.css", *SCRIPTS):
        assert not re.search(r"url\(|@import|https?:|fetch|XMLHttp|import\(", template_text(name))


def test_only_its_own_script_may_run():
    text = page("base.html").decode()
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert f"script-src '{content_hash(script)}'" in text
    assert "default-src 'none'" in text
    assert content_hash("") == "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="


def test_a_link_is_relative():
    assert link("javascript:alert(1)", "a b.svg") == "./javascript%3Aalert%281%29/a%20b.svg"
