"""Tune a finished net on games of one's own, and say what that brought and what it cost.

The games are divided by game. On those set aside the net before and the net after are asked about
the same positions, so that the interval of the difference is narrow. What was forgotten shows on
other games, or, without any, in how far the answers have moved on games that the net before plays.
"""

import logging
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from gtp_engine.coords import BLACK, EMPTY, WHITE
from gtp_engine.evaluators.accuracy import compare_nets
from gtp_engine.evaluators.nets.net_files import find_net
from gtp_engine.evaluators.nets.net_info import NetFileError, NetInfo
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.files import write_whole
from gtp_engine.games import game_shown, position_type
from gtp_engine.go.game_record import GameRecord, SgfError
from gtp_engine.go.position import Position
from gtp_engine.messages import counted
from gtp_engine.play.game_recorder import OWN_NAME
from gtp_export.architectures.presets import PRESETS, preset_of
from gtp_export.cards import FIGURES
from gtp_export.convert.onnx_file import (
    check_target,
    files_of,
    info_of,
    remove_smaller,
)
from gtp_export.evaluation import Figure, compare_on_games
from gtp_export.learning.record_run import describe_trained, divide, run_task
from gtp_export.learning.record_task import RecordTask
from gtp_export.plans import EvaluationPlan, OwnGamesRun
from gtp_export.records.games import Games
from gtp_export.records.reading import read_table
from gtp_export.run_settings import alone_in
from gtp_export.span import Span

logger = logging.getLogger(__name__)

FEWEST_GAMES = 10
"""Of fewer nothing is learned that could be measured."""
PASSES = 4
"""How often a position is learned from, as one of its eight symmetries, unless a span is given."""
GENTLE = 1.0 / 20.0
"""Share of the preset's learning rate at which a trained net keeps what it knows: of 200 games of
other players, `human` learned a little at this, and at a sixth soon predicted all games worse."""
OTHER_HEADS = 0.1
"""Times the preset's weights of all losses but the policy's: how a few hundred games ended would be
learned by heart (the winners' log loss on other games rose from 0.67 to 0.69 within 16,000 samples
of 200 games)."""
COMPARED_POSITIONS = 600
NAMES_SHOWN = 5


@dataclass
class Players:
    """Says whose moves of a game count: one player's, or all but those of this engine."""

    wanted: str = ""
    """A name, in capitals or not; empty for everybody's."""
    kind: type[Position] = Position
    """What they are games of."""

    def __post_init__(self) -> None:
        self.asked = 0
        """Of so many games."""
        self.seen: Counter[str] = Counter()

    def __call__(self, record: GameRecord) -> int | None:
        """Return a color, EMPTY for both, None for neither."""
        names = {BLACK: record.black_name, WHITE: record.white_name}
        self.asked += 1
        self.seen.update(name for name in names.values() if name)
        if self.wanted:
            found = [c for c, name in names.items() if name.casefold() == self.wanted.casefold()]
        else:
            found = [c for c, name in names.items() if not name.startswith(OWN_NAME)]
        return None if not found else EMPTY if len(found) == 2 else found[0]

    def read(self, paths: tuple[Path, ...]) -> Games:
        """Read the games in which somebody's moves count.

        Raises:
            NetFileError: There are none.
            SgfError: There is no game.
            OSError: A file cannot be read.
        """
        try:
            return read_table(paths, self, self.kind)
        except SgfError:
            if not self.asked:  # none could be read
                raise
            if not self.wanted:
                raise NetFileError(
                    f"{_named(paths)}: in all games this engine plays both colors; --player names "
                    "whose moves to learn"
                ) from None
            often = ", ".join(name for name, _ in self.seen.most_common(NAMES_SHOWN))
            known = f"; most often play {often}" if often else ", which hold no names of players"
            raise NetFileError(
                f"{self.wanted} plays in no game of {_named(paths)}{known}"
            ) from None


def _named(paths: tuple[Path, ...]) -> str:
    return ", ".join(str(path) for path in paths)


