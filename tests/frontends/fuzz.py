"""A client that says anything: sensible, mutated and senseless lines, many at once.

Every line must get the reply that is due to it, in order; the board must stay what a separate
model makes of the conversation. `python -m tests.frontends.fuzz 1000000` runs for long and says
how much memory the process takes on the way.
"""

import random
import sys
import time
from pathlib import Path

from tests.frontends.conversation import Conversation
from tests.frontends.gtp_model import COLUMNS, POSITIONAL_KO, SIMPLE_KO, Expectation, GtpModel

from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.frontends.gtp.server import COMMANDS
from gtp_engine.play.engine import Engine
from gtp_engine.play.settings import Settings

NOT_SENT = {"quit", "loadsgf", "printsgf"}
"""They end the conversation, or touch files."""
UNBOUNDED = {
    *("kata-set-param", "kata-set-params", "engine_parameters", "search_parameters"),
    *("kata-set-rule", "rule_parameters", "kgs-rules", "kata-benchmark"),
}
"""Not mutated: other numbers would make a search last, other rules are not the model's."""
NAMES = sorted(set(COMMANDS.listed) - NOT_SENT - UNBOUNDED)
WORDS = [
    "b",
    "W",
    "white",
    "d4",
    "A1",
    "pass",
    "resign",
    "9",
    "-1",
    "0",
    "1e9",
    "nan",
    "true",
    "I5",
]
LOOKING = [
    *("name", "version", "protocol_version", "list_commands", "known_command genmove", "get_komi"),
    *("final_score", "final_status_list dead", "cputime", "kata-get-rules", "kata-get-params"),
    *("show_regions", "list_chains", "show_safe", "gogui-analyze_commands", "printsgf"),
    *("attack C3", "defend C3", "attack A9", "list_tactics", "show_tactics"),
    *("kata-list-params", "gomill-explain_last_move", "gogui-interrupt", "rule_parameters"),
    *("time_settings 0 5 1", "time_left b 5 1", "time_settings 0 1 0", "clear_cache"),
    *("kata-set-param maxPlayouts 4", "kata-set-param cpuct 1.1", "stop", "kata-benchmark 6"),
    *("cgos-opponent_name x", "cgos-gameover B+R", "kgs-game_over", "show_variation b"),
]
SEARCHES = [
    *("genmove {c}", "genmove {c}", "kgs-genmove_cleanup {c}", "kata-genmove_analyze {c} 1"),
    *("cgos-genmove_analyze {c}", "lz-genmove_analyze {c} 5", "reg_genmove {c}"),
    *("kata-search {c}", "kata-search_cancellable {c}", "kata-search_analyze {c} 2"),
]
ANALYSES = [
    *("kata-analyze {c} 1", "lz-analyze 1", "kata-analyze ownership true maxmoves 2"),
    *("cgos-analyze", "kata-analyze {c} 1 avoid b d4,pass 2 rootInfo true pvVisits true"),
]


