"""The terminal in this process: what is drawn, what the keys do, what ends up in files."""

import errno
import io
import re
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from tests.go.diagrams import TRIPLE_KO, TRIPLE_KO_CYCLE, position_of
from tests.search.scripted import FailingEvaluator, FlatEvaluator, Verdict

from gtp_engine.commands.registry import run
from gtp_engine.coords import BLACK, PASS, WHITE, parse_vertex
from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.frontends.terminal import game
from gtp_engine.frontends.terminal.board_view import TRUE_COLORS, Look, Marks, draw, view_width
from gtp_engine.frontends.terminal.game import READING, TerminalGame
from gtp_engine.frontends.terminal.keyboard import (
    KEYS,
    Keyboard,
    explain,
    find_key,
    key_words,
)
from gtp_engine.frontends.terminal.screen import PANEL_WIDTH, Scene, Screen
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules
from gtp_engine.go.sgf import format_sgf, load_sgf
from gtp_engine.messages import describe_lead
from gtp_engine.platforms import join_command_line
from gtp_engine.play.adjudication.status import FinalStatus
from gtp_engine.play.engine import Engine
from gtp_engine.play.settings import Settings

PLAIN = Look(has_color=False, is_unicode=False)
COLORED = Look(has_color=True, is_unicode=True)


def at(vertex: str, size: int = 5) -> int:
    return parse_vertex(vertex, size, size)


# The board ---------------------------------------------------------------------------------------


def test_a_plain_board() -> None:
    position = position_of(". . . . .\n. X O . .\n. . . . .\n. . . . .\n. . . . .")
    position.play(BLACK, at("E5"))
    ownership = np.zeros((5, 5), np.float32)
    ownership[4] = (0.7, 0.5, 0.0, -0.5, -0.7)
    marks = Marks((at("A3"), at("C3")), ownership, frozenset({at("C4")}))
    assert [line.plain.rstrip() for line in draw(position, marks, PLAIN)] == [
        "    A B C D E",
        " 5  . . . .(X) 5",
        " 4  . X o . .  4",
        " 3  1 . 2 . .  3",
        " 2  . . . . .  2",
        " 1  b . . . w  1",
        "    A B C D E",
    ]


def test_a_narrow_board_and_star_points() -> None:
    lines = [
        line.plain for line in draw(Position(9, 7), Marks(), Look(False, False, is_narrow=True))
    ]
    assert lines[0].strip() == "ABCDEFGHJ"
    assert lines[3] == " 5 ..+.+.+.. 5 "
    assert {len(line) for line in lines} == {view_width(9, Look(False, False, is_narrow=True))}


def test_a_colored_board_says_by_its_colors_what_a_plain_one_says_by_letters() -> None:
    position = position_of("X O\n. .")
    position.play(BLACK, at("A1", 2))
    ownership = np.array([[1, -1], [0, -1]], np.float32)
    lines = draw(position, Marks(ownership=ownership), COLORED)
    assert lines[1].plain == " 2  ● ○  2 "
    shades = {
        (span.style.color.name if span.style.color else "", span.style.bgcolor.name)
        for line in lines[1:3]
        for span in line.spans
        if not isinstance(span.style, str) and span.style.bgcolor is not None
    }
    palette = TRUE_COLORS
    assert {background for _, background in shades} == {
        palette.shades[0],
        palette.shades[16],
        palette.shades[32],
        palette.white,
    }, "White's point, wood, Black's point, a white stone"
    assert palette.last_move in {color for color, _ in shades}
    assert "(●)" in lines[2].plain


@pytest.mark.parametrize("size", [2, 9, 13, 19, 25])
@pytest.mark.parametrize("columns", [12, 26, 40, 60, 80, 120])
def test_nothing_is_wider_than_the_terminal(size: int, columns: int) -> None:
    output = io.StringIO()
    console = Console(file=output, width=columns, force_terminal=False, highlight=False)
    panel = ["Black: you, captured 0"[:columns]]
    Screen(console=console).show(Scene(Position(size), panel=panel, prompt="> "))
    lines = output.getvalue().splitlines()
    assert max(len(line.rstrip()) for line in lines) <= max(columns, 14)
    has_board = any(line.lstrip().startswith(f"{size} ") for line in lines)
    assert has_board == (columns >= size + 6)
    assert has_board or "The terminal has" in " ".join(output.getvalue().split())


# The keys ----------------------------------------------------------------------------------------


def test_keys() -> None:
    assert find_key("U") is find_key("undo") is not None
    assert find_key("d4") is None and find_key("") is None
    assert all(any(key.name in word for word in key_words()) == key.is_everyday for key in KEYS)
    page = "\n".join(explain())
    assert all(key.name in page and key.explanation in page for key in KEYS)
    assert len(explain()) <= 22, "on a terminal of 24 lines, with the prompt"


