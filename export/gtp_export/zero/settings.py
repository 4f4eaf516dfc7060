"""A run's folder and its settings, which are all in one file. Only the standard library is needed.

    run.toml        the settings
    shards/*.shard  games of self-play; a file never changes, and is named by its hash
    nets/*.onnx     nets, named by their hash, each with a *.json beside it that says how it came
    matches/*.json  what the judge found
    best.onnx       the best net so far, whole at any time
    playing         the name of the net in nets/ that the workers play with
    komi            the komi around which the workers draw theirs: about fair
    train/          the trainer's checkpoint, and the net that it made last
    spent/*.json    what each process has spent
    catalogue.sqlite  an index of all that, written by the coordinator alone
    PAUSE           halts all parts while it is there
    STOP            ends the workers

Every file is written beside, synced and renamed: whoever reads it sees all of it or none.
"""

import hashlib
import json
import math
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from gtp_engine.arguments import parse_switch
from gtp_engine.coords import MAX_SIZE
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.files import read_file, write_whole
from gtp_engine.games import FIVE, GAMES, least_size, parse_rules
from gtp_engine.go.rules import ATARI_GO, GO, MAX_KOMI, Rules, default_komi
from gtp_export.options import option
from gtp_export.span import Span

FORMAT = 1
"""Of a run's folder; parts of another version leave it alone."""

MOST_NET_BYTES = 1 << 30
"""Of a net in a run's folder."""

SPRT, SHARE, NO_GATE = "sprt", "share", "none"
"""What lets a net take the best one's place: a sequential test, a share of the games, nothing."""


class RunError(NetFileError):
    """A run's folder that cannot be used; the message says why."""


OURS: dict[str, Any] = {}
SUPERGO: dict[str, Any] = {
    "preset": "agz-dual",
    "full_share": 1.0,
    "forced_playouts": 0.0,
    "score_utility": 0.0,
    "temperature": 1.0,
    "temperature_end": 1.0,
    "opening_moves": 0.0,
    "play_on": 0.0,
    "komi_step": 0.0,  # its net does not see the komi
    "komi_spread": 0.0,
    "komi_wide_share": 0.0,
    "stored_share": 0.0,
    "value_mix": 0.0,
    "value_weight": 1.0,
    "score_weight": 0.0,
    "ownership_weight": 0.0,
    "newest_plays": False,
    "gate": SHARE,
}
GUMBEL: dict[str, Any] = {
    "gumbel": True,
    "visits": 16,
    "full_share": 1.0,
    "forced_playouts": 0.0,
    "root_noise": 0.0,
    "gate": NO_GATE,
}
RECIPES = {"ours": OURS, "supergo": SUPERGO, "gumbel": GUMBEL}
"""What each sets other than the fields' defaults."""


