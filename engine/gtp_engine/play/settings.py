"""What a user can set when the engine starts. Only the standard library is imported here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gtp_engine.evaluators.human_profile import HumanProfile
from gtp_engine.games import FIVE
from gtp_engine.go.rules import GO, NO_FIVE, Rules, Scoring, default_komi
from gtp_engine.platforms import memory_bytes
from gtp_engine.search.params import ANALYSIS_WIDTH

DEFAULT_SECONDS_PER_MOVE = 5.0
"""Wall time of a move where neither a clock nor a limit was set."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How to play and on what; the fields are the long options of `gtp-engine` by name."""

    game: str = GO
    """One of `games.GAMES`."""
    playouts: int | None = None
    """New playouts a move, those of a reused tree not counted; None: time decides."""
    visits: int | None = None
    """Visits of the position to be moved in, those of a reused tree counted; None: as above."""
    time: float | None = None
    """Seconds a move; None: the clock decides, or DEFAULT_SECONDS_PER_MOVE without one."""
    lag: float | None = None
    """Seconds that a move on the clock is taken to lose on its way to the client and back; None:
    DEFAULT_LAG at first, then what the client's clock shows."""
    net: str | None = None
    """A file, or the name of a net; None: the default one."""
    rollout_weight: float | None = None
    """Share of rollouts in a net's value, 0 to 1; None: none, or half where `net` names them."""
    level: int | None = None
    """How strong to play, 1 to `levels.highest_level`, which is the net's best; None: that."""
    policy_temperature: float | None = None
    """Where there is no `level`, play without search by moves drawn from the net's policy raised to
    1 / this; None: search."""
    human_profile: HumanProfile | None = None
    """Whom a net that plays like people is to play like; None: `human_profile.DEFAULT_PROFILE`."""
    device: str = "auto"
    """One of `devices.DEVICES`."""
    runtime: str = "auto"
    """One of `devices.RUNTIMES`."""
    threads: int | None = None
    """Search threads; None: as many as suit the device."""
    batch: int | None = None
    """Most positions evaluated at once; None: as many as suit the device."""
    memory: int | None = None
    """Megabytes that tree and cache may use together; None: `default_memory`."""
    size: tuple[int, int] = (19, 19)
    """Width and height of the first board."""
    rules: Rules = field(default_factory=Rules)
    """The first rules. Their komi is the customary one: `komi` below says what the user wants."""
    komi: float | None = None
    """Points for White; None: what is customary for rules and size."""
    resign: bool = True
    """Whether the engine may resign."""
    resign_threshold: float = -0.8
    """Mean win-loss value, -1..1 for the engine, below which it resigns."""
    resign_turns: int = 3
    """Own turns in a row below the threshold before it does."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `SearchParams` that the search begins with in place of the usual ones."""
    analysis_width: float = ANALYSIS_WIDTH
    """`wide_root_noise` while a client has a position analysed."""
    ponder: bool = False
    """Whether to search on while the opponent thinks."""
    seed: int | None = None
    """With one thread, two runs of the same seed play the same game; None: the system draws one."""
    keep_games: Path | None = None
    """Folder that gets an SGF file of every game in which the engine makes a move."""
    keep_all_games: bool = False
    """Whether that folder gets those too in which it makes none."""
    name: str = "gtp-engine"
    """What the engine calls itself. Some clients offer more to one that begins with "KataGo"."""
    ogs_chat: bool = False
    """Whether what is told of a move on stderr is what the bridge to OGS shows with scores."""
    log: Path | None = None
    """File that gets a copy of the conversation and of what goes to stderr."""


RECIPES: dict[str, dict[str, Any]] = {
    # Silver et al. 2016, extended data table 5; lambda, and the move with the most visits. Their
    # priors are p to the power of 0.67.
    "alphago": dict(
        game=GO,
        parameters=dict(
            cpuct=5.0,
            cpuct_growth=0.0,
            virtual_loss=3.0,
            expansion_visits=40,
            policy_temperature=1.0 / 0.67,
            score_utility=0.0,
            dynamic_score_utility=0.0,
            lcb_min_visit_share=1.0,
        ),
        rollout_weight=0.5,
        resign_turns=1,
    ),
    # Pierre, a course's program for five in a row (2017); fives are the only threats that it saw.
    "pierre": dict(
        game=FIVE,
        parameters=dict(pierre=True, score_utility=0.0, dynamic_score_utility=0.0, threat_nodes=0),
        rollout_weight=1.0,
    ),
}
"""Published searches by name, as fields of `Settings`."""


LARGEST_CACHE_MB = 128
"""Most of the memory allowed that goes to remembered evaluations; at most a quarter does."""


def share_memory(allowed: int | None) -> tuple[int, int]:
    """Return the megabytes of trees and of the cache, of those allowed; None: `default_memory`."""
    memory = allowed or default_memory()
    cache = min(LARGEST_CACHE_MB, memory // 4)
    return memory - cache, cache


def default_memory() -> int:
    """Return how many megabytes tree and cache use where the user does not say.

    A quarter of the machine's, but 256 at least and 2048 at most; 1024 where the system does not
    tell what it has.
    """
    machine = memory_bytes()
    return 1024 if machine is None else min(2048, max(256, machine // 4 >> 20))


HANDICAP_KOMI = 0.5
"""Points for White where Black begins with handicap stones."""


def customary_komi(rules: Rules, width: int, height: int, *, has_handicap: bool = False) -> float:
    """Return the komi where the user wants none in particular; that of `rules` does not matter.

    It is the one of the rules' preset, where 7.5 becomes 7 on boards up to 9x9; with handicap
    stones HANDICAP_KOMI.
    """
    if rules.five != NO_FIVE:
        return 0.0
    if has_handicap:
        return HANDICAP_KOMI
    if rules.preset is not None:
        komi = Rules.parse(rules.preset).komi
    else:
        by_area = "aga-button" if rules.button else "chinese"
        komi = Rules.parse("japanese" if rules.scoring is Scoring.TERRITORY else by_area).komi
    return default_komi(width, height) if komi == Rules().komi else komi
