"""A slow, obvious version of what pattern policies see of a move."""

from tests.go.naive_board import EMPTY, NaiveGame, Spot

WALL = 3
DIAMOND = [(r, c) for r in range(-2, 3) for c in range(-2, 3) if 0 < abs(r) + abs(c) <= 2]


def color_at(game: NaiveGame, spot: Spot) -> int:
    row, col = spot
    inside = 0 <= row < game.height and 0 <= col < game.width
    return game.color_at(spot) if inside else WALL


def near_code(game: NaiveGame, spot: Spot) -> int:
    row, col = spot
    code = 0
    for i, (down, right) in enumerate([(-1, -1), (-1, 1), (1, -1), (1, 1)]):
        code |= color_at(game, (row + down, col + right)) << 2 * i
    for i, (down, right) in enumerate([(-1, 0), (0, -1), (0, 1), (1, 0)]):
        near = (row + down, col + right)
        color = color_at(game, near)
        if color == WALL:
            value = 7
        elif color == EMPTY:
            value = 0
        else:
            value = 3 * (color - 1) + min(3, len(game.liberties(near)))
        code |= value << 8 + 3 * i
    return code


def is_refused(game: NaiveGame, spot: Spot, color: int) -> bool:
    """Whether a move is suicide or fills an own eye."""
    trial = game.copy()
    _, own = trial.place(color, spot)
    row, col = spot
    corners = [color_at(game, (row + down, col + right)) for down in (-1, 1) for right in (-1, 1)]
    is_own = all(game.color_at(near) == color for near in game.near(spot))
    fills_eye = is_own and corners.count(3 - color) + (WALL in corners) < 2
    return bool(own) or fills_eye


def diamond_code(game: NaiveGame, spot: Spot, color: int) -> int:
    code = 0
    for i, (down, right) in enumerate(DIAMOND):
        seen = color_at(game, (spot[0] + down, spot[1] + right))
        code |= {EMPTY: 0, WALL: 3, color: 1, 3 - color: 2}[seen] << 2 * i
    return code


def liberties_after(game: NaiveGame, spot: Spot, color: int) -> int:
    """Liberties of the chain of a move; of captured stones only those beside it are counted."""
    trial = game.copy()
    enemies, own = trial.place(color, spot)
    if own:
        return 0
    free = trial.liberties(spot)
    return min(3, len({one for one in free if one not in enemies or one in game.near(spot)}))


def self_atari(game: NaiveGame, spot: Spot, color: int) -> int:
    if liberties_after(game, spot, color) > 1:
        return -1
    stones = {spot}
    for near in game.near(spot):
        if game.color_at(near) == color:
            stones |= game.chain(near)
    return 39 + (len(stones) > 1) + (len(stones) > 3)


def local_features(
    game: NaiveGame, last: Spot | None, previous: Spot | None, taken: set[Spot], color: int
) -> set[tuple[Spot, int]]:
    """Every local feature but those of known responses, as pairs of a spot and a number."""
    found: set[tuple[Spot, int]] = set()
    free = {spot for spot in game.spots() if game.color_at(spot) == EMPTY}
    if previous is not None and game.color_at(previous) == color:
        for spot in free:
            apart = sorted((abs(spot[0] - previous[0]), abs(spot[1] - previous[1])))
            if apart in ([0, 1], [1, 1]):
                found.add((spot, 12 + (apart == [1, 1])))
    if last is None or game.color_at(last) != 3 - color:
        return found
    if 2 <= len(taken) <= 6:
        for spot in taken:
            beside = len(set(game.near(spot)) & taken)
            found.add((spot, 14 + (len(taken) - 2) * 5 + beside))
    liberties = game.liberties(last)
    if len(liberties) == 1:
        found |= {(spot, 0 + (len(game.chain(last)) > 1)) for spot in liberties}
    if len(liberties) == 2:
        found |= {(spot, 2) for spot in liberties}
    for near in game.near(last):
        if game.color_at(near) != color:
            continue
        of_chain = game.liberties(near)
        if len(of_chain) in (1, 2):
            first = 3 if len(of_chain) == 1 else 7
            for spot in of_chain:
                gain = max(0, liberties_after(game, spot, color) - 1)
                found.add((spot, first + gain))
        if len(of_chain) == 1:
            for stone in game.chain(near):
                for enemy in game.near(stone):
                    if game.color_at(enemy) == 3 - color and len(game.liberties(enemy)) == 1:
                        found |= {(spot, 6) for spot in game.liberties(enemy)}
    row = min(3, len(liberties)) - 1
    for spot in free:
        down, right = spot[0] - last[0], spot[1] - last[1]
        if (down, right) in DIAMOND:
            found.add((spot, 42 + 12 * row + DIAMOND.index((down, right))))
        elif max(abs(down), abs(right)) == 2:
            found.add((spot, 11 if abs(down) == abs(right) else 10))
    return found
