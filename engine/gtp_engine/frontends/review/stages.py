"""Which positions of a game are searched, and how deep, each stage resting on the last one.

1. Every position of the game, quickly.
2. Deeper, the positions before and after the moves that seem to have cost most, and before those
   that seem to have been the only good ones.
3. As deep, the position after the better move, so that loss and reasons compare two searches of
   the same depth, one move after the same position.
4. Deeper still, both of them again for the mistakes that will be explained: what does not hold is
   not said.
5. For the drill, every other move at each mistake: shallowly, and those that may be nearly as good
   as the best one closer and closer. On large boards a short search often overlooks why a move is
   bad, and hardly ever finds a good one bad.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise

from gtp_engine.coords import BLACK, WHITE
from gtp_engine.frontends.review.judgement import Judgement, Spot, gain_for
from gtp_engine.go.game_record import GameRecord
from gtp_engine.go.position import Position

DEEPER = 10
"""Visits of a deep search for each of a quick one."""
DEEPEST = 20
"""The same for the searches that confirm a mistake."""
MISTAKES = 5
"""Of each player that are explained."""
SUSPECTS = 8
"""Moves of each player that are searched deeper to find them."""
GOOD_MOVES = 2
"""Of each player that are praised."""
LEAST_LOSS = 1.5
"""Points from which on a move is a mistake worth a sentence."""
LEAST_CHANCE = 0.1
"""Winrate from which on it is one whatever its points."""
GOOD_GAP = 3.0
"""Points that a move must be better than any other to be praised."""
BORDERS = [0.05 * step for step in range(10, 31)]
"""Points that an answer in the drill may lose and be right: see `Mistake.nearly`."""
GLANCE = 8
"""Visits of each answer in the drill at first."""
CLOSER_LOOKS = 5000
"""Answers in doubt that are searched as the game's positions are, times the board's points: 13 of
19x19, 61 of 9x9, which takes about the same time."""
DEEP_LOOKS = 2000
"""The same for those that are searched as deep as the mistake."""
DOUBTS = (5.0, 1.5)
"""Points beyond the last border up to which an answer is in doubt, before a closer look and before
a deep one."""


@dataclass(frozen=True)
class Wish:
    """A position to search, and to how many visits."""

    spot: Spot
    visits: int


@dataclass
class Mistake:
    """A move of the game that a deep search finds worse than another."""

    turn: int
    """Moves made before it."""
    color: int
    played: int
    best: int
    after_played: Judgement
    """Deep, as the other."""
    after_best: Judgement
    answers: dict[int, float] = field(default_factory=dict)
    """Points that each legal move loses against the best one."""
    read_out: set[int] = field(default_factory=set)
    """Answers that were searched as deep as the mistake."""
    most_chance: float = 1.0
    """Winrate lost at most, as another search of the same says."""

    @property
    def nearly(self) -> float:
        """Points up to which an answer is right, to two decimals as answers are.

        Fewer than were lost, and no answer read out near. The move played is not right even where
        it lost no points.
        """
        losses = [self.loss, *(self.answers[move] for move in self.read_out)]
        borders = [border for border in BORDERS if border < self.loss] or [self.loss / 2]
        best = max(borders, key=lambda border: min(abs(border - loss) for loss in losses))
        return round(best, 2)

    @property
    def unsure(self) -> set[int]:
        """Answers that seem right and were not read out."""
        nearly = self.nearly
        return {move for move, loss in self.answers.items() if loss <= nearly} - self.read_out

    @property
    def loss(self) -> float:
        """Points lost, never less than 0."""
        gain = gain_for(self.color, self.after_best.black_lead - self.after_played.black_lead)
        return max(0.0, gain)

    @property
    def chance_lost(self) -> float:
        """Winrate lost, 0..1."""
        change = self.after_best.black_winrate - self.after_played.black_winrate
        return min(self.most_chance, max(0.0, gain_for(self.color, change)))

    @property
    def by_chance(self) -> bool:
        """Whether it is one by winrate alone: the points lost, as they are told, are too few."""
        return round(self.loss, 1) < LEAST_LOSS


@dataclass
class GoodMove:
    """A move that a deep search finds better than all others."""

    turn: int
    color: int
    played: int
    gap: float
    """Points that the next best move would have lost."""
    second: int


@dataclass
class Material:
    """All that was found out about a game."""

    quick: list[Judgement]
    """By turn, the set-up first."""
    costs: list[tuple[float, float]]
    """Points and winrate that each move lost, as the deepest searches of it say."""
    best: list[int | None]
    """By turn, the best move as the deepest search says; None where the game is over."""
    mistakes: list[Mistake]
    """By turn."""
    good_moves: list[GoodMove]


Stages = Generator[list[Wish], Mapping[Wish, Judgement], Material]
"""Yields what to search next, is sent what was found, and returns all of it."""


def quick_loss(before: Judgement, after: Judgement) -> tuple[float, float]:
    """Return the points and the winrate that a move lost, as two searches of a kind see it.

    The position before is worth what its best move is.
    """
    lead = before.best.black_lead if before.best else before.black_lead
    winrate = before.best.black_winrate if before.best else before.black_winrate
    color = before.to_play
    return (
        max(0.0, gain_for(color, lead - after.black_lead)),
        max(0.0, gain_for(color, winrate - after.black_winrate)),
    )


def position_at(record: GameRecord) -> Callable[[Spot], Position]:
    """Return a function that makes the position of a spot."""

    @lru_cache(maxsize=8)
    def at(turn: int) -> Position:
        return record.position(before_move=turn + 1)

    def make(spot: Spot) -> Position:
        position = at(spot.turn).copy()
        if spot.instead is not None:
            position.play(position.to_play, spot.instead, strict=False)
        return position

    return make


def review_stages(record: GameRecord, visits: int) -> Stages:
    """Ask for what a review of a game needs, stage by stage.

    Args:
        record: The game; it can be played over.
        visits: Of each position at first.
    """
    n_moves = len(record.moves)
    found = yield [Wish(Spot(turn), visits) for turn in range(n_moves + 1)]
    quick = [found[Wish(Spot(turn), visits)] for turn in range(n_moves + 1)]
    deep_visits = visits * DEEPER

    costs = [quick_loss(*pair) for pair in pairwise(quick)]
    for number, setup in record.setups.items():
        if number and setup.stones:  # what they are worth is no loss of the move before
            costs[number - 1] = (0.0, 0.0)
    suspects = _suspects(record, costs)
    promising = _promising(record, quick)
    turns = sorted({*suspects, *(turn + 1 for turn in suspects), *promising})
    found = yield [Wish(Spot(turn), deep_visits) for turn in turns]
    deep = {wish.spot.turn: judgement for wish, judgement in found.items()}

    better = {
        turn: best.move
        for turn in suspects
        if (best := deep[turn].best) is not None and best.move != record.moves[turn].point
    }
    found = yield [Wish(Spot(turn, move), deep_visits) for turn, move in better.items()]
    doubtful = [
        Mistake(
            turn=turn,
            color=record.moves[turn].color,
            played=record.moves[turn].point,
            best=move,
            after_played=deep[turn + 1],
            after_best=found[Wish(Spot(turn, move), deep_visits)],
        )
        for turn, move in better.items()
    ]
    for turn in suspects:
        costs[turn] = (0.0, 0.0)  # unless there is a better move
    for mistake in doubtful:
        costs[mistake.turn] = (mistake.loss, mistake.chance_lost)
    mistakes = _greatest(doubtful)
    yield from _confirm(mistakes, visits * DEEPEST)
    for mistake in mistakes:
        costs[mistake.turn] = (mistake.loss, mistake.chance_lost)
    mistakes = [mistake for mistake in mistakes if is_mistake(mistake.loss, mistake.chance_lost)]
    make = position_at(record)
    yield from _drill(mistakes, make, visits)
    judged = [deep.get(turn, quick[turn]).best for turn in range(n_moves)]
    best_moves = [None if each is None else each.move for each in judged]
    return Material(quick, costs, best_moves, mistakes, _good_moves(record, deep, promising))


def reckoned_visits(record: GameRecord, visits: int) -> int:
    """Return about how many visits a review takes, rather more than fewer."""
    deep = 2 * (3 * SUSPECTS + GOOD_MOVES) * DEEPER
    area = record.width * record.height
    deep += 2 * 2 * MISTAKES * DEEPEST
    drill = 2 * MISTAKES * (CLOSER_LOOKS // area + DEEP_LOOKS // area * DEEPER)
    return (len(record.moves) + 1 + deep + drill) * visits + 2 * MISTAKES * area * GLANCE


def is_mistake(loss: float, chance_lost: float) -> bool:
    """Whether so many points or so much winrate are worth a sentence."""
    return loss >= LEAST_LOSS or chance_lost >= LEAST_CHANCE


def _suspects(record: GameRecord, costs: list[tuple[float, float]]) -> list[int]:
    """Return the turns at which each player seems to have lost most."""
    return _of_each_player(
        record,
        [turn for turn, cost in enumerate(costs) if is_mistake(*cost)],
        lambda turn: _weight(*costs[turn]),
        SUSPECTS,
    )


def _weight(loss: float, chance_lost: float) -> float:
    """Return how bad a mistake is: by points, and by winrate where the game is close."""
    return loss + 10.0 * chance_lost


def _promising(record: GameRecord, quick: list[Judgement]) -> list[int]:
    """Return the turns at which each player seems to have found the only good move."""
    gaps = {}
    for turn, move in enumerate(record.moves):
        candidates = quick[turn].candidates
        if len(candidates) > 1 and candidates[0].move == move.point:
            gaps[turn] = gain_for(move.color, candidates[0].black_lead - candidates[1].black_lead)
    wanted = [turn for turn, gap in gaps.items() if gap >= GOOD_GAP]
    return _of_each_player(record, wanted, gaps.__getitem__, GOOD_MOVES)


def _of_each_player(
    record: GameRecord, turns: list[int], weight: Callable[[int], float], most: int
) -> list[int]:
    kept = []
    for color in (BLACK, WHITE):
        own = [turn for turn in turns if record.moves[turn].color == color]
        kept += sorted(own, key=weight, reverse=True)[:most]
    return sorted(kept)


def _greatest(mistakes: list[Mistake]) -> list[Mistake]:
    kept: list[Mistake] = []
    for color in (BLACK, WHITE):
        own = [
            mistake
            for mistake in mistakes
            if mistake.color == color and is_mistake(mistake.loss, mistake.chance_lost)
        ]
        own.sort(key=lambda mistake: _weight(mistake.loss, mistake.chance_lost), reverse=True)
        # A great move that is left open for long is one mistake, not as many as there are turns.
        by_best = {mistake.best: mistake for mistake in reversed(own)}
        kept += [mistake for mistake in own if by_best[mistake.best] is mistake][:MISTAKES]
    return sorted(kept, key=lambda mistake: mistake.turn)


def _good_moves(
    record: GameRecord, deep: Mapping[int, Judgement], promising: list[int]
) -> list[GoodMove]:
    found = []
    for turn in promising:
        move, candidates = record.moves[turn], deep[turn].candidates
        if len(candidates) < 2 or candidates[0].move != move.point:
            continue
        gap = gain_for(move.color, candidates[0].black_lead - candidates[1].black_lead)
        if gap >= GOOD_GAP:
            found.append(GoodMove(turn, move.color, move.point, gap, candidates[1].move))
    return found


def _confirm(
    mistakes: list[Mistake], visits: int
) -> Generator[list[Wish], Mapping[Wish, Judgement], None]:
    """Search again what each mistake rests on; it loses the lesser of what both searches say.

    Points and winrate each: the search that sees fewer points lost may see more winrate lost.
    """
    pairs = [
        (Wish(Spot(each.turn + 1), visits), Wish(Spot(each.turn, each.best), visits))
        for each in mistakes
    ]
    found = yield [wish for pair in pairs for wish in pair]
    for mistake, (played, best) in zip(mistakes, pairs, strict=True):
        other = replace(mistake, after_played=found[played], after_best=found[best])
        mistake.most_chance = min(mistake.chance_lost, other.chance_lost)
        if other.loss < mistake.loss:
            mistake.after_played, mistake.after_best = other.after_played, other.after_best


def _drill(
    mistakes: list[Mistake], make: Callable[[Spot], Position], visits: int
) -> Generator[list[Wish], Mapping[Wish, Judgement], None]:
    """Fill in what each answer at the mistakes loses, closer where it may be right."""
    for mistake in mistakes:
        legal = make(Spot(mistake.turn)).legal_moves(mistake.color)
        mistake.answers = dict.fromkeys(legal, 0.0)
    area = make(Spot(0)).area
    depths = (GLANCE, visits, visits * DEEPER)
    looks = (area + 1, CLOSER_LOOKS // area, DEEP_LOOKS // area)
    for wanted, most, doubt in zip(depths, looks, (0.0, *DOUBTS), strict=True):
        wishes = {
            Wish(Spot(mistake.turn, move), wanted): (mistake, move)
            for mistake in mistakes
            for move in _in_doubt(mistake, BORDERS[-1] + doubt)[:most]
        }
        found = yield list(wishes)
        for wish, (mistake, move) in wishes.items():
            lost = mistake.after_best.black_lead - found[wish].black_lead
            mistake.answers[move] = gain_for(mistake.color, lost)
            if wanted == depths[-1]:
                mistake.read_out.add(move)
    for mistake in mistakes:
        mistake.answers |= {mistake.best: 0.0, mistake.played: mistake.loss}
        mistake.answers = {m: round(max(0.0, loss), 2) for m, loss in mistake.answers.items()}
        mistake.read_out |= {mistake.best, mistake.played}


def _in_doubt(mistake: Mistake, most: float) -> list[int]:
    """Return the answers that lose up to so many points as far as is known, the best first."""
    found = [
        move
        for move, loss in mistake.answers.items()
        if move not in (mistake.best, mistake.played) and loss <= most
    ]
    return sorted(found, key=mistake.answers.__getitem__)