class Sitting:
    """A person's lines, played through."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        *lines: str,
        evaluator: Evaluator | None = None,
        colors: tuple[int, ...] = (BLACK,),
        resume: Path | None = None,
        handicap: int = 0,
        note: Callable[[str, str], None] = lambda mark, text: None,
        **settings: object,
    ) -> None:
        wanted: dict[str, object] = {"size": (5, 5), "playouts": 20, "seed": 7, **settings}
        self.engine = Engine(
            Settings(**wanted),  # type: ignore[arg-type]
            evaluator=evaluator or FakeEvaluator(),
        )
        output = io.StringIO()
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        console = Console(file=output, width=80, force_terminal=False, highlight=False)
        screen = Screen(console=console)
        TerminalGame(self.engine, screen, frozenset(colors), [], note).run(resume, handicap)
        self.text = output.getvalue()
        self.position = self.engine.position


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_game_is_played_and_saved_at_the_end_of_input(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sitting = Sitting(monkeypatch, "c3", "nonsense", "C3", "hint")
    assert sitting.position.ply == 2 and sitting.position.moves[0] == (BLACK, at("C3"))
    assert re.search("White (plays|passes)", sitting.text)
    assert "'nonsense' is neither a move nor a command" in sitting.text
    assert "Illegal move: black C3 is occupied." in sitting.text
    assert re.search(r"Black wins \d+% \[", sitting.text)
    assert re.search(r"\d [A-E][1-5] +\d+% +[+-]", sitting.text), "the hint's candidates"
    (file,) = tmp_path.glob("*.sgf")
    record = load_sgf(file)
    assert record.moves == sitting.position.moves
    assert (record.black_name, record.white_name[:10]) == ("you", "gtp-engine")
    assert f"--resume {file.name}" in sitting.text


def test_nothing_is_saved_where_nothing_was_played(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert Sitting(monkeypatch, "?", "quit", "c3").position.ply == 0
    assert list(tmp_path.iterdir()) == []


def test_other_rules_and_komi_are_saved_too(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ("komi 2", "new", "c3", "save game.sgf", "komi 3", "new", "komi 4")
    Sitting(monkeypatch, *lines, colors=(BLACK, WHITE))
    (file,) = Path().glob("*.sgf")
    assert load_sgf(file).komi == 3, "a game without a move is none to save"
    Sitting(monkeypatch, "rules aga", resume=file, colors=(BLACK, WHITE))
    (other,) = set(Path().glob("*.sgf")) - {file}
    rules = load_sgf(other).rules
    assert rules is not None and rules.preset == "aga"


@pytest.mark.parametrize(
    ("game", "said"), [("five", "--game five "), ("atari-go", "--game atari-go "), ("go", "")]
)
def test_the_command_to_go_on_with_a_game_works(
    monkeypatch: pytest.MonkeyPatch, game: str, said: str
) -> None:
    sitting = Sitting(monkeypatch, "c3", "save it's mine.sgf", game=game, colors=(BLACK, WHITE))
    command = re.findall("gtp-engine play .*", sitting.text)[-1]
    file = join_command_line(["it's mine.sgf"])
    assert command == f"gtp-engine play {said}--resume {file}"


def test_undo_takes_back_a_pair_of_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    sitting = Sitting(monkeypatch, "undo", "c3", "b2", "u", "u")
    assert sitting.position.ply == 0
    assert "There is no move of yours to take back." in sitting.text
    alone = Sitting(monkeypatch, "c3", "c4", "d4", "undo", colors=(BLACK, WHITE))
    assert alone.position.moves == [(BLACK, at("C3")), (WHITE, at("C4"))]
    white = Sitting(monkeypatch, "undo", colors=(WHITE,))
    assert white.position.ply == 1, "the engine's first move stays"


def test_the_engine_moves_for_a_person_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    sitting = Sitting(monkeypatch, "go", "go", "go", colors=(BLACK, WHITE))
    assert sitting.position.ply == 3 and "Black p" in sitting.text


def test_resigning_ends_the_game_until_it_is_taken_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sitting = Sitting(monkeypatch, "c3", "resign", "d1", "save a.sgf", "undo", "save b.sgf")
    assert "The game is over: W+R." in sitting.text
    assert load_sgf(tmp_path / "a.sgf").result == "W+R"
    assert load_sgf(tmp_path / "b.sgf").result == "", "and goes on"
    assert load_sgf(tmp_path / "b.sgf").moves == sitting.position.moves


def test_a_person_who_resigns_on_the_engines_turn_has_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sitting = Sitting(monkeypatch, "c3", "back", "resign")
    assert sitting.position.ply == 2 and "The game is over: W+R." in sitting.text
    sitting = Sitting(monkeypatch, "c3", "back", "resign", "undo")
    assert sitting.position.ply == 2, "the engine moves instead"


def test_a_resignation_without_a_move_is_taken_back_too(monkeypatch: pytest.MonkeyPatch) -> None:
    sitting = Sitting(monkeypatch, "resign", "undo", "c3")
    assert "The game is over: W+R." in sitting.text and "Taken back." in sitting.text
    assert sitting.position.moves[0] == (BLACK, at("C3"))


def test_undo_goes_back_to_before_the_move_that_the_engine_resigned_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = [*["go"] * 6, "undo"]
    sitting = Sitting(
        monkeypatch, *lines, evaluator=Verdict(WHITE), colors=(WHITE,), resign_turns=1
    )
    assert sitting.text.count("Black resigns.") == 1, "it is White's turn again"
    assert sitting.position.to_play == WHITE and sitting.position.ply == 5


def test_two_passes_are_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    flat = FlatEvaluator(favourite=PASS)
    lines = ("c3", "pass", "d4", "p", "p", "save end.sgf")
    sitting = Sitting(monkeypatch, *lines, evaluator=flat, colors=(BLACK, WHITE))
    assert sitting.position.is_over
    assert re.search(r"The game is over: (0|[BW]\+[\d.]+)\.", sitting.text)
    assert "ahead by" in sitting.text
    assert load_sgf(tmp_path / "end.sgf").score_black is not None


@pytest.mark.parametrize("looks_back", [False, True])
def test_other_komi_and_rules_have_a_counted_game_counted_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, looks_back: bool
) -> None:
    flat = FlatEvaluator(favourite=PASS)
    both = (BLACK, WHITE)
    steps = ("back", "{}", "forward") if looks_back else ("{}",)
    lines = ["c3", "pass", "pass", "save a.sgf"]
    for number, change in enumerate(("komi 99.5", "rules japanese", "komi x")):
        lines += [*(step.format(change) for step in steps), f"save {number}.sgf"]
    Sitting(monkeypatch, *lines, evaluator=flat, colors=both, komi=0.5)
    results = [load_sgf(tmp_path / f"{name}.sgf").result for name in ("a", *range(3))]
    assert results == ["B+24.5", "W+74.5", "W+75.5", "W+75.5"]


def test_games_that_are_kept_tell_how_they_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def result_after(*lines: str) -> str:
        folder = tmp_path / "-".join(lines)
        Sitting(monkeypatch, *lines, evaluator=FlatEvaluator(favourite=PASS), keep_games=folder)
        (file,) = folder.iterdir()
        return load_sgf(file).result

    assert re.fullmatch(r"0|[BW]\+[\d.]+", result_after("c3", "pass"))
    assert result_after("c3", "resign") == "W+R"
    assert result_after("c3", "resign", "undo") == ""


def test_score_and_territory_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    sitting = Sitting(
        monkeypatch, "c3", "score", "territory", evaluator=FlatEvaluator(value=0.9), komi=0.5
    )
    assert "is ahead by" in sitting.text
    assert re.search(r"^ \d +b b", sitting.text, re.MULTILINE), "points marked as somebody's"


def test_games_are_resumed_loaded_and_begun_anew(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = Sitting(monkeypatch, "c3", "save game.sgf", "save game.sgf", "q")
    assert first.text.count("The game is saved") == 2, "the same game again"
    resumed = Sitting(monkeypatch, "save game.sgf", resume=tmp_path / "game.sgf")
    assert resumed.position.moves == first.position.moves
    assert "game.sgf is there already" in resumed.text, "another game's file is left alone"
    lines = ("load game.sgf", "load none.sgf", "load", "new 6", "new 1", "new x", "c3")
    loaded = Sitting(monkeypatch, *lines)
    assert "goes on after move 2" in loaded.text
    assert "Not loaded: cannot read" in loaded.text and "Which file?" in loaded.text
    assert "No such board" in loaded.text and "'x' is no board size" in loaded.text
    assert loaded.position.width == 6 and loaded.position.ply == 2


def test_games_of_one_second_have_files_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("time.strftime", lambda form: "a-second")
    Sitting(monkeypatch, "c3", "new", "d4", "new", "b2", colors=(BLACK, WHITE))
    moves = {load_sgf(file).moves[0].point for file in tmp_path.glob("*.sgf")}
    assert moves == {at("C3"), at("D4"), at("B2")}


def sit_in_a_folder_that_goes(monkeypatch: pytest.MonkeyPatch, folder: Path, *more: str) -> Sitting:
    """Save a game in a folder that is gone at the next move."""
    folder.mkdir()

    def remove_folder(mark: str, text: str) -> None:
        if text == "d4":
            shutil.rmtree(folder)

    lines = ("c3", f"save {folder}/game.sgf", "d4", *more)
    return Sitting(monkeypatch, *lines, note=remove_folder)


def test_the_home_folder_keeps_its_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    (tmp_path / "game.sgf").write_text("another game")
    sit_in_a_folder_that_goes(monkeypatch, tmp_path / "folder")
    assert (tmp_path / "game.sgf").read_text() == "another game"
    (file,) = tmp_path.glob("gtp-engine-*.sgf")
    assert load_sgf(file).moves[2] == (BLACK, at("D4"))


def test_a_folder_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    sitting = Sitting(monkeypatch, "c3", f"save {tmp_path}/none/game.sgf", "q")
    assert "cannot be written: No such file or directory" in sitting.text
    assert len(list(tmp_path.glob("*.sgf"))) == 1, "it is still saved where it can be"


def test_without_a_home_folder(
    homeless: Callable[[], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Path, "home", homeless)
    sitting = sit_in_a_folder_that_goes(monkeypatch, tmp_path / "folder")
    assert "game.sgf cannot be written" in sitting.text


@pytest.mark.parametrize("begin", ["new", "load other.sgf"])
def test_a_game_that_cannot_be_saved_is_lost_only_if_that_is_asked_for_again(
    homeless: Callable[[], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, begin: str
) -> None:
    monkeypatch.setattr(Path, "home", homeless)
    (tmp_path / "other.sgf").write_text("(;SZ[5])")
    kept = sit_in_a_folder_that_goes(monkeypatch, tmp_path / "one", begin)
    assert kept.position.ply == 4 and "save it elsewhere, or ask again" in kept.text
    moved = sit_in_a_folder_that_goes(monkeypatch, tmp_path / "two", begin, "save a.sgf", begin)
    assert moved.position.ply == 0 and len(load_sgf(tmp_path / "a.sgf").moves) == 4
    lost = sit_in_a_folder_that_goes(monkeypatch, tmp_path / "three", begin, begin)
    assert lost.position.ply == 0


def test_names_that_no_file_can_have(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["c3", "save ~nobody-of-this-name/x.sgf", f"save {'x' * 300}.sgf", "save x\0y", "d4"]
    lines += ["save ~x\0y", "load ~x\0y", "load ~nobody-of-this-name/x.sgf", "b2"]
    sitting = Sitting(monkeypatch, *lines, colors=(1, 2))
    assert sitting.text.count("cannot be written") == 4 and sitting.text.count("Not loaded") == 2
    assert sitting.position.ply == 3, "the game goes on"


def test_a_net_that_fails_is_reported_and_the_game_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = FailingEvaluator(lambda call: call > 3)
    sitting = Sitting(monkeypatch, "c3", "?", evaluator=broken)
    assert "the net failed to run" in sitting.text
    assert sitting.position.moves == [(BLACK, at("C3"))]


def test_a_count_that_ctrl_c_comes_into_leaves_the_next_move_its_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = Engine.final_status

    def count_under_ctrl_c(self: Engine) -> FinalStatus:
        signal.raise_signal(signal.SIGINT)
        return plain(self)

    monkeypatch.setattr(Engine, "final_status", count_under_ctrl_c)
    sitting = Sitting(monkeypatch, "score", "c3", playouts=20)
    assert "\n" in sitting.text and "  20 visits" in sitting.text


class Window(io.StringIO):
    """A terminal whose window somebody closes during the engine's first move."""

    is_closed = False

    def write(self, text: str) -> int:
        """Fail from the first report about the engine's thoughts on."""
        self.is_closed = self.is_closed or "thinking: " in text
        if self.is_closed:
            raise OSError(errno.EIO, "Input/output error")
        return super().write(text)


