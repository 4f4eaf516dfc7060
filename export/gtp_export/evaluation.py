"""How well a net predicts recorded games: their moves, winners, scores and final ownership.

Any net the engine runs can be asked, whatever its encoder and heads: a head that is missing has
no figures. Positions of one game are alike, so every interval comes from drawing whole games anew.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gtp_engine.arena.statistics import Z_95, t_95
from gtp_engine.evaluators.human_profile import DEFAULT_PROFILE, HumanProfile
from gtp_engine.evaluators.nets.net_files import NetFiles, find_net
from gtp_engine.evaluators.nets.net_info import VALUE_WIN_LOSS_NORESULT, NetFileError, NetInfo
from gtp_engine.evaluators.nets.onnx_net import OnnxNet, RawOutputs
from gtp_engine.evaluators.nets.precision import open_best
from gtp_engine.evaluators.runtimes.sessions import AUTO
from gtp_engine.games import game_shown, position_type
from gtp_export.plans import EvaluationPlan
from gtp_export.records.games import Games
from gtp_export.records.reading import read_table
from gtp_export.records.stream import PositionReader, RecordSamples
from gtp_export.softmax import masked_softmax

QUARTERS = 4
MOVES_PER_GROUP = 20
"""Moves of a game whose positions are taken together, by move number."""
RESAMPLES = 400
TOP = 5
SMALLEST_CHANCE = 1e-9
BATCH_POINTS = 64 * 361

ALL, END = "all", "end"


@dataclass(frozen=True)
class Figure:
    """A mean over positions, with the middle 95 % of what other games would have given."""

    mean: float
    low: float
    high: float
    positions: int
    games: int


STAGES = {"half": 0.5, "three quarters": 0.75, "95 %": 0.95}
"""Share of the moves of a counted game at which it is judged, by name."""
BIG_WIN = 15.0
"""Points by which the winner of a game should be known long before its end."""
SURE = 0.8
"""Chance that a net should give the winner of such a game."""
STAGE_FIGURES = {
    "win_log_loss": "log loss of the winner",
    "score_error": "mean error of the lead",
    "unsure": f"won by over {BIG_WIN:.0f} points, winner below {SURE:.0%}",
}
"""What is told of each stage, for people; in the figures as in "win_log_loss at half"."""


class Tally:
    """Collects answers by figure and group of positions."""

    def __init__(self) -> None:
        self._values: dict[str, list[tuple[int, float]]] = {}

    def add(self, name: str, groups: Iterable[str], game: int, value: float) -> None:
        """Note a position's value of a figure, in every group it belongs to."""
        for group in groups:
            self._values.setdefault(f"{name} {group}", []).append((game, value))

    def figures(self, generator: np.random.Generator) -> dict[str, Figure]:
        """Return every figure by name and group, as in "top1 all"."""
        return {
            name: interval_over_games(np.array(pairs), generator)
            for name, pairs in sorted(self._values.items())
        }

    def minus(self, before: "Tally") -> "Tally":
        """Return by how much each value is above that of another net at the same position."""
        found = Tally()
        for name, pairs in self._values.items():
            both = zip(pairs, before._values[name], strict=True)
            found._values[name] = [(game, value - other) for (game, value), (_, other) in both]
        return found


def interval_over_games(pairs: NDArray[np.float64], generator: np.random.Generator) -> Figure:
    """Return the mean of [N, 2] pairs of game and value, with a bootstrap interval over games.

    Of few games it is widened as Student's is; of one it goes from the least value to the largest.
    """
    games, place = np.unique(pairs[:, 0], return_inverse=True)
    sums = np.bincount(place, pairs[:, 1])
    counts = np.bincount(place).astype(np.float64)
    drawn = generator.integers(len(games), size=(RESAMPLES, len(games)))
    means = sums[drawn].sum(1) / counts[drawn].sum(1)
    mean, n = float(sums.sum() / counts.sum()), len(games)
    least, most = pairs[:, 1].min(), pairs[:, 1].max()
    low, high = least, most
    if n > 1:
        factor = np.sqrt(n / (n - 1)) * t_95(n - 1) / Z_95
        reach = factor * (np.quantile(means, (0.025, 0.975)) - mean)
        low, high = np.clip(mean + reach, least, most)
    return Figure(mean, float(low), float(high), len(pairs), n)


def read_games_for(net: str, packs: Sequence[Path]) -> Games:
    """Read files of games, of the game that a net plays.

    Args:
        net: A file or a name.

    Raises:
        NetFileError: The net cannot be used.
        FileNotFoundError: A file of games does not exist.
        SgfError: There is no game in the files.
    """
    encoder = OnnxNet(find_net(net), "cpu").info.encoder
    return read_table(packs, kind=position_type(game_shown(encoder)))


