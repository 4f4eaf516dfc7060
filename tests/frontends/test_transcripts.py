"""Whole conversations, written down in transcripts/: `> ` is sent, `< ` is the reply's lines.

Several lines one after the other are sent at once; `<-` stands between their replies. `! dead D4
...` tells the fake engine which stones to call dead, `! moves D4 ...` what to play, `! crlf` ends
the client's lines as Windows does, `! thinking` waits until an analysis is under way. `>` alone
sends an empty line, whose reply is that of the analysis it ends. A reply of which only `= ...` is
given may be anything that begins so. Lines that begin with `;` say
which client speaks and what it is doing.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.frontends.conversation import TIMEOUT, Conversation
from tests.frontends.fake_engine import FakeEngine

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))


def read_exchanges(path: Path) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Yield what is sent and the lines of each reply that comes back, exchange by exchange."""
    sent: list[str] = []
    received: list[list[str]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line[:1] in (">", "!") and received:
            yield sent, received
            sent, received = [], []
        if line == "<-":
            received.append([])
        elif line[:1] == "<":
            received = received or [[]]
            received[-1].append(line[2:].rstrip())
        elif line[:1] in (">", "!"):
            sent.append(line)
    yield sent, received


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript(path: Path) -> None:
    engine = FakeEngine()
    with Conversation(engine) as client:
        end = "\n"
        for sent, expected in read_exchanges(path):
            lines = ""
            for line in sent:
                if line == "! crlf":
                    end = "\r\n"
                elif line == "! thinking" or line == ">":
                    client.send(lines.encode())
                    assert engine.is_thinking.wait(TIMEOUT)
                    lines = end if line == ">" else ""
                elif line.startswith("!"):
                    tell(engine, line[2:].split())
                else:
                    lines += line[2:] + end
            client.send(lines.encode())
            received = [[line.rstrip() for line in client.reply().split("\n")] for _ in expected]
            engine.is_thinking.clear()
            for whole, lines_expected in zip(received, expected, strict=True):
                if lines_expected[0].endswith(" ..."):  # long, and tested elsewhere
                    assert whole[0].startswith(lines_expected[0][:-4]), sent
                else:
                    assert whole == lines_expected, sent


def tell(engine: FakeEngine, words: list[str]) -> None:
    """Carry out a line of a transcript that is meant for the fake engine."""
    if words[0] == "dead":
        engine.dead = words[1:]
    else:
        engine._script = words[1:]