@dataclass(frozen=True)
class Settings:
    """All that a run is; the fields are the keys of run.toml, those described are options too."""

    format: int = FORMAT
    game: str = option("go, atari-go or five", GO, metavar="NAME")
    size: int = option("side of the board, the largest one of several", 9, metavar="N")
    rules: str = option(
        "of five: freestyle, standard, renju, caro, caro-exact, joined by commas", ""
    )
    """One of them is drawn for each game; empty where `rules_share` says how they vary."""
    recipe: str = option("where settings come from that are not given", "ours", choices=(*RECIPES,))
    preset: str = option("architecture", "b4c32", shown="what suits the board", metavar="NAME")
    start: str = option("file or name of a net to go on from", "", flag="--from", metavar="NET")
    """Empty: random weights."""
    licence: str = "MIT"
    """Of the nets."""
    learned_before: str = ""
    """What the net that the run goes on from was trained on."""
    seed: int = option("fixes what is random", 1, metavar="N")
    span: float = 60.0
    span_unit: str = "minutes"
    """minutes, or core-hours of all parts together"""
    workers: int = option(
        "processes that play, on this machine", 1, shown="one a processor", metavar="N"
    )

    # Self-play
    newest_plays: bool = True
    """Whether the workers play with the newest net that is sound, promoted or not; otherwise with
    the best one, as AlphaGo Zero did."""
    least_size: int = 0
    """Every second size from `size` down to here is played on as well; 0: none. In games without
    komi."""
    games_at_once: int = 32
    """In each worker, on boards of each size."""
    shard_games: int = 200
    """A shard is written when it has so many games, ..."""
    shard_seconds: float = 60.0
    """... or when its first game is so old."""
    visits: int = 32
    """Of a full search, whose policy is learned."""
    fast_visits: int = 8
    """Of the others, which only choose a move."""
    full_share: float = 0.5
    """Share of the moves with a full search; 1: playout caps do not vary."""
    cpuct: float = 1.0
    root_noise: float = 0.25
    """Share of the root's priors in full searches that is noise."""
    root_noise_total: float = 10.83
    """Sum of the Dirichlet parameters over the legal moves."""
    forced_playouts: float = 2.0
    """Factor under the root of KataGo's forced playouts, pruned from the policy target; 0: none."""
    gumbel: bool = False
    """Whether the root draws and halves its candidates, and completed values are the target."""
    gumbel_candidates: int = 16
    target_scale: float = 1.0
    """Weight of the values in Gumbel's target; below 1 the policy that is learned stays softer."""
    score_utility: float = 0.1
    """Weight of the expected score in the search."""
    temperature: float = 0.8
    """Of the moves at first, drawn by visits, ..."""
    temperature_end: float = 0.2
    """... and late, ..."""
    temperature_halving: float = 0.5
    """... in between it halves in so many moves a line of the board."""
    opening_moves: float = 0.04
    """Mean moves a point of the board that are drawn from the policy alone at first."""
    opening_random: float = 0.25
    """Share of these that are any legal move: opponents may begin as no good policy would."""
    play_on: float = 0.5
    """Moves a point of the board before which another move is made where a search would pass: who
    is sure how a game ends passes at once, and never learns what he is sure of."""
    komi: float = 0.0
    """At first; a fair one is sought from there."""
    komi_step: float = 0.5
    """Most points by which the fair komi moves at a time."""
    komi_spread: float = 1.0
    """Standard deviation of the komi around the fair one, in points."""
    komi_wide_share: float = 0.1
    """Share of the games with a komi that is spread ten times as wide."""
    rules_share: float = 0.0
    """Share of the games under rules drawn at random; area scoring without suicide otherwise."""
    stored_share: float = 0.1
    """Share of the games that begin from positions of earlier ones."""
    resign_share: float = 0.0
    """Share of the games in which the loser may resign."""
    resign_winrate: float = 0.03
    threat_nodes: int = 0
    """How many positions may be looked at for a win that can be read out, at each position that
    the net judges, in games that read; self-play and matches."""

    # Training
    batch: int = 256
    """Positions. Small boards, of which there is little to know, take more and smaller steps."""
    learning_rate: float = 0.06
    adam: bool = False
    """Whether Adam moves the weights instead of SGD with Nesterov momentum."""
    average_decay: float = 0.998
    samples_per_position: float = 4.0
    """Most samples trained on for each new position."""
    net_samples: int = 20_000
    """Trained on between two nets."""
    first_positions: int = 2_000
    """Training begins with so many."""
    window: int = 20_000
    """Positions of the smallest window; `window_positions` says how it grows."""
    window_power: float = 0.75
    window_slope: float = 0.4
    value_mix: float = 0.3
    """Weight of the search's value in the outcome that is learned; 0: the game's alone."""
    policy_weight: float = 1.0
    value_weight: float = 1.2
    score_weight: float = 0.2
    ownership_weight: float = 0.5
    """Weights of the losses."""
    int8: bool = True
    """Whether nets are quantised, where they pass."""

    # Judging
    gate: str = SPRT
    """SPRT, SHARE or NO_GATE."""
    gate_elo: float = 35.0
    """SPRT: the test asks whether a net is so much stronger, or so much weaker; the first that
    learned, where a run begins from nothing, passes in any case."""
    gate_share: float = 0.55
    """SHARE: what a net must win."""
    gate_games: int = 120
    """Most games of a match; a sequential test that is open by then is passed with half of them:
    of two nets as strong, the newer one has seen more."""
    judge_visits: int = 32
    judge_openings: float = 0.07
    """Moves a point of the board that the openings of matches are long."""
    judge_share: float = 0.1
    """Most of the run's processor time that goes into matches."""
    anchor_games: int = 20
    """Against GNU Go, where it is installed, for every doubling of the nets; 0: none."""

    def window_positions(self, positions: int) -> int:
        """Return how many of the newest positions are learned from, of so many in all.

        The power law of Wu, "Accelerating Self-Play Learning in Go" (2019), appendix C.
        """
        c, power = self.window, self.window_power
        if positions <= c:
            return positions
        return int(c * (1.0 + self.window_slope * ((positions / c) ** power - 1.0) / power))

    @property
    def has_komi(self) -> bool:
        """Whether points are counted and komi means something."""
        return self.game == GO

    @property
    def most_komi(self) -> float:
        """Points of the board, all that there are to win."""
        return min(MAX_KOMI, float(self.size**2))

    @property
    def sizes(self) -> list[int]:
        """Of the boards, the largest last."""
        return list(range(self.size, (self.least_size or self.size) - 1, -2))[::-1]

    @property
    def boards(self) -> list[tuple[str, int, int]]:
        """What shards are of: game, width and height."""
        return [(self.game, size, size) for size in self.sizes]

    @property
    def named_rules(self) -> list[Rules]:
        """The rules that are drawn from.

        Raises:
            ValueError: There are none of a name.
        """
        return [parse_rules(self.game, name) for name in self.rules.split(",") if name]

    def check(self) -> None:
        """Make sure that the settings go together.

        Raises:
            RunError: They do not.
        """
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise RunError(f"{name} {getattr(self, name)!r}: known are {', '.join(known)}")
        if self.komi > self.most_komi:
            raise RunError(
                f"komi {self.komi:g}: is more than the {self.most_komi:g} points there are"
            )
        if self.batch < 2:
            raise RunError(f"batch {self.batch}: statistics of a batch need two positions")
        lowest, highest = least_size(self.game), MAX_SIZE
        if not lowest <= self.size <= highest:
            raise RunError(f"{self.game} is played on boards from {lowest} to {highest}")
        if self.least_size and (self.has_komi or not lowest <= self.least_size <= self.size):
            raise RunError(f"least_size {self.least_size}: makes no sense with this game and size")
        if bool(self.rules) != bool(OF_GAMES.get(self.game, {}).get("rules")):
            raise RunError(f"rules {self.rules!r}: those of {self.game} have no names here")
        try:
            self.named_rules  # noqa: B018
        except ValueError as error:
            raise RunError(str(error)) from None

    def to_span(self) -> Span:
        """Return the run's length."""
        return Span(self.span, self.span_unit)


