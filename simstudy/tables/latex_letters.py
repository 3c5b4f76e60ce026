"""Letters as LaTeX typesets them: none means more than itself, and variables are italic."""

from __future__ import annotations

import re

TEXT = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "<": "$<$", ">": "$>$", "|": "$|$", "–": "--", "—": "---", "…": r"\ldots{}",
}  # fmt: skip
GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "ζ": "zeta",
    "η": "eta", "θ": "theta", "κ": "kappa", "λ": "lambda", "μ": "mu", "µ": "mu", "ν": "nu",
    "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "φ": "varphi", "χ": "chi",
    "ψ": "psi", "ω": "omega", "Γ": "Gamma", "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda",
    "Π": "Pi", "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip
SIGNS = {
    "−": "-", "×": r"\times", "·": r"\cdot", "±": r"\pm", "≤": r"\le", "≥": r"\ge", "≠": r"\ne",
    "≈": r"\approx", "∞": r"\infty", "√": r"\surd", "→": r"\to", "²": "^2", "³": "^3",
}  # fmt: skip
LOW = {digit: f"_{place}" for place, digit in enumerate("₀₁₂₃₄₅₆₇₈₉")}
LETTERS = str.maketrans(
    TEXT
    | {letter: rf"$\{name}$" for letter, name in GREEK.items()}
    | {sign: f"${command}$" for sign, command in (SIGNS | LOW).items()}
)
NEIGHBOURS = re.compile(r"(?<!\\)\$\$")  # the end of a formula and the beginning of another
OPERATOR = re.compile(r"(?<!\\)\$ \$(-|\\(?:times|cdot|pm|le|ge|ne|approx|to))\$ \$")
# One letter alone, other than an article or a pronoun; its index may follow.
VARIABLE = re.compile(r"(?<![\w'’.-])([b-zB-HJ-Z])(?![^\W₀-₉²³]|['’.]\w)")


def typeset(text: str) -> str:
    """A text in one line; formulas beside each other, or joined by an operator, are one."""
    pieces = VARIABLE.split(" ".join(text.split()))
    said = [f"${piece}$" if at % 2 else piece.translate(LETTERS) for at, piece in enumerate(pieces)]
    return OPERATOR.sub(r" \1 ", NEIGHBOURS.sub("", "".join(said)))
