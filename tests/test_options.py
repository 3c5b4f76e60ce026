"""Settings: typed, in range, and refused in one line with an example."""

import textwrap
import typing
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import pytest
import yaml

from simstudy.errors import ConfigError
from simstudy.options import build, check, format_setting, option, option_help, published


@dataclass
class Settings:
    k: float = option("standard errors", default=1.5, at_least=-30, at_most=30)
    n_obs: int = option("observations", default=10, at_least=1)
    alpha: list[float] = option("size of the test", default=[0.05], above=0, below=1)
    sizes: list[int] = option("sample sizes", default=[10, 20], at_least=1)
    draws: str = option("what is drawn", default="raw", one_of=("raw", "sufficient"))
    side: typing.Literal["less", "greater"] = option("alternative", default="less")
    n_jobs: int | None = option("workers", at_least=1)
    figures: bool = option("draw them", default=True)
    title: str | None = option("title", default=None)
    limits: list[float | None] = option("upper limits", default=[1.0], above=0)
    few: typing.Optional[list[int]] = option("sample sizes", at_least=1)  # noqa: UP045
    pair: tuple[int, float] = option("a pair", default=(1, 2.0))
    nested: list[list[int]] = option("sizes by group", default=[[1]], at_least=1)
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
        ({"n_obs": 3.0}, 3),
        ({"alpha": 0.1}, [0.1]),
        ({"sizes": (5, 6.0)}, [5, 6]),
        ({"draws": "sufficient"}, "sufficient"),
        ({"side": "greater"}, "greater"),
        ({"n_jobs": None}, None),
        ({"title": 1}, "1"),
        ({"limits": [2, None]}, [2.0, None]),
        ({"few": None}, None),
        ({"pair": [3, 4]}, (3, 4.0)),
        ({"nested": [[5, 6], [7]]}, [[5, 6], [7]]),
    ],
    ids=str,
)
def test_good_values_come_out_as_their_declared_type(given, is_now):
    (name,) = given
    found = getattr(build(Settings, given), name)
    assert found == is_now
    assert repr(found) == repr(is_now)


def test_a_refusal_has_key_value_help_and_range():
    assert refusal(alpha=[0.1, 1]) == (
        "alpha=[0.1,1] is not allowed: size of the test: Input should be less than 1"
    )


