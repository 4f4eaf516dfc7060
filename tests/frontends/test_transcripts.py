"""Whole conversations, written down in transcripts/: `> ` is sent, `< ` is the reply's lines.

`! dead D4 ...` tells the fake engine which stones to call dead, `! moves D4 ...` what to play.
`>` alone sends an empty line, whose reply is that of the analysis it ends.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.frontends.conversation import Conversation
from tests.frontends.fake_engine import FakeEngine

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))


def read_exchanges(path: Path) -> Iterator[tuple[list[str], list[str]]]:
    """Yield what is sent and the lines that come back, exchange by exchange."""
    sent: list[str] = []
    received: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line[:1] in (">", "!") and received:
            yield sent, received
            sent, received = [], []
        if line[:1] == "<":
            received.append(line[2:].rstrip())
        elif line[:1] in (">", "!"):
            sent.append(line)
    yield sent, received


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript(path: Path) -> None:
    engine = FakeEngine()
    with Conversation(engine) as client:
        for sent, expected in read_exchanges(path):
            for line in sent:
                if line.startswith("!"):
                    tell(engine, line[2:].split())
                else:
                    if line == ">":
                        assert engine.is_thinking.wait(20)
                    client.send(line[2:].encode() + b"\n")
            received = [line.rstrip() for line in client.reply().split("\n")]
            assert received == expected, sent


def tell(engine: FakeEngine, words: list[str]) -> None:
    """Carry out a line of a transcript that is meant for the fake engine."""
    if words[0] == "dead":
        engine.dead = words[1:]
    else:
        engine._script = words[1:]
