"""A slow, obvious game of Go to hold against the fast one.

Stones are a dict from (row, col) to color, chains and liberties are flood fills, and every
situation of the game is kept whole. Nothing here shares code with the engine.
"""

from dataclasses import dataclass, field

EMPTY, BLACK, WHITE = 0, 1, 2
PASS = None

Spot = tuple[int, int]
Stones = frozenset[tuple[Spot, int]]


@dataclass
class NaiveGame:
    """A game on a board of this size; `ko` is "simple", "positional" or "situational"."""

    width: int
    height: int
    ko: str = "positional"
    multi_stone_suicide: bool = False
    stones: dict[Spot, int] = field(default_factory=dict)
    to_play: int = BLACK
    captured: dict[int, int] = field(default_factory=lambda: {BLACK: 0, WHITE: 0})
    ko_spot: Spot | None = None
    ko_capturer: int = EMPTY
    situations: list[tuple[Stones, int]] = field(default_factory=list)
    moves: list[tuple[int, Spot | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.situations.append((self.position(), self.to_play))

    def position(self) -> Stones:
        return frozenset(self.stones.items())

    def copy(self) -> "NaiveGame":
        return NaiveGame(
            self.width,
            self.height,
            self.ko,
            self.multi_stone_suicide,
            dict(self.stones),
            self.to_play,
            dict(self.captured),
            self.ko_spot,
            self.ko_capturer,
            self.situations[:-1],
            list(self.moves),
        )

    def spots(self) -> list[Spot]:
        return [(row, col) for row in range(self.height) for col in range(self.width)]

    def near(self, spot: Spot) -> list[Spot]:
        row, col = spot
        around = [(row - 1, col), (row, col - 1), (row, col + 1), (row + 1, col)]
        return [(r, c) for r, c in around if 0 <= r < self.height and 0 <= c < self.width]

    def color_at(self, spot: Spot) -> int:
        return self.stones.get(spot, EMPTY)

    def chain(self, spot: Spot) -> set[Spot]:
        chain = {spot}
        frontier = [spot]
        while frontier:
            for near in self.near(frontier.pop()):
                if near not in chain and self.color_at(near) == self.color_at(spot):
                    chain.add(near)
                    frontier.append(near)
        return chain

    def liberties(self, spot: Spot) -> set[Spot]:
        return {
            near
            for stone in self.chain(spot)
            for near in self.near(stone)
            if near not in self.stones
        }

    def place(self, color: int, spot: Spot) -> tuple[set[Spot], set[Spot]]:
        """Put a stone down and remove what has no liberty; return enemy and own stones removed."""
        self.stones[spot] = color
        enemies: set[Spot] = set()
        for near in self.near(spot):
            if self.color_at(near) == 3 - color and not self.liberties(near):
                enemies |= self.chain(near)
        for stone in enemies:
            del self.stones[stone]
        own = set() if self.liberties(spot) else self.chain(spot)
        for stone in own:
            del self.stones[stone]
        return enemies, own

    def is_legal(self, color: int, spot: Spot | None) -> bool:
        if spot is PASS:
            return True
        if spot in self.stones:
            return False
        if spot == self.ko_spot and color != self.ko_capturer:
            return False
        trial = NaiveGame(self.width, self.height, stones=dict(self.stones))
        _, own = trial.place(color, spot)
        if own and (not self.multi_stone_suicide or len(own) == 1):
            return False
        after = trial.position()
        if self.ko == "positional":
            return all(after != position for position, _ in self.situations)
        if self.ko == "situational":
            return (after, 3 - color) not in self.situations
        return True

    def legal_moves(self, color: int) -> list[Spot]:
        return [spot for spot in self.spots() if self.is_legal(color, spot)]

    def play(self, color: int, spot: Spot | None) -> None:
        self.ko_spot, self.ko_capturer = None, EMPTY
        if spot is not PASS:
            enemies, own = self.place(color, spot)
            self.captured[3 - color] += len(enemies)
            self.captured[color] += len(own)
            takes_one = len(enemies) == 1 and not own
            if takes_one and self.chain(spot) == {spot} and self.liberties(spot) == enemies:
                self.ko_spot, self.ko_capturer = next(iter(enemies)), color
        self.to_play = 3 - color
        self.moves.append((color, spot))
        self.situations.append((self.position(), self.to_play))

    def passes(self) -> int:
        """How many passes in a row stand at the end."""
        n = 0
        for _, spot in reversed(self.moves):
            if spot is not PASS:
                break
            n += 1
        return n

    def occurrences_since_pass(self) -> int:
        """How often the present situation stood on the board since the last pass, now included."""
        n = 0
        for index in range(len(self.moves), -1, -1):
            n += self.situations[index] == self.situations[-1]
            if index and self.moves[index - 1][1] is PASS:
                break
        return n

    def passed_here_before(self) -> bool:
        """Whether the move just made is a pass that the same player made on these stones before."""
        color, spot = self.moves[-1]
        return spot is PASS and any(
            move == (color, PASS) and self.situations[index][0] == self.situations[-1][0]
            for index, move in enumerate(self.moves[:-1])
        )

    def repetitions(self) -> list[int]:
        """The earlier plies with the same stones, newest first."""
        last = len(self.situations) - 1
        stones = self.situations[last][0]
        return [ply for ply in range(last - 1, -1, -1) if self.situations[ply][0] == stones]
