"""REINFORCE against a pool of past selves, from any net with a policy.

D. Silver et al., "Mastering the game of Go with deep neural networks and tree search", Nature 529
(2016), Methods: a round is some games in step, without search, against a net drawn from the pool;
each move of the learner is made likelier by what its game brought beyond what was expected there.
What was expected is the net's own value, learned at the same time, or the mean of the batch where
it has none.

Every so many rounds the net joins the pool and plays the best so far, which it replaces when it
wins clearly. In the run's folder: the checkpoint, the pool (`nets/`), `ladder.json` with all
matches, `best.onnx`, and at the end the net with its card. All of it is found again after a kill,
which costs half a minute, or the round or match that was being played.
"""

import logging
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from gtp_engine.arena.policy_games import open_policy, play_policy_games, points_of_first
from gtp_engine.arena.ratings import rate_players
from gtp_engine.arena.statistics import describe_strength
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.evaluators.nets.net_files import find_net
from gtp_engine.evaluators.nets.net_info import VALUE_SCALAR, NetFileError, NetInfo
from gtp_engine.files import write_json, write_whole
from gtp_engine.games import game_shown
from gtp_engine.go.rules import GO, default_komi
from gtp_export.architectures.net_file import describe_net
from gtp_export.architectures.presets import PRESETS, Preset, preset_of
from gtp_export.architectures.shape import Shape
from gtp_export.cards import format_reinforced_card
from gtp_export.convert.golden import add_golden
from gtp_export.convert.graph import write_model
from gtp_export.convert.onnx_file import info_of, load_model, read_info, replace_info
from gtp_export.learning.batch import NetOutputs
from gtp_export.learning.losses import MASKED_LOGIT
from gtp_export.learning.net_export import NetExport
from gtp_export.learning.pair_source import PairSource, collect
from gtp_export.learning.record_losses import RecordTargets, record_losses
from gtp_export.learning.starting_weights import licence_of
from gtp_export.learning.torch_layers import Net
from gtp_export.learning.trainer import CHECKPOINT, CHECKPOINT_SECONDS, Trainer, TrainPlan
from gtp_export.pictures import can_draw, draw_intervals
from gtp_export.plans import ReinforceRun
from gtp_export.records.games import Games
from gtp_export.run_settings import keep_settings, read_json
from gtp_export.span import PAUSE

logger = logging.getLogger(__name__)

GENTLE = 1.0 / 6.0
"""Share of the preset's learning rate at which a trained net goes on."""
BATCHES = 4
"""Steps of a round; each position is learned from once."""
POOL_ROUNDS = 25
"""After so many a net joins the pool and is judged."""
GATE_GAMES = 200
GATE_SHARE = 0.55
"""Of the games against the best so far, that a net must win to replace it."""
FINAL_GAMES = 400
BEGUN = "000000"
"""Name of the net that the run began with."""
NOTHING_GAINED = "nothing was gained: it is the net that the run began with"


def learned_pairs(games: Games) -> NDArray[np.int64]:
    """Return [n, 2] games and plies of the first player's moves, passes left out."""
    table, pairs = games.table, games.plies()
    numbers, plies = pairs.T
    area = table.width.astype(np.int64) * table.height
    mine = (plies % 2 == numbers % 2) & (table.moves != area[numbers])
    return pairs[np.flatnonzero(mine)]


@dataclass(frozen=True)
class ReinforceTask:
    """What is learned from a round."""

    preset: Preset
    positions: PairSource

    @property
    def shape(self) -> Shape:
        return self.preset.shape

    def source(self, batch_points: int, seed: int, rank: int = 0, processes: int = 1) -> PairSource:
        return self.positions

    def losses(self, outputs: NetOutputs, targets: RecordTargets) -> dict[str, Tensor]:
        """Return those of records, and for the policy what REINFORCE follows.

        Its gradient is that of the log-likelihood of the moves, each times the result, -1 to 1,
        less what was expected. The pass was no choice. Nor was an own eye, but a batch does not say
        which points these are: they count as moves that could have been drawn and were not.
        """
        assert outputs.policy is not None
        found = record_losses(outputs, targets, squared_ownership=False)
        legal = targets.legal[:, : outputs.policy.shape[1]].clone()
        if self.preset.shape.has_pass:
            legal[:, -1] = False
        logits = outputs.policy.masked_fill(~legal, MASKED_LOGIT)
        gained = 2.0 * targets.outcome - 1.0
        gained = gained - self._expected(outputs.value, gained)
        likely = functional.log_softmax(logits, 1).gather(1, targets.action[:, None])[:, 0]
        return found | {"policy": -(gained * likely).mean()}

    def _expected(self, value: Tensor | None, gained: Tensor) -> Tensor:
        if value is None:
            return gained.mean()
        value = value.detach()
        if self.preset.shape.value_kind == VALUE_SCALAR:
            return value[:, 0]
        chances = value.softmax(1)
        return chances[:, 0] - chances[:, 1]

    def measure(self, net: Net, device: str) -> dict[str, Any]:
        """Measure nothing: nets are judged by their games."""
        return {}