NOT_BY_SET = ("format", "game", "size", "rules", "recipe", "start")
"""Settings that `--set` refuses: a run's options alone give them."""
CHOICES: dict[str, Sequence[str]] = {
    "game": GAMES,
    "recipe": tuple(RECIPES),
    "gate": (SPRT, SHARE, NO_GATE),
    "span_unit": ("minutes", "core-hours"),
}
"""Settings that are one of some words."""
POSITIVE = (
    *("span", "games_at_once", "shard_games", "visits", "fast_visits", "full_share"),
    *("root_noise_total", "gumbel_candidates", "target_scale", "temperature_halving", "batch"),
    *("learning_rate", "samples_per_position", "net_samples", "first_positions", "window"),
    *("window_power", "gate_elo", "gate_games", "judge_visits"),
)
"""Settings that cannot be 0; no number is negative."""
MOST: dict[str, float] = {
    **dict.fromkeys(("full_share", "root_noise", "opening_random", "komi_wide_share"), 1),
    **dict.fromkeys(("rules_share", "stored_share", "resign_share", "resign_winrate"), 1),
    **dict.fromkeys(("value_mix", "gate_share", "judge_share", "window_power"), 1),
    "gate_elo": 1000,
    "seed": 2**63 - 1,
}
"""The highest values of settings that have one."""
_WITHOUT_COUNT: dict[str, Any] = {
    "komi": 0.0,
    "komi_step": 0.0,
    "komi_spread": 0.0,
    "komi_wide_share": 0.0,
    "score_utility": 0.0,
    "score_weight": 0.0,
    "ownership_weight": 0.0,
}
OF_GAMES: dict[str, dict[str, Any]] = {
    GO: {},
    ATARI_GO: _WITHOUT_COUNT,
    FIVE: {
        **_WITHOUT_COUNT,
        "rules": "freestyle",
        "preset": "five-b4c32",
        "opening_moves": 0.02,
        "opening_random": 0.0,
        "judge_openings": 0.03,
        "threat_nodes": 100,
    },
}
"""What each game sets other than its recipe."""


