"""Settings: typed, in range, and refused in one line that says what would work."""

import textwrap
import typing
from dataclasses import dataclass, field, make_dataclass
from pathlib import Path

import pytest
import yaml

from simstudy.errors import ConfigError
from simstudy.options import build, check, option, option_help, published

ALPHA = {"above": 0, "below": 1}


@dataclass
class Settings:
    k: float = option("standard errors", default=1.5, at_least=-30, at_most=30)
    n_obs: int = option("observations", default=10, at_least=1)
    alpha: list[float] = option("size of the test", default=[0.05], **ALPHA)
    sizes: list[int] = option("sample sizes", default=[10, 20], at_least=1)
    draws: str = option("what is drawn", default="raw", one_of=("raw", "sufficient"))
    n_jobs: int | None = option("workers", at_least=1)
    figures: bool = option("draw them", default=True)
    title: str | None = option("on top")
    loose: dict = field(default_factory=dict)


def refusal(**values) -> str:
    with pytest.raises(ConfigError) as error:
        build(Settings, values)
    text = str(error.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("given", "is_now"),
    [
        ({"k": 2}, 2.0),
        ({"k": -30}, -30.0),
        ({"n_obs": 3.0}, 3),
        ({"alpha": [0.1]}, [0.1]),
        ({"alpha": 0.1}, [0.1]),
        ({"sizes": (5, 6.0)}, [5, 6]),
        ({"draws": "sufficient"}, "sufficient"),
        ({"n_jobs": None}, None),
        ({"n_jobs": 4}, 4),
        ({"figures": False}, False),
        ({"title": "1"}, "1"),
    ],
    ids=str,
)
def test_good_values_come_out_as_their_declared_type(given, is_now):
    (name,) = given
    found = getattr(build(Settings, given), name)
    assert found == is_now
    assert type(found) is type(is_now)
    assert not isinstance(found, list) or [type(one) for one in found] == [*map(type, is_now)]


def test_a_refusal_names_key_value_range_help_and_what_works():
    assert refusal(alpha=[0.1, 1]) == (
        "alpha=[0.1,1]: must be a number above 0 and below 1 (size of the test); "
        "nearest that works: alpha=[0.1,0.05]"
    )


@pytest.mark.parametrize(
    ("given", "value", "works"),
    [
        ({"n_obs": 0}, "n_obs=0", "n_obs=1"),
        ({"n_obs": 1.5}, "n_obs=1.5", "n_obs=2"),
        ({"n_obs": "5"}, "n_obs='5'", "n_obs=5"),
        ({"k": 31}, "k=31", "k=30"),
        ({"k": float("inf")}, "k=inf", "k=30"),
        ({"alpha": [0]}, "alpha=[0]", "alpha=[0.05]"),
        ({"k": float("nan")}, "k=nan", "k=1.5"),
        ({"sizes": [5, 0, 7]}, "sizes=[5,0,7]", "sizes=[5,1,7]"),
        ({"sizes": ["10", 0, 7, "many"]}, "sizes=['10',0,7,many]", "sizes=[10,1,7,10]"),
        ({"draws": "both"}, "draws=both", "draws=raw"),
        ({"n_jobs": 0}, "n_jobs=0", "n_jobs=1"),
        ({"figures": "yes"}, "figures=yes", "figures=true"),
        ({"figures": "true"}, "figures='true'", "figures=true"),
        ({"title": 1}, "title=1", "title='1'"),
        ({"sizes": []}, "sizes=[]: an empty list", "sizes=[10,20]"),
        ({"n_ob": 3}, "n_ob is not a setting", "'n_obs'?"),
        ({"N_OBS": 3}, "N_OBS is not a setting", "'n_obs'?"),
    ],
    ids=str,
)
def test_what_is_refused_is_shown_beside_what_works(given, value, works):
    said = refusal(**given)
    assert said.startswith(value)
    assert said.endswith(works)
    name, _, advice = works.partition("=")
    if advice:
        build(Settings, {name: yaml.safe_load(advice)})


@pytest.mark.parametrize("value", ["abc", True, float("nan"), float("inf"), None, [1]])
def test_what_is_no_number_is_refused(value):
    assert refusal(k=value).startswith("k=")
    assert refusal(n_obs=value).startswith("n_obs=")
    assert refusal(alpha=[value]).startswith("alpha=[")


@dataclass
class Annotations:
    """Every way to say what a setting may be."""

    limits: list[float | None] = option("upper limits", default=[1.0], above=0)
    sizes: list[int] | None = option("sample sizes", at_least=1)
    n_jobs: typing.Optional[int] = option("workers", at_least=1)  # noqa: UP045
    mixed: int | str = option("of several types the first", default=1)


