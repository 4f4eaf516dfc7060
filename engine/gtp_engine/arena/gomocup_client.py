"""The other side of Gomocup's protocol, for a referee that speaks GTP.

What the referee asks in GTP is put into the protocol's words, so that a game of five in a row is
conducted like any other. `INFO` is never answered: it goes along with the next question.
"""

import math
import re
from collections.abc import Sequence

from gtp_engine.arena.gtp_client import EngineBabbles, EngineRefusal, GtpClient
from gtp_engine.coords import format_vertex, parse_vertex, point_at, row_col
from gtp_engine.five.rules import NO_LIMIT, find_rules
from gtp_engine.play.clock.systems import Absolute, Fischer, Simple, TimeSystem

_MOVE = re.compile(r"\s*(-?[0-9]{1,4})\s*,\s*(-?[0-9]{1,4})\s*")
_OK = re.compile(r"OK.*", re.IGNORECASE)
_ABOUT = re.compile(r".*=.*")
_PAIR = re.compile(r'(\w+)\s*=\s*"([^"]*)"')

_KNOWN = ("kata-set-rules", "rectangular_boardsize", "kata-time_settings", "time_left")
"""Commands beyond the plain ones that can be put into the protocol's words."""


def can_be_told(system: TimeSystem) -> bool:
    """Whether the protocol has this clock: a time for the match, for each move, or both."""
    match system:
        case Absolute() | Simple():
            return True
        case Fischer(_, increment, _, longest_move):
            return increment == 0 and longest_move < math.inf
        case _:
            return False


class GomocupClient(GtpClient):
    """An engine of five in a row; a context manager that ends it."""

    farewell = b"END\n"

    def __init__(self, command: Sequence[str], timeout: float = 60.0) -> None:
        """Start an engine; see `GtpClient`."""
        super().__init__(command, timeout)
        self._size = (0, 0)
        self._infos: list[str] = []
        """Still to be told."""
        self._has_match_time = False
        self._moves: list[tuple[str, str]] = []
        """Color and `x,y`."""
        self._n_known = 0
        """How many of the moves the engine knows of."""
        self._version = ""

    def knows(self, command: str) -> bool:
        """Whether a command can be put into the protocol's words."""
        return command in _KNOWN

    def _exchange(self, command: str, timeout: float) -> list[str]:
        """Return what GTP would answer to a command, as lines; see `GtpClient.ask`."""
        word, *rest = command.split()
        try:
            return [f"= {self._carry_out(word, rest, timeout)}"]
        except EngineRefusal as refusal:
            return [f"? {refusal}"]

    def _carry_out(self, word: str, rest: list[str], timeout: float) -> str:
        match word:
            case "name":
                about = self._say("ABOUT", _ABOUT, timeout)
                said = {key.lower(): value for key, value in _PAIR.findall(about)}
                self._version = said.get("version", "")
                return str(said.get("name", ""))
            case "version":
                return self._version
            case "boardsize" | "rectangular_boardsize":
                width, height = int(rest[0]), int(rest[-1])
                self._size = (width, height)
                size = f"START {width}" if width == height else f"RECTSTART {width},{height}"
                self._say(size, _OK, timeout)
            case "clear_board":
                self._moves, self._n_known = [], 0
            case "kata-set-rules":
                self._infos.append(f"rule {find_rules(rest[0]).five}")
            case "time_settings":
                main, period = (round(1000 * float(number)) for number in rest[:2])
                self._set_times(main, period or main)
            case "kata-time_settings":
                if rest[0] != "fischer-capped" or float(rest[2]) or float(rest[4]) < 0:
                    raise EngineRefusal("this clock is not Gomocup's")
                self._set_times(round(1000 * float(rest[1])), round(1000 * float(rest[4])))
            case "time_left":
                left = int(1000 * float(rest[1])) if self._has_match_time else NO_LIMIT
                self._infos.append(f"time_left {left}")
            case "play":
                self._moves.append((rest[0], self._name(rest[1])))
            case "genmove":
                return self._move(rest[0], timeout)
        return ""

    def _set_times(self, match: int, turn: int) -> None:
        self._has_match_time = match > 0
        self._infos += [f"timeout_match {match}", f"timeout_turn {turn}"]

    def _move(self, color: str, timeout: float) -> str:
        if not self._moves:
            question = "BEGIN"
        elif 0 < self._n_known == len(self._moves) - 1:
            question = f"TURN {self._moves[-1][1]}"
        else:
            stones = [f"{at},{1 if each == color else 2}" for each, at in self._moves]
            question = "\n".join(["BOARD", *stones, "DONE"])
        answer = self._say(question, _MOVE, timeout)
        x, y = (int(number) for number in answer.split(","))
        width, height = self._size
        if not (0 <= x < width and 0 <= y < height):
            return answer  # which the referee will not take for a move
        self._moves.append((color, f"{x},{y}"))
        self._n_known = len(self._moves)
        return format_vertex(point_at(y, x, width), width, height)

    def _name(self, vertex: str) -> str:
        row, col = row_col(parse_vertex(vertex, *self._size), self._size[0])
        return f"{col},{row}"

    def _say(self, question: str, wanted: "re.Pattern[str]", timeout: float) -> str:
        """Return the first line that is an answer; messages are passed over.

        Raises:
            EngineRefusal: The answer is an error.
            EngineFailure: There is none.
        """
        lines = [*(f"INFO {info}" for info in self._infos), question, ""]
        self._infos = []
        for raw in self._lines_after("\n".join(lines), question, timeout):
            line = raw.decode("utf-8", "replace").strip()
            first = line.split(" ")[0].upper()
            if first == "ERROR":
                raise EngineRefusal(line)
            if first not in ("MESSAGE", "DEBUG", "UNKNOWN") and wanted.fullmatch(line):
                return line
        raise EngineBabbles(f"there is no answer to {question!r} in all that it says")
