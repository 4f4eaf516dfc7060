"""Play games of a table over, in kernels: check them, and turn their positions into samples.

Kernels here call only kernels of the engine and of this file, because the cache of compiled code
does not notice changes elsewhere.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, EMPTY, PASS
from gtp_engine.evaluators.encoders.inputs import Seen, find_encoder, find_moves
from gtp_engine.go.board import (
    BOARD,
    MAX_POINTS,
    BoardRecord,
    clear_board,
    is_playable,
    place_stone,
)
from gtp_engine.go.history import History, begin
from gtp_engine.go.ladders import Reader
from gtp_engine.go.rules import RuleFlags, Rules
from gtp_engine.go.scoring import mark_agreed
from gtp_engine.kernels import int64, kernel
from gtp_export.records.games import ACTION_MASK, OUT_OF_TURN, GameTable

BUTTON, MUST_MOVE, FIVE = 6, 7, 8
"""Columns of `rule_rows`: whether there is a button, whether only who has no move may pass, and the
rules of five in a row."""

Ints = npt.NDArray[np.int64]


class Filled(NamedTuple):
    """What positions of one board size look like to a net, and what was played there."""

    spatial: npt.NDArray[np.uint8]
    """[n, C, H, W]"""
    features: npt.NDArray[np.float32]
    """[n, G]"""
    legal: npt.NDArray[np.uint8]
    """[n, A + 1] whether an action is legal, pass last."""
    action: npt.NDArray[np.int16]
    """[n] what was played."""
    to_play: npt.NDArray[np.uint8]
    """[n]"""
    owner: npt.NDArray[np.uint8]
    """[n, A] the final owner of each point; EMPTY where nobody knows or nobody owns it."""


def rule_rows(rules: tuple[Rules, ...]) -> Ints:
    """Return [R, 9]: the flags of rules for kernels, BUTTON, MUST_MOVE and FIVE behind them."""
    rows = [
        [*(int(flag) for flag in one.flags[:BUTTON]), int(one.button), int(one.must_move), one.five]
        for one in rules
    ]
    return np.array(rows, np.int64).reshape(-1, FIVE + 1)


def new_filled(n: int, planes: int, features: int, width: int, height: int) -> Filled:
    """Return room for n positions."""
    area = width * height
    return Filled(
        spatial=np.zeros((n, planes, height, width), np.uint8),
        features=np.zeros((n, features), np.float32),
        legal=np.zeros((n, area + 1), np.uint8),
        action=np.zeros(n, np.int16),
        to_play=np.zeros(n, np.uint8),
        owner=np.zeros((n, area), np.uint8),
    )


@kernel
def _point(action: int, width: int, height: int) -> int:
    if action == width * height:
        return PASS
    return (action // width + 1) * (width + 1) + action % width + 1


@kernel
def place_setups(table: GameTable, game: int, board: BoardRecord) -> bool:
    """Put the stones down that are there before the first move; say whether all can stand."""
    width = int64(table.width[game])
    height = int64(table.height[game])
    for i in range(table.setup_starts[game], table.setup_starts[game + 1]):
        point = _point(int64(table.setups[i]) >> 1, width, height)
        color = BLACK + (int64(table.setups[i]) & 1)
        if board["color"][point] != EMPTY:
            return False
        if place_stone(board, point, color) or board["color"][point] != color:
            return False
    board["ko_point"] = 0
    return True


@kernel
def move_at(table: GameTable, game: int, at: int, expected: int) -> tuple[int, int]:
    """Return the point of a move and who made it, from its place in the table and whose turn it is.

    The place after the last move of a game holds a pass.
    """
    if at == table.starts[game + 1]:
        return PASS, expected
    code = int64(table.moves[at])
    color = 3 - expected if code & OUT_OF_TURN else expected
    return _point(code & ACTION_MASK, int64(table.width[game]), int64(table.height[game])), color


@kernel
def _play_over(table: GameTable, game: int, board: BoardRecord, is_checked: bool) -> int:
    """Play a game on a board, ko rules aside, up to the first move that it cannot hold.

    Args:
        board: Receives the stones.
        is_checked: Whether it is known that there is no such move, which saves looking.

    Returns:
        How many moves it holds.
    """
    clear_board(board, int64(table.width[game]), int64(table.height[game]))
    if not place_setups(table, game, board):
        return 0
    start = int64(table.starts[game])
    stop = int64(table.starts[game + 1])
    to_play = int64(table.first[game])
    for at in range(start, stop):
        point, color = move_at(table, game, at, to_play)
        if point != PASS:
            if not (is_checked or is_playable(board, point, color, int64(1))):
                return at - start
            place_stone(board, point, color)
        to_play = 3 - color
    return stop - start


@kernel
def count_playable(table: GameTable, games: Ints) -> Ints:
    """Return [n] how many moves of each of these games a board can hold, ko rules aside."""
    counts = np.zeros(len(games), np.int64)
    boards = np.zeros(1, BOARD)
    for i in range(len(games)):
        counts[i] = _play_over(table, games[i], boards[0], False)
    return counts


@kernel
def _mark_final(
    table: GameTable, game: int, board: BoardRecord, owners: npt.NDArray[np.uint8]
) -> None:
    """Write who owns each point in the end, from the dead stones of the last board."""
    _play_over(table, game, board, True)
    dead = np.zeros(MAX_POINTS, np.uint8)
    for at in range(table.dead_starts[game], table.dead_starts[game + 1]):
        point = _point(int64(table.dead[at]), int64(table.width[game]), int64(table.height[game]))
        dead[point] = 1
    mark_agreed(board, dead, owners)


@kernel
def _begin_game(table: GameTable, game: int, rows: Ints, history: History) -> RuleFlags:
    """Set a history to the start of a game; return its rules."""
    row = rows[table.rules[game]]
    komi = np.float64(table.komi[game])
    rules = RuleFlags(
        row[0], row[1], row[2], row[3], row[4], row[5], komi, row[MUST_MOVE], row[FIVE]
    )
    clear_board(history.boards[0], int64(table.width[game]), int64(table.height[game]))
    place_setups(table, game, history.boards[0])
    begin(history, int64(table.first[game]), rules, row[BUTTON])
    return rules


@kernel
def _write_answers(
    history: History,
    ply: int,
    rules: RuleFlags,
    played: int,
    owners: npt.NDArray[np.uint8],
    symmetry_map: npt.NDArray[np.int16],
    n_legal: int,
    legal: npt.NDArray[np.int16],
    filled: Filled,
    slot: int,
) -> None:
    """Write all of a slot but its planes and globals; the first of `legal` are the legal points."""
    board = history.boards[ply]
    width = int64(board["width"])
    height = int64(board["height"])
    filled.legal[slot, :] = 0
    for i in range(n_legal):
        filled.legal[slot, symmetry_map[legal[i]]] = 1
    filled.legal[slot, width * height] = 1 if n_legal == 0 or rules.must_move == 0 else 0
    action = int64(symmetry_map[played])
    filled.legal[slot, action] = 1  # played is played, whatever the record's rules say
    filled.action[slot] = action
    filled.to_play[slot] = history.turns[ply]["to_play"]
    for row in range(height):
        for col in range(width):
            point = (row + 1) * (width + 1) + col + 1
            filled.owner[slot, symmetry_map[point]] = owners[point]


Fill = Callable[
    [GameTable, Ints, Ints, Ints, Ints, npt.NDArray[np.int16], History, Reader, Filled], None
]
"""A kernel that fills slots from positions of games, all of one board size.