def settings_for(game: str, size: int, recipe: str, **wanted: Any) -> Settings:
    """Return a recipe's settings for a board, with some of them as the user wants.

    Raises:
        RunError: There is no such game or recipe, or it is not played so.
    """
    if game not in GAMES:
        raise RunError(f"unknown game {game!r}; known are {', '.join(GAMES)}")
    if recipe not in RECIPES:
        raise RunError(f"unknown recipe {recipe!r}; known are {', '.join(RECIPES)}")
    usual = _usual_settings(game, size, recipe) | wanted
    settings = Settings(game=game, size=size, recipe=recipe, **usual)
    settings.check()
    return settings


def _usual_settings(game: str, size: int, recipe: str) -> dict[str, Any]:
    """Return what a recipe sets otherwise than `Settings` for a game and a board."""
    scaled: dict[str, Any] = {}
    if size <= 5:
        scaled |= {"int8": False, "average_decay": 0.99, "komi_step": 1.0}
        scaled |= {"shard_games": 50, "shard_seconds": 10.0, "first_positions": 400}
        scaled |= {"judge_visits": 16, "gate_games": 40, "gate_elo": 80.0}
        scaled |= {"batch": 128, "net_samples": 10_000}
    if size <= 4:
        scaled |= {"preset": "tiny", "batch": 64, "net_samples": 4_000, "window": 4_000}
        scaled["samples_per_position"] = 8.0  # 3x3 in 2,000 games instead of 2,200 to over 4,000
    if recipe == "supergo" or size > 7:  # nothing seeks a komi there at the speed of small boards
        scaled["komi"] = min(default_komi(size, size), float(size**2))
    return scaled | RECIPES.get(recipe, OURS) | OF_GAMES.get(game, {})


def parse_setting(name: str, text: str) -> tuple[str, Any]:
    """Return a setting's name and its value, read from text.

    Raises:
        RunError: There is no such setting, or the value is of another kind.
    """
    kind = _kinds().get(name)
    if kind is None or name in NOT_BY_SET:
        raise RunError(f"--set {name}: no such setting")
    try:
        if kind is bool:
            return name, parse_switch(text)
        value = kind(text)
        if not _makes_sense(name, value):
            raise ValueError
        return name, value
    except ValueError:
        raise RunError(f"--set {name} {text}: the value makes no sense") from None


def _makes_sense(name: str, value: Any) -> bool:
    """Whether a setting's value, of its kind, lies where it can."""
    if isinstance(value, str):
        return True
    if value > MOST.get(name, math.inf):
        return False
    return 0 <= value < math.inf and (value > 0 or name not in POSITIVE)  # nan is not either


