"""The game of a query on the board, shared by all the turns that are analysed."""

import threading

from gtp_engine.coords import BLACK, WHITE, opponent
from gtp_engine.frontends.analysis.fields import QueryError
from gtp_engine.frontends.analysis.query import Query, first_to_play
from gtp_engine.go.position import IllegalMoveError, Position, SetupError


class QueryGame:
    """Plays a query's game once, for whoever asks first, from any thread."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._guard = threading.Lock()
        self._game: Position | None = None

    def position(self, turn: int) -> Position:
        """Return the position after so many moves, to play for the opponent of who moved last.

        Raises:
            QueryError: The stones or a move cannot be on the board.
        """
        with self._guard:
            if self._game is None:
                self._game = self._play()
            position = self._game.copy()
        moves = self._query.moves
        position.undo(len(moves) - turn)
        to_play = opponent(moves[turn - 1][0]) if turn else first_to_play(self._query)
        if position.to_play != to_play:
            position.to_play = to_play
        return position

    def _play(self) -> Position:
        query = self._query
        position = Position(query.width, query.height, query.rules)
        stones = {point: color for color, point in query.stones}
        black = [point for point, color in stones.items() if color == BLACK]
        white = [point for point, color in stones.items() if color == WHITE]
        try:
            position.set_up(black, white, first_to_play(query))
        except SetupError as error:
            raise QueryError(str(error), "initialStones") from None
        position.reserve(len(query.moves))
        for number, (color, point) in enumerate(query.moves):
            try:
                position.play(color, point, strict=False)
            except IllegalMoveError as error:
                # Clients look for these first two words.
                message = f"Illegal move {number}: {position.vertex(point)} ({error})"
                raise QueryError(message, "moves") from None
        return position
