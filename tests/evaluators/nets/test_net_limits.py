"""What a net was not made for."""

from dataclasses import replace

import pytest

from gtp_engine.evaluators.nets.net_info import NetInfo
from gtp_engine.evaluators.nets.net_limits import list_doubts
from gtp_engine.games import parse_rules
from gtp_engine.go.rules import Rules

ANY = NetInfo("n", "lz18", 1, 18)
SMALL = replace(ANY, trained_sizes=(7, 13))
ONE_SIZE = replace(ANY, trained_sizes=(19, 19))
AREA = replace(ANY, rules="area")
JAPANESE = replace(ANY, rules="japanese")
ONE_KOMI = replace(ANY, komi_min=7.5, komi_max=7.5)
FEW_KOMI = replace(ANY, komi_min=-10.0, komi_max=10.0)
LOW_KOMI = replace(ANY, komi_max=10.0)
OF_ATARI_GO = replace(ANY, rules="atari-go")
ATARI_RULES = Rules(must_move=True, komi=0.0)
FREESTYLE = parse_rules("five", "freestyle")


@pytest.mark.parametrize(
    ("info", "rules", "komi", "size", "doubt"),
    [
        (ANY, "japanese", 100, (2, 25), None),
        (SMALL, "chinese", 7.5, (7, 13), None),
        (SMALL, "chinese", 7.5, (2, 13), None),  # the longer side tells
        (SMALL, "chinese", 7.5, (6, 5), "was trained on boards of 7x7 to 13x13, not 6x5"),
        (SMALL, "chinese", 7.5, (13, 14), "was trained on boards of 7x7 to 13x13, not 13x14"),
        (ONE_SIZE, "chinese", 7.5, (9, 9), "was trained on boards of 19x19, not 9x9"),
        (ONE_SIZE, "chinese", 7.5, (9, 19), "was trained on boards of 19x19, not 9x19"),
        (AREA, "tromp-taylor", 7.5, (9, 9), None),
        (AREA, "aga", 7.5, (9, 9), None),
        (
            AREA,
            "japanese",
            6.5,
            (9, 9),
            "was made for area scoring with superko, without tax or button;"
            " under other rules its judgement may be off",
        ),
        (JAPANESE, "japanese", 0, (9, 9), None),
        (
            JAPANESE,
            "chinese",
            7.5,
            (9, 9),
            "was made for japanese rules; under other rules its judgement may be off",
        ),
        (ONE_KOMI, "chinese", 7.5, (9, 9), None),
        (ONE_KOMI, "chinese", 6.5, (9, 9), "was made for komi 7.5, not 6.5"),
        (FEW_KOMI, "chinese", -10, (9, 9), None),
        (FEW_KOMI, "chinese", 10.5, (9, 9), "was made for komi -10 to 10, not 10.5"),
        (FEW_KOMI, "chinese", -11, (9, 9), "was made for komi -10 to 10, not -11"),
        (LOW_KOMI, "chinese", 11, (9, 9), "was made for komi up to 10, not 11"),
    ],
)
def test_doubts(
    info: NetInfo, rules: str, komi: float, size: tuple[int, int], doubt: str | None
) -> None:
    found = list_doubts(info, Rules.parse(rules, komi=komi), *size)
    assert found == ([] if doubt is None else [f"warning: the net n {doubt}"])


@pytest.mark.parametrize(
    ("info", "rules", "doubt"),
    [
        (ANY, ATARI_RULES, "was made for Go, not Atari Go"),
        (AREA, ATARI_RULES, "was made for Go, not Atari Go"),
        (ONE_KOMI, ATARI_RULES, "was made for Go, not Atari Go"),
        (OF_ATARI_GO, Rules(), "was made for Atari Go, not Go"),
        (OF_ATARI_GO, ATARI_RULES, None),
        (ANY, FREESTYLE, None),
    ],
)
def test_another_game_is_a_doubt(info: NetInfo, rules: Rules, doubt: str | None) -> None:
    expected = [] if doubt is None else [f"warning: the net n {doubt}"]
    assert list_doubts(info, rules, 9, 9) == expected


def test_each_doubt_is_a_line_of_its_own() -> None:
    info = replace(ONE_SIZE, rules="area", komi_min=7.5, komi_max=7.5)
    assert len(list_doubts(info, Rules.parse("japanese"), 9, 9)) == 3
    assert list_doubts(info, Rules(), 19, 19) == []


def test_a_size_that_is_impossible_is_no_doubt() -> None:
    assert list_doubts(replace(ONE_SIZE, board_sizes=(19,)), Rules(), 9, 9) == []
