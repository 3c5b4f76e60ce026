"""The text of a protocol: sections in the order of ADEMP-PreReg, filled in from the study.

The order, and what each section asks, are those of the template of Siepe, Bartoš, Morris,
Boulesteix, Heck & Pawel (2024), Simulation studies for methodological research in psychology,
Psychological Methods; the words are ours.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from typing import Any

from simstudy.engine.replicates import EachReplicate
from simstudy.identity.fingerprint import library_version
from simstudy.output.docstring_sections import Headings, headings_of
from simstudy.output.protocol.design import Design, about, designs_of, parts_in_words
from simstudy.output.protocol.intent import Intent
from simstudy.output.protocol.lines import bullets, code, prose, table, to_fill_in
from simstudy.output.protocol.planned import (
    failures,
    interpretation,
    measures_table,
    replicates,
)
from simstudy.output.protocol.promise import Promise

LEVELS_SHOWN = 12  # of a factor: the first of them, and the last
CONDITIONS_SHOWN = 40  # of a design that is not fully crossed

SIZE = "{n_rep}"  # in a command, the replicates that are planned

TEMPLATE = (
    "Siepe, Bartoš, Morris, Boulesteix, Heck & Pawel (2024), Simulation studies for methodological "
    "research in psychology, Psychological Methods"
)


def markdown_of(
    intent: Intent,
    promise: Promise,
    *,
    written: str,
    n_drawn: int,
    made_with: Mapping[str, Any],
) -> str:
    """The whole protocol.

    Parameters
    ----------
    written
        When: a date and a time.
    n_drawn
        Blocks of this very study that were there already.
    made_with
        Versions, machine, and the state of the code in its repository.
    """
    headings = headings_of(intent.about)
    sections = {
        "1 General information": _general(headings),
        "2 Aims": _heading(headings, "Aims", "what the study is to find out, and how it will tell"),
        "3 Data-generating mechanism": _data(intent, headings),
        "4 Estimands and targets": _heading(
            headings, "Estimands", "what is estimated or decided, and its true value"
        ),
        "5 Methods": _methods(intent, headings),
        "6 Performance measures": _performance(intent, headings),
        "7 Execution": _execution(intent, promise, made_with),
    }
    parts = [f"## {title}\n\n{text}" for title, text in sections.items()]
    return "\n\n".join([_title(intent, promise, written, n_drawn), *parts]) + "\n"


def _title(intent: Intent, promise: Promise, written: str, n_drawn: int) -> str:
    drawn = "Nothing of the study had been drawn." if not n_drawn else (
        f"**{n_drawn:,} blocks of {intent.plan.block_size:,} replicates had been drawn already.**"
    )  # fmt: skip
    return "\n\n".join(
        [
            f"# Protocol of the simulation study {code(intent.plan.name)}",
            f"Written {written}. Hash of the plan: {code(promise.hash)}. {drawn}",
            f"The sections are those of ADEMP-PreReg ({TEMPLATE}). What the study says of itself "
            f"is filled in; places for what only a person knows begin with {code('[to fill in')}.",
        ]
    )


# ---------------------------------------------------------------- what is asked
def _general(headings: Headings) -> str:
    described = "\n\n".join(map(prose, headings.paragraphs))
    return _below(
        "1",
        {
            "Title": prose(headings.question) or to_fill_in("the question in a line"),
            "Authors": to_fill_in("who takes part, with affiliations and ORCID iDs"),
            "Description": described or to_fill_in("why the study is made, in some sentences"),
            "Earlier studies": to_fill_in("what is known already, also from own simulations"),
            "Funding and interests": to_fill_in("who pays, and who has an interest in a method"),
        },
    )


def _below(number: str, parts: Mapping[str, str]) -> str:
    """Numbered sections of the third level."""
    titled = enumerate(parts.items(), start=1)
    return "\n\n".join(f"### {number}.{at} {title}\n\n{text}" for at, (title, text) in titled)


def _heading(headings: Headings, name: str, what: str) -> str:
    """What stands under a heading of the docstring, or a place for it."""
    return prose(dict(headings.parts).get(name, "")) or to_fill_in(what)


# ---------------------------------------------------------------- data
def _data(intent: Intent, headings: Headings) -> str:
    designs = designs_of(intent.plan.scenarios)
    made = [_heading(headings, "Data", "how data are generated, and why so")]
    named = {each.name: each.about for each in designs if each.about}
    named |= parts_in_words(intent.plan.scenarios)
    made += [bullets(f"{code(name)}: {prose(text)}" for name, text in named.items())]
    return _below(
        "3",
        {
            "How data are made": "\n\n".join(filter(None, made)),
            "Factors": "\n\n".join(_factors(each, len(designs) > 1) for each in designs),
            "Conditions": "\n\n".join(_conditions(intent, each) for each in designs),
        },
    )


def _factors(design: Design, is_one_of_several: bool) -> str:
    rows = [
        [code(name), f"{len(design.levels[name]):,}", _levels(design.levels[name])]
        for name in design.varying
    ]
    said = [f"Scenarios of {code(design.name)}:"] * is_one_of_several
    said += [table(["factor", "levels", "values"], rows)] * bool(rows)
    constant = ", ".join(f"{code(name)} {code(v)}" for name, v in design.constant.items())
    said += [f"The same in all of them: {constant}."] * bool(constant)
    return "\n\n".join(said) or "There are none."


def _levels(values: Sequence[str]) -> str:
    if len(values) <= LEVELS_SHOWN:
        return ", ".join(map(code, values))
    first = ", ".join(map(code, values[: LEVELS_SHOWN - 1]))
    return f"{first}, … {code(values[-1])}"


def _conditions(intent: Intent, design: Design) -> str:
    together = [group for group in design.groups if len(group) > 1]
    moving = "".join(f" {' and '.join(map(code, group))} move together." for group in together)
    n = f"**{design.n:,} condition{'s' * (design.n != 1)}**"
    counts = " × ".join(f"{len(design.levels[group[0]]):,}" for group in design.groups)
    if design.n == design.n_crossed:
        crossed = f": full factorial, {counts}." if len(design.groups) > 1 else "."
        return f"{n}{crossed}{moving}"
    said = f"{n}, part of the {design.n_crossed:,} of a full factorial ({counts}).{moving}"
    if design.n > CONDITIONS_SHOWN:
        return f"{said} Each is named in `protocol.json`."
    return f"{said}\n\n{_list_of(intent, design)}"


def _list_of(intent: Intent, design: Design) -> str:
    """The conditions of a design, one by one, without what is the same in all."""
    from simstudy.plan import factors_of

    alike = [s for s in intent.plan.scenarios if type(s).__name__ == design.name]
    rows = [[code(factors_of(each)[name]) for name in design.varying] for each in alike]
    return table([code(name) for name in design.varying], rows)


# ---------------------------------------------------------------- methods
def _methods(intent: Intent, headings: Headings) -> str:
    said = [_heading(headings, "Methods", "which methods are compared, and why these")]
    plan = intent.plan
    if plan.methods:
        rows = [_method_row(method.name, method.function) for method in plan.methods]
        said.append(table([plan.methods_axis, "what it does", "function", "from"], rows))
    for axis, labels in plan.axes.items():
        if axis != plan.methods_axis or not plan.methods:
            said.append(f"Axis {code(axis)}: {', '.join(map(code, labels))}.")
    columns = dict.fromkeys(name for measure in intent.measures for name in measure.reads)
    said.append(f"Quantities that the measures read: {', '.join(map(code, columns)) or 'none'}.")
    return "\n\n".join(said)


def _method_row(name: str, method: Any) -> list[str]:
    function = method.analyse if isinstance(method, EachReplicate) else method
    inner = getattr(function, "func", function)  # of a partial
    module = str(getattr(inner, "__module__", "") or "")
    named = getattr(inner, "__qualname__", type(inner).__name__)
    place = f"{module}.{named}" if module not in ("", "__main__") else named
    one_by_one = " (one replicate at a time)" if isinstance(method, EachReplicate) else ""
    given = ", ".join(
        f"{key}={value!r}" for key, value in getattr(function, "keywords", {}).items()
    )
    said = " ".join(filter(None, [prose(about(inner)), given and f"With {code(given)}."]))
    return [code(name), said + one_by_one, code(place), _package(module)]


def _package(module: str) -> str:
    """The package that a module belongs to, with its version; of the study's own code, that."""
    top = module.partition(".")[0]
    version = library_version(top) if top not in ("", "__main__") else "unknown"
    return "the study's own code" if version == "unknown" else f"{code(top)} {version}"


