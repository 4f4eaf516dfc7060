"""Find the numbers of the search that win most for a net, a board and a number of visits.

What was tried is kept beside the result: the same command goes on from there.

Each trial is a short match at equal visits, the numbers tried against the usual ones. Optuna's
tree-structured Parzen estimator (Bergstra et al. 2011) proposes what to try. A short match says
little, and the best of many owes much to luck: so what is written are the means of the best
trials, and the last quarter of the games says what they are worth.
"""

import argparse
import hashlib
import sqlite3
import time
import tomllib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gtp_engine.arena.statistics import describe_strength
from gtp_engine.arguments import UsageError, check_file, parse_seconds
from gtp_engine.commands.options import add_shared
from gtp_engine.commands.progress import shown_progress
from gtp_engine.files import read_file, write_whole
from gtp_engine.go.rules import GO, Rules, default_komi
from gtp_engine.search.params import SearchParams

if TYPE_CHECKING:
    from gtp_engine.evaluators.evaluator import Evaluator
    from gtp_engine.evaluators.net_evaluator import NetEvaluator

GAMES_A_TRIAL = 16
MOST_TRIALS = 1_000_000
"""The openings of the games that test what was found come behind those of so many trials."""
BEST_SHARE = 0.2
"""Of the trials, those whose numbers are averaged."""
SEARCH_SHARE = 0.75
"""Of the games or the time; then the numbers found are put to the test."""

SPANS = {
    "cpuct": (0.4, 2.5),
    "cpuct_growth": (0.0, 2.0),
    "fpu_reduction": (0.0, 0.8),
    "root_fpu_reduction": (0.0, 0.8),
    "score_utility": (0.0, 0.3),
    "dynamic_score_utility": (0.0, 0.6),
    "root_policy_temperature": (0.7, 1.8),
    "lcb_stdevs": (1.0, 8.0),
}
"""Between what a parameter is looked for."""
USUAL = "cpuct,fpu-reduction,root-fpu-reduction"


def _names(text: str) -> list[str]:
    names = [name.strip().replace("-", "_") for name in text.split(",")]
    for name in names:
        if name not in SPANS:
            raise argparse.ArgumentTypeError(f"{name[:30]!r} is not one of {', '.join(SPANS)}")
    return names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_shared(parser, "net", "device", "runtime", size=(9, 9), visits=100)
    length = parser.add_mutually_exclusive_group()
    add_shared(length, games=1000)
    length.add_argument(
        "--minutes", type=parse_seconds, metavar="M", help="minutes that this run takes"
    )
    known = ", ".join(name.replace("_", "-") for name in SPANS)
    add(
        "--parameters", type=_names, default=_names(USUAL), metavar="NAME,...",
        help=f"some of {known} ({USUAL})",
    )  # fmt: skip
    out = "where the numbers go, for --config (tuned.toml)"
    add("--out", type=Path, default=Path("tuned.toml"), metavar="FILE.toml", help=out)
    add_shared(parser, at_once=16, seed=1)


def run(args: argparse.Namespace) -> int:
    """Tune, and write the numbers found; return the exit status."""
    try:
        import optuna
        from optuna.exceptions import StorageInternalError
        from sqlalchemy.exc import DBAPIError
    except ImportError:
        raise UsageError("needs the extra `tune`: pip install 'gtp-engine[tune]'") from None
    from gtp_engine.evaluators.net_evaluator import open_net

    if args.out.suffix == ".trials":
        raise UsageError(f"--out: {args.out} is where the trials are kept; take another ending")
    check_file(args.out, "--out")
    if args.out.is_file() and not _is_tuned(args.out):
        raise UsageError(f"--out: {args.out} holds something else; take another name")
    trials = args.out.with_suffix(".trials")
    net = open_net(args.net, args.device, args.runtime, game=GO)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        return _tune(args, net, trials)
    except (DBAPIError, StorageInternalError) as error:
        cause = error.__cause__ if isinstance(error, StorageInternalError) else error
        raise UsageError(f"{trials}: {getattr(cause, 'orig', cause)}") from None


