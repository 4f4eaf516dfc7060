"""Living stones and areas by their definitions, as sets of spots, with no thought of speed."""

from tests.go.naive_board import BLACK, EMPTY, WHITE, NaiveGame, Spot

Owners = dict[Spot, int]


def regions_of(game: NaiveGame, color: int) -> list[set[Spot]]:
    """Return the connected sets of spots without this player's stones, if some spot is empty."""
    return [
        region
        for region in _components(game, lambda spot: game.color_at(spot) != color)
        if any(game.color_at(spot) == EMPTY for spot in region)
    ]


def pass_alive(
    game: NaiveGame, color: int, suicide: bool
) -> tuple[list[set[Spot]], list[set[Spot]]]:
    """Return a player's pass-alive chains, and the regions that touch no other of their chains."""
    chains = _components(game, lambda spot: game.color_at(spot) == color)
    regions = regions_of(game, color)
    while True:
        alive = [
            chain
            for chain in chains
            if sum(_is_vital(game, region, chain, suicide) for region in regions) >= 2
        ]
        stones = set().union(*alive)
        safe = [region for region in regions if _border(game, region, color) <= stones]
        if len(alive) == len(chains) and len(safe) == len(regions):
            return alive, [region for region in safe if _border(game, region, color)]
        chains, regions = alive, safe


def area(game: NaiveGame, safe_regions: bool, rest: bool, suicide: bool) -> Owners:
    """Return the owner of every spot, as `life.mark_area` describes."""
    owners = dict.fromkeys(game.spots(), EMPTY)
    for color in (BLACK, WHITE):
        alive, safe = pass_alive(game, color, suicide)
        for chain in alive:
            owners.update(dict.fromkeys(chain, color))
        for region in safe:
            inside = [s for s in region if all(game.color_at(n) != color for n in game.near(s))]
            has_enemy = any(game.color_at(spot) != EMPTY for spot in region)
            if len(inside) < 2 or (safe_regions and not has_enemy):
                owners.update(dict.fromkeys(region, color))
        for region in _components(game, lambda spot: game.color_at(spot) == EMPTY):
            around = {game.color_at(n) for spot in region for n in game.near(spot)} - {EMPTY}
            if rest and around == {color}:
                owners.update({spot: color for spot in region if owners[spot] == EMPTY})
    if rest:
        owners = {spot: owner or game.color_at(spot) for spot, owner in owners.items()}
    return owners


def independent_life(
    game: NaiveGame, keep_territories: bool, keep_stones: bool, suicide: bool
) -> tuple[Owners, int]:
    """Return owners and White's areas minus Black's, as `life.mark_independent_life` does."""
    whole = area(game, True, True, suicide)
    difference = 0
    owners = dict.fromkeys(game.spots(), EMPTY)
    for color in (BLACK, WHITE):
        for spots in _components(game, lambda spot, color=color: whole[spot] == color):
            if not any(_shows_seki(game, spot, whole) for spot in spots):
                owners.update(dict.fromkeys(spots, color))
                difference += 1 if color == WHITE else -1
    for spot, owner in whole.items():
        if keep_stones if owner == game.color_at(spot) else keep_territories:
            owners[spot] = owner
    return owners, difference


def _shows_seki(game: NaiveGame, spot: Spot, whole: Owners) -> bool:
    if any(game.color_at(n) == EMPTY and whole[n] == EMPTY for n in game.near(spot)):
        return True
    return game.color_at(spot) == whole[spot] and len(game.liberties(spot)) == 1


def _is_vital(game: NaiveGame, region: set[Spot], chain: set[Spot], suicide: bool) -> bool:
    spots = [spot for spot in region if suicide or game.color_at(spot) == EMPTY]
    return all(any(near in chain for near in game.near(spot)) for spot in spots)


def _border(game: NaiveGame, region: set[Spot], color: int) -> set[Spot]:
    return {n for spot in region for n in game.near(spot) if game.color_at(n) == color}


def _components(game: NaiveGame, belongs) -> list[set[Spot]]:  # type: ignore[no-untyped-def]
    components: list[set[Spot]] = []
    seen: set[Spot] = set()
    for start in game.spots():
        if start in seen or not belongs(start):
            continue
        component = {start}
        frontier = [start]
        while frontier:
            spot = frontier.pop()
            for near in game.near(spot):
                if near in component or not belongs(near):
                    continue
                # Stones of two colors are never one chain.
                component.add(near)
                frontier.append(near)
        seen |= component
        components.append(component)
    return components
