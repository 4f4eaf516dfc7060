"""Rules by name, by object, by option; refusals."""

import json
from dataclasses import replace

import pytest

from gtp_engine.go.rules import (
    PRESETS,
    HandicapBonus,
    InvalidRulesError,
    Ko,
    Rules,
    Scoring,
    Tax,
    default_komi,
    parse_komi,
)

TABLE = [
    # name, ko, scoring, tax, suicide, button, bonus, friendly pass, komi
    ("tromp-taylor", "POSITIONAL", "AREA", "NONE", True, False, "0", False, 7.5),
    ("chinese", "SIMPLE", "AREA", "NONE", False, False, "N", True, 7.5),
    ("chinese-ogs", "POSITIONAL", "AREA", "NONE", False, False, "N", True, 7.5),
    ("chinese-kgs", "POSITIONAL", "AREA", "NONE", False, False, "N", True, 7.5),
    ("japanese", "SIMPLE", "TERRITORY", "SEKI", False, False, "0", False, 6.5),
    ("korean", "SIMPLE", "TERRITORY", "SEKI", False, False, "0", False, 6.5),
    ("aga", "SITUATIONAL", "AREA", "NONE", False, False, "N-1", True, 7.5),
    ("bga", "SITUATIONAL", "AREA", "NONE", False, False, "N-1", True, 7.5),
    ("french", "SITUATIONAL", "AREA", "NONE", False, False, "N-1", True, 7.5),
    ("aga-button", "SITUATIONAL", "AREA", "NONE", False, True, "N-1", True, 7.0),
    ("new-zealand", "SITUATIONAL", "AREA", "NONE", True, False, "0", True, 7.0),
    ("stone-scoring", "SIMPLE", "AREA", "ALL", False, False, "0", True, 7.5),
    ("ancient-territory", "SIMPLE", "TERRITORY", "ALL", False, False, "0", False, 6.5),
    ("goe", "POSITIONAL", "AREA", "NONE", True, False, "0", True, 7.5),
]


@pytest.mark.parametrize("entry", TABLE, ids=lambda entry: entry[0])
def test_presets(entry: tuple[str, str, str, str, bool, bool, str, bool, float]) -> None:
    name, ko, scoring, tax, suicide, button, bonus, friendly, komi = entry
    rules = Rules.parse(name)
    assert rules.to_kata() == {
        "ko": ko,
        "scoring": scoring,
        "tax": tax,
        "suicide": suicide,
        "hasButton": button,
        "whiteHandicapBonus": bonus,
        "friendlyPassOk": friendly,
    }
    assert rules.komi == komi


@pytest.mark.parametrize("name", PRESETS)
def test_presets_go_round(name: str) -> None:
    rules = PRESETS[name]
    assert replace(rules, komi=0.5).preset == name
    for spelling in (name, name.upper(), name.replace("-", "_"), f"  {name.replace('-', ' ')} "):
        assert Rules.parse(spelling) == rules
    assert Rules.parse(name, komi=3.5).komi == 3.5
    assert Rules.parse(json.dumps(rules.to_kata()), komi=rules.komi) == rules
    assert Rules.from_kata(rules.to_kata(), komi=rules.komi) == rules


def test_titles_name_no_server_and_are_understood() -> None:
    assert Rules().title == "default"
    assert Rules.parse("chinese-kgs").title == Rules.parse("chinese-ogs").title == "chinese-superko"
    for rules in PRESETS.values():
        assert Rules.parse(rules.title or "") == rules
    assert Rules(ko=Ko.SIMPLE, button=True).title is None


def test_a_json_object_with_spaces() -> None:
    rules = Rules.parse('{ "ko": "SITUATIONAL", "scoring" : "TERRITORY", "tax":"ALL", "komi": 5 }')
    wanted = {"ko": Ko.SITUATIONAL, "scoring": Scoring.TERRITORY, "tax": Tax.ALL, "komi": 5.0}
    assert rules == replace(PRESETS["tromp-taylor"], **wanted)
    assert rules.preset is None


def test_absent_keys_are_as_in_katago() -> None:
    assert Rules.parse("{}") == PRESETS["tromp-taylor"]
    territory = Rules.parse('{"scoring":"TERRITORY"}')
    assert territory.tax is Tax.SEKI
    assert Rules.parse('{"scoring":"TERRITORY","tax":"NONE"}') == replace(territory, tax=Tax.NONE)


@pytest.mark.parametrize(
    "text",
    [
        *("", "go", "[]", "null", "{", "{}x", '{"what": 1}', '{"ko": "NONE"}', '{"ko": null}'),
        *('{"suicide": "maybe"}', '{"komi": "nan"}', '{"komi": 1e9}', '{"whiteHandicapBonus": 3}'),
        *('{"ko": ' + "[" * 10**5, '{"ko": "' + "x" * 5000 + '"}', '{"komi": ' + "9" * 4000 + "}"),
    ],
)
def test_unknown_rules_are_refused(text: str) -> None:
    with pytest.raises(InvalidRulesError) as raised:
        Rules.parse(text)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 300


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "abc", "", "400.5", "-1000"])
def test_wrong_komi_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_komi(text)


def test_a_komi_beyond_all_numbers_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'9{20}' is no komi"):
        parse_komi(int("9" * 400))


def test_komi() -> None:
    assert parse_komi("-0.5") == -0.5 and parse_komi(400) == 400.0
    assert str(parse_komi("-0")) == "0.0"
    assert default_komi(9, 9) == 7.0 == default_komi(5, 9)
    assert default_komi(10, 9) == 7.5 == default_komi(19, 19)


def test_flags_are_plain_numbers() -> None:
    flags = Rules.parse("aga-button").flags
    assert flags == (2, 0, 0, 0, int(HandicapBonus.N_MINUS_ONE), 1, 7.0, 0, -1)
    assert all(type(value) in (int, float) for value in flags)


def test_a_mixture_says_what_changes_the_result() -> None:
    chinese = Rules.parse("chinese")
    mixtures = [
        chinese.with_option("whiteHandicapBonus", "N-1"),
        chinese.with_option("friendlyPassOk", "false"),
        chinese.with_option("hasButton", "true"),
    ]
    assert len({rules.describe() for rules in mixtures}) == 3


def test_every_name_of_rules_is_told() -> None:
    with pytest.raises(InvalidRulesError) as refused:
        Rules.parse("nonsense")
    told = str(refused.value).rpartition("known are ")[2].split(", ")
    assert {"korean", "bga", "japanese"} <= set(told)
    assert all(Rules.parse(name) for name in told)