@pytest.mark.parametrize(
    ("given", "value", "allowed"),
    [
        ({"n_obs": 0}, "n_obs=0", "greater than or equal to 1"),
        ({"n_obs": 1.5}, "n_obs=1.5", "valid integer"),
        ({"n_obs": True}, "n_obs=true", "true and false are not numbers"),
        ({"k": 31}, "k=31", "less than or equal to 30"),
        ({"k": float("inf")}, "k=inf", "finite"),
        ({"k": float("nan")}, "k=nan", "finite"),
        ({"k": None}, "k=null", "valid number"),
        ({"k": "x" * 2000}, f"k={'x' * 60}", "valid number"),
        ({"alpha": [0]}, "alpha=[0]", "greater than 0"),
        ({"sizes": [5, 0, 7]}, "sizes=[5,0,7]", "greater than or equal to 1"),
        ({"sizes": []}, "sizes=[]", "at least 1 item"),
        ({"draws": "both"}, "draws=both", "'raw' or 'sufficient'"),
        ({"side": "grater"}, "side=grater", "'less' or 'greater'"),
        ({"figures": "maybe"}, "figures=maybe", "boolean"),
        ({"limits": [None, -1]}, "limits=[null,-1]", "greater than 0"),
        ({"pair": [1]}, "pair=[1]", "required"),
        ({"nested": [[0]]}, "nested=[[0]]", "greater than or equal to 1"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_refused_is_shown_beside_what_is_allowed(given, value, allowed):
    text = refusal(**given)
    assert text.startswith(f"{value} is not allowed: ")
    assert allowed in text


def test_an_unknown_name_has_the_nearest_one():
    assert refusal(n_ob=3) == "n_ob is not a setting; did you mean 'n_obs'?"
    with pytest.raises(ConfigError, match=r"^experiment\.size is not a setting; did you mean"):
        build(Settings, {"size": [0]}, prefix="experiment.")


def test_checking_again_changes_nothing():
    made = build(Settings, {"k": 2})
    before = Settings(**vars(made))
    check(made)
    assert made == before


def test_help_has_allowed_values_and_default():
    described = dict(option_help(Settings))
    assert described["n_obs"] == "observations  [int >= 1]  default: 10"
    assert described["draws"] == "what is drawn  [str raw|sufficient]  default: raw"
    assert described["figures"] == "draw them  [bool]  default: true"
    assert described["sizes"].endswith("default: [10,20]")
    assert "loose" not in described


@pytest.mark.parametrize(
    "value", [1, 0.5, True, None, "a", "a b", "true", "", [1, "b c"], {"a": 1}]
)
def test_a_formatted_setting_is_read_back_as_it_was(value):
    read = yaml.safe_load(format_setting(value).replace(":", ": "))
    assert read == value


# ---------------------------------------------------------------- published values
@pytest.fixture
def house(tmp_path):
    """A project with one experiment and its published values."""

    def build_house(yaml_text: str) -> str:
        (tmp_path / "conf" / "experiment").mkdir(parents=True)
        (tmp_path / "experiments").mkdir()
        (tmp_path / "conf" / "experiment" / "mine.yaml").write_text(textwrap.dedent(yaml_text))
        return str(tmp_path / "experiments" / "mine.py")

    return build_house


def make_config(file):
    @dataclass
    class Base:
        k: list[float] = option("standard errors", at_least=0)

    @published(file)
    class Config(Base):
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
    with pytest.raises(ConfigError, match=r"k=\[-1\] is not allowed"):
        Config(k=[-1])


def test_a_config_checks_its_values_itself_as_well(house):
    @published(house("k: [0]\n"))
    class Config:
        k: list[float] = option("standard errors", at_least=0)

        def __post_init__(self):
            self.largest = max(self.k)

    assert Config(k=["1", 3]).largest == 3.0, "after the types"


def test_an_option_that_the_file_does_not_list_has_its_own_default(house):
    @published(house("k: [0]\n"))
    class Config:
        k: list[float] = option("standard errors", at_least=0)
        label: str = option("a word", default="one")
        n_rep: int = option("replicates", at_least=1)

    assert Config(n_rep=5) == Config(k=[0.0], label="one", n_rep=5)
    with pytest.raises(ConfigError, match="n_rep=null is not allowed"):
        Config()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("k: [0\n", ", line "),
        ("k:\n\t- 1\n", ", line "),
        ("k: !!python/name:os x\n", ", line "),
        ("k: [0\0]\n", "position 5"),
        ("- 1\n- 2\n", "as settings, each as NAME: VALUE"),
    ],
)
def test_a_broken_file_is_one_line_with_its_place(house, text, said):
    with pytest.raises(ConfigError, match=said) as error:
        make_config(house(text))
    assert "mine.yaml" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_says_where_it_belongs(tmp_path):
    file = tmp_path / "experiments" / "mine.py"
    with pytest.raises(ConfigError) as error:
        make_config(str(file))
    where = Path("conf") / "experiment" / "mine.yaml"
    assert str(where) in str(error.value)
    assert "write it, or give every option of Config a default" in str(error.value)


class Law(Enum):
    NORMAL = "normal"
    HEAVY = "t3"


@dataclass
class WithEnum:
    law: Law = option("law", default=Law.NORMAL)


@pytest.mark.parametrize("given", ["t3", Law.HEAVY])
def test_an_enum_is_chosen_by_its_value(given):
    assert build(WithEnum, {"law": given}).law is Law.HEAVY
    with pytest.raises(ConfigError, match=r"law=x is not allowed: law: .* 'normal' or 't3'"):
        build(WithEnum, {"law": "x"})
