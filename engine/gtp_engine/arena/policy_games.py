"""Many games in step by players that draw their moves from policies, without any search.

All games are of one ply at a time, so that each player is asked about all positions in which it is
to move in one batch. Nobody fills an own eye, and nobody passes who has another move left, as
AlphaGo's policies played: all stones on the last board are alive and the area is counted.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from gtp_engine.coords import BLACK, PASS
from gtp_engine.evaluators.evaluator import Evaluator, encode_positions
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.evaluators.nets.composition import check_game
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.go.position import Position
from gtp_engine.go.random_games import drop_own_eyes
from gtp_engine.go.rules import GO, LONGEST_GAME, Rules
from gtp_engine.go.symmetry import N_SYMMETRIES

MAX_BATCH = 256
AT_RANDOM = -1
"""In place of a player: any move that fills no own eye, all alike."""

Chooser = Callable[[int, Position], int]
"""Says which player moves in the game of a number."""


def open_policy(path: Path) -> NetEvaluator:
    """Open a net to play by its policy, on a processor.

    Raises:
        NetFileError: It cannot be used, has no policy, or plays another game than Go.
    """
    net = OnnxNet(path, "cpu")
    check_game(net, GO)
    if "policy" not in net.info.heads:
        raise NetFileError(f"{path}: has no policy to play by")
    return NetEvaluator(net, streams=1, max_batch=MAX_BATCH, cache_mb=0)


def taking_turns(game: int, position: Position) -> int:
    """Return which of two players is to move; the first is Black in games of even number."""
    return int((game % 2 == 0) != (position.to_play == BLACK))


def play_policy_games(
    players: Sequence[Evaluator],
    size: int,
    komi: float,
    games: int,
    generator: np.random.Generator,
    choose: Chooser = taking_turns,
) -> list[Position]:
    """Play games to their ends and return these by number.

    Args:
        games: How many, all at once.

    Raises:
        NetFileError: A net failed, or does not take this board.
    """
    rules = Rules(komi=komi)
    ended = [Position(size, size, rules) for _ in range(games)]
    batches = [player.new_batch(games, size, size) for player in players]
    playing = list(range(games))
    while playing:
        movers: dict[int, list[int]] = {}
        for game in playing:
            movers.setdefault(choose(game, ended[game]), []).append(game)
        for player, numbers in movers.items():
            is_random = player == AT_RANDOM
            batch, evaluator = batches[max(player, 0)], players[max(player, 0)]
            symmetries = [int(generator.integers(N_SYMMETRIES)) for _ in numbers]
            encode_positions(evaluator, [ended[g] for g in numbers], symmetries, batch=batch)
            if not is_random:
                evaluator.evaluate(batch, len(numbers), use_cache=False)
            for slot, game in enumerate(numbers):
                n, position = int(batch.n_moves[slot]), ended[game]
                moves = batch.moves[slot, : n - 1]  # the pass is the last
                weights = batch.priors[slot, : n - 1].astype(np.float64)
                if is_random:
                    weights[:] = 1.0
                drop_own_eyes(position.board, position.to_play, moves, weights)
                total = np.cumsum(weights)
                point = PASS
                if n > 1 and total[-1] > 0.0:
                    drawn = np.searchsorted(total, total[-1] * generator.random(), side="right")
                    point = int(moves[min(int(drawn), n - 2)])
                position.play(position.to_play, point)
        longest = LONGEST_GAME * size * size
        playing = [g for g in playing if not ended[g].is_over and ended[g].ply < longest]
    return ended


def points_of_first(games: Sequence[Position]) -> float:
    """Return how many games `taking_turns` has given the first player, half a one for a draw."""
    margins = [game.white_margin() for game in games]
    signs = [np.sign(-m if number % 2 == 0 else m) for number, m in enumerate(margins)]
    return float(sum(0.5 + 0.5 * sign for sign in signs))
