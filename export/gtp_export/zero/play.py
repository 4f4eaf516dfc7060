"""Self-play for learning: many games in step, each from its beginning to its exact end.

A game has no manners: who passes twice ends it, all stones on the board are alive, and the area is
counted; other games than Go end as they do. It may begin with moves drawn from the policy alone, or
in the middle of an earlier game.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from gtp_engine.coords import BLACK, EMPTY, WHITE, action_to_point
from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.games import new_game, position_type
from gtp_engine.go.game_record import GameRecord
from gtp_engine.go.position import Move
from gtp_engine.go.rules import GO, LONGEST_GAME, Ko, Rules
from gtp_engine.go.scoring import format_result
from gtp_engine.play.decision import resignation
from gtp_engine.search.forest import Forest, RootPlan
from gtp_engine.search.learning import (
    Floats,
    RootResult,
    count_policy,
    draw_move,
    gumbel_move,
    improved_policy,
    pruned_counts,
)
from gtp_engine.search.params import SearchParams
from gtp_export.zero.settings import Settings
from gtp_export.zero.shards import COUNTED, FAST, FULL, SHARE_UNIT, LearnedGame, Searched

RESIGN_TURNS = 3
"""Own turns in a row that must look lost before a player gives up."""
KEPT_GAMES = 500
"""Finished games from whose positions others may begin."""
WIDE_KOMI = 10.0
"""Times the usual spread, of a komi that is spread widely."""

OPENING = RootPlan(1)
"""Of a move that is drawn from the policy alone."""


@dataclass
class _Game:
    """A game under way."""

    rules: Rules
    openings: int
    """How many moves more are drawn from the policy alone."""
    may_resign: bool
    moves: list[Move] = field(default_factory=list)
    searched: list[Searched | None] = field(default_factory=list)
    begun: int = 0
    """How many moves come from an earlier game."""
    plan: RootPlan = OPENING
    """Of the search under way."""
    kind: int = FULL
    """FULL or FAST, of the same."""
    hopeless: dict[int, int] = field(default_factory=lambda: {BLACK: 0, WHITE: 0})
    """Own turns in a row that looked lost, by color."""
    given_up: int = EMPTY
    """Who resigned, or would have."""


def search_params(settings: Settings) -> SearchParams:
    """Return how self-play searches."""
    return SearchParams(
        cpuct=settings.cpuct,
        root_fpu_reduction=0.0,
        root_noise_weight=settings.root_noise,
        root_noise_total=settings.root_noise_total,
        score_utility=settings.score_utility,
        dynamic_score_utility=0.0,
    )


class SelfPlay:
    """Games under way, as many as the settings say, between a net and itself."""

    def __init__(
        self, settings: Settings, evaluator: Evaluator, net: str, komi: float, seed: int
    ) -> None:
        """Begin the games.

        Args:
            net: Its name, empty for none.
            komi: About fair; may be changed at any time.

        Raises:
            NetFileError: The net does not play on this board, or fails.
        """
        self.settings = settings
        self.komi = komi
        self._net = net
        self._size = settings.size
        self._area = settings.size**2
        self._longest = LONGEST_GAME * self._area
        self._kind = position_type(settings.game)
        self._rules = settings.named_rules
        self._generator = np.random.default_rng(seed)
        self._finished: deque[LearnedGame] = deque(maxlen=KEPT_GAMES)
        n = settings.games_at_once
        size = settings.size, settings.size
        self.forest = Forest(evaluator, *size, n, search_params(settings), seed)
        self._games = [self._begin_game(seat) for seat in range(n)]

    def use(self, evaluator: Evaluator, net: str) -> None:
        """Play on with another net.

        Raises:
            NetFileError: It does not play on this board; the old one goes on.
        """
        self.forest.use(evaluator)
        self._net = net

    def remember(self, games: Iterable[LearnedGame]) -> None:
        """Let games begin from positions of these too."""
        self._finished.extend(games)

    def step(self) -> list[LearnedGame]:
        """Make a playout of every search; return the games that have ended.

        Raises:
            NetFileError: The net failed; the games go on once `forest.reset` was called.
        """
        self.forest.step()
        ended = []
        for seat in self.forest.finished():
            while self.forest.is_over(seat):
                if (game := self._move(seat)) is not None:
                    ended.append(game)
                    self._finished.append(game)
                    self._games[seat] = self._begin_game(seat)
        return ended

    # Beginning ------------------------------------------------------------------------------------

    def _begin_game(self, seat: int) -> _Game:
        generator, settings = self._generator, self.settings
        mean = settings.opening_moves * self._area
        game = _Game(
            rules=replace(self._draw_rules(), komi=self._draw_komi()),
            openings=int(generator.exponential(mean)) if mean else 0,
            may_resign=bool(generator.random() < settings.resign_share),
        )
        if self._finished and generator.random() < settings.stored_share:
            self._take_over(game)
        position = new_game(settings.game, self._size, self._size, game.rules)
        game.rules = position.rules
        position.play_all(game.moves)
        plies = self._longest - position.ply + settings.visits + settings.fast_visits
        self.forest.sit(seat, position.branch(plies))
        self._begin_search(seat, game)
        return game

    def _take_over(self, game: _Game) -> None:
        """Let a game begin as an earlier one did, under its rules and komi."""
        record = self._finished[int(self._generator.integers(len(self._finished)))].record
        assert record.rules is not None
        game.rules = record.rules
        game.begun = int(self._generator.integers(len(record.moves)))
        game.moves = record.moves[: game.begun]
        game.searched = [None] * game.begun

    def _draw_rules(self) -> Rules:
        """Return one of the rules named; else those of area, under which all stones are alive."""
        generator = self._generator
        if self._rules:
            return self._rules[int(generator.integers(len(self._rules)))]
        if self.settings.game != GO or generator.random() >= self.settings.rules_share:
            return Rules(friendly_pass_ok=False)
        return Rules(
            ko=Ko.SITUATIONAL if generator.random() < 0.5 else Ko.POSITIONAL,
            multi_stone_suicide=bool(generator.random() < 0.5),
            friendly_pass_ok=False,
        )

    def _draw_komi(self) -> float:
        settings, generator = self.settings, self._generator
        is_wide = generator.random() < settings.komi_wide_share
        spread = settings.komi_spread * (WIDE_KOMI if is_wide else 1.0)
        komi = np.rint(2.0 * generator.normal(self.komi, spread)) / 2.0
        # A net is to learn that nobody wins more than the board, from few games: none is fought.
        most = self._area + (0.5 if is_wide else 0.0)
        return float(np.clip(komi, -most, most)) + 0.0  # no -0

    def _begin_search(self, seat: int, game: _Game) -> None:
        """Begin the search of a game's next move."""
        settings = self.settings
        game.kind = FULL
        if game.openings > 0:
            plan = OPENING
        elif settings.gumbel:
            plan = RootPlan(settings.visits, gumbel=settings.gumbel_candidates)
        elif self._generator.random() < settings.full_share:
            noise = settings.root_noise > 0.0
            plan = RootPlan(settings.visits, noise=noise, forced=settings.forced_playouts)
        else:
            plan, game.kind = RootPlan(settings.fast_visits), FAST
        game.plan = plan
        self.forest.begin(seat, plan)

    # Moving ---------------------------------------------------------------------------------------

    def _move(self, seat: int) -> LearnedGame | None:
        """Make the move that a search has found; return the game if that ends it."""
        game, forest = self._games[seat], self.forest
        found = forest.result(seat)
        color = forest.to_play(seat)
        if game.openings > 0:
            game.openings -= 1
            action = self._draw_opening(found)
            game.searched.append(None)
        else:
            action = self._choose(game, found)
            if self._gives_up(game, color, found.value):
                return self._end(game, 0.0, "resigned")
        point = action_to_point(action, self._size, self._size)
        game.moves.append(Move(color, point))
        lead = forest.move(seat, action, keep=not self.settings.gumbel)
        if lead is not None:
            is_draw = lead == 0.0 and not self.settings.has_komi
            return self._end(game, lead, "draw" if is_draw else self._kind.won_by)
        if len(game.moves) >= self._longest:
            return self._end(game, forest.white_lead(seat), "length")
        self._begin_search(seat, game)
        return None

    def _draw_opening(self, found: RootResult) -> int:
        """Draw a move, from the policy or of all; the pass only where there is no other."""
        policy = _without_pass(found.priors)
        if self._generator.random() < self.settings.opening_random:
            policy = (policy > 0.0).astype(np.float64)
        return draw_move(policy, 1.0, self._generator)

    def _choose(self, game: _Game, found: RootResult) -> int:
        """Return the action to play, and note what the search says."""
        settings, plan, ply = self.settings, game.plan, len(game.moves)
        if plan.gumbel:
            target = improved_policy(found, settings.target_scale)
            action = gumbel_move(found)
        else:
            counts = found.counts
            if plan.forced:
                params = self.forest.params
                counts = pruned_counts(counts, found.followed, found.utilities, params, plan.forced)
            target = count_policy(counts, found.priors)
            action = draw_move(target, self._temperature(ply), self._generator)
        is_pass = action == len(target) - 1
        if is_pass and ply < settings.play_on * self._area:
            others = _without_pass(target if target[:-1].any() else found.priors)
            action = draw_move(others, 1.0, self._generator)
        if game.kind == FAST:  # nobody learns from it
            target = np.zeros_like(target)
        named = np.flatnonzero(np.rint(target * SHARE_UNIT))
        game.searched.append(
            Searched(
                kind=game.kind,
                value=found.value,
                actions=named.astype(np.int16),
                shares=target[named] / target[named].sum(),
            )
        )
        return action

    def _temperature(self, ply: int) -> float:
        settings = self.settings
        halvings = ply / (settings.temperature_halving * self._size)
        late = settings.temperature_end
        return float(late + (settings.temperature - late) * 0.5**halvings)

    # Ending ---------------------------------------------------------------------------------------

    def _gives_up(self, game: _Game, color: int, value: float) -> bool:
        """Note who takes the game for lost, and say whether that ends it."""
        is_hopeless = 0.5 * (value + 1.0) < self.settings.resign_winrate
        game.hopeless[color] = game.hopeless[color] + 1 if is_hopeless else 0
        if game.given_up == EMPTY and game.hopeless[color] >= RESIGN_TURNS:
            game.given_up = color
            if game.may_resign:
                game.searched.pop()  # no move was made
                return True
        return False

    def _end(self, game: _Game, white_lead: float, reason: str) -> LearnedGame:
        is_resigned = reason == "resigned"
        result = resignation(game.given_up) if is_resigned else format_result(white_lead)
        return LearnedGame(
            record=GameRecord(
                width=self._size,
                height=self._size,
                komi=game.rules.komi,
                rules=game.rules,
                moves=game.moves,
                result=result,
                dead=() if reason in COUNTED else None,
                kind=self._kind,
            ),
            searched=tuple(game.searched),
            net=self._net,
            reason=reason,
            begun=game.begun,
            may_resign=game.may_resign,
            given_up=game.given_up,
        )


def _without_pass(policy: Floats) -> Floats:
    """Return a policy [A + 1] that passes only if it knows nothing else; the sum may be less."""
    others = policy.copy()
    if others[:-1].any():
        others[-1] = 0.0
    return others
