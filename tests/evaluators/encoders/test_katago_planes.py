"""What KataGo's encoders show: small boards that can be read, rules, hidden history."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.go.diagrams import position_of
from tests.go.random_positions import random_position

from gtp_engine.coords import BLACK, EMPTY, PASS, WHITE, parse_color, parse_vertex
from gtp_engine.evaluators.encoders.inputs import Seen, find_encoder
from gtp_engine.evaluators.encoders.katago_features import komi_wave
from gtp_engine.evaluators.nets.net_info import ENCODERS
from gtp_engine.go.atari_go import AtariGo
from gtp_engine.go.ladders import Reader, new_reader
from gtp_engine.go.position import Position
from gtp_engine.go.rules import HandicapBonus, Ko, Rules, Scoring, Tax
from gtp_engine.go.symmetry import point_table

KATAGO = ["katago_v3", "katago_v4", "katago_v5", "katago_v6", "katago_v7"]
READER = new_reader(64)
AREA = Rules(friendly_pass_ok=False)
JAPANESE = Rules.parse("japanese")


def encoded(
    position: Position,
    name: str = "katago_v7",
    reader: Reader = READER,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the planes and globals of a position; the buffers start out full of rubbish."""
    _, n_planes, n_features = ENCODERS[name]
    planes = np.full((n_planes, position.height, position.width), 99, np.uint8)
    features = np.full(n_features, np.nan, np.float32)
    symmetry_map = point_table(position.width, position.height)[0]
    game = position.history, position.ply, position.rules.flags
    find_encoder(name)(Seen(*game, reader, symmetry_map, 0), planes, features)
    return planes, features


def shown(plane: np.ndarray) -> str:
    return "\n".join("".join(".#"[value] for value in row) for row in plane)


def played(moves: str, rules: Rules = AREA, size: int = 5, encores: bool = False) -> Position:
    """Return a game from moves such as "B A1, W pass"."""
    position = Position(size, size, rules, encores=encores)
    for text in moves.split(","):
        color, vertex = text.split()
        position.play(parse_color(color), parse_vertex(vertex, size, size))
    return position


def moves_shown(planes: np.ndarray) -> list[int]:
    """Return for each of the five planes of moves whether it shows one."""
    first = 6 if len(planes) == 13 else 9  # version 5 has fewer planes
    return [int(planes[first + n].sum()) for n in range(5)]


# Planes ------------------------------------------------------------------------------------------


def test_stones_and_liberties() -> None:
    position = position_of(
        """
        X X . .
        O O X .
        . . O .
        . . . .
        """,
        to_play=WHITE,
    )
    planes, _ = encoded(position)
    assert shown(planes[0]) == "####\n####\n####\n####"
    assert shown(planes[1]) == "....\n##..\n..#.\n...."
    assert shown(planes[2]) == "##..\n..#.\n....\n...."
    assert shown(planes[3]) == "##..\n....\n....\n....", "one liberty"
    assert shown(planes[4]) == "....\n###.\n....\n....", "two"
    assert shown(planes[5]) == "....\n....\n..#.\n....", "three"


def test_ko_ban_and_history() -> None:
    position = played("B B1, W C1, B A2, W D2, B B3, W C3, B E5, W B2, B C2")
    planes, features = encoded(position)
    assert shown(planes[6]).splitlines()[3] == ".#...", "the stone taken may not be retaken"
    moves = [tuple(int(i[0]) for i in np.nonzero(planes[9 + n])) for n in range(5)]
    assert moves == [(3, 2), (3, 1), (0, 4), (2, 2), (2, 1)]
    assert not features[:5].any()


@pytest.mark.parametrize("ko", [Ko.POSITIONAL, Ko.SITUATIONAL])
def test_bans_are_the_moves_that_only_ko_forbids(ko: Ko) -> None:
    rules = replace(AREA, ko=ko, multi_stone_suicide=True)
    free = replace(rules, ko=Ko.SIMPLE)
    n_banned = 0
    for seed in range(100):
        position = random_position(seed, (2, 3))
        position.set_rules(rules)
        planes, _ = encoded(position)
        legal = set(position.legal_moves())
        without = position.copy()
        without.set_rules(free)
        without.board["ko_point"] = 0
        banned = set(without.legal_moves()) - legal
        actions = {int(point_table(position.width, position.height)[0, p]) for p in banned}
        assert set(np.flatnonzero(planes[6])) == actions
        n_banned += len(banned)
    assert n_banned > 0


def test_passes_stand_in_the_globals() -> None:
    planes, features = encoded(played("B C3, W pass, B D3"))
    assert features[:5].tolist() == [0.0, 1.0, 0.0, 0.0, 0.0]
    assert moves_shown(planes) == [1, 0, 1, 0, 0]