def _tune(args: argparse.Namespace, net: "NetEvaluator", trials: Path) -> int:
    """Try numbers, test those found and write them.

    Args:
        trials: The file that keeps what was tried.
    """
    import optuna
    from sqlalchemy.pool import NullPool

    width, height = args.size
    what = f"{net.name}, {width}x{height}, {args.visits} visits: {', '.join(args.parameters)}"
    # Not by an address with the file's name, in which `?` and `%` mean something else.
    opened = partial(sqlite3.connect, trials, check_same_thread=False)
    # Without a pool, which would leave its connections to be closed by the garbage collector.
    how = {"creator": opened, "poolclass": NullPool}
    storage = optuna.storages.RDBStorage("sqlite:///file", engine_kwargs=how)
    study = optuna.create_study(
        storage=storage,
        study_name=f"{what}; {_digest(net)}",
        direction="maximize",
        load_if_exists=True,
    )
    n = len(_finished(study))
    # Another seed each time: a run that goes on is not to propose the same again.
    study.sampler = optuna.samplers.TPESampler(seed=args.seed + n)
    if n == 0:
        study.enqueue_trial({name: getattr(SearchParams(), name) for name in args.parameters})
    unit = "games" if args.minutes is None else "seconds"
    total = args.games if args.minutes is None else max(1, round(60 * args.minutes))
    done = GAMES_A_TRIAL * n if args.minutes is None else 0
    began, won, games = time.perf_counter(), 0.0, 0
    with shown_progress(unit, total, done=done) as advance:

        def spend() -> None:
            nonlocal done
            passed = int(time.perf_counter() - began) - done
            for _ in range(GAMES_A_TRIAL if args.minutes is None else passed):
                done += 1
                advance()

        while n == 0 or done < SEARCH_SHARE * total:
            trial = study.ask()
            tried = {name: trial.suggest_float(name, *SPANS[name]) for name in args.parameters}
            study.tell(trial, _play(args, net, tried, n) / GAMES_A_TRIAL)
            n += 1
            spend()
        numbers = _mean_of_best(_finished(study), args.parameters)
        while games == 0 or done < total:
            won += _play(args, net, numbers, MOST_TRIALS + games)
            games += GAMES_A_TRIAL
            spend()
    told = f"{describe_strength(won, games)}, {games} games"
    text = ", ".join(f"{name}={value:g}" for name, value in numbers.items())
    write_whole(
        args.out,
        f"# {what}\n# from {n} trials of {GAMES_A_TRIAL} games; against the usual numbers:\n"
        f'# {told}\nparameters = "{text}"\n',
    )
    print(f"{text}\nagainst the usual numbers: {told}\nwritten to {args.out}")
    return 0


def _is_tuned(path: Path) -> bool:
    """Whether a file holds nothing but numbers that were tuned."""
    try:
        return tomllib.loads(read_file(path).decode()).keys() <= {"parameters"}
    except (ValueError, RecursionError):  # no TOML, or too deep
        return False


def _digest(net: "NetEvaluator") -> str:
    """Return what tells a net's files from those of others with its name."""
    from gtp_engine.evaluators.nets.composition import members_of
    from gtp_engine.evaluators.runtimes.onnx_runtime import LARGEST_FILE

    digest = hashlib.sha256()
    for member in members_of(net.net):
        digest.update(read_file(member.path, LARGEST_FILE))
    return digest.hexdigest()[:12]


def _finished(study: Any) -> list[Any]:
    """Return the trials that were played to their ends; one that was interrupted was not."""
    return [trial for trial in study.get_trials(deepcopy=False) if trial.value is not None]


def _mean_of_best(trials: list[Any], names: list[str]) -> dict[str, float]:
    """Return the means of the numbers that won most."""
    best = sorted(trials, key=lambda trial: -float(trial.value))
    best = best[: max(1, round(BEST_SHARE * len(best)))]
    return {name: round(sum(one.params[name] for one in best) / len(best), 3) for name in names}


def _play(
    args: argparse.Namespace, net: "Evaluator", numbers: dict[str, float], trial: int
) -> float:
    """Return how many games of a trial numbers win against the usual ones."""
    from gtp_engine.arena.many_games import Contestant, Terms, play_games, points
    from gtp_engine.search.stopping import Limits

    params = SearchParams()
    for name, value in numbers.items():
        params = params.with_option(name, str(value))
    limits = Limits(visits=args.visits)
    players = [Contestant("tried", net, limits, params), Contestant("usual", net, limits)]
    width, height = args.size
    seed = args.seed + GAMES_A_TRIAL * trial
    terms = Terms(width, height, Rules(komi=default_komi(width, height)), seed=seed)
    return points(play_games(players, terms, GAMES_A_TRIAL, args.at_once))