@pytest.mark.parametrize(
    ("given", "is_now"),
    [
        ({"limits": [2, None]}, [2.0, None]),
        ({"limits": None}, [None]),
        ({"sizes": None}, None),
        ({"sizes": [3]}, [3]),
        ({"n_jobs": None}, None),
        ({"n_jobs": 2.0}, 2),
    ],
    ids=str,
)
def test_none_may_stand_where_the_annotation_says_so(given, is_now):
    (name,) = given
    assert getattr(build(Annotations, given), name) == is_now


def test_a_member_that_may_be_none_is_held_against_its_type_otherwise():
    for given, text in (
        ({"limits": [None, -1]}, "limits=[null,-1]: must be a number above 0 (upper limits); "
         "nearest that works: limits=[null,1]"),
        ({"sizes": [None]}, "sizes=[null]: must be a whole number at least 1 (sample sizes)"),
        ({"sizes": []}, "sizes=[]: an empty list leaves nothing to simulate; allowed: one value "
         "or more"),
        ({"mixed": "a"}, "mixed=a: must be a whole number"),
    ):  # fmt: skip
        with pytest.raises(ConfigError) as error:
            build(Annotations, given)
        assert str(error.value).startswith(text)


@pytest.mark.parametrize("hint", [dict, tuple[int, ...], typing.Any, list[list[int]], complex])
def test_an_annotation_that_no_setting_can_be_held_against_is_named(hint):
    config = make_dataclass("Config", [("odd", hint, option("a help", default=1))])
    said = r"^the option odd is annotated .*: write int, float, bool or str, a list of these"
    with pytest.raises(ConfigError, match=said):
        check(config())
    with pytest.raises(ConfigError, match=said):
        option_help(config)


def test_the_prefix_of_the_command_line_is_in_key_and_advice():
    with pytest.raises(ConfigError) as error:
        build(Settings, {"sizes": [0]}, prefix="experiment.")
    text = str(error.value)
    assert text.startswith("experiment.sizes=[0]: must be")
    assert text.endswith("nearest that works: experiment.sizes=[1]")
    with pytest.raises(ConfigError, match=r"^experiment\.size is not a setting; did you mean"):
        build(Settings, {"size": [0]}, prefix="experiment.")


def test_checking_again_changes_nothing():
    made = build(Settings, {"k": 2})
    before = Settings(**vars(made))
    check(made)
    assert made == before


# ---------------------------------------------------------------- published values
@pytest.fixture
def house(tmp_path):
    """A project with one experiment, whose published values are written there."""

    def build_house(yaml_text: str) -> str:
        (tmp_path / "conf" / "experiment").mkdir(parents=True)
        (tmp_path / "experiments").mkdir()
        (tmp_path / "conf" / "experiment" / "mine.yaml").write_text(textwrap.dedent(yaml_text))
        return str(tmp_path / "experiments" / "mine.py")

    return build_house


def make_config(file):
    @published(file)
    @dataclass
    class Config:
        k: list[float] = option("standard errors", at_least=0)
        n_rep: int = option("replicates", at_least=1)

    return Config


def test_published_values_stand_once_and_are_the_defaults(house):
    Config = make_config(house("k: [0, 1]\nn_rep: 5000\n"))
    assert Config() == Config(k=[0.0, 1.0], n_rep=5000)
    assert Config(k=[2]).k == [2.0]
    assert [type(one) for one in Config().k] == [float, float]
    Config().k.append(9.0)
    assert Config().k == [0.0, 1.0]


def test_published_values_are_checked_like_any(house):
    Config = make_config(house("k: [0, 1]\nn_rep: 5000\n"))
    with pytest.raises(ConfigError, match=r"k=\[-1\].*nearest that works: k=\[0\]"):
        Config(k=[-1])
    with pytest.raises(ConfigError, match="kk is not a setting; did you mean 'k'"):
        Config(kk=[1])
    with pytest.raises(ConfigError, match=r"k=\[\]: an empty list.*such as k=\[0,1\]"):
        Config(k=[])


@pytest.mark.parametrize("yaml_text", ["k: [0]\n", "k: [0]\nn_rep: 5\nalpha: 1\n"])
def test_the_file_and_the_config_have_the_same_keys(yaml_text, house):
    with pytest.raises(ConfigError, match=r"differ in (n_rep|alpha): each option has one"):
        make_config(house(yaml_text))


def test_a_missing_file_says_where_it_belongs(tmp_path):
    file = tmp_path / "experiments" / "mine.py"
    with pytest.raises(ConfigError) as error:
        make_config(str(file))
    where = Path("conf") / "experiment" / "mine.yaml"
    assert str(where) in str(error.value)
    assert "Write that file, or give every option of Config a default" in str(error.value)