def test_a_window_that_closes_before_its_signal_comes_leaves_the_move_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = Engine(Settings(size=(5, 5), seed=7), evaluator=FakeEvaluator())
    monkeypatch.setattr(sys, "stdin", io.StringIO("c3\n"))
    monkeypatch.setattr(game, "REPORT_SECONDS", 0.01)
    window = Window()
    screen = Screen(console=Console(file=window, width=80, force_terminal=True))
    TerminalGame(engine, screen, frozenset({BLACK}), [], lambda mark, text: None).run()
    assert window.is_closed
    (file,) = Path().glob("*.sgf")
    assert len(load_sgf(file).moves) == 2


class Pipe(io.StringIO):
    """A pipe whose reader goes away before the first move is shown."""

    def write(self, text: str) -> int:
        """Fail from then on."""
        if "Move 1: black" in text:
            raise BrokenPipeError
        return super().write(text)


def test_a_pipe_that_breaks_leaves_the_game_saved(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine = Engine(Settings(size=(5, 5)), evaluator=FakeEvaluator())
    monkeypatch.setattr(sys, "stdin", io.StringIO("c3\n"))
    monkeypatch.setattr(sys, "stdout", Pipe())
    with (tmp_path / "pipe").open("w") as file:
        monkeypatch.setattr(sys.stdout, "fileno", file.fileno)
        TerminalGame(engine, Screen(), frozenset({BLACK, WHITE}), []).run()
    (file,) = Path().glob("*.sgf")
    assert len(load_sgf(file).moves) == 1


@pytest.mark.parametrize(("asked", "komi"), [({}, 0.5), ({"komi": 5.5}, 5.5)])
def test_with_handicap_komi_is_half_a_point_unless_it_was_asked_for(
    monkeypatch: pytest.MonkeyPatch, asked: dict[str, float], komi: float
) -> None:
    colors = (BLACK, WHITE)
    sitting = Sitting(monkeypatch, size=(9, 9), colors=colors, handicap=4, **asked)
    assert sitting.position.handicap == 4 and sitting.position.komi == komi
    sitting = Sitting(monkeypatch, "new", size=(9, 9), colors=colors, handicap=4, **asked)
    assert sitting.position.komi == asked.get("komi", 7.0), "the next game has no handicap"
    sitting = Sitting(monkeypatch, "rules aga", size=(9, 9), colors=colors, handicap=4, **asked)
    assert sitting.position.komi == komi, "other rules change nothing"
    sitting = Sitting(monkeypatch, size=(9, 9), colors=colors, handicap=1, **asked)
    assert sitting.position.komi == komi, "one stone is the first move"
    assert sitting.position.to_play == BLACK and not sitting.position.handicap


def test_five_in_a_row_has_no_handicap(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["play", "--game", "five", "--handicap", "4"])
    assert ended.value.code == 2 and "is not for five in a row" in capsys.readouterr().err


def test_a_long_cycle_ends_a_game_without_result(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    position = position_of(TRIPLE_KO, Rules.parse("japanese"), to_play=WHITE)
    for name in TRIPLE_KO_CYCLE.split() * 2:
        position.play(position.to_play, parse_vertex(name, 4, 11))
    (tmp_path / "cycle.sgf").write_text(format_sgf(position))
    sitting = Sitting(monkeypatch, "load cycle.sgf", "save end.sgf", colors=(BLACK, WHITE))
    assert "the game has no result." in sitting.text and "ahead by" not in sitting.text
    assert load_sgf(tmp_path / "end.sgf").result == "Void"


def test_what_a_loaded_game_says_of_its_moves_is_saved_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = "(;SZ[5]C[begins];B[cc]C[good];AB[aa];W[bb]C[two];B[dd]C[three])"
    (tmp_path / "a.sgf").write_text(text)
    lines = ("load a.sgf", "undo", "e1", "save b.sgf")
    Sitting(monkeypatch, *lines, colors=(BLACK, WHITE))
    saved = load_sgf(tmp_path / "b.sgf")
    assert saved.comments == {0: "begins", 1: "good", 2: "two"} and len(saved.moves) == 3


def test_a_game_saved_before_another_that_is_none_is_told_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sitting = Sitting(monkeypatch, "c3", "load none.sgf", "q")
    assert "Not loaded" in sitting.text and sitting.text.count("The game is saved") == 1


def test_superko_is_kept_for_people_too(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["c5", "d5", "b4", "e4", "c3", "d3", "d4", "c4", "d4"]
    sitting = Sitting(monkeypatch, *lines, colors=(BLACK, WHITE))
    assert "Illegal move: black D4 repeats an earlier position." in sitting.text


def test_a_hint_says_what_can_be_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    moves = ("d4", "d3", "c3", "a5", "c2", "a1")
    said: list[str] = []
    monkeypatch.setattr(Screen, "progress", lambda screen, text: said.append(text))
    sitting = Sitting(monkeypatch, *moves, "hint", colors=(BLACK, WHITE))
    assert "captures one stone in a ladder." in sitting.text
    assert said[-2:] == [READING, ""], "and that it is being read"


# Small terminals ---------------------------------------------------------------------------------


def scene(size: int, n_message: int) -> Scene:
    panel = [f"report {number}" for number in range(15)]
    message = [f"message {number} {'with many words ' * 3}" for number in range(n_message)]
    return Scene(Position(size), panel=panel, message=message)


@pytest.mark.parametrize("size", [9, 13, 19, 25])
@pytest.mark.parametrize("columns", [44, 60, 80, 120])
@pytest.mark.parametrize("rows", [24, 40])
@pytest.mark.parametrize("n_message", [0, 1, 3, 20])
def test_nothing_scrolls_away(size: int, columns: int, rows: int, n_message: int) -> None:
    output = io.StringIO()
    console = Console(file=output, width=columns, height=rows, force_terminal=True, no_color=True)
    Screen(console=console).show(scene(size, n_message))
    shown = output.getvalue()
    assert all(f"message {number} " in shown for number in range(n_message)), "all of it"
    lines = shown.count("\n")
    assert lines < rows or lines <= 2 * n_message
    is_beside = columns >= size + 6 + 2 + PANEL_WIDTH and 2 * n_message <= size + 2
    if size + 2 < rows and (is_beside or size + 2 + 2 * n_message < rows):
        assert re.search(rf"^ *{size} ", shown, re.MULTILINE), "the board"
    if (size, columns, rows, n_message) == (19, 80, 24, 0):
        assert "report 14" in shown and "quit" in shown, "all of 19x19 on 80x24"


def test_a_terminal_that_is_too_low_says_how_many_lines_the_board_needs() -> None:
    def shown(rows: int, size: int, n_message: int) -> str:
        output = io.StringIO()
        console = Console(file=output, width=80, height=rows, force_terminal=True, no_color=True)
        Screen(console=console).show(scene(size, n_message))
        return output.getvalue()

    needs = "The terminal has 21 lines, and the board needs 22: make it higher"
    for n_message in (0, 1, 18):
        assert needs in shown(21, 19, n_message)
    assert "report 14" in shown(21, 19, 0) and "quit" in shown(21, 19, 0)
    assert "needs" not in shown(22, 19, 0) and "needs" not in shown(24, 19, 22)


def test_a_narrow_board_has_its_reports_beside_it_where_a_wide_one_would_not() -> None:
    output = io.StringIO()
    console = Console(file=output, width=60, height=24, force_terminal=True, no_color=True)
    Screen(console=console).show(scene(19, 0))
    assert re.search(r"^ *19 [.·]{19} 19 +report 1$", output.getvalue(), re.MULTILINE)


@pytest.mark.parametrize("system", ["truecolor", "256", "standard"])
def test_stones_are_told_apart_on_every_terminal(system: str) -> None:
    output = io.StringIO()
    console = Console(file=output, width=80, height=24, force_terminal=True, color_system=system)  # type: ignore[arg-type]
    screen = Screen(console=console)
    screen.show(Scene(position_of("X O\n. ."), Marks(ownership=np.zeros((2, 2), np.float32))))
    inks = dict(re.findall("\x1b\\[([0-9;]+)m([●○])", output.getvalue()))
    (black,) = (codes for codes, stone in inks.items() if stone == "●")
    (white,) = (codes for codes, stone in inks.items() if stone == "○")
    assert black.split(";")[:1] == white.split(";")[:1] and black != white, (
        "the same ink, other ground"
    )


# Looking around ----------------------------------------------------------------------------------


def test_one_can_go_back_and_forward_and_the_engine_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ("c3", "b2", "back 3", "b 9", "b", "f", "redo", "r")
    sitting = Sitting(monkeypatch, *lines)
    assert sitting.position.ply == 4, "all four moves are on the board again"
    assert sitting.text.count("There is no such move.") == 2
    other = Sitting(monkeypatch, "c3", "d4", "e5", "back 2", "a1", "f", colors=(BLACK, WHITE))
    assert [move.point for move in other.position.moves] == [at("C3"), at("A1")]
    left = Sitting(monkeypatch, "c3", "back", "back", "x")
    assert left.position.ply == 0 and "back [N]" not in left.text


@pytest.mark.parametrize(("color", "own", "ply"), [(BLACK, ("c3", "c2"), 3), (WHITE, ("c2",), 2)])
def test_who_looks_back_does_not_play_the_engines_stones(
    monkeypatch: pytest.MonkeyPatch, color: int, own: tuple[str, ...], ply: int
) -> None:
    sitting = Sitting(monkeypatch, *own, "back", "e5", colors=(color,))
    assert "This is the engine's move" in sitting.text and sitting.position.ply == ply


def test_who_resigns_while_looking_back_gives_up_the_whole_game(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lines = ("c3", "go", "c2", "d2", "back 3", "resign", "save game.sgf")
    colors, kept = (BLACK, WHITE), tmp_path / "kept"
    Sitting(monkeypatch, *lines, colors=colors, keep_games=kept)
    for file in (tmp_path / "game.sgf", *kept.iterdir()):
        record = load_sgf(file)
        assert (len(record.moves), record.result) == (4, "W+R")


def test_a_record_that_is_loaded_keeps_who_played_it_and_when(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = "PB[Ada]PW[Bob]BR[3d]DT[2016-03-09]"
    (tmp_path / "old.sgf").write_text(f"(;SZ[5]{said}RE[W+R];B[cc];W[bb])")
    both = (BLACK, WHITE)
    lines = ("load old.sgf", "undo", "c2", "save a.sgf", "new", "c3", "save b.sgf")
    Sitting(monkeypatch, *lines, colors=both)
    kept, other = load_sgf(tmp_path / "a.sgf"), load_sgf(tmp_path / "b.sgf")
    assert (kept.black_name, kept.white_name, kept.black_rank) == ("Ada", "Bob", "3d")
    assert (kept.date, len(kept.moves)) == ("2016-03-09", 3)
    assert (other.black_name, other.black_rank) == ("you", "") and other.date > "2026"


def test_a_game_that_is_over_is_so_when_it_is_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "old.sgf").write_text("(;SZ[5]RE[W+Resign];B[cc])")
    sitting = Sitting(monkeypatch, "load old.sgf", "d4", "save a.sgf")
    assert sitting.position.ply == 1 and "The game is over: W+R." in sitting.text
    assert load_sgf(tmp_path / "a.sgf").result == "W+R"
    Sitting(monkeypatch, "quit", resume=tmp_path / "a.sgf")
    assert len(list(tmp_path.glob("*.sgf"))) == 2, "it is on file as it stands"
    sitting = Sitting(monkeypatch, "undo", resume=tmp_path / "a.sgf")
    assert sitting.position.ply == 2, "the engine moves instead"


@pytest.mark.parametrize("ending", ["quit", "new", "load none.sgf", "save", "f 2"])
def test_looking_back_cuts_no_game_short(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ending: str
) -> None:
    lines = ("c3", "d3", "c2", "undo", "d2", "go", "resign", "back", "back 2", "komi 3")
    both = (BLACK, WHITE)
    Sitting(monkeypatch, *lines, ending, colors=both, keep_games=tmp_path / "kept")
    (saved,) = tmp_path.glob("*.sgf")
    (kept,) = (tmp_path / "kept").iterdir()
    for record in map(load_sgf, (saved, kept)):
        assert (len(record.moves), record.result) == (4, "W+R")
    assert load_sgf(saved).komi == 3


@pytest.mark.parametrize("line", ["a1", "go", "undo"])
def test_what_is_done_in_an_earlier_position_goes_on_from_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str
) -> None:
    lines = ("c3", "go", "c2", "d2", "back 3", line, "save game.sgf")
    both = (BLACK, WHITE)
    sitting = Sitting(monkeypatch, *lines, colors=both, keep_games=tmp_path / "kept")
    (kept,) = (tmp_path / "kept").iterdir()
    moves = load_sgf(tmp_path / "game.sgf").moves
    assert moves == sitting.position.moves == load_sgf(kept).moves
    assert len(moves) == (0 if line == "undo" else 2)
    assert not load_sgf(kept).comments or line == "go", "of a move that is made no more"


@pytest.mark.parametrize("back", ["back", "undo"])
def test_rules_that_a_later_move_does_not_fit_are_refused(
    monkeypatch: pytest.MonkeyPatch, back: str
) -> None:
    moves = ("a1", "b2", "pass", "c1", "pass", "a2", "b1")  # which takes its own chain
    rules, both = Rules.parse("tromp-taylor"), (BLACK, WHITE)
    sitting = Sitting(monkeypatch, *moves, back, "rules chinese", "f", rules=rules, colors=both)
    assert "The rules stay as they are" in sitting.text and sitting.position.ply == len(moves)


def test_what_is_off_the_board_gets_its_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    sitting = Sitting(monkeypatch, "z9", "i5", size=(9, 9))
    where = "is off the board: columns are A to J, without I, rows 1 to 9."
    assert f"Z9 {where}" in sitting.text and f"I5 {where}" in sitting.text


@pytest.mark.parametrize("ask", ["hint", "candidates"])
def test_a_line_is_numbered_on_the_board(monkeypatch: pytest.MonkeyPatch, ask: str) -> None:
    sitting = Sitting(monkeypatch, "line", ask, "line 9", "line 1", playouts=100)
    assert (
        "Ask for a hint first." in sitting.text and "'9' is none of the candidates." in sitting.text
    )
    board = sitting.text.split("black> line 1")[1]
    moves = re.search(r"^((?:(?:[A-E][1-5]|pass) ?)+)$", board, re.MULTILINE)
    assert moves is not None
    for number, vertex in enumerate(moves[1].split(), 1):
        if vertex == "pass":
            continue
        row = re.search(rf"^ {vertex[1]} (.*?) {vertex[1]} ", board, re.MULTILINE)
        assert row is not None and row[1][2 * "ABCDE".index(vertex[0]) + 1] == str(number)


def test_territory_gives_no_move_away(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Sitting(monkeypatch, "c3", "territory").text.split("> territory")[1]
    assert "Black wins" in shown and "'s moves" not in shown
    assert "'s moves" in Sitting(monkeypatch, "c3", "hint").text


@pytest.mark.parametrize("leave", ["undo", "back 2", "new 7"])
def test_territory_gives_no_move_away_where_a_hint_was_asked_for_elsewhere(
    monkeypatch: pytest.MonkeyPatch, leave: str
) -> None:
    text = Sitting(monkeypatch, "territory", "c3", "hint", leave).text
    before, after = text.rsplit(f"> {leave}", 1)
    assert "'s moves" in before
    assert "Black wins" in after and "'s moves" not in after


@pytest.mark.parametrize("before", ["?", "candidates", "territory"])
def test_candidates_of_both_players(monkeypatch: pytest.MonkeyPatch, before: str) -> None:
    text = Sitting(monkeypatch, before, "c3", "both").text
    assert "Black's moves" in text and "White's moves" in text
    assert re.search(r"^ a [A-E][1-5]|  a [A-E][1-5]", text, re.MULTILINE)


def test_dead_stones_are_turned_by_hand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    moves = ("dead c3", "c3", "a1", "p", "p", "dead a1", "dead a1", "dead b5", "save a.sgf")
    flat = FlatEvaluator(favourite=PASS)
    sitting = Sitting(monkeypatch, *moves, evaluator=flat, colors=(BLACK, WHITE), komi=0.5)
    counts = re.findall(r"(\w+) is ahead by (\d+(?:\.\d+)?)", sitting.text)
    assert len(counts) == 3 and counts[0] == counts[2] != counts[1]
    assert "Count first: score." in sitting.text and "Which stones?" in sitting.text
    assert load_sgf(tmp_path / "a.sgf").result == f"{counts[2][0][0]}+{counts[2][1]}"


def test_level_komi_and_rules_within_a_game(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (
        "level 2",
        "level 99",
        "level",
        "komi 3.5",
        "komi x",
        "rules japanese",
        "rules x",
        "c3",
    )
    sitting = Sitting(monkeypatch, *lines)
    for said in ("plays at level 2.", "from 1 to 10", "At its best.", "from -400", "No such rules"):
        assert said in sitting.text
    assert "Japanese rules, komi 3.5" in sitting.text and sitting.position.ply == 2


def test_at_its_best_the_engine_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    sitting = Sitting(monkeypatch, "level", policy_temperature=1.0)
    assert sitting.engine.settings.level == 10


def test_the_rules_of_five_in_a_row_change_within_a_game(monkeypatch: pytest.MonkeyPatch) -> None:
    # Black's three and three is a forbidden point of renju.
    moves = ["g8", "a1", "f8", "c1", "h9", "e1", "h10", "g1", "h8"]
    lines = ["rules japanese", "rules standard", *moves, "rules renju", "rules caro"]
    both = (BLACK, WHITE)
    sitting = Sitting(monkeypatch, *lines, game="five", size=(15, 15), colors=both)
    assert "No such rules: there are no rules 'japanese'; known are freestyle" in sitting.text
    assert "Five in a row, standard" in sitting.text
    assert "The rules stay as they are: the game does not fit the new rules" in sitting.text
    assert "Five in a row, caro" in sitting.text and sitting.position.ply == len(moves)


@pytest.mark.parametrize("game", ["five", "atari-go"])
def test_where_nothing_is_counted_nothing_of_it_is_shown(
    monkeypatch: pytest.MonkeyPatch, game: str
) -> None:
    lines = ["?", "pass", "territory", "s", "dead c3", "komi 3", "both"]
    sitting = Sitting(monkeypatch, *lines, game=game, size=(9, 9))
    assert "Illegal move: " in sitting.text, "of the pass"
    assert sitting.text.count("Nothing is counted in this game.") == 4
    assert re.search(r"Black wins .*\n.*\d+ visits", sitting.text)
    assert len(re.findall(r"'s moves  wins visits\n.* \d+%  +\d+\n", sitting.text)) == 2
    for word in ("pass (p)", "pass, p", "score (s)", "territory (t)", "komi POINTS", "dead D4"):
        assert word not in sitting.text


def test_an_even_lead_is_said_in_a_word() -> None:
    assert describe_lead(0.04) == describe_lead(-0.04) == "Even"
    assert describe_lead(-0.3) == "White leads by 0.3"


class Keys:
    """A terminal's keys, as `Keyboard` reads them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.arrows: list[tuple[int, int]] = []
        self.keyboard = Keyboard(
            lambda: False, lambda: None, lambda *way: self.arrows.append(way), lambda: "E5"
        )
        monkeypatch.setattr(self.keyboard, "_show_typed", lambda text: None)

    def press(self, keys: bytes) -> str | None:
        self.keyboard._unread += keys
        return self.keyboard._next_line()


def test_keys_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = Keys(monkeypatch)
    assert keys.press(b"d5\x7f4") is None and keys.press(b"\r") == "d4\n"
    assert keys.press(b"abc\x15hint\nundo\n") == "hint\n" and keys.press(b"") == "undo\n"
    assert keys.press(b"\x1b[A\x1b[B\x1bOC\x1b") is None and keys.press(b"[D\n") == "E5\n"
    assert keys.arrows == [(-1, 0), (1, 0), (0, 1), (0, -1)]
    assert keys.press(b"\x1b[3~\x1b[1;5H\xc3") is None and keys.press(b"\xa4\n") == "ä\n"
    assert keys.press(b"\xe4x\xe2\x82y\n") == "\ufffdx\ufffdy\n", "another encoding's letters"
    assert keys.press(b"\x00") is None and keys.press(b"\x04") == ""