def learn_from_games(run: OwnGamesRun) -> None:
    """Tune a net, write it and its card, and say what came of it.

    Raises:
        NetFileError: The net cannot be tuned, or there are too few games.
        SgfError: There is no game.
        OSError: A file cannot be read or written.
    """
    target, out = run.target, run.target.with_suffix("")
    if out.exists() and any(path.samefile(out) for path in (*run.games, *run.valid, *run.others)):
        raise NetFileError(f"{out}: would be the run's folder, but has games; choose another --out")
    named = find_net(run.net)
    before = info_of(named)
    kind = position_type(game_shown(before.encoder))
    players = Players(run.player, kind)
    read = players.read(run.games)
    start = find_net(run.net, read.longest_side)
    check_target(start, target)
    if start != named:  # other weights for small boards, which see the same game
        before = info_of(start)
    run = replace(
        run,
        start=start,
        out=out,
        preset=preset_of(start, before),
        name=target.stem,
    )
    preset = PRESETS[run.preset].for_size(before.board_max)
    weights = preset.loss_weights.items()
    lighter = {name: w if name == "policy" else OTHER_HEADS * w for name, w in weights}
    preset = replace(preset, loss_weights=lighter)
    if before.precision != "fp32":
        logger.info(
            f"{start.name} is in {before.precision}: its weights are made again from integers"
        )
    games = fitting(read, before, start)
    if len(games) < FEWEST_GAMES:
        raise NetFileError(
            f"{counted(len(games), 'game')}: too few; from {FEWEST_GAMES} on some can be learned "
            "from and others measured on"
        )
    valid = fitting(players.read(run.valid), before, start) if run.valid else None
    general = fitting(read_table(run.others, kind=kind), before, start) if run.others else None
    task = divide(run, preset, games, valid)
    if run.span.amount == 0:
        run = replace(run, span=Span(PASSES * task.train.n_counted, "samples"))
    if run.learning_rate is None:
        run = replace(run, learning_rate=GENTLE * preset.learning_rate)
    info = replace(
        describe_trained(task, run, target.stem),
        trained_sizes=before.trained_sizes,
        source=f"preset {run.preset}, begun with {before.name}",
        trained_on=f"{before.trained_on}; then {len(task.train):,} games of one's own",
    )
    with alone_in(out):
        run_task(run, task, info, lambda made: compare(start, made, task, general, run.positions))
        remove_smaller(target)
        for file in (*files_of(target), target.with_suffix(".md")):
            if (made := out / file.name).exists():
                write_whole(file, made.read_bytes())
    logger.info(f"wrote {target}")


def fitting(games: Games, info: NetInfo, path: Path) -> Games:
    """Return the games on boards that a net takes.

    Raises:
        NetFileError: There are none.
    """
    fits = games.on_boards(info.accepts)
    if not len(fits):
        found = ", ".join(f"{width}x{height}" for width, height in games.sizes)
        raise NetFileError(
            f"{path.name} takes boards of {info.board_min} to {info.board_max} points a side, and "
            f"the games are on {found}"
        )
    return fits


def compare(
    start: Path, written: Path, task: RecordTask, general: Games | None, positions: int
) -> list[str]:
    """Return in lines what a tuned net does better and worse than the one it began with."""
    before, after = OnnxNet(start, "cpu"), OnnxNet(written, "cpu")

    def compared(games: Games) -> tuple[dict[str, Figure], dict[str, Figure]]:
        # The more games the positions are of, the narrower the intervals.
        plan = EvaluationPlan(positions, per_game=-(-positions // len(games)))
        return compare_on_games(before, after, games, plan)

    first, gain = compared(task.valid)
    top1 = gain["top1 all"]
    verdict = "no clear difference" if top1.low <= 0.0 <= top1.high else "better"
    if top1.high < 0.0:
        verdict = "worse"
    lines = [f"on {top1.games} games it did not learn from: {verdict}", *_changes(first, gain)]
    if general is not None:
        lines += ["what it forgot, on the other games:"]
        return lines + _changes(*compared(general))
    found = compare_nets(after, before, COMPARED_POSITIONS)
    return [
        *lines,
        f"what it forgot is not measured without --others; on {found.positions} positions of games "
        f"that {before.info.name} plays, {found.top1:.1%} of its first moves are the same, "
        f"winrates are off by {found.win_error:.1%}, leads by {found.lead_error:.1f} points",
    ]


CHANGES = ("top1 all", "top5 all", "cross_entropy all", "win_log_loss all")
"""Which FIGURES are told of two nets."""


def _changes(before: dict[str, Figure], gain: dict[str, Figure]) -> list[str]:
    lines = []
    for name in CHANGES:
        if name in gain:
            text, scale, unit = FIGURES[name]
            one, mean = scale * before[name].mean, scale * gain[name].mean
            low, high = scale * gain[name].low, scale * gain[name].high
            digits = 1 if unit else 3
            lines.append(
                f"  {text}: {one:.{digits}f}{unit} before, {mean:+.{digits}f} "
                f"({low:+.{digits}f} to {high:+.{digits}f})"
            )
    return lines