def evaluate_net(
    net: str, packs: Sequence[Path], plan: EvaluationPlan, runtime: str = AUTO
) -> dict[str, Figure]:
    """Ask a net about random positions of random games of files; see `evaluate_games`.

    A net with other weights for small boards is asked with those for the largest of the games'
    boards. On a processor a runtime runs it, see `precision.choose`.

    Args:
        net: A file or a name.

    Raises:
        NetFileError: The net cannot be used.
        FileNotFoundError: A file of games does not exist.
        SgfError: There is no game in the files.
    """
    games = read_games_for(net, packs)
    file = find_net(net, games.longest_side)
    opened = open_best(NetFiles(file, is_exact=True), "auto", runtime)
    return evaluate_games(opened, games, plan)


def evaluate_games(net: OnnxNet, games: Games, plan: EvaluationPlan) -> dict[str, Figure]:
    """Ask a net about random positions of random games.

    Returns:
        Figures by name and group. Names: `top1`, `top5` (the recorded move is the net's first, or
        among its first five legal moves; of moves alike each counts in part), `cross_entropy`
        (nats; of these three passes are left out for nets that cannot pass), `winner` (share of
        games whose winner it favours),
        `win_log_loss` (nats), `score_error` (points, counted games), `ownership` (share of points
        whose final owner it favours). Groups: `all`, each source of games, quarters of the game,
        `moves 001-020` and so on, and for ownership `end`, the position after the last move,
        which no other group holds. Of the games that were counted, one position each, also
        `win_log_loss`, `score_error` and `unsure` (of the games won by more than BIG_WIN points,
        the share whose winner gets less than SURE) at each of STAGES, as in `unsure at half`.

    Raises:
        NetFileError: The net fails, or takes none of the games' board sizes.
    """
    generator = np.random.Generator(np.random.PCG64(plan.seed))
    return _tally(net, games, plan, generator).figures(generator)


def compare_on_games(
    before: OnnxNet, after: OnnxNet, games: Games, plan: EvaluationPlan
) -> tuple[dict[str, Figure], dict[str, Figure]]:
    """Return the figures of one net, and by how much another's are above them.

    Args:
        after: The other, which takes the same boards and has the same heads.
        plan: The same positions for both, so that intervals of differences are narrow.

    Raises:
        NetFileError: A net fails, or takes none of the games' board sizes.
    """
    first, second = (
        _tally(net, games, plan, np.random.default_rng(plan.seed)) for net in (before, after)
    )
    generator = np.random.default_rng(plan.seed)
    return first.figures(generator), second.minus(first).figures(generator)