def begun_net(run: ReinforceRun) -> tuple[Path, NetInfo, str]:
    """Return the file of the net that a run begins with, its description and its preset's name.

    Raises:
        NetFileError: The net has no policy, is not of ours, or does not take the board.
    """
    start = find_net(run.net, run.size)
    info = info_of(start)
    name = preset_of(start, info)
    if game_shown(info.encoder) != GO:
        raise NetFileError(f"{start.name}: the net {info.name} does not play {GO}")
    if not info.accepts(run.size, run.size):
        raise NetFileError(
            f"{start.name} takes boards of {info.board_min} to {info.board_max} points a side, "
            f"not {run.size}x{run.size}"
        )
    return start, info, name


class Reinforcement:
    """A run: rounds of games and steps, and a ladder of nets."""

    def __init__(self, run: ReinforceRun, start: Path, info: NetInfo, name: str) -> None:
        """Go on with the run of a folder, or begin one; nobody else may be at work there.

        Args:
            start: What it begins with, as `begun_net` returns it with its description and preset.

        Raises:
            NetFileError: The run was begun otherwise.
            OSError: A file cannot be written.
        """
        self._run = run
        self._preset = PRESETS[name].for_size(info.board_max)
        self._komi = default_komi(run.size, run.size) if run.komi is None else run.komi
        self._nets = run.out / "nets"
        begun = self._nets / f"{BEGUN}.onnx"
        if begun.exists() and begun.read_bytes() != start.read_bytes():
            raise NetFileError(f"{run.out}: was begun with another net; choose another --out")
        keep_settings(run.out, size=run.size, komi=self._komi)
        self._nets.mkdir(exist_ok=True)
        if not begun.exists():
            write_whole(begun, start.read_bytes())
        shape = self._preset.shape
        self._info = describe_net(
            shape,
            run.out.resolve().name,
            trained_sizes=(run.size, run.size),
            source=f"preset {name}, begun with {info.name}",
            trained_on=f"{info.trained_on}; then games against past selves on "
            f"{run.size}x{run.size}",
            licence=licence_of(run, start),
            created_by="gtp-export reinforce",
        )
        self._export = NetExport(run.out, self._info)
        self._positions = PairSource(shape.encoder)
        self._plan = TrainPlan.of(
            run,
            task=ReinforceTask(self._preset, self._positions),
            learning_rate=run.learning_rate or GENTLE * self._preset.learning_rate,
            adam=self._preset.adam,
            loss_weights=self._preset.loss_weights,
            average_decay=0.9,
            start=begun,
        )
        self._ladder_file = run.out / "ladder.json"
        self._ladder: list[dict[str, Any]] = []
        if self._ladder_file.exists():
            self._ladder = read_json(self._ladder_file)
        torch.set_num_threads(1)
        # The norms of a net that a run begins with get their statistics from a round of its own.
        if not (run.out / CHECKPOINT).exists():
            self._play(self._open(BEGUN), BEGUN, np.random.default_rng([run.seed, 0]))
        self._trainer = Trainer(0, self._plan)
        self._trainer.restore()

    @property
    def _round(self) -> int:
        return self._trainer.steps // BATCHES

    def learn(self) -> None:
        """Reinforce until the span is over; write the net that came out best, with its card.

        Raises:
            TrainError: The run cannot go on.
            NetFileError: A net fails.
            OSError: A file cannot be written.
        """
        run, trainer, saved = self._run, self._trainer, time.perf_counter()
        self._export(trainer.average, "latest")
        if self._round % POOL_ROUNDS == 0:  # what a kill may have left undone
            self._judge(f"{self._round:06}")
        while trainer.progress < 1.0:
            if trainer.meter.is_halted():
                trainer.save()
                logger.info(f"halted until {run.out / PAUSE} is gone")
                trainer.meter.wait_while_halted()
            generator = np.random.default_rng([run.seed, self._round, 1])
            pool = sorted(path.stem for path in self._nets.glob("*.onnx"))
            opponent = pool[int(generator.integers(len(pool)))]
            share = self._play(open_policy(run.out / "latest.onnx"), opponent, generator)
            losses = [trainer.step() for _ in range(BATCHES)]
            self._export(trainer.average, "latest")
            number = self._round
            told = ", ".join(f"{name} {losses[-1][name]:.3f}" for name in ("policy", "top1"))
            logger.info(
                f"{run.span.left(trainer.spent)}, round {number}: "
                f"{share:.0%} against {opponent}, {told}"
            )
            is_due = number % POOL_ROUNDS == 0
            if is_due or time.perf_counter() - saved > CHECKPOINT_SECONDS:
                trainer.save()
                saved = time.perf_counter()
            if is_due:
                self._judge(f"{number:06}")
        trainer.save()
        self._judge(f"{self._round:06}")
        self._finish()

    def _open(self, name: str) -> NetEvaluator:
        return open_policy(self._nets / f"{name}.onnx")

    def _play(self, learner: NetEvaluator, opponent: str, generator: np.random.Generator) -> float:
        """Play a round to learn from; return the share that was won."""
        run = self._run
        players = [learner, self._open(opponent)]
        ended = play_policy_games(players, run.size, self._komi, run.games, generator)
        games = collect(ended)
        pairs = learned_pairs(games)
        self._positions.feed(games, pairs, max(2, len(pairs) // BATCHES))
        return points_of_first(ended) / run.games

    def _judge(self, name: str) -> None:
        """Put the newest net into the pool, and let it play the best one and the first."""
        best = self._best()
        if not (self._nets / f"{name}.onnx").exists():
            self._export(self._trainer.average, f"nets/{name}")
        for other in dict.fromkeys((best, BEGUN)):
            met = any((match["net"], match["other"]) == (name, other) for match in self._ladder)
            if name != other and not met:
                self._match(name, other, GATE_GAMES, gate=other == best)
        write_whole(self._run.out / "best.onnx", (self._nets / f"{self._best()}.onnx").read_bytes())
        self._draw_ladder()

    def _best(self) -> str:
        promoted = [match["net"] for match in self._ladder if match["promoted"]]
        return promoted[-1] if promoted else BEGUN

    def _match(self, name: str, other: str, games: int, *, gate: bool) -> None:
        run, players = self._run, [self._open(name), self._open(other)]
        generator = np.random.default_rng([run.seed, len(self._ladder), 2])
        won = points_of_first(play_policy_games(players, run.size, self._komi, games, generator))
        entry = {
            "net": name,
            "other": other,
            "points": won,
            "games": games,
            "promoted": gate and won >= GATE_SHARE * games,
            "core_hours": round(self._trainer.spent.core_seconds / 3600.0, 4),
        }
        self._ladder.append(entry)
        write_json(self._ladder_file, self._ladder)
        logger.info(f"{name} against {other}: {describe_strength(won, games)}")

    def _draw_ladder(self) -> None:
        """Plot the Elo of all nets above the first one, with intervals."""
        results = [(m["net"], m["other"], m["points"], m["games"]) for m in self._ladder]
        if not results:
            return
        ratings = rate_players(results, BEGUN)
        games = self._run.games
        points = [(games * int(name), *asdict(elo).values()) for name, elo in ratings.items()]
        if can_draw():
            named = {"without search": sorted(points)}
            axes = "games", "Elo above the net it began with"
            draw_intervals(self._run.out / "ladder.png", named, axes)

    def _finish(self) -> None:
        """Measure the best net against the first one, and write it with its card."""
        run, best = self._run, self._best()
        strength = NOTHING_GAINED
        if best != BEGUN:
            final = [m for m in self._ladder if m["games"] == FINAL_GAMES and m["net"] == best]
            if not final:
                self._match(best, BEGUN, FINAL_GAMES, gate=False)
            last = self._ladder[-1] if not final else final[-1]
            strength = (
                f"{describe_strength(last['points'], last['games'])} against the net it began "
                f"with, {last['games']} games on {run.size}x{run.size} without search"
            )
        self._draw_ladder()
        path, target = self._nets / f"{best}.onnx", run.out / f"{self._info.name}.onnx"
        model = load_model(path)
        info: NetInfo = replace(read_info(path, model), strength=strength)
        replace_info(model, info)
        add_golden(model, info)
        write_model(model, target)
        facts = {
            "command": run.command_line,
            "rounds": self._round,
            "games": run.games * self._round,
            "learning_rate": self._plan.learning_rate,
            "core_hours": self._trainer.spent.core_seconds / 3600.0,
            "ladder": self._ladder,
        }
        write_whole(target.with_suffix(".md"), format_reinforced_card(info, facts))
        logger.info(f"{target}: {strength}")
