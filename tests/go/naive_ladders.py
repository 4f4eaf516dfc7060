"""Ladders by plain recursion over copied boards."""

from tests.go.naive_board import EMPTY, NaiveGame, Spot


def ladders(game: NaiveGame) -> tuple[set[Spot], dict[int, set[Spot]]]:
    """Return the stones of laddered chains, and by color of the chased the moves that work."""
    laddered: set[Spot] = set()
    working: dict[int, set[Spot]] = {1: set(), 2: set()}
    for spot in game.spots():
        if spot in laddered or game.color_at(spot) == EMPTY:
            continue
        liberties = game.liberties(spot)
        if len(liberties) == 1 and cannot_flee(_without_ko(game), spot):
            laddered |= game.chain(spot)
        if len(liberties) == 2:
            color = game.color_at(spot)
            for liberty in liberties:
                after = _after(game, 3 - color, liberty)
                if after is not None and cannot_flee(_without_ko(after), spot):
                    working[color].add(liberty)
                    laddered |= game.chain(spot)
    return laddered, working


def cannot_flee(game: NaiveGame, spot: Spot) -> bool:
    """Whether a chain is lost, its own side to move: atari, and no move gets it out."""
    color = game.color_at(spot)
    liberties = game.liberties(spot)
    if len(liberties) > 1 or game.ko_spot is not None:
        return False
    escapes = liberties | _captures(game, spot)
    boards = [_after(game, color, escape) for escape in escapes]
    return all(board is None or _is_chased(board, spot) for board in boards)


def _is_chased(game: NaiveGame, spot: Spot) -> bool:
    """Whether the chain, the chaser to move, is captured in the end."""
    color = game.color_at(spot)
    liberties = game.liberties(spot)
    if len(liberties) != 2:
        return len(liberties) < 2
    if _is_double_ko_death(game, spot, liberties):
        return True
    boards = [_after(game, 3 - color, liberty) for liberty in liberties]
    return any(board is not None and cannot_flee(board, spot) for board in boards)


def _is_double_ko_death(game: NaiveGame, spot: Spot, liberties: set[Spot]) -> bool:
    """Whether the chaser takes a ko at each liberty, and connecting there gains nothing."""
    color = game.color_at(spot)
    for liberty in liberties:
        around = [game.color_at(near) for near in game.near(liberty)]
        taken = [
            near
            for near in game.near(liberty)
            if game.color_at(near) == color and game.liberties(near) == {liberty}
        ]
        if set(around) != {color} or len(taken) != 1 or len(game.chain(taken[0])) != 1:
            return False
        connected = _copy(game)
        connected.stones[liberty] = color
        if len(connected.liberties(liberty)) > 2:
            return False
    return not _captures(game, spot)


def _captures(game: NaiveGame, spot: Spot) -> set[Spot]:
    """Return the moves that capture an enemy chain in atari next to a chain."""
    enemies = {
        near
        for stone in game.chain(spot)
        for near in game.near(stone)
        if game.color_at(near) == 3 - game.color_at(spot)
    }
    return {
        next(iter(game.liberties(enemy))) for enemy in enemies if len(game.liberties(enemy)) == 1
    }


def _after(game: NaiveGame, color: int, spot: Spot) -> NaiveGame | None:
    """Return the board after a move; None for suicide and for what simple ko forbids."""
    if spot == game.ko_spot:
        return None
    board = _copy(game)
    taken, own = board.place(color, spot)
    if own:
        return None
    lone = len(board.chain(spot)) == 1 and len(board.liberties(spot)) == 1
    board.ko_spot = next(iter(taken)) if lone and len(taken) == 1 else None
    return board


def _without_ko(game: NaiveGame) -> NaiveGame:
    return NaiveGame(game.width, game.height, stones=dict(game.stones))


def _copy(game: NaiveGame) -> NaiveGame:
    copy = _without_ko(game)
    copy.ko_spot = game.ko_spot
    return copy
