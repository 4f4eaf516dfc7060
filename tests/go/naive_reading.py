"""Captures by brute force: every legal move of either side, a few moves deep, simple ko kept."""

from gtp_engine.coords import EMPTY
from gtp_engine.go.position import Position

Stones = tuple[int, ...]
"""Colors by point, row by row; -1 off the board."""


class NaiveReading:
    """Reads one chain out on boards that are nearly full."""

    def __init__(self, position: Position, chain: int) -> None:
        """Take the stones over; `chain` is a stone of the chain to be captured."""
        self.stride = position.width + 1
        inside = set(position.points())
        size = (position.height + 2) * self.stride + 1
        self.start: Stones = tuple(
            position.color_at(point) if point in inside else -1 for point in range(size)
        )
        self.ko = int(position.board["ko_point"])
        self.chain = chain
        self.color = position.color_at(chain)
        self._known: dict[tuple[Stones, int, int, int], bool] = {}

    def is_captured(self, first: int, plies: int) -> bool:
        """Whether the chain is off the board after so many moves at most, come what may."""
        return self._read(self.start, self.ko, first, plies)

    def _read(self, stones: Stones, ko: int, mover: int, plies: int) -> bool:
        key = (stones, ko, mover, plies)
        if key not in self._known:
            self._known[key] = self._read_on(stones, ko, mover, plies)
        return self._known[key]

    def _read_on(self, stones: Stones, ko: int, mover: int, plies: int) -> bool:
        attacking = mover != self.color
        if stones[self.chain] != self.color:
            return not self._may_retake(stones, ko) or self._after_retake(stones, ko, plies)
        if plies == 0 or len(self._liberties(stones, self.chain)) > (plies + attacking) // 2:
            return False
        moves = [point for point, color in enumerate(stones) if color == EMPTY and point != ko]
        boards = [after for point in moves if (after := self._play(stones, point, mover))]
        results = (self._read(*after, 3 - mover, plies - 1) for after in boards)
        waits = self._read(stones, 0, 3 - mover, plies - 1)
        return (waits or any(results)) if attacking else (waits and all(results))

    def _after_retake(self, stones: Stones, ko: int, plies: int) -> bool:
        after = self._play(stones, self.chain, self.color)
        return after is not None and self._read(*after, 3 - self.color, max(0, plies - 1))

    def _may_retake(self, stones: Stones, ko: int) -> bool:
        """Whether a single stone was taken that can take back what took it."""
        if self.chain == ko or any(stones[near] == EMPTY for near in self._near(self.chain)):
            return False
        return self._play(stones, self.chain, self.color) is not None

    def _near(self, point: int) -> tuple[int, int, int, int]:
        return (point - self.stride, point - 1, point + 1, point + self.stride)

    def _chain(self, stones: Stones, point: int) -> set[int]:
        found = {point}
        rest = [point]
        while rest:
            for near in self._near(rest.pop()):
                if stones[near] == stones[point] and near not in found:
                    found.add(near)
                    rest.append(near)
        return found

    def _liberties(self, stones: Stones, point: int) -> set[int]:
        chain = self._chain(stones, point)
        return {near for stone in chain for near in self._near(stone) if stones[near] == EMPTY}

    def _play(self, stones: Stones, point: int, color: int) -> tuple[Stones, int] | None:
        """Return the stones and the ko ban after a move; None where it is suicide."""
        after = [*stones]
        after[point] = color
        taken: set[int] = set()
        for near in self._near(point):
            if after[near] == 3 - color and not self._liberties(tuple(after), near):
                taken |= self._chain(tuple(after), near)
        for stone in taken:
            after[stone] = EMPTY
        result = tuple(after)
        free = self._liberties(result, point)
        if not free:
            return None
        is_ko = len(taken) == 1 and free == taken and len(self._chain(result, point)) == 1
        return result, taken.pop() if is_ko else 0
