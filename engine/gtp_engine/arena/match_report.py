"""What came out of a match, as text and as JSON, and where that is written."""

import contextlib
import json
import logging
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gtp_engine.arena.referee import MatchGame, MatchTerms, color_name
from gtp_engine.arena.statistics import Sprt, describe_strength, result_json
from gtp_engine.files import find_output, write_whole
from gtp_engine.games import FIVE, new_game
from gtp_engine.go.rules import GO
from gtp_engine.messages import counted

logger = logging.getLogger(__name__)

FAILURES = ("illegal move", "refused move", "refusal", "crash", "time-out", "flag", "bad reply")
"""Reasons for which an engine loses a game by its own fault."""

_LETTERS = "AB"


class Report:
    """Collects games."""

    def __init__(
        self, names: list[str], commands: list[str], terms: MatchTerms, sprt: Sprt | None
    ) -> None:
        self._names = names
        self._commands = commands
        self._terms = terms
        self._sprt = sprt
        self.verdict: str | None = None
        """Of the sequential test, once it has one; games that end later do not reopen it."""
        self._games: list[MatchGame] = []

    def add(self, game: MatchGame) -> None:
        """Count a finished game."""
        self._games.append(game)
        self._games.sort(key=lambda each: each.number)
        if self._sprt is not None and self.verdict is None:
            self.verdict = self._sprt.verdict(self.points, self.decided)

    @property
    def n_games(self) -> int:
        """How many games are finished."""
        return len(self._games)

    def wins(self, engine: int) -> int:
        """Return how many games an engine has won."""
        return sum(game.winner == engine for game in self._games)

    @property
    def draws(self) -> int:
        """How many games ended in a draw."""
        return sum(game.is_draw for game in self._games)

    @property
    def decided(self) -> int:
        """How many games have a result, draws included."""
        return len(self._decided)

    @property
    def _decided(self) -> list[MatchGame]:
        return [game for game in self._games if not game.is_void]

    @property
    def points(self) -> float:
        """Games that A won, half a one for each draw."""
        return self.wins(0) + 0.5 * self.draws

    def failures(self, engine: int) -> dict[str, int]:
        """Return how often an engine lost by its own fault, by reason."""
        counts = dict.fromkeys(FAILURES, 0)
        for game in self._games:
            if game.reason in counts and game.winner == 1 - engine:
                counts[game.reason] += 1
        return counts

    # For people ---------------------------------------------------------------------------------

    def standing(self) -> str:
        """Return the score so far, in a few words."""
        draws = f" ={self.draws}" if self.draws else ""
        return f"A {self.wins(0)}-{self.wins(1)} B{draws}"

    def game_line(self, game: MatchGame) -> str:
        """Return a finished game in one line."""
        detail = f" ({game.detail})" if game.detail else ""
        how = f"{game.result} by {game.reason}{detail}"
        if game.winner is not None:
            how = f"{_LETTERS[game.winner]} ({color_name(game, game.winner)}) wins, {how}"
        elif game.is_draw:
            how = "a draw" if game.reason == "draw" else f"a draw by {game.reason}{detail}"
        else:
            how = f"no result, {how}"
        moves = counted(game.moves, "move")
        return f"game {game.number}: {how}, {moves}; {self.standing()}"

    def text(self) -> str:
        """Return the summary."""
        terms = self._terms
        size = f"{terms.width}x{terms.height}"
        lines = [
            f"{letter}: {name}: {command}"
            for letter, name, command in zip(_LETTERS, self._names, self._commands, strict=True)
        ]
        draws, void = counted(self.draws, "draw"), self.n_games - self.decided
        terms_text = f"komi {terms.rules.komi:g}"
        if terms.game != GO:
            start = new_game(terms.game, terms.width, terms.height, terms.rules)
            terms_text = start.rules.describe()
        lines += [
            f"{counted(self.n_games, 'game')} on {size}, {terms_text}",
            f"A won {self.wins(0)}, B won {self.wins(1)}, {draws}, {void} void",
        ]
        if self.decided:
            lines += self._strength_lines()
        lines += self._count_lines()
        lines += self._failure_lines()
        lines += self._time_lines()
        return "\n".join(lines)

    def _strength_lines(self) -> list[str]:
        lines = [f"A's {describe_strength(self.points, self.decided)}"]
        for color in ("black", "white"):
            games = [game for game in self._decided if color_name(game, 0) == color]
            won = sum(game.winner == 0 for game in games)
            lines.append(f"A as {color}: won {won} of {len(games)}")
        if self._sprt is not None:
            lines.append(self._sprt.describe(self.points, self.decided, self.verdict))
        return lines

    @property
    def _compared(self) -> list[MatchGame]:
        """The games whose score both engines told."""
        return [game for game in self._games if game.agreed is not None]

    def _count_lines(self) -> list[str]:
        unknown = [sum((said or "?")[0] == "?" for said in game.scores) for game in self._games]
        lone = unknown.count(1)
        lines = [f"one engine alone told the score in {counted(lone, 'game')}"] if lone else []
        compared = self._compared
        if not compared:
            return lines
        agreed = sum(bool(game.agreed) for game in compared)
        lines += [
            f"final scores agreed in {agreed} of {counted(len(compared), 'game')}"
            f" ({agreed / len(compared):.1%})"
        ]
        lines += [
            f"  game {game.number}: A says {game.scores[0]}, B says {game.scores[1]};"
            f" counted {game.counted}: {game.referee_score}"
            for game in compared
            if game.referee_score is not None
        ]
        return lines

    def _failure_lines(self) -> list[str]:
        lines = []
        for engine, letter in enumerate(_LETTERS):
            counts = [f"{reason} ({n})" for reason, n in self.failures(engine).items() if n]
            if counts:
                lines.append(f"{letter} failed: {', '.join(counts)}")
        return lines or ["no illegal moves, crashes, time-outs or fallen flags"]

    def _time_lines(self) -> list[str]:
        lines = []
        for engine, letter in enumerate(_LETTERS):
            seconds = sum(game.seconds[engine] for game in self._games)
            thoughts = max(1, sum(game.thoughts[engine] for game in self._games))
            slowest = max((game.slowest[engine] for game in self._games), default=0.0)
            known = [
                (cpu, game.thoughts[engine])
                for game in self._games
                if (cpu := game.cpu_seconds[engine]) is not None
            ]
            processor = ""
            if known:
                cpu_seconds, cpu_thoughts = map(sum, zip(*known, strict=True))
                processor = f", {cpu_seconds / max(1, cpu_thoughts):.3f} s of processor"
            lines.append(
                f"{letter}: {seconds / thoughts:.3f} s a move{processor}, slowest {slowest:.3f} s"
            )
        return lines

    # For programs -------------------------------------------------------------------------------

    def document(self) -> dict[str, Any]:
        """Return everything as JSON takes it; infinite Elo becomes null."""
        terms = self._terms
        compared = self._compared
        sprt, result = self._sprt, (self.points, self.decided)
        return {
            "engines": [
                {"name": name, "command": command, "failures": self.failures(engine)}
                for engine, (name, command) in enumerate(
                    zip(self._names, self._commands, strict=True)
                )
            ],
            "width": terms.width,
            "height": terms.height,
            "komi": terms.rules.komi,
            "rules": terms.rules.describe() if terms.game == FIVE else terms.rules.preset,
            "games_played": self.n_games,
            "wins": [self.wins(0), self.wins(1)],
            "draws": self.draws,
            "void": self.n_games - self.decided,
            **result_json(*result, sprt, self.verdict),
            "scores_compared": len(compared),
            "scores_agreed": sum(bool(game.agreed) for game in compared),
            "games": [_game_document(game) for game in self._games],
        }

    def to_json(self) -> str:
        """Return the document as text."""
        return json.dumps(self.document(), indent=1) + "\n"


