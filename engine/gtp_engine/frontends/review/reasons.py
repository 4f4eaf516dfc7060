"""Why a move was a mistake, in words that each rest on something searched or read out.

Both sides of a comparison are searches of the same depth, one after the move played and one after
the better move. Where they do not show a reason clearly, nothing is said.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, EMPTY, PASS, opponent, row_col
from gtp_engine.frontends.review.judgement import Judgement, gain_for
from gtp_engine.frontends.review.phrases import amount_words, loss_words, names, phrase
from gtp_engine.frontends.review.stages import Mistake
from gtp_engine.go.position import Position
from gtp_engine.go.regions import around
from gtp_engine.go.tactics import Kind, Verdict, attack, defend, kind_of_attack
from gtp_engine.play.adjudication.chains import find_chains

ALIVE = 0.6
"""Mean ownership, for their owner, from which on stones live; below the negative they are dead."""
CLEARLY = 0.3
"""The same where a capture has been read out besides."""
LEAST_STONES = 2
"""Of a group that is worth a sentence."""
LEAST_ZONE = 2.0
"""Points that a part of the board must lose to be named."""
ZONE_SHARE = 0.5
"""Share that it must have of the loss, and of all that changes hands."""
ZONE_EXCESS = 1.5
"""Times the loss that it may have, where other parts gain; more would seem to contradict it."""
CLEAR_SHARE = 0.9
"""Share of the visits that an expected answer must have; with less, deeper searches find others."""
MOST_REASONS = 2
LINE_LENGTH = 6
"""Moves of a line that are named."""
LEAST_LADDER = 5
"""Moves of a capture, all of them ataris, that is called a ladder."""


@dataclass(frozen=True)
class Reason:
    """A sentence and what it rests on."""

    kind: str
    """A key of [reasons] in phrases.toml."""
    text: str
    evidence: dict[str, Any]
    """Plain data: vertices, points and figures of both searches."""


class Case:
    """A mistake with the position before it, and words for what is in it."""

    def __init__(self, position: Position, mistake: Mistake) -> None:
        self.position = position
        self.vertex = position.vertex
        self.mistake = mistake
        self.color = mistake.color
        self.near = max(2, position.width // 6)
        """Rows or columns up to which an answer is one to the move itself."""
        self.played = self.vertex(mistake.played)
        self.better = self.vertex(mistake.best)
        self.own_played = self._owned(mistake.after_played)
        """[height, width], 1 where the mistaken player owns, after the move played."""
        self.own_best = self._owned(mistake.after_best)
        self.chains = sorted(find_chains(position), key=lambda each: -len(each.stones))
        """Before the move, the largest first."""

    def _owned(self, judgement: Judgement) -> npt.NDArray[np.float64]:
        """Return what the mistaken player owns; nobody anything where the net does not say."""
        owners = judgement.owners() if judgement.ownership else np.zeros(self.position.area)
        shape = self.position.height, self.position.width
        return gain_for(self.color, 1.0) * owners.reshape(shape)

    def zone(self, point: int) -> int:
        """Return which of the nine parts of the board a point is in."""
        row, col = row_col(point, self.position.width)
        return 3 * _third(row, self.position.height) + _third(col, self.position.width)

    def zones(self) -> list[float]:
        """Return the points that each of the nine parts of the board lost."""
        sums = [0.0] * 9
        for point in self.position.points():
            at = row_col(point, self.position.width)
            sums[self.zone(point)] += float(self.own_best[at] - self.own_played[at])
        return sums

    def distance(self, one: int, other: int) -> int:
        """Return rows or columns between two points, whichever are more."""
        a, b = row_col(one, self.position.width), row_col(other, self.position.width)
        return max(abs(a[0] - b[0]), abs(a[1] - b[1]))

    def after(self, move: int) -> Position:
        """Return the position after a move of the mistaken player."""
        position = self.position.copy()
        position.play(self.color, move, strict=False)
        return position

    def reason(self, kind: str, evidence: dict[str, Any], **parts: object) -> Reason:
        """Return a reason; who, what was played and what was better is filled in."""
        text = phrase(
            "reasons",
            kind,
            player=_name(self.color),
            opponent=_name(opponent(self.color)),
            played=self.played,
            better=self.better,
            **parts,
        )
        return Reason(kind, text, evidence)


def explain(position: Position, mistake: Mistake) -> list[Reason]:
    """Return why a move was a mistake, the strongest reason first; nothing without evidence.

    Args:
        position: Before the move.
    """
    case = Case(position, mistake)
    if mistake.played == PASS:
        return list(_passed(case))
    found = [*(list(_readings(case)) or _groups(case)), *_links(case), *_answers(case)]
    # Where stones have been named, it goes without saying who takes the point, and what it costs.
    weaker = [*_places(case), *_same_point(case)]
    found += [each for each in weaker if not found or each.kind == "elsewhere"]
    return found[:MOST_REASONS]


def _passed(case: Case) -> Iterator[Reason]:
    loss = case.mistake.loss
    yield case.reason("passed", {"points": round(loss, 1)}, points=amount_words("point", loss))


def _groups(case: Case) -> Iterator[Reason]:
    """Stones that live in one line and are dead in the other, the most of them."""
    for owner, kind in (
        (case.color, "own_group_dies"),
        (opponent(case.color), "other_group_lives"),
    ):
        sign = 1.0 if owner == case.color else -1.0
        turned = []
        for chain in case.chains:
            if chain.color != owner:
                continue
            # For their owner: alive in the line that is better for it.
            best = sign * _mean(case.own_best, chain.stones, case.position.width)
            played = sign * _mean(case.own_played, chain.stones, case.position.width)
            good, bad = (best, played) if owner == case.color else (played, best)
            if good >= ALIVE and bad <= -ALIVE:
                turned.append((chain, best, played))
        n_stones = sum(len(chain.stones) for chain, _, _ in turned)
        if n_stones < LEAST_STONES:
            continue
        evidence = {
            "chains": [
                {
                    "stones": [case.vertex(point) for point in chain.stones],
                    "ownership_better": round(best, 2),
                    "ownership_played": round(played, 2),
                }
                for chain, best, played in turned
            ]
        }
        yield case.reason(
            kind,
            evidence,
            stones=amount_words("stone", n_stones),
            vertex=case.vertex(turned[0][0].head),
        )


def _readings(case: Case) -> Iterator[Reason]:
    """Chains that can be captured in one line and not in the other, read out move by move."""
    mistake, before = case.mistake, case.position
    played, best = case.after(mistake.played), case.after(mistake.best)
    for chain in case.chains:
        if len(chain.stones) < LEAST_STONES:
            return
        stone = chain.head
        own = [_mean(each, chain.stones, before.width) for each in (case.own_best, case.own_played)]
        if own[0] < CLEARLY or own[1] > -CLEARLY or EMPTY in map(played.color_at, chain.stones):
            continue  # the searches do not say that it is saved, or taken, by the better move alone
        if chain.color == case.color:
            kind, start, reading = "own_captured", played, attack(played, stone)
            other, safe = attack(best, stone).verdict, Verdict.FAILS
            is_sure = own[0] >= ALIVE
        else:
            kind, start, reading = "capture_missed", before, attack(before, stone)
            other, safe = defend(played, stone).verdict, Verdict.WORKS
            is_sure = own[1] <= -ALIVE
            if reading.move != mistake.best:
                continue
        # Where a chain that runs away cannot be read to the end, the search has to be sure.
        is_avoided = other is safe or (other is Verdict.UNSETTLED and is_sure)
        if reading.verdict is not Verdict.WORKS or not reading.line or not is_avoided:
            continue
        way = kind_of_attack(start, stone, reading.line)
        is_named = way is not Kind.LADDER or len(reading.line) >= LEAST_LADDER
        line = [case.vertex(move.point) for move in reading.line]
        yield case.reason(
            kind,
            {
                "stones": [case.vertex(point) for point in chain.stones],
                "way": str(way),
                "line": line,
                "ownership_better": round(own[0], 2),
                "ownership_played": round(own[1], 2),
            },
            stones=amount_words("stone", len(chain.stones)),
            vertex=case.vertex(stone),
            how=phrase("how", str(way)) if is_named else "",
            line=" ".join(line[:LINE_LENGTH]) + " …" * (len(line) > LINE_LENGTH),
        )
        return


def _links(case: Case) -> Iterator[Reason]:
    """The better move joins two chains, of one's own or, as a cut, of the opponent's."""
    mistake = case.mistake
    answer = mistake.after_played.best
    if answer is None or answer.move != mistake.best or not _is_clear(mistake.after_played):
        return
    width = case.position.width
    neighbors = set(around(mistake.best, width))
    for color, kind in ((case.color, "connection_lost"), (opponent(case.color), "cut_missed")):
        touching = [
            chain for chain in case.chains if chain.color == color and neighbors & set(chain.stones)
        ]
        n_stones = sum(len(chain.stones) for chain in touching)
        if len(touching) < 2 or n_stones <= len(touching):
            continue
        near = [{p for stone in each.stones for p in around(stone, width)} for each in touching[:2]]
        if any(case.position.color_at(p) == EMPTY for p in near[0] & near[1] - {mistake.best}):
            continue  # they can be joined at another point too
        yield case.reason(
            kind,
            {
                "point": case.better,
                "chains": [[case.vertex(point) for point in chain.stones] for chain in touching],
                "answer_share": round(_share(mistake.after_played), 2),
            },
            stones=amount_words("stone", n_stones),
            vertex=case.vertex(touching[0].head),
            other=case.vertex(touching[1].head),
        )


def _answers(case: Case) -> Iterator[Reason]:
    """The better move is answered beside it, the one played is not: sente was lost."""
    mistake = case.mistake
    good, bad = mistake.after_best.best, mistake.after_played.best
    if good is None or bad is None or PASS in (good.move, bad.move, mistake.best):
        return
    if (
        case.distance(good.move, mistake.best) <= case.near
        and case.distance(bad.move, mistake.played) > 2 * case.near
        and case.distance(bad.move, mistake.best) > case.near
        and _is_clear(mistake.after_best)
        and _is_clear(mistake.after_played)
    ):
        yield case.reason(
            "answer_lost",
            {
                "answer": case.vertex(good.move),
                "answer_share": round(_share(mistake.after_best), 2),
                "elsewhere": case.vertex(bad.move),
                "elsewhere_share": round(_share(mistake.after_played), 2),
            },
            answer=case.vertex(good.move),
            elsewhere=case.vertex(bad.move),
        )


def _places(case: Case) -> Iterator[Reason]:
    """The better move is in another part of the board, or one part has most of the loss."""
    mistake = case.mistake
    sums = case.zones()
    worst = int(np.argmax(sums))
    most = ZONE_SHARE * max(mistake.loss, sum(map(abs, sums)))
    is_one = max(LEAST_ZONE, most) <= sums[worst] <= ZONE_EXCESS * mistake.loss
    zone = worst if mistake.best == PASS else case.zone(mistake.best)
    if (
        mistake.best != PASS
        and zone != case.zone(mistake.played)
        and case.distance(mistake.best, mistake.played) > case.position.width // 3
        and (worst == zone or not is_one)
    ):
        evidence = {"points": round(mistake.loss, 1), "chance": round(mistake.chance_lost, 3)}
        loss = loss_words(mistake.loss, mistake.chance_lost, mistake.by_chance)
        yield case.reason("elsewhere", evidence, zone=names("zones")[zone], loss=loss)
    elif is_one:
        yield case.reason(
            "zone_lost",
            {
                "zone": names("zones")[worst],
                "points": round(sums[worst], 1),
                "points_of_all_zones": [round(each, 1) for each in sums],
            },
            zone=names("zones")[worst],
            points=amount_words("point", sums[worst]),
        )


def _same_point(case: Case) -> Iterator[Reason]:
    """The opponent takes the better move's point."""
    after, point = case.mistake.after_played, case.mistake.best
    if after.best is not None and after.best.move == point != PASS and _is_clear(after):
        evidence = {"point": case.better, "answer_share": round(_share(after), 2)}
        yield case.reason("same_point", evidence)


def _name(color: int) -> str:
    return phrase("players", "black" if color == BLACK else "white")


def _third(index: int, size: int) -> int:
    """Return 0, 1 or 2: the first third of a row or column, the middle, the last."""
    edge = (size + 1) // 3
    return 0 if index < edge else 2 if index >= size - edge else 1


def _mean(owned: npt.NDArray[np.float64], points: Sequence[int], width: int) -> float:
    return float(np.mean([owned[row_col(point, width)] for point in points]))


def _share(judgement: Judgement) -> float:
    """Return the share of the visits that the best move has."""
    return judgement.best.visits / judgement.visits if judgement.best else 0.0


def _is_clear(judgement: Judgement) -> bool:
    return _share(judgement) >= CLEAR_SHARE
