"""The questions of GTP regression tests, and what an engine answers.

A test file is a GTP script, as GNU Go's regression suite has them. A command with an id is a
question; the line `#? [ANSWER]` after it says what the reply must be: a regular expression that
matches all of it, or one behind `!` that must not match. A `*` at the end marks a question that
the file's own engine gets wrong.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gtp_engine.arena.gtp_client import EngineRefusal, GtpClient
from gtp_engine.arena.statistics import wilson
from gtp_engine.files import read_file
from gtp_engine.messages import counted

BEGINNINGS = ("boardsize", "loadsgf")
"""Commands with which a position is prepared anew, whatever was refused before; `clear_board` does
so on a board whose size was not."""

_NUMBERED = re.compile(r"([0-9]+)\s+(\S.*)")
_ANSWER = re.compile(r"#\?\s*\[(.*)\](\*?)&?\s*")
_LOADING = re.compile(r"(loadsgf\s+)(\S+)(.*)")


@dataclass(frozen=True, slots=True)
class Step:
    """A line for the engine."""

    command: str
    id: str = ""
    """Names a question; empty for a command that only prepares one."""
    answer: str | None = None
    """What the reply must match; None if nothing is said."""
    is_hard: bool = False
    """Whether the file says that its own engine fails."""

    @property
    def name(self) -> str:
        """The command without its arguments."""
        return self.command.split()[0]

    def accepts(self, reply: str) -> bool:
        """Whether a reply that is no error is right; upper and lower case are the same."""
        assert self.answer is not None
        is_excluded = self.answer.startswith("!")
        pattern = self.answer[1:] if is_excluded else self.answer
        return (re.fullmatch(pattern, reply, re.IGNORECASE) is None) == is_excluded


def read_script(file: Path) -> Iterator[Step]:
    """Yield a test file's steps.

    Raises:
        ValueError: It cannot be read, or an answer is no regular expression.
    """
    try:
        lines = read_file(file).decode("latin-1").splitlines()
    except OSError as error:
        raise ValueError(f"cannot read {str(file)!r}: {error.strerror}") from None
    step: Step | None = None
    for number, line in enumerate(lines, 1):
        answer = _ANSWER.fullmatch(line)
        if answer is not None and step is not None and step.id:
            _check_pattern(file, number, answer[1])
            yield Step(step.command, step.id, answer[1], answer[2] == "*")
            step = None
        command = line.split("#", 1)[0].strip()
        if not command:
            continue
        if step is not None:
            yield step
        numbered = _NUMBERED.fullmatch(command)
        step = Step(command) if numbered is None else Step(numbered[2], numbered[1])
    if step is not None:
        yield step


def _check_pattern(file: Path, number: int, answer: str) -> None:
    try:
        re.compile(answer.removeprefix("!"))
    except re.error:
        raise ValueError(f"{file}, line {number}: [{answer}] is no regular expression") from None


@dataclass
class Score:
    """Right and wrong answers to a kind of question."""

    right: int = 0
    asked: int = 0

    def add(self, is_right: bool) -> None:
        """Count an answer."""
        self.right += is_right
        self.asked += 1

    def text(self) -> str:
        """Return the share of right answers with its 95 % interval."""
        if self.asked == 0:
            return "none asked"
        return f"{self.right} of {self.asked} right, {wilson(self.right, self.asked):.1%}"


@dataclass
class Tally:
    """What came of all questions."""

    by_command: dict[str, Score] = field(default_factory=dict)
    hard: Score = field(default_factory=Score)
    easy: Score = field(default_factory=Score)
    unknown: dict[str, int] = field(default_factory=dict)
    """Questions left out, by the command that the engine does not list."""
    unprepared: int = 0
    """Questions whose position the engine refused."""

    @property
    def score(self) -> Score:
        """All answers so far."""
        return Score(self.easy.right + self.hard.right, self.easy.asked + self.hard.asked)

    def add(self, step: Step, is_right: bool) -> None:
        """Count an answer."""
        self.by_command.setdefault(step.name, Score()).add(is_right)
        (self.hard if step.is_hard else self.easy).add(is_right)

    def text(self) -> str:
        """Return the summary; empty where there were no questions."""
        lines = [f"{name}: {score.text()}" for name, score in sorted(self.by_command.items())]
        if self.easy.asked:
            lines.append(f"of those that the tests' own engine gets right: {self.easy.text()}")
        if self.hard.asked:
            lines.append(f"of those that the tests' own engine gets wrong: {self.hard.text()}")
        if self.unprepared:
            lines.append(f"positions refused: {counted(self.unprepared, 'question')} not asked")
        if self.unknown:
            kinds = ", ".join(f"{name} {n}" for name, n in sorted(self.unknown.items()))
            lines.append(f"left out, the command is not known: {kinds}")
        return "\n".join(lines)


class Asker:
    """Plays a test file to an engine; names of game records in it are relative to its folder.

    `wanted` are the commands to ask with; None: all that the engine knows.
    """

    def __init__(
        self, engine: GtpClient, file: Path, wanted: frozenset[str] | None, tally: Tally
    ) -> None:
        self._engine = engine
        self._file = file
        self._wanted = wanted
        self._tally = tally
        self._refused: set[str] = set()
        """Commands for want of which the position is not what the file says."""

    def run(self, steps: list[Step]) -> None:
        """Send every step and judge the answers.

        Raises:
            EngineFailure: The engine cannot be talked to any more.
        """
        for step in steps:
            if step.answer is None:
                self._prepare(step)
            elif self._wanted is not None and step.name not in self._wanted:
                continue
            elif not self._engine.knows(step.name):
                self._tally.unknown[step.name] = self._tally.unknown.get(step.name, 0) + 1
            elif self._refused:
                self._tally.unprepared += 1
            else:
                self._ask(step)

    def _prepare(self, step: Step) -> None:
        command = step.command
        loading = _LOADING.fullmatch(command)
        if loading is not None:
            command = f"{loading[1]}{self._file.parent.resolve() / loading[2]}{loading[3]}"
        elif not self._engine.knows(step.name):
            return
        try:
            self._engine.ask(command)
            if step.name in BEGINNINGS:
                self._refused.clear()
            elif step.name == "clear_board":
                self._refused &= {"boardsize"}
        except EngineRefusal as refusal:
            print(f"{self._file.name}: {step.command}: {refusal}")
            self._refused.add(step.name)

    def _ask(self, step: Step) -> None:
        try:
            reply = self._engine.ask(step.command)
        except EngineRefusal as refusal:
            reply, is_right = f"? {refusal}", False
        else:
            is_right = step.accepts(reply)
        self._tally.add(step, is_right)
        if not is_right:
            print(f"{self._file.name} {step.id} {step.command}: {step.answer}, not {reply}")
