"""Review games: search every position, and deeper where the game turned.

Each game gets a page that loads nothing (NAME.html), a record with comments and variations
(NAME.sgf) and all figures (NAME.json); several games get index.html besides. The same command
goes on where it was broken off.
"""

import argparse
import contextlib
import hashlib
import json
import logging
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gtp_engine.arguments import UsageError, parse_count
from gtp_engine.commands.options import add_options, add_shared, check_net, read_settings
from gtp_engine.commands.progress import shown_progress
from gtp_engine.evaluators.rollouts.go import open_evaluator
from gtp_engine.files import PACKED_SUFFIXES, read_file, write_whole
from gtp_engine.frontends.analysis.records import game_files, playable_games
from gtp_engine.frontends.review.findings import FORMAT, make_report
from gtp_engine.frontends.review.overview import color_of_player, overview_page
from gtp_engine.frontends.review.page import game_page
from gtp_engine.frontends.review.sgf_notes import annotated_sgf
from gtp_engine.frontends.review.stages import Material, Wish, reckoned_visits
from gtp_engine.frontends.review.work import ReviewTask, SearchLog, run_reviews
from gtp_engine.go.game_record import GameRecord
from gtp_engine.messages import INTERRUPTED_STATUS, counted
from gtp_engine.play.analysis_scheduler import AnalysisScheduler
from gtp_engine.play.settings import Settings
from gtp_engine.version import __version__

logger = logging.getLogger(__name__)

DEFAULT_VISITS = 200

_OPTIONS = ("net", "device", "runtime", "threads", "batch", "memory", "seed")

_EXAMPLES = """examples:
  gtp-engine review game.sgf                      review/game.html, .sgf and .json
  gtp-engine review games/ --player Ada           every game, and what Ada's have in common
"""


@dataclass
class Game:
    """A game to review, and where its review goes."""

    record: GameRecord
    folder: Path
    name: str
    digest: str

    def path(self, ending: str) -> Path:
        """Return the file of this ending."""
        return self.folder / f"{self.name}{ending}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    parser.add_argument("games", nargs="+", type=Path, metavar="GAME.sgf", help="files or folders")
    parser.add_argument(
        "--out", type=Path, default=Path("review"), metavar="DIR", help="where reviews go (review)"
    )
    parser.add_argument(
        "--visits",
        type=parse_count,
        default=DEFAULT_VISITS,
        metavar="N",
        help=f"visits of each position; ten times as many where it matters ({DEFAULT_VISITS})",
    )
    parser.add_argument(
        "--player", metavar="NAME", help="whose mistakes to show first and to sum up"
    )
    add_shared(parser, "positions")
    add_options(parser, _OPTIONS)


def run(args: argparse.Namespace) -> int:
    """Review the games; return 0, 1 if one could not be, 130 if interrupted."""
    settings = read_settings(args)
    check_net(settings.net)
    is_new = not args.out.exists()
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        return _review(args, settings)
    except OSError as error:
        raise UsageError(f"{error.filename or args.out}: {error.strerror or error}") from None
    finally:
        if is_new:
            with contextlib.suppress(OSError):  # mostly there is something in it
                args.out.rmdir()


def _review(args: argparse.Namespace, settings: Settings) -> int:
    problems = 0

    def complain(sentence: str) -> None:
        nonlocal problems
        problems += 1
        logger.warning(sentence)

    games = list(_games(args.games, args.out, complain))
    if args.player is not None and games and not any(_plays(args.player, game) for game in games):
        complain(f"--player: {args.player} plays in none of these games")
    scheduler, net = _open_scheduler(settings, args.positions)
    heading = {"format": FORMAT, "version": __version__, "net": net, "visits": args.visits}
    waiting = []
    for game in games:
        report = _finished(game, heading)
        if report is None:
            waiting.append(game)
            continue
        game.path(".part").unlink(missing_ok=True)  # of a run that was killed at its end
        if args.player is not None:
            _write_page(game, report, args.player)
    if len(waiting) < len(games):
        logger.info(f"{len(games) - len(waiting)} of {len(games)} games are reviewed already")
    by_task: dict[ReviewTask, Game] = {}

    def tasks() -> Iterator[ReviewTask]:
        for game in waiting:
            log = SearchLog(game.path(".part"), {**heading, "game": game.digest})
            task = ReviewTask(game.record, args.visits, log)
            by_task[task] = game
            yield task

    left = {id(game.record): reckoned_visits(game.record, args.visits) for game in waiting}
    with shown_progress("visits", sum(left.values())) as advance:

        def count(task: ReviewTask, wish: Wish) -> None:
            if task.failure is not None:
                return
            done = min(wish.visits, left[id(task.record)])
            left[id(task.record)] -= done
            advance(done)

        def end(task: ReviewTask, material: Material | None) -> None:
            game = by_task.pop(task)
            is_kept = material is None and bool(task.log.found)
            missing = left.pop(id(task.record))
            if material is None:
                kept = "; what was searched is kept for another run" if is_kept else ""
                complain(f"{game.name}: {task.failure}{kept}")
                advance(0, fewer=missing)
            else:
                advance(missing)
                _write(game, material, heading, args.player)
            task.log.close(remove=not is_kept)

        try:
            run_reviews(scheduler, tasks(), count, end)
        except KeyboardInterrupt:
            logger.info("interrupted; the same command goes on from here")
            return INTERRUPTED_STATUS
    _write_overview(args.out, games, heading, args.player)
    return 1 if problems else 0