@pytest.mark.parametrize("name", KATAGO)
def test_history_stops_where_a_player_moved_twice(name: str) -> None:
    planes, _ = encoded(played("B A1, W B5, B C3, B D3, W E5"), name)
    assert moves_shown(planes) == [1, 1, 0, 0, 0]
    planes, _ = encoded(played("B D4, B Q16, B Q4, W D16", Rules.parse("chinese"), 19), name)
    assert moves_shown(planes) == [1, 1, 0, 0, 0]


def test_version_6_forgets_what_came_before_a_forbidden_move() -> None:
    position = played("B B1, W C1, B A2, W D2, B B3, W C3, B E5, W B2, B C2")
    position.play(WHITE, parse_vertex("B2", 5, 5), strict=False)  # takes back at once
    position.play(BLACK, parse_vertex("E4", 5, 5))
    position.play(WHITE, parse_vertex("A5", 5, 5))
    assert moves_shown(encoded(position, "katago_v7")[0]) == [1, 1, 1, 1, 1]
    assert moves_shown(encoded(position, "katago_v6")[0]) == [1, 1, 0, 0, 0]


LADDER = """
    . . . . . . .
    . X O . . . .
    . X O X . . .
    . . X . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . .
"""


def test_ladders_now_and_before() -> None:
    position = position_of(LADDER, AREA)
    planes, _ = encoded(position)
    stones = shown(planes[14])
    assert stones.splitlines()[1:3] == ["..#....", "..#...."]
    assert shown(planes[15]) == shown(planes[16]) == stones, "repeated without history"
    assert planes[17].sum() == 2
    position.play(BLACK, parse_vertex("C7", 7, 7))  # it works: the ladder is on
    planes, _ = encoded(position)
    assert shown(planes[14]) == shown(planes[15]) == stones
    assert planes[17].sum() == 0, "no move is needed against one's own chain"
    position.play(WHITE, PASS)
    position.play(BLACK, parse_vertex("D6", 7, 7))  # captured
    planes, _ = encoded(position)
    assert planes[14].sum() == 0
    assert shown(planes[15]) == shown(planes[16]) == stones


def test_areas_depend_on_the_rules() -> None:
    diagram = """
        . X . X O . .
        X X X X O . .
        . . . X O . .
    """
    full, _ = encoded(position_of(diagram, AREA))
    assert shown(full[18]) == "\n".join(["####..."] * 3)
    assert shown(full[19]) == "\n".join(["....###"] * 3)
    territory, _ = encoded(position_of(diagram, JAPANESE))
    assert territory[18:20].sum() == 0
    alive, _ = encoded(position_of(diagram, JAPANESE), "katago_v4")
    assert shown(alive[18]) == shown(full[18])
    assert alive[19].sum() == 0, "White has one eye"


def test_points_in_seki_do_not_count_under_a_tax() -> None:
    diagram = """
        . X . X O . .
        X X X X O . .
        . . X . O . .
    """
    taxed, _ = encoded(position_of(diagram, replace(AREA, tax=Tax.SEKI)))
    assert (taxed[18] == taxed[1]).all(), "a point that both touch leaves the stones alone"
    assert (taxed[19] == taxed[2]).all()


def test_encores() -> None:
    position = played("B C3, W D3, B pass, W pass, B C2, W pass, B pass, W A1", JAPANESE, 5, True)
    assert position.turn["phase"] == 2
    planes, features = encoded(position)
    assert features[12:14].tolist() == [1.0, 1.0]
    assert planes[20].sum() == 2
    assert planes[21].sum() == 1, "stones when the second encore began"
    assert moves_shown(planes) == [1, 0, 0, 0, 0], "this phase's moves"
    early, _ = encoded(position, "katago_v3")
    assert moves_shown(early) == [1, 0, 0, 1, 0]


# Globals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (Rules.parse("tromp-taylor"), [1.0, 0.5, 1.0, 0.0, 0.0, 0.0]),
        (Rules.parse("aga"), [1.0, -0.5, 0.0, 0.0, 0.0, 0.0]),
        (Rules.parse("chinese"), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        (Rules.parse("japanese"), [0.0, 0.0, 0.0, 1.0, 1.0, 0.0]),
        (Rules.parse("stone-scoring"), [0.0, 0.0, 0.0, 0.0, 1.0, 1.0]),
    ],
)
def test_rules(rules: Rules, expected: list[float]) -> None:
    _, features = encoded(Position(9, 9, rules))
    assert features[6:12].tolist() == expected


