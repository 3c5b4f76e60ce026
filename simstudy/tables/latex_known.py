"""Letters beyond ASCII that LaTeX has without a package, and how it is told of them."""

from __future__ import annotations

from typing import Final, NamedTuple

NOT_SEEN: Final = "\u200b"  # a space of no width, which keeps letters apart
MAY_BREAK: Final = "\ue000"  # nobody's letter, where a line of a caption may end
GREEK: Final = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "ζ": "zeta",
    "η": "eta", "θ": "theta", "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "µ": "mu",
    "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma", "ς": "varsigma", "τ": "tau",
    "υ": "upsilon", "φ": "varphi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma",
    "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma",
    "Υ": "Upsilon", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega", "ϵ": "epsilon", "ϑ": "vartheta",
    "ϕ": "phi", "ϱ": "varrho", "ϖ": "varpi",
}  # fmt: skip
SIGNS: Final = {
    "−": "-", "×": r"\times", "·": r"\cdot", "±": r"\pm", "≤": r"\le", "≥": r"\ge", "≠": r"\ne",
    "≈": r"\approx", "∞": r"\infty", "√": r"\surd", "→": r"\to", "←": r"\leftarrow",
    "↔": r"\leftrightarrow", "⇒": r"\Rightarrow", "⇔": r"\Leftrightarrow", "↑": r"\uparrow",
    "↓": r"\downarrow", "∈": r"\in", "∉": r"\notin", "⊂": r"\subset", "⊆": r"\subseteq",
    "∪": r"\cup", "∩": r"\cap", "∅": r"\emptyset", "∑": r"\sum", "∏": r"\prod", "∫": r"\int",
    "∂": r"\partial", "∇": r"\nabla", "∝": r"\propto", "≡": r"\equiv", "≅": r"\cong",
    "∼": r"\sim", "≪": r"\ll", "≫": r"\gg", "«": r"\ll", "»": r"\gg", "∀": r"\forall",
    "∃": r"\exists", "∧": r"\wedge", "∨": r"\vee", "¬": r"\neg", "⊥": r"\perp", "⋯": r"\cdots",
    "⟨": r"\langle", "⟩": r"\rangle", "⌊": r"\lfloor", "⌋": r"\rfloor", "⌈": r"\lceil",
    "⌉": r"\rceil", "‖": r"\|", "ℓ": r"\ell", "∗": r"\ast", "∘": r"\circ", "⊕": r"\oplus",
    "⊗": r"\otimes", "★": r"\star", "÷": r"\div", "∣": r"\mid", "∓": r"\mp",
}  # fmt: skip
LOW: Final = {
    letter: sign for sign, letter in zip("0123456789+-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎", strict=True)
}
HIGH: Final = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ", "0123456789+-=()ni", strict=True)) | {
    "′": r"\prime",
    "ᵀ": "T",
}
ACCENTED_LETTERS: Final = (
    "¡¢£¥§©®°¶¿ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿĀāĂăĆćĈĉĊċČčĎďĒēĔĕĖė"
    "ĚěĜĝĞğĠġĢģĤĥĨĩĪīĬĭİıĴĵĶķĹĺĻļĽľŁłŃńŅņŇňŌōŎŏŐőŒœŔŕŖŗŘřŚśŜŝŞşŠšŢţŤťŨũŪūŬŭŮůŰűŴŵŶŷŸŹźŻżŽž‘’“”†‡•€™½¼¾ªº"
)


class Mark(NamedTuple):
    """What puts a mark on a letter in a formula, and in a text."""

    formula: str
    text: str


MARKS: Final = {
    "\u0300": Mark("grave", "`"), "\u0301": Mark("acute", "'"), "\u0302": Mark("hat", "^"),
    "\u0303": Mark("tilde", "~"), "\u0304": Mark("bar", "="), "\u0305": Mark("bar", "="),
    "\u0306": Mark("breve", "u"), "\u0307": Mark("dot", "."), "\u0308": Mark("ddot", '"'),
    "\u030c": Mark("check", "v"),
}  # fmt: skip