def _games(paths: list[Path], folder: Path, complain: Any) -> Iterator[Game]:
    """Yield what is to be reviewed, each with a name of its own."""
    files = []
    for path in paths:
        # What a review wrote is no game to review, unless it is asked for by name.
        files += [
            file
            for file in game_files(path, complain)
            if file == path or _read_report(file.with_suffix(".json")) is None
        ]
    # Neither a page's name nor that of a game in the folder itself; some disks ignore case.
    taken = {"index"}
    taken |= {file.stem.casefold() for file in files if file.resolve().parent == folder.resolve()}
    for identity, record in playable_games(files, complain):
        if not record.moves:
            complain(f"{identity}: there are no moves to review")
            continue
        digest = hashlib.sha256(repr(record).encode("utf-8", "replace")).hexdigest()
        file_name = Path(re.sub(r"#\d+$", "", identity)).name
        stem = os.fsencode(file_name).decode("utf-8", "replace")  # pages hold text alone
        for ending in (*PACKED_SUFFIXES, ".sgf"):
            if stem.lower().endswith(ending):
                stem = stem[: -len(ending)]
        name = _free_name(stem or "game", folder, digest, taken)
        taken.add(name.casefold())
        yield Game(record, folder, name, digest)


def _plays(player: str, game: Game) -> bool:
    names = {"black": game.record.black_name or "", "white": game.record.white_name or ""}
    return color_of_player(names, player) is not None


def _free_name(stem: str, folder: Path, digest: str, taken: set[str]) -> str:
    """Return the stem, with a number where another game has that name here or from before."""
    number = 1
    while True:
        name = stem if number == 1 else f"{stem}-{number}"
        if name.casefold() not in taken:
            report = _read_report(folder / f"{name}.json")
            if report is None or report["game"].get("digest") == digest:
                return name
        number += 1


def _read_report(path: Path) -> dict[str, Any] | None:
    """Return a review that is there and whole."""
    try:
        found = json.loads(read_file(path))
    except (OSError, ValueError, RecursionError):
        return None
    is_ours = isinstance(found, dict) and found.get("format") == FORMAT
    return found if is_ours and isinstance(found.get("game"), dict) else None


def _finished(game: Game, heading: dict[str, Any]) -> dict[str, Any] | None:
    """Return a game's review if all its files are there, made in the same way."""
    report = _read_report(game.path(".json"))
    if (
        report is None
        or any(report.get(key) != value for key, value in heading.items())
        or report["game"].get("digest") != game.digest
        or not game.path(".html").exists()
        or not game.path(".sgf").exists()
    ):
        return None
    return report


def _write(game: Game, material: Material, heading: dict[str, Any], player: str | None) -> None:
    """Write the files of a review, the one that says that all are there last."""
    report = {
        **heading,
        **make_report(game.record, material, name=game.name, digest=game.digest),
    }
    _write_page(game, report, player)
    write_whole(game.path(".sgf"), annotated_sgf(game.record, report))
    write_whole(game.path(".json"), json.dumps(report, separators=(",", ":")))


def _write_page(game: Game, report: dict[str, Any], player: str | None) -> None:
    shown = None if player is None else color_of_player(report["game"], player)
    write_whole(game.path(".html"), game_page(game.record, report, shown))


def _write_overview(
    folder: Path, games: list[Game], heading: dict[str, Any], player: str | None
) -> None:
    reports = [report for game in games if (report := _finished(game, heading)) is not None]
    if len(games) > 1 and reports:
        write_whole(folder / "index.html", overview_page(reports, player))
        logger.info(f"{folder / 'index.html'} has {counted(len(reports), 'game')}")
    elif reports:
        logger.info(f"{games[0].path('.html')} is the review")


def _open_scheduler(settings: Settings, at_once: int | None) -> tuple[AnalysisScheduler, str]:
    """Return what searches, and what it uses in one line."""
    net = open_evaluator(
        settings.net,
        settings.device,
        settings.runtime,
        threads=settings.threads,
        max_batch=settings.batch,
        seed=settings.seed or 0,
    )
    return AnalysisScheduler.for_settings(net, settings, at_once), net.describe()