def _performance(intent: Intent, headings: Headings) -> str:
    said = _heading(headings, "Performance", "what the measures are to tell")
    return _below(
        "6",
        {
            "Measures and their Monte Carlo errors": f"{said}\n\n{measures_table(intent)}\n\n"
            "n replicates are used, θ̂ᵢ is the estimate and θ the truth in replicate i, ψᵢ the "
            "influence of a replicate on the measure. Every estimate is reported with its Monte "
            "Carlo standard error and a 95% Monte Carlo interval (of shares, Wilson's).",
            "Replicates": replicates(intent),
            "Failures and missing values": failures(intent),
            "Interpretation": interpretation(intent),
        },
    )


# ---------------------------------------------------------------- execution
def _execution(intent: Intent, promise: Promise, made_with: Mapping[str, Any]) -> str:
    plan = intent.plan
    libraries = {n: v for n, v in made_with["versions"].items() if n != "python"}
    versions = {"Python": made_with["python"], **libraries}
    repeated = (
        f"Seed {plan.seed}. Random numbers of each block of {plan.block_size:,} replicates are "
        "found by an address made of seed, study, scenario and block, so that results are the "
        "same to the last bit for any number of workers and in any order, and the first "
        f"replicates of a longer run are those of a shorter one. {_common(intent)}"
        f"Hash of the code behind the numbers: {code(promise.code)}."
    )
    command = intent.command or f"study.run({SIZE}, seed={plan.seed})"
    command = command.replace(SIZE, str(intent.planned))
    published = to_fill_in("where code and results will be published")
    parts = [repeated, f"```\n{command}\n```", _code_state(made_with) + published]
    return _below(
        "7",
        {
            "Software": ", ".join(f"{name} {version}" for name, version in versions.items()) + ".",
            "Environment": f"{_machine(made_with)} {to_fill_in('another machine, if it is one')}",
            "Reproducibility": "\n\n".join(parts),
            "Anything else": to_fill_in("what else is decided beforehand"),
        },
    )


def _common(intent: Intent) -> str:
    names = ", ".join(map(code, intent.plan.common))
    return f"Values of {names} share random numbers. " if names else ""


def _machine(made_with: Mapping[str, Any]) -> str:
    cores = os.cpu_count() or 1
    return f"{platform.system()} {platform.release()}, {made_with['machine']}, {cores} cores."


def _code_state(made_with: Mapping[str, Any]) -> str:
    """Commits of the repositories that hold the code, and the files that are in none."""
    said = [
        f"Code at commit {code(state['commit'])}" + ", with changes" * state["modified"]
        for state in made_with.get("git", ())
        if state.get("commit")
    ]
    loose = made_with.get("untracked_files", ())
    if loose:
        said.append(f"{'and' if said else 'Code'} in no repository: {', '.join(map(code, loose))}")
    return f"{'; '.join(said)}. " if said else ""
