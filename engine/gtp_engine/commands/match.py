"""Let two GTP engines play each other, or with --game five two of Gomocup's protocol.

Colors alternate.
"""

import argparse
import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING

from gtp_engine.arguments import UsageError, check_file, parse_count, parse_seed
from gtp_engine.commands.options import DEFAULT_TIMEOUT, add_shared, add_sprt, check_size, read_sprt
from gtp_engine.commands.progress import shown_progress
from gtp_engine.coords import point_at
from gtp_engine.files import read_file
from gtp_engine.games import FIVE, new_game, parse_rules, usual_size
from gtp_engine.go.rules import GO, LONGEST_GAME
from gtp_engine.platforms import INTERRUPTED_BY

if TYPE_CHECKING:
    from gtp_engine.arena.referee import MatchGame, MatchTerms
    from gtp_engine.go.position import Position
    from gtp_engine.play.clock.systems import TimeSystem

_EXAMPLES = """A and B are command lines in quotes; `self` stands for this engine.

examples:
  gtp-engine match "self --playouts 200" "gnugo --mode gtp --chinese-rules" --size 9 --games 40
  gtp-engine match self "gnugo --mode gtp --chinese-rules" --size 9 --clock "byoyomi 20 3 3"
  gtp-engine match "self --playouts 400" "self --playouts 100" --openings 4 --sprt 0 50
  gtp-engine match --game five --rules renju --clock "fischer-capped 180 0 -1 30" self ./pbrain-x

At the end both are asked for the score. Where they differ the referee counts without the stones
that both call dead; or else the winner that both name has won; or else all stones count as alive.

The summary goes to stdout, each game and the progress to stderr.
"""

logger = logging.getLogger(__name__)

OPENING_MOVES = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    parser.add_argument("a", metavar="A", help="the first engine's command line")
    parser.add_argument("b", metavar="B", help="the second engine's command line")
    games = parser.add_argument_group("the games")
    add_shared(games, "size", "komi", games=10, game=GO)
    games.add_argument(
        "--rules",
        metavar="NAME",
        help="the referee's rules (chinese: simple ko, area scoring); those given are told to "
        "engines that know kata-set-rules; five in a row: freestyle, standard, renju, caro, "
        "caro-exact",
    )
    games.add_argument(
        "--clock",
        metavar="'KIND NUMBERS'",
        help="time for each player, as in kata-time_settings: 'absolute 60', 'byoyomi 30 5 3', "
        "'fischer 20 1'; whoever oversteps it loses; five in a row: 'absolute 180', 'simple 5' or, "
        "for a match and for a move, 'fischer-capped 180 0 -1 30'",
    )
    games.add_argument(
        "--max-moves", type=parse_count, metavar="N", help="end and count games there (3 per point)"
    )
    games.add_argument(
        "--openings",
        type=_parse_openings,
        metavar="K|FILE",
        help="random moves at the start, the same for two games with colors swapped "
        f"({OPENING_MOVES}; 0: none); five in a row: also a file of openings, one a line, each "
        "move as x,y from the centre (0,0, 1,-2)",
    )
    add_shared(games, seed=0)
    running = parser.add_argument_group("running")
    add_shared(running, at_once=1)
    hidden = argparse.SUPPRESS  # the name that it had
    running.add_argument(
        "--parallel", dest="at_once", type=parse_count, default=hidden, help=hidden
    )
    add_shared(running, timeout=DEFAULT_TIMEOUT)
    add_sprt(running)
    output = parser.add_argument_group("records")
    output.add_argument(
        "--sgf",
        type=Path,
        metavar="DIR",
        help="write each game as SGF, numbered behind those that are there",
    )
    output.add_argument("--json", type=Path, metavar="FILE", help="write summary and games as JSON")


def run(args: argparse.Namespace) -> int:
    """Play a match; return 0, or 1 if it could not be played to its end or not be written down.

    After Ctrl-C, or another signal that asks to end, that of an interrupted command.
    """
    from gtp_engine.arena.gomocup_client import GomocupClient
    from gtp_engine.arena.gtp_client import EngineFailure, Engines, GtpClient, split_command
    from gtp_engine.arena.match import Pairing, play_match
    from gtp_engine.arena.match_report import Records, Report

    sprt = read_sprt(args.sprt)
    terms = _read_terms(args)
    try:
        commands = [split_command(text, args.game) for text in (args.a, args.b)]
    except ValueError as error:
        raise UsageError(f"an engine's command line: {error}") from None
    if args.sgf is not None:
        _make_folder(args.sgf)
    if args.json is not None:
        check_file(args.json, "--json", ".json")
    records = Records(args.sgf, args.json)
    report = failure = None
    with Engines(GomocupClient if args.game == FIVE else GtpClient) as engines:
        n_pairings = min(args.at_once, args.games)
        pairings = [Pairing(engines, commands, args.timeout) for _ in range(n_pairings)]
        try:
            names = pairings[0].names()
        except EngineFailure as error:
            failure = str(error)
        else:
            report = Report(names, [args.a, args.b], terms, sprt)
            with shown_progress("games", args.games) as advance:

                def note(game: "MatchGame") -> bool:
                    report.add(game)
                    records.write_game(game)
                    records.write_report(report, is_final=False)
                    advance(text=report.game_line(game))
                    return report.verdict is None

                failure = play_match(engines, pairings, names, terms, args.games, args.seed, note)
    if report is not None and report.n_games:
        records.write_report(report)  # before anything is printed: nobody may be reading any more
        print(report.text())
    if engines.signal is not None:
        logger.info("interrupted")
        return INTERRUPTED_BY + engines.signal
    if failure is not None:
        logger.error(failure)
    return 0 if failure is None and records.are_whole else 1