@pytest.mark.parametrize(
    ("komi", "to_play", "own"),
    [
        (7.5, WHITE, 7.5),
        (7.5, BLACK, -7.5),
        (7.0, WHITE, 7.0),
        (300.0, WHITE, 101.0),
        (-300.0, WHITE, -101.0),
    ],
)
def test_own_komi(komi: float, to_play: int, own: float) -> None:
    position = Position(9, 9, replace(AREA, komi=komi))
    position.to_play = to_play
    _, features = encoded(position)
    assert features[5] == pytest.approx(own / 20)


def test_komi_counts_handicap_button_and_moves() -> None:
    rules = replace(AREA, komi=0.5, handicap_bonus=HandicapBonus.N)
    position = Position(9, 9, rules)
    position.set_up([parse_vertex("C3", 9, 9), parse_vertex("G7", 9, 9)], [], WHITE)
    assert encoded(position)[1][5] == pytest.approx(2.5 / 20)

    button = played("B C3, W pass", replace(AREA, komi=7.0, button=True))
    assert button.to_play == BLACK
    _, features = encoded(button)
    assert features[5] == pytest.approx(-7.5 / 20)
    assert features[17] == 0.0
    assert encoded(Position(5, 5, button.rules))[1][17] == 1.0

    # Under territory scoring every move has cost its player a point until the second encore.
    moves = played("B C3, W D3, B C2", replace(JAPANESE, komi=6.5))
    assert encoded(moves)[1][5] == pytest.approx((6.5 + 1) / 20)


def test_komi_wave() -> None:
    values = {0.0: 0.0, 0.25: 0.25, 0.5: 0.5, 1.0: 0.0, 1.5: -0.5, 2.0: 0.0, -0.5: -0.5, 7.5: -0.5}
    for komi, wave in values.items():
        assert komi_wave(36, komi) == pytest.approx(wave), komi
        assert komi_wave(81, komi + 1.0) == pytest.approx(wave), komi


# What is hidden ----------------------------------------------------------------------------------


def test_a_pass_that_ends_the_game_is_announced() -> None:
    assert encoded(played("B C3, W pass"))[1][14] == 1.0
    assert encoded(played("B C3, W D3"))[1][14] == 0.0


@pytest.mark.parametrize(
    ("rules", "hidden"),
    [(AREA, False), (replace(AREA, friendly_pass_ok=True), True), (JAPANESE, False)],
)
def test_history_is_hidden(rules: Rules, hidden: bool) -> None:
    planes, features = encoded(played("B C3, W pass", rules))
    assert (features[14] == 0.0) == hidden
    assert (features[0] == 0.0) == hidden
    assert (planes[10].sum() == 0) == hidden
    early = encoded(played("B C3, W pass", rules), "katago_v3")[1]
    assert (early[0] == 0.0) == hidden


def test_after_the_end_only_the_last_pass_is_shown() -> None:
    _, features = encoded(played("B C3, W pass, B pass"))
    assert features[:5].tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    _, early = encoded(played("B C3, W pass, B pass"), "katago_v3")
    assert early[:5].tolist() == [0.0] * 5


# Random positions --------------------------------------------------------------------------------


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32))
def test_remembered_ladders_change_nothing(seed: int) -> None:
    position = random_position(seed)
    fresh = new_reader(1)
    for back in range(min(3, position.ply + 1)):
        earlier = position.copy()
        earlier.undo(back)
        remembered, _ = encoded(earlier)
        anew, _ = encoded(earlier, reader=fresh)
        assert (remembered == anew).all()


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32), territory=st.booleans())
def test_planes_exclude_each_other(seed: int, territory: bool) -> None:
    position = random_position(seed)
    scoring = Scoring.TERRITORY if territory else Scoring.AREA
    position.set_rules(replace(position.rules, scoring=scoring))
    empty = (position.grid() == EMPTY).astype(np.uint8)
    for name in KATAGO:
        planes, _ = encoded(position, name)
        assert (planes[1] + planes[2] + empty == planes[0]).all()
        if name != "katago_v5":
            assert not (planes[18] & planes[19]).any()
            assert ((planes[3] + planes[4] + planes[5]) <= (planes[1] | planes[2])).all()
            assert (planes[14] <= (planes[3] | planes[4])).all(), "one or two liberties"
            assert (planes[17] <= empty).all()


def test_a_komi_that_means_nothing_is_not_shown() -> None:
    shown = []
    for komi in (0.0, 7.0, -25.0):
        game = AtariGo(5, rules=Rules(komi=komi))
        game.play(BLACK, parse_vertex("C3", 5, 5))
        planes, features = encoded(game)
        shown.append((planes.tobytes(), features.tobytes()))
    assert len(set(shown)) == 1