class Fuzzer:
    """Makes lines; the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.size = 5

    def line(self) -> bytes:
        """Return the next line, without its end."""
        kind = self.random.random()
        if kind < 0.05:
            return bytes(self.random.choices(range(256), k=self.random.randrange(40)))
        if kind < 0.12:
            return self._soup().encode()
        text = self._sensible()
        if kind < 0.2 and text.split()[0] not in UNBOUNDED:
            return self._mutated(text.encode())
        head = str(self.random.randrange(1000)) + " " if self.random.random() < 0.3 else ""
        return (head + text).encode()

    def _soup(self) -> str:
        name = self.random.choice(NAMES)
        words = self.random.choices(WORDS, k=self.random.randrange(5))
        return " ".join([name, *words])

    def _sensible(self) -> str:
        choose = self.random.choice
        kind = self.random.random()
        color = choose(["b", "w", "B", "white"])
        if kind < 0.5:
            return f"play {color} {self._vertex()}"
        if kind < 0.58:
            return choose(SEARCHES).format(c=color)
        if kind < 0.61:
            return choose(ANALYSES).format(c=color)
        if kind < 0.71:
            return choose(["undo", "undo", "gg-undo", "gg-undo 2", "gg-undo 0", "gg-undo 99"])
        if kind < 0.78:
            return "showboard"
        if kind < 0.8:
            return choose(["clear_board", self._new_size()])
        if kind < 0.84:
            return self._set_up(color)
        if kind < 0.85:
            return f"komi {choose(['6.5', '0', '-3.5', 'nan', '1e3', 'x'])}"
        if kind < 0.86:
            return f"kata-set-rules {choose(SIMPLE_KO + POSITIONAL_KO)}"
        return choose(LOOKING)

    def _new_size(self) -> str:
        self.size = self.random.choice([2, 3, 4, 5, 5, 6, 7, 9])
        if self.random.random() < 0.2:
            return f"rectangular_boardsize {self.size} {self.random.choice([2, 5, 8])}"
        return f"boardsize {self.random.choice([self.size, self.size, self.size, 26, 'x'])}"

    def _set_up(self, color: str) -> str:
        name = self.random.choice(
            [
                *("gogui-setup", "set_position", "gogui-play_sequence", "set_free_handicap"),
                *("fixed_handicap", "place_free_handicap", "gogui-setup_player"),
            ]
        )
        if name.endswith("handicap") and name != "set_free_handicap":
            return f"{name} {self.random.choice([2, 3, 4, 9, -1])}"
        if name == "gogui-setup_player":
            return f"{name} {color}"
        words = [self._vertex() for _ in range(self.random.randrange(6))]
        if name != "set_free_handicap":
            words = [f"{self.random.choice('bwBW')} {word}" for word in words]
        return " ".join([name, *words])

    def _vertex(self) -> str:
        if self.random.random() < 0.05:
            return self.random.choice(["pass", "PASS", "i5", "a0", "z26", "d44", "5d", "resign"])
        row = self.random.randrange(1, self.size + 1)
        word = f"{COLUMNS[self.random.randrange(self.size)]}{row}"
        return self.random.choice([word, word.lower()])

    def _mutated(self, line: bytes) -> bytes:
        data = bytearray(line)
        for _ in range(self.random.randrange(1, 4)):
            at = self.random.randrange(len(data) + 1)
            kind = self.random.randrange(4)
            if kind == 0:
                data.insert(at, self.random.randrange(256))
            elif data and kind == 1:
                del data[min(at, len(data) - 1)]
            elif data and kind == 2:
                data[min(at, len(data) - 1)] ^= 1 << self.random.randrange(8)
            else:
                data[at:at] = self.random.choice([b" ", b"\t", b"\r", b"#", b" b ", b"\x00", b"9"])
        return bytes(data)


def is_sent(line: bytes, expected: Expectation | None) -> bool:
    """Whether a line is harmless to other things than the conversation."""
    return b"\n" not in line and (
        expected is None or expected.name not in NOT_SENT or line == b"printsgf"
    )


class FuzzRun:
    """Lets a fuzzer talk to an engine and holds every reply against the model."""

    def __init__(self, client: Conversation, seed: int) -> None:
        self.client = client
        self.fuzzer = Fuzzer(seed)
        self.model = GtpModel()
        self.lines = self.replies = self.refusals = 0
        for command in ("boardsize 5", "komi 6.5"):
            self._exchange([command.encode()])

    def burst(self, count: int) -> None:
        """Send lines at once, wait for all their replies and check them."""
        lines = []
        while len(lines) < count:
            line = self.fuzzer.line()
            if is_sent(line, self.model.expect(line)):
                lines.append(line)
        self._exchange(lines)

    def _exchange(self, lines: list[bytes]) -> None:
        end = self.fuzzer.random.choice([b"\n", b"\r\n"])
        # The last one ends an analysis that no other line has ended.
        lines = [*lines, b"999 protocol_version"]
        self.client.send(end.join(lines) + end)
        self.lines += len(lines)
        for line in lines:
            expected = self.model.expect(line)
            if expected is not None:
                self._check(line, expected, self.client.reply())

    def _check(self, line: bytes, expected: Expectation, reply: str) -> None:
        self.replies += 1
        assert reply[0] in "=?", (line, reply)
        assert reply[1:].startswith(f"{expected.id} "), (line, reply)
        assert "internal error" not in reply, (line, reply)
        if reply[0] == "?":
            self.refusals += 1
            assert expected.must_succeed is not True, (line, reply)
            assert reply[len(expected.id) + 2 :] and "\n" not in reply, (line, reply)
            return
        assert expected.must_succeed is not False, (line, reply)
        try:
            self.model.learn(expected, reply[len(expected.id) + 2 :])
        except Exception as error:
            raise AssertionError(f"{line!r} was answered {reply!r}: {error!r}") from error


def quick_engine() -> Engine:
    """Return an engine that needs no net and thinks for four playouts."""
    settings = Settings(size=(5, 5), playouts=4, seed=5, memory=64, threads=1, resign=False)
    return Engine(settings, evaluator=FakeEvaluator())


def resident_bytes() -> int:
    """Return the memory that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def main(total: int, seed: int) -> None:
    """Send so many lines and report on stdout, after each tenth of them."""
    began = time.perf_counter()
    with Conversation(quick_engine()) as client:
        run = FuzzRun(client, seed)
        early = tenths = 0
        while run.lines < total:
            run.burst(run.fuzzer.random.randrange(1, 60))
            if 10 * run.lines < (tenths + 1) * total:
                continue
            tenths += 1
            memory = resident_bytes()
            early = early or memory
            print(
                f"{run.lines} lines, {run.replies} replies, {run.refusals} of them refusals,"
                f" {time.perf_counter() - began:.0f} s; memory {memory >> 20} MiB"
                f" ({100 * (memory / early - 1):+.1f} % since the first tenth)",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