def _kinds() -> dict[str, Any]:
    """Return the type of each setting by its name."""
    return {field.name: type(field.default) for field in fields(Settings)}


class RunFolder:
    """Where the parts of a run find each other's files."""

    def __init__(self, path: Path) -> None:
        """Name the files; nothing is looked at yet."""
        self.path = path
        self.settings_file = path / "run.toml"
        self.shards = path / "shards"
        self.nets = path / "nets"
        self.matches = path / "matches"
        self.spent = path / "spent"
        self.best = path / "best.onnx"
        self.playing = path / "playing"
        self.komi = path / "komi"
        self.catalogue = path / "catalogue.sqlite"
        self.stop = path / "STOP"

    def create(self, settings: Settings) -> None:
        """Make the folders and write the settings.

        Raises:
            OSError: They cannot be written.
        """
        for folder in (self.path, self.shards, self.nets, self.matches, self.spent):
            folder.mkdir(parents=True, exist_ok=True)
        lines = [
            f"{name} = {json.dumps(value, ensure_ascii=False)}\n"
            for name, value in asdict(settings).items()
        ]
        write_whole(self.settings_file, "".join(lines))

    def settings(self) -> Settings:
        """Return the settings.

        Raises:
            RunError: There are none, or another version's.
            OSError: They cannot be read.
        """
        if not self.settings_file.is_file():
            raise RunError(f"{self.path}: is no run's folder: it has no run.toml")
        try:
            found = tomllib.loads(read_file(self.settings_file).decode("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise RunError(f"{self.settings_file}: {error}") from None
        if found.get("format") != FORMAT:
            raise RunError(f"{self.path}: is a run of another version of this program")
        kinds = _kinds()
        for name, value in found.items():
            number = kinds.get(name) is float and type(value) is int
            is_kind = name in kinds and (number or type(value) is kinds[name])
            if not is_kind or not _makes_sense(name, value):
                raise RunError(f"{self.settings_file}: {name} = {value!r} makes no sense")
        # What an older run's file does not say yet is as a new one would have it.
        of = (found.get(name, getattr(Settings, name)) for name in ("game", "size", "recipe"))
        settings = Settings(**(_usual_settings(*of) | found))
        settings.check()
        return settings

    def change(self, **wanted: Any) -> Settings:
        """Write some settings anew, such as a longer span, and return them all."""
        settings = replace(self.settings(), **wanted)
        settings.check()
        self.create(settings)
        if "komi" in wanted:  # what was found holds no longer
            self.komi.unlink(missing_ok=True)
        return settings

    def net(self, name: str) -> Path:
        """Return a net's file."""
        return self.nets / f"{name}.onnx"

    def playing_net(self) -> Path | None:
        """Return the net that the workers play with; None before there is one."""
        name = self._line(self.playing)
        return None if not name else self.net(name)

    def fair_komi(self, settings: Settings) -> float:
        """Return the komi around which the workers draw theirs.

        Raises:
            RunError: The file that has it is damaged.
            OSError: It cannot be read.
        """
        line = self._line(self.komi)
        try:
            return settings.komi if not line else float(line)
        except ValueError:
            raise RunError(f"{self.komi}: is damaged: {line[:20]!r} is no komi") from None

    @staticmethod
    def _line(path: Path) -> str:
        return path.read_text(encoding="utf-8").strip() if path.exists() else ""


def readable_net(file: Path) -> Path:
    """Return a net's file, so that it is no fault of the net if a drive does not answer.

    Raises:
        OSError: The file cannot be read now.
    """
    read_file(file, MOST_NET_BYTES)
    return file


def content_name(content: bytes) -> str:
    """Return the name of a file that is named by its hash, without a suffix."""
    return hashlib.sha256(content).hexdigest()[:16]