def _tally(
    net: OnnxNet, games: Games, plan: EvaluationPlan, generator: np.random.Generator
) -> Tally:
    """Return what `evaluate_games` makes its figures of."""
    table = games.table
    taken = {size: games.of_size(*size) for size in games.sizes if net.info.accepts(*size)}
    if not taken:
        names = ", ".join(f"{width}x{height}" for width, height in games.sizes)
        raise NetFileError(f"{net.path}: takes no board of the games' sizes ({names})")
    usable = np.sort(np.concatenate(list(taken.values())))
    usable = usable[np.diff(table.starts)[usable] > 0]
    chosen = generator.permutation(usable)[: -(-plan.positions // plan.per_game)]
    tally = Tally()
    suicide_alive = int(net.info.pass_alive_under_suicide)
    reader = PositionReader(games, net.info.encoder, suicide_alive)
    for (width, height), all_of_size in taken.items():
        of_size = np.intersect1d(chosen, all_of_size)
        plies = draw_plies(games, of_size, plan.per_game, generator)
        for samples in _read(reader, plies, width * height):
            answers = _ask(net, samples)
            for row in np.flatnonzero(games.counts(samples.game, samples.to_play)).tolist():
                _judge(games, samples, answers, row, tally)
        counted = of_size[~np.isnan(table.score[of_size])]
        _judge_stages(net, reader, games, counted, tally)
    return tally


def draw_plies(
    games: Games, chosen: NDArray[np.int64], per_game: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return [n, 2] games and plies, rising: some of each game, and its end where it is settled."""
    pairs = []
    for game in chosen:
        length = int(games.table.starts[game + 1] - games.table.starts[game])
        count = min(per_game, length)
        plies = np.sort(generator.choice(length, size=count, replace=False))
        pairs += [(game, ply) for ply in plies]
        if games.table.settled[game]:
            pairs.append((game, length))
    return np.array(pairs, np.int64).reshape(-1, 2)


def _read(reader: PositionReader, pairs: NDArray[np.int64], area: int) -> Iterator[RecordSamples]:
    size = max(1, BATCH_POINTS // area)
    for at in range(0, len(pairs), size):
        part = pairs[at : at + size]
        yield reader.read(part[:, 0].copy(), part[:, 1].copy(), np.zeros(len(part), np.int64))


@dataclass(frozen=True)
class _Answers:
    """What a net says about a batch, for the side to move; None where it has no such head."""

    policy: NDArray[np.float32] | None
    """[B, A + 1] over legal moves; for nets that cannot pass [B, A]."""
    win: NDArray[np.float64] | None
    """[B] chance of a win where there is a winner."""
    lead: NDArray[np.float32] | None
    """[B] points."""
    ownership: NDArray[np.float32] | None
    """[B, H, W]"""


def _ask(net: OnnxNet, samples: RecordSamples) -> _Answers:
    info = net.info
    features = samples.features
    if info.meta_features:
        profile = HumanProfile.parse(DEFAULT_PROFILE)
        area = samples.legal.shape[1] - 1
        # Both players have the default profile, so that the color does not matter.
        rows = np.tile(np.array(profile.inputs(1, area), np.float32), (len(features), 1))
        features = np.concatenate([features, rows], axis=1)
    raw = net.run(samples.spatial, features)
    policy = raw.policy
    if policy is not None:
        policy = masked_softmax(policy, samples.legal[:, : policy.shape[1]] > 0)
    lead = next((name for name in ("lead", "score_mean") if name in info.score_columns), None)
    return _Answers(
        policy=policy,
        win=_win(raw, info),
        lead=None
        if raw.score is None or lead is None
        else raw.score[:, info.score_columns.index(lead)],
        ownership=raw.ownership,
    )


def _win(raw: RawOutputs, info: NetInfo) -> NDArray[np.float64] | None:
    if raw.value is None:
        return None
    if info.value_kind == VALUE_WIN_LOSS_NORESULT:
        margin = raw.value[:, 0].astype(np.float64) - raw.value[:, 1]
        return np.asarray(1.0 / (1.0 + np.exp(-margin)))
    return np.asarray((raw.value[:, 0].astype(np.float64) + 1.0) / 2.0)


def _judge_stages(
    net: OnnxNet, reader: PositionReader, games: Games, chosen: NDArray[np.int64], tally: Tally
) -> None:
    """Compare a net's answers at STAGES of counted games of one board size with their ends."""
    table = games.table
    lengths = table.starts[chosen + 1] - table.starts[chosen]
    for name, share in STAGES.items():
        group = (f"at {name}",)
        plies = (share * lengths).astype(np.int64)
        area = int(table.width[chosen[0]]) * int(table.height[chosen[0]]) if len(chosen) else 1
        for samples in _read(reader, np.stack([chosen, plies], 1), area):
            answers = _ask(net, samples)
            for row, game in enumerate(samples.game):
                score = float(samples.score[row])
                if answers.lead is not None:
                    error = abs(float(answers.lead[row]) - score)
                    tally.add("score_error", group, game, error)
                if answers.win is None or score == 0.0:
                    continue
                win = float(answers.win[row])
                right = win if score > 0.0 else 1.0 - win
                tally.add("win_log_loss", group, game, _log_loss(right))
                if abs(score) > BIG_WIN:
                    tally.add("unsure", group, game, float(right < SURE))


def among_first(
    better: NDArray[np.float64], equal: NDArray[np.float64], places: int
) -> NDArray[np.float64]:
    """Return [n] the chance of each move to be in the first places, drawing lots with its equals.

    Args:
        better: [n] moves that are liked better.
        equal: [n] moves that are liked as much, itself too.
    """
    return np.clip((places - better) / equal, 0.0, 1.0)


def _log_loss(right: float) -> float:
    return -float(np.log(max(right, 1e-6)))


def _judge(games: Games, samples: RecordSamples, answers: _Answers, row: int, tally: Tally) -> None:
    """Compare a net's answer with what was played and what came of it."""
    table, game, ply = games.table, int(samples.game[row]), int(samples.ply[row])
    length = int(table.starts[game + 1] - table.starts[game])
    owner = samples.ownership[row]
    decided = owner != 0
    right_points = None
    if answers.ownership is not None and decided.any():
        right_points = float((np.sign(answers.ownership[row]) == owner)[decided].mean())
    if ply == length:
        if right_points is not None:
            tally.add("ownership", (END,), game, right_points)
        return
    overall = tuple(dict.fromkeys((ALL, games.sources[table.source[game]] or "unnamed")))
    first = ply // MOVES_PER_GROUP * MOVES_PER_GROUP
    stage = (
        f"quarter {1 + QUARTERS * ply // length}",
        f"moves {first + 1:03d}-{first + MOVES_PER_GROUP:03d}",
    )
    if right_points is not None:
        tally.add("ownership", (*overall, *stage), game, right_points)
    action = int(samples.action[row])
    if answers.policy is not None and action < answers.policy.shape[1]:
        policy = answers.policy[row]
        better, equal = (policy > policy[action]).sum(), (policy == policy[action]).sum()
        chance = max(float(policy[action]), SMALLEST_CHANCE)
        tally.add("top1", (*overall, *stage), game, float(among_first(better, equal, 1)))
        tally.add("top5", overall, game, float(among_first(better, equal, TOP)))
        tally.add("cross_entropy", overall, game, -float(np.log(chance)))
    outcome = float(samples.outcome[row])
    if answers.win is not None and outcome in (0.0, 1.0):
        right = float(answers.win[row]) if outcome else 1.0 - float(answers.win[row])
        tally.add("winner", (*overall, *stage), game, float(right > 0.5))
        tally.add("win_log_loss", overall, game, _log_loss(right))
    score = float(samples.score[row])
    if answers.lead is not None and not np.isnan(score):
        tally.add("score_error", overall, game, abs(float(answers.lead[row]) - score))
