"""`gtp-engine regress` with an engine that answers what a script says."""

import signal
import sys
from pathlib import Path

import pytest
from tests.paths import SCRIPTED_ENGINE

from gtp_engine.arena.regress import Step, read_script
from gtp_engine.commands.registry import run

SCRIPT = """# A comment.
boardsize 9
10 genmove black  # a question
#? [D4|E5]

clear_board
20 genmove black

# Between a question and its answer.
#? [!pass]*
25 owl_attack D4
#? [1 (C2|C3)]
30 genmove white
40 final_score
#? [B\\+3\\.5]
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "moves.tst"
    file.write_text(SCRIPT)
    return file


def test_steps(script: Path) -> None:
    assert list(read_script(script)) == [
        Step("boardsize 9"),
        Step("genmove black", "10", "D4|E5"),
        Step("clear_board"),
        Step("genmove black", "20", "!pass", is_hard=True),
        Step("owl_attack D4", "25", "1 (C2|C3)"),
        Step("genmove white", "30"),
        Step("final_score", "40", r"B\+3\.5"),
    ]


@pytest.mark.parametrize(
    ("answer", "reply", "is_right"),
    [
        ("D4|E5", "E5", True),
        ("D4|E5", "E55", False),
        ("PASS", "pass", True),
        ("!D4|E5", "E5", False),
        ("!D4|E5", "C3", True),
        ("1 (C2|C3)", "1 C3", True),
    ],
)
def test_answers(answer: str, reply: str, is_right: bool) -> None:
    assert Step("genmove b", "1", answer).accepts(reply) == is_right


def test_a_run(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The engine begins its moves again when the board is cleared: D4, then D4 again.
    engine = f'"{sys.executable}" "{SCRIPTED_ENGINE}" D4 score=W+1.5'
    assert run(["regress", "--engine", engine, str(script)]) == 0
    out = capsys.readouterr().out
    assert "moves.tst 40 final_score: B\\+3\\.5, not W+1.5\n" in out
    assert "genmove: 2 of 2 right, 100.0% (95 %: 34.2% to 100.0%)\n" in out
    assert "final_score: 0 of 1 right" in out
    assert "own engine gets right: 1 of 2 right" in out
    assert "gets wrong: 1 of 1 right" in out
    assert out.endswith("left out, the command is not known: owl_attack 1\n")


def test_records_are_found_beside_the_tests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "game.sgf").write_text("(;SZ[9];B[ee];W[cc])")
    file = tmp_path / "known.tst"
    file.write_text(
        "loadsgf game.sgf 2\n1 known_command genmove\n#? [true]\n"
        "loadsgf missing.sgf\n2 known_command genmove\n#? [true]\n"
    )
    assert run(["regress", str(file)]) == 0
    out = capsys.readouterr().out
    assert "known_command: 1 of 1 right" in out and "gets wrong" not in out
    assert "known.tst: loadsgf missing.sgf: cannot load file: " in out
    assert "positions refused: 1 question not asked\n" in out


@pytest.mark.parametrize(
    ("move", "text"),
    [
        (
            "refuse",
            "clear_board\nplay b E5\n1 genmove white\n#? [D4]\n"
            "clear_board\n2 genmove white\n#? [refuse]\n",
        ),
        (  # no cleared board is of a size that was refused
            "D4",
            "boardsize 25\nclear_board\n1 genmove black\n#? [Z25]\n"
            "boardsize 9\nclear_board\n2 genmove black\n#? [D4]\n",
        ),
    ],
)
def test_a_board_is_prepared_anew(
    move: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plays.tst"
    file.write_text(text)
    engine = f'"{sys.executable}" "{SCRIPTED_ENGINE}" {move}'
    assert run(["regress", "--engine", engine, str(file)]) == 0
    out = capsys.readouterr().out
    assert "genmove: 1 of 1 right" in out
    assert "positions refused: 1 question not asked\n" in out


@pytest.mark.parametrize(
    ("text", "complaint"),
    [(None, "No such file"), ("1 genmove b\n#? [(D4]\n", "line 2: [(D4] is no regular")],
)
def test_bad_files(
    text: str | None, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.tst"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SystemExit) as stopped:
        run(["regress", str(file)])
    assert stopped.value.code == 2
    assert complaint in capsys.readouterr().err


def test_no_question_is_a_failure(
    script: Path, said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    engine = f'"{sys.executable}" "{SCRIPTED_ENGINE}"'
    assert run(["regress", "--engine", engine, "--commands", "genmov", str(script)]) == 1
    assert said == ["moves.tst: none asked", "no question asked"]
    assert run(["regress", "--engine", "no-such-program", str(script)]) == 1
    (last,) = said[2:]
    assert last.startswith("no-such-program cannot be started: ")
    assert capsys.readouterr().out == ""


def test_an_engine_that_dies(
    script: Path, said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    engine = f'"{sys.executable}" "{SCRIPTED_ENGINE}" D4 crash'
    script.write_text(SCRIPT.replace("clear_board\n", ""))
    assert run(["regress", "--engine", engine, str(script)]) == 1
    assert said == ["it ended during 'genmove black': out of memory"]
    assert "genmove: 1 of 1 right" in capsys.readouterr().out  # what was asked before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals for one process")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_tells_what_was_asked(
    name: str,
    script: Path,
    said: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    number = signal.Signals[name]
    asked = Step.accepts

    def accept(step: Step, reply: str) -> bool:
        if step.id == "20":
            signal.raise_signal(number)
        return asked(step, reply)

    monkeypatch.setattr(Step, "accepts", accept)
    engine = f'"{sys.executable}" "{SCRIPTED_ENGINE}" D4 hang hang'
    script.write_text(SCRIPT.replace("30 genmove white\n", "30 genmove white\n#? [D4]\n"))
    # Where the tests are a shell's background job, Ctrl-C is ignored.
    before = signal.signal(number, signal.SIG_DFL)
    try:
        assert run(["regress", "--engine", engine, str(script)]) == 128 + number
    finally:
        signal.signal(number, before)
    assert said == ["interrupted"]
    assert "genmove: 2 of 2 right" in capsys.readouterr().out


def test_a_refusal_is_never_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "refused.tst"
    file.write_text("boardsize 5\n10 play b A1\n#? [!A1]\n20 play b A1\n#? [.*]\n")
    engine = f'"{sys.executable}" "{SCRIPTED_ENGINE}" refuse'
    assert run(["regress", "--engine", engine, str(file)]) == 0
    out = capsys.readouterr().out
    assert "play: 0 of 2 right" in out
    assert "refused.tst 10 play b A1: !A1, not ? illegal move\n" in out


def test_the_share_right_of_each_file_is_said(script: Path, said: list[str]) -> None:
    other = script.with_name("other.tst")
    other.write_text("clear_board\n10 genmove black\n#? [D4]\n")
    engine = f'"{sys.executable}" "{SCRIPTED_ENGINE}" D4 score=W+1.5'
    assert run(["regress", "--engine", engine, str(script), str(other)]) == 0
    assert [line[:30] for line in said] == [
        "moves.tst: 2 of 3 right, 66.7%",
        "other.tst: 1 of 1 right, 100.0",
    ]


def test_names_of_commands_may_have_blanks(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = f'"{sys.executable}" "{SCRIPTED_ENGINE}" D4 score=B+3.5'
    wanted = "genmove, final_score"
    assert run(["regress", "--engine", engine, "--commands", wanted, str(script)]) == 0
    assert "final_score: 1 of 1 right" in capsys.readouterr().out