def _game_document(game: MatchGame) -> dict[str, Any]:
    document = asdict(game)
    del document["sgf"]
    return document


class Records:
    """What is written down of a match. Where that fails it is said, and the match goes on.

    Args:
        sgf: Folder for the games, by number behind those that are there.
        report: File for the summary and the games as JSON.
    """

    def __init__(self, sgf: Path | None, report: Path | None) -> None:
        self._sgf = sgf
        found = [] if sgf is None else sgf.glob("game*.sgf")
        numbers = [int(file.stem[4:]) for file in found if file.stem[4:].isdecimal()]
        self._games_before = max(numbers, default=0)
        self._report = report
        self.are_whole = True
        """Whether everything could be written."""

    def write_game(self, game: MatchGame) -> None:
        """Write a finished game to the folder."""
        if self._sgf is not None:
            number = self._games_before + game.number
            self._write(self._sgf / f"game{number:04}.sgf", game.sgf)

    def write_report(self, report: Report, *, is_final: bool = True) -> None:
        """Write the summary and the games so far as JSON; pipes get but the final one."""
        if self._report is None:
            return
        if is_final:
            self._write(self._report, report.to_json())
        elif find_output(self._report) is None:
            with contextlib.suppress(OSError):  # which the final one will say
                write_whole(self._report, report.to_json())

    def _write(self, path: Path, text: str) -> None:
        try:
            write_whole(path, text, pipes=True)
        except OSError as error:
            self.are_whole = False
            logger.warning("%s: %s", path, error.strerror)