def _read_terms(args: argparse.Namespace) -> "MatchTerms":
    from dataclasses import replace

    from gtp_engine.arena.referee import MatchTerms
    from gtp_engine.play.settings import customary_komi

    is_five = args.game == FIVE
    width, height = args.size or (usual_size(args.game), usual_size(args.game))
    check_size(args.game, (width, height))
    rules_name = args.rules or ("freestyle" if is_five else None)
    openings: tuple[tuple[int, ...], ...] = ()
    try:
        rules = parse_rules(args.game, rules_name or "chinese")
        if isinstance(args.openings, Path):
            if not is_five:
                raise UsageError("--openings: files of openings are for five in a row")
            openings = _read_openings(args.openings, new_game(FIVE, width, height, rules))
    except ValueError as error:
        raise UsageError(str(error)) from None
    if args.game != GO and args.komi is not None:
        raise UsageError("--komi: no points are counted in this game")
    komi = customary_komi(rules, width, height) if args.komi is None else args.komi
    max_moves = args.max_moves or LONGEST_GAME * width * height
    random_moves = min(OPENING_MOVES, max_moves - 1)
    if args.openings is not None:
        random_moves = 0 if openings else args.openings
    if random_moves >= max_moves:
        raise UsageError(f"--openings: after {max_moves} moves (--max-moves) games are over")
    return MatchTerms(
        width=width,
        height=height,
        rules=replace(rules, komi=komi),
        rules_name=rules_name,
        max_moves=max_moves,
        opening_moves=random_moves,
        time_system=_read_clock(args.clock, args.game),
        game=args.game,
        openings=openings,
    )


def _parse_openings(text: str) -> int | Path:
    is_number = re.fullmatch(r"[-+]?[\d.]+", text) is not None
    return parse_seed(text) if is_number else Path(text)  # a number may be 0


def _read_openings(path: Path, game: "Position") -> tuple[tuple[int, ...], ...]:
    """Return the openings of a file: each line the moves of one, `x,y` from the board's centre.

    Raises:
        UsageError: The file cannot be read, or a line is no opening on this board.
    """
    found = []
    try:
        lines = read_file(path).decode("utf-8", "replace").splitlines()
    except OSError as error:
        raise UsageError(f"--openings: {path}: {error.strerror}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            words = re.split(r"[,\s]+", line.strip())
            if len(words) % 2 or not all(re.fullmatch(r"[-+]?\d{1,3}", word) for word in words):
                raise ValueError(f"{line.strip()[:40]!r} is not like 0,0, 1,-2, 3,1")
            offsets = [int(word) for word in words]
            moves: list[tuple[int, int]] = []
            for x, y in zip(offsets[::2], offsets[1::2], strict=True):
                row, col = game.height // 2 + y, game.width // 2 + x
                if not (0 <= row < game.height and 0 <= col < game.width):
                    raise ValueError(f"{x},{y} is off the board")
                moves.append((1 + len(moves) % 2, point_at(row, col, game.width)))
            game.copy().play_all(moves)
        except ValueError as error:
            raise UsageError(f"--openings: {path}, line {number}: {error}") from None
        found.append(tuple(point for _, point in moves))
    if not found:
        raise UsageError(f"--openings: {path}: there are none")
    return tuple(found)


def _read_clock(text: str | None, game: str) -> "TimeSystem | None":
    from gtp_engine.arena.gomocup_client import can_be_told
    from gtp_engine.play.clock.notation import named_time_system
    from gtp_engine.play.clock.systems import ClockError, Unlimited

    if text is None:
        return None
    try:
        system = named_time_system(text.split())
    except ClockError as error:
        raise UsageError(f"--clock: {error}") from None
    if isinstance(system, Unlimited):
        return None
    if game == FIVE and not can_be_told(system):
        raise UsageError(
            f"--clock: five in a row has no clock {text[:40]!r}; it has 'absolute MATCH', "
            "'simple MOVE' and 'fischer-capped MATCH 0 -1 MOVE'"
        )
    return system


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--sgf: {folder}: {error.strerror}") from None