Its arguments: the games; `rule_rows`; [n] which game, those of one game together; [n] after how
many moves, rising within a game; [n] the symmetry to show; `symmetry.point_table` of the size;
this thread's history, with room for the longest game; its memory for ladders; the result. The move
after the last of a game counts as a pass.
"""


@lru_cache
def find_filler(encoder: str, suicide_alive: int) -> Fill:
    """Return the kernel that shows positions as an encoder does."""
    encode = find_encoder(encoder)
    moves = find_moves(encoder)
    play, legal_points = moves.play, moves.legal_points

    def fill(
        table: GameTable,
        rows: Ints,
        games: Ints,
        plies: Ints,
        symmetries: Ints,
        tables: npt.NDArray[np.int16],
        history: History,
        reader: Reader,
        filled: Filled,
    ) -> None:
        boards = np.zeros(1, BOARD)
        owners = np.zeros(MAX_POINTS, np.uint8)
        legal = np.zeros(MAX_POINTS, np.int16)
        rules = _begin_game(table, games[0], rows, history)
        game = -1
        ply = 0
        for slot in range(len(games)):
            if games[slot] != game:
                game = games[slot]
                rules = _begin_game(table, game, rows, history)
                ply = 0
                owners[:] = EMPTY
                if table.settled[game]:
                    _mark_final(table, game, boards[0], owners)
            start = table.starts[game]
            while ply < plies[slot]:
                to_play = int64(history.turns[ply]["to_play"])
                point, color = move_at(table, game, start + ply, to_play)
                play(history, ply, point, color, rules, int64(0))
                ply += 1
            to_play = int64(history.turns[ply]["to_play"])
            point, color = move_at(table, game, start + ply, to_play)
            history.turns[ply]["to_play"] = color  # who did play is shown as the player to move
            symmetry_map = tables[symmetries[slot]]
            seen = Seen(history, ply, rules, reader, symmetry_map, int64(suicide_alive))
            encode(seen, filled.spatial[slot], filled.features[slot])
            n = legal_points(history, ply, rules, legal)
            _write_answers(history, ply, rules, point, owners, symmetry_map, n, legal, filled, slot)
            history.turns[ply]["to_play"] = to_play

    made: Fill = kernel(fill, keep=False)
    return made
