"""A slow oracle for rows of five: sets of points, recursion, and the rules as they are written."""

Point = tuple[int, int]
WAYS = ((0, 1), (1, 0), (1, 1), (1, -1))


class NaiveBoard:
    """Stones as sets of (column, row)."""

    def __init__(self, size: int, black: set[Point], white: set[Point]) -> None:
        self.size, self.black, self.white = size, black, white

    def is_empty(self, point: Point) -> bool:
        """Whether a point is on the board and has no stone."""
        on = all(0 <= each < self.size for each in point)
        return on and point not in self.black | self.white

    def run(self, stones: set[Point], point: Point, way: Point) -> set[Point]:
        """Return the unbroken row of stones through a point of it."""
        found = {point}
        for sign in (1, -1):
            at = (point[0] + sign * way[0], point[1] + sign * way[1])
            while at in stones:
                found.add(at)
                at = (at[0] + sign * way[0], at[1] + sign * way[1])
        return found

    def forbidden(self, point: Point) -> str:
        """Return why renju forbids Black an empty point, or nothing."""
        stones = self.black | {point}
        lengths = [len(self.run(stones, point, way)) for way in WAYS]
        if 5 in lengths:
            return ""
        if max(lengths) > 5:
            return "overline"
        if len(self.fours(point)) >= 2:
            return "double-four"
        if sum(self.has_three(point, way) for way in WAYS) >= 2:
            return "double-three"
        return ""

    def fours(self, point: Point) -> set[frozenset[Point]]:
        """Return the sets of four stones with this one that a fifth makes exactly five."""
        stones = self.black | {point}
        found = set()
        for way in WAYS:
            for n in range(-4, 5):
                fifth = (point[0] + n * way[0], point[1] + n * way[1])
                if fifth == point or not self.is_empty(fifth):
                    continue
                five = self.run(stones | {fifth}, fifth, way)
                if len(five) == 5 and point in five:
                    found.add(frozenset(five - {fifth}))
        return found

    def has_three(self, point: Point, way: Point) -> bool:
        """Whether a stone at a point makes a three in a direction."""
        after = NaiveBoard(self.size, self.black | {point}, self.white)
        for n in range(-3, 4):
            extra = (point[0] + n * way[0], point[1] + n * way[1])
            if extra == point or not after.is_empty(extra):
                continue
            stones = after.black | {extra}
            four = self.run(stones, extra, way)
            if len(four) != 4 or point not in four:
                continue
            if any(len(self.run(stones, extra, each)) == 5 for each in WAYS):
                continue
            ends = []
            for sign in (1, -1):
                at = extra
                while at in stones:
                    at = (at[0] + sign * way[0], at[1] + sign * way[1])
                ends.append(at)
            both = all(
                after.is_empty(end) and len(self.run(stones | {end}, end, way)) == 5 for end in ends
            )
            if both and not after.forbidden(extra):
                return True
        return False

    def wins(self, color: str, point: Point, rule: str) -> bool:
        """Whether a stone of a color at a point wins."""
        own, other = (self.black, self.white) if color == "black" else (self.white, self.black)
        stones = own | {point}
        for way in WAYS:
            row = self.run(stones, point, way)
            exact = rule in ("standard", "caro-exact") or (rule == "renju" and color == "black")
            if len(row) < 5 or (exact and len(row) > 5):
                continue
            if rule.startswith("caro") and len(row) == 5:
                first, last = (
                    min(row, key=lambda p: dot(p, way)),
                    max(row, key=lambda p: dot(p, way)),
                )
                ends = {
                    (first[0] - way[0], first[1] - way[1]),
                    (last[0] + way[0], last[1] + way[1]),
                }
                if ends <= other:
                    continue
            return True
        return False


def dot(point: Point, way: Point) -> int:
    """Return how far along a direction a point is."""
    return point[0] * way[0] + point[1] * way[1]
