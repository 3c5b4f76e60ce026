"""Of which kind a study's lists are: what a user gave instead, and what to give."""

import inspect
from collections.abc import Collection, Mapping
from typing import Any

from simstudy import measures
from simstudy.design import Scenario
from simstudy.engine.refusals import refuse_unordered
from simstudy.errors import StudyError, in_one_line
from simstudy.measures import Measure


def check_lists(**declared: tuple[Any, type, str]) -> None:
    """Refuse what is to be a list of things of a type and is one of them, or has others in it.

    Parameters
    ----------
    **declared
        What was given, of which type all of it is to be, and what one writes for one.
    """
    for what, (value, kind, such_as) in declared.items():
        if not isinstance(value, Collection) or isinstance(value, str | bytes | Mapping):
            raise StudyError(_no_list(what, value, kind, such_as))
        refuse_unordered(what, value)
        for part in value:
            if not isinstance(part, kind) or isinstance(part, type):
                raise StudyError(_no_member(what, part, kind, such_as))


def _no_list(what: str, value: Any, kind: type, such_as: str) -> str:
    """Something that is no list; what goes into it is recognised where it is one."""
    if isinstance(value, type) and kind is Scenario:
        return f"{what} is {_class_and_no_scenario(value)}"
    if isinstance(value, kind):
        itself = _shown(value) if kind is Scenario else such_as
        return (
            f"{what} is a {kind.__name__}, and no list: put it into brackets, as in "
            f"{what}=[{itself}]."
        )
    if _is_factory(value):
        return f"{what} is {_not_called(value)}"
    return f"{what} is {_shown(value)}, and no list: give one, such as [{such_as}]."


def _no_member(what: str, part: Any, kind: type, such_as: str) -> str:
    """Something in a list that does not belong there."""
    if kind is Scenario and isinstance(part, type):
        return f"{what} has in it {_class_and_no_scenario(part)}"
    if kind is Measure and _is_factory(part):
        return f"{what} has in it {_not_called(part)}"
    if kind is Measure and isinstance(part, str) and _is_factory(getattr(measures, part, None)):
        return (
            f"{what} has the name {part!r} in it, which is no Measure: give "
            f"{_call_of(getattr(measures, part))}, from simstudy.measures."
        )
    return (
        f"{what} has {_shown(part)} in it, which is no {kind.__name__}: give a list such as "
        f"[{such_as}]."
    )


def _class_and_no_scenario(kind: type) -> str:
    return (
        f"the class {kind.__name__}, which is no Scenario but makes them: give grid("
        f"{kind.__name__}, ...) with values for its factors, or a list such as "
        f"[{kind.__name__}(...)]."
    )


def _not_called(factory: Any) -> str:
    return (
        f"the function {factory.__name__}, which is no Measure but makes one: call it, as in "
        f"[{_call_of(factory)}]."
    )


def _is_factory(value: Any) -> bool:
    """Whether it makes measures, and is one of ours."""
    return inspect.isfunction(value) and getattr(measures, value.__name__, None) is value


def _call_of(factory: Any) -> str:
    """How one calls a factory with what it cannot do without: `bias('estimate', 'truth')`."""
    parameters = inspect.signature(factory).parameters.values()
    needed = [each for each in parameters if each.default is each.empty]
    said = [
        f"{each.name}='{each.name}'" if each.kind is each.KEYWORD_ONLY else f"'{each.name}'"
        for each in needed
    ]
    return f"{factory.__name__}({', '.join(said)})"


def _shown(value: Any) -> str:
    """A value in one bounded line."""
    return in_one_line(repr(value))
