"""The games that can be played, by the names that users know. Boards are imported when needed."""

from typing import TYPE_CHECKING

from gtp_engine.coords import MIN_SIZE
from gtp_engine.five.rules import LEAST_SIZE, find_rules
from gtp_engine.go.rules import ATARI_GO, GO, NO_FIVE, Rules

if TYPE_CHECKING:
    from gtp_engine.go.position import Position

FIVE = "five"
GAMES = (GO, ATARI_GO, FIVE)


def usual_size(game: str) -> int:
    """Return the size of board that a game is usually played on."""
    return 15 if game == FIVE else 19


def least_size(game: str) -> int:
    """Return the least number of columns, and of rows, that a game is played on."""
    return LEAST_SIZE if game == FIVE else MIN_SIZE


def game_of(rules: Rules) -> str:
    """Return the game whose rules these are."""
    if rules.five != NO_FIVE:
        return FIVE
    return ATARI_GO if rules.must_move else GO


def game_shown(encoder: str) -> str:
    """Return the game that an encoder shows; nets of Go play Atari Go too."""
    return FIVE if encoder.startswith(FIVE) else GO


def parse_rules(game: str, text: str, komi: float | None = None) -> Rules:
    """Return the rules of a game by their name; see `Rules.parse` for those of Go.

    Raises:
        InvalidRulesError: The game has no such rules.
    """
    return find_rules(text) if game == FIVE else Rules.parse(text, komi)


def position_type(game: str) -> "type[Position]":
    """Return what a game is played on."""
    if game == FIVE:
        from gtp_engine.five.game import FiveGame

        return FiveGame
    from gtp_engine.go.atari_go import AtariGo
    from gtp_engine.go.position import Position

    return AtariGo if game == ATARI_GO else Position


def new_game(name: str, width: int, height: int, rules: Rules | None = None) -> "Position":
    """Start a game by its name in GAMES; rules of another game stand for its usual ones.

    Raises:
        SetupError: The size is not supported.
    """
    return position_type(name)(width, height, rules)


def replayed(name: str, position: "Position") -> "Position":
    """Return the stones and moves of a game as one of another name in GAMES.

    Raises:
        SgfError: They do not make such a game.
    """
    kind = position_type(name)
    if type(position) is kind:
        return position
    from gtp_engine.go.game_record import SgfError

    try:
        game = kind(position.width, position.height, position.rules)
        game.set_up(*position.start)
        game.play_all(position.moves)
    except ValueError as error:
        raise SgfError(f"not a game of {name}: {error}") from None
    return game
