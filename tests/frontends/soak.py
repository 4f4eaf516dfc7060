"""Game after game in one process, with undo, clocks and analyses in between.

`python -m tests.frontends.soak 500` plays so many and says what the process held after a tenth of
them and at the end: memory, threads, open files.
"""

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.frontends.test_gtp_process import ENGINE, ask
from tests.paths import TINY_NET

OPTIONS = ["--net", TINY_NET, "--device", "cpu", "--playouts", "4"]
OPTIONS += ["--seed", "9", "--memory", "256"]
SIZES = ["5", "9", "7 9", "13", "6"]
CLOCKS = ["time_settings 0 1 0", "time_settings 60 10 5", "time_settings 300 0 0"]


@dataclass(frozen=True)
class Holdings:
    """What a process holds."""

    resident: int
    """Bytes of memory."""
    threads: int
    files: int

    @classmethod
    def of(cls, pid: int) -> "Holdings":
        """Ask the system."""
        folder = Path(f"/proc/{pid}")
        pages = int((folder / "statm").read_text().split()[1])
        threads = len(list((folder / "task").iterdir()))
        return cls(pages * 4096, threads, len(list((folder / "fd").iterdir())))


class Soak:
    """An engine that plays on and on."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [*ENGINE, *OPTIONS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.games = self.moves = 0

    def succeed(self, command: str) -> str:
        """Send a command that must succeed; return the reply's text."""
        reply = ask(self.process, command)
        assert reply.startswith("= "), (command, reply)
        return reply[2:]

    def analyze(self) -> None:
        """Begin an analysis and end it after its first line."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(b"kata-analyze 1 ownership true\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == b"= \n"
        assert self.process.stdout.readline().startswith(b"info ")
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        while self.process.stdout.readline() != b"\n":
            pass

    def play(self) -> None:
        """Play a game."""
        number = self.games
        self.succeed(f"boardsize {SIZES[number % len(SIZES)]}")
        self.succeed("clear_board")
        self.succeed(CLOCKS[number % len(CLOCKS)])
        passes = 0
        for ply in range(60):
            color = "bw"[ply % 2]
            move = self.succeed(f"genmove {color}")
            self.moves += 1
            passes = passes + 1 if move == "pass" else 0
            if passes == 2 or move == "resign":
                break
            if ply % 20 == 10:
                self.analyze()
                self.succeed("undo")
                self.succeed(f"kata-genmove_analyze {color} 1")
        self.succeed("final_status_list dead")
        self.succeed("final_score")
        self.games += 1

    def holdings(self) -> Holdings:
        """Return what the process holds, once threads that are ending have ended."""
        samples = []
        for _ in range(5):
            time.sleep(0.1)
            samples.append(Holdings.of(self.process.pid))
        return min(samples, key=lambda sample: (sample.threads, sample.files))

    def leave(self) -> None:
        """End the engine."""
        with self.process:  # closes the pipes
            self.succeed("quit")
            assert self.process.wait(10) == 0


def play_games(games: int) -> tuple[Holdings, Holdings, int]:
    """Play so many games; return what was held after a tenth, and at the end, and the moves."""
    soak = Soak()
    early = None
    while soak.games < games:
        soak.play()
        if soak.games == max(len(SIZES), games // 10):
            early = soak.holdings()
    assert early is not None
    late = soak.holdings()
    soak.leave()
    return early, late, soak.moves


def main(games: int) -> None:
    """Report on stdout."""
    began = time.perf_counter()
    early, late, moves = play_games(games)
    print(
        f"{games} games, {moves} moves, {time.perf_counter() - began:.0f} s;"
        f" memory {early.resident >> 20} MiB after a tenth, {late.resident >> 20} MiB at the end"
        f" ({100 * (late.resident / early.resident - 1):+.1f} %);"
        f" threads {early.threads}, {late.threads}; files {early.files}, {late.files}"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
