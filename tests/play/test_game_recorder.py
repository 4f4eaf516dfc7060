"""Games kept as files: which ones, when, and what is in them."""

import shutil
from pathlib import Path

import pytest
from tests.play.test_engine import Verdict, at, engine

from gtp_engine.coords import BLACK, PASS, WHITE
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.files import write_whole
from gtp_engine.go.sgf import GameRecord, load_sgf, parse_sgf
from gtp_engine.play.engine import Engine
from gtp_engine.play.settings import Settings


def records(folder: Path) -> list[GameRecord]:
    """Return the games in a folder, oldest first; nothing else may lie there."""
    files = sorted(folder.iterdir())
    assert all(file.suffix == ".sgf" and not file.name.startswith(".") for file in files)
    return [load_sgf(file) for file in files]


def test_a_game_is_on_file_after_every_move(tmp_path: Path) -> None:
    made = engine(keep_games=tmp_path)
    made.play(BLACK, at("C3"))
    assert records(tmp_path) == [], "the engine has not taken part yet"
    made.genmove(WHITE)
    made.play(BLACK, at("A1"))
    for n_moves in (3, 4):
        (record,) = records(tmp_path)
        assert record.moves == made.position.moves and len(record.moves) == n_moves
        if n_moves == 3:
            made.genmove(WHITE)
    assert record.white_name.startswith("gtp-engine ") and record.black_name == ""
    assert len(record.date) == len("2026-01-31")
    assert record.komi == 7.0 and record.result == ""
    (file,) = tmp_path.iterdir()
    assert "white: winrate" in file.read_text()


def test_games_of_others_are_kept_where_that_is_wanted(tmp_path: Path) -> None:
    made = engine(keep_games=tmp_path, keep_all_games=True)
    made.play(BLACK, at("C3"))
    made.play(WHITE, at("A1"))
    made.undo()
    made.new_game(6, 6)
    made.play(BLACK, at("B2", 6))
    made.genmove(WHITE)
    assert [(each.width, len(each.moves)) for each in records(tmp_path)] == [(5, 1), (6, 2)]


def test_every_game_has_a_file_of_its_own(tmp_path: Path) -> None:
    made = engine(keep_games=tmp_path)
    for size in (5, 6, 5):
        made.new_game(size, size)
        made.genmove(BLACK)
        made.genmove(WHITE)
    made.new_game(5, 5)
    made.play(BLACK, at("C3"))  # a game that only others play
    assert [(record.width, len(record.moves)) for record in records(tmp_path)] == [
        (5, 2),
        (6, 2),
        (5, 2),
    ]


def test_a_game_that_is_sent_anew_goes_on_in_its_file(tmp_path: Path) -> None:
    made = engine(keep_games=tmp_path)
    made.genmove(BLACK)
    moves = made.position.moves
    made.new_game(5, 5)
    answer = next(p for p in made.position.legal_moves() if p != moves[0].point)
    made.play_sequence([*moves, (WHITE, answer)])
    made.genmove(BLACK)
    (record,) = records(tmp_path)
    assert len(record.moves) == 3


def test_a_game_that_begins_like_the_last_one_leaves_its_result(tmp_path: Path) -> None:
    made = engine(Verdict(WHITE), keep_games=tmp_path, resign_turns=1)
    while made.genmove(made.position.to_play).point is not None:
        pass
    moves = made.position.moves
    made.new_game(5, 5)
    made.play_sequence(moves)
    made.genmove(WHITE)
    assert sorted(record.result for record in records(tmp_path)) == ["", "W+R"]


def test_moves_taken_back_are_taken_out(tmp_path: Path) -> None:
    made = engine(keep_games=tmp_path)
    made.genmove(BLACK)
    made.genmove(WHITE)
    made.undo(2)
    (record,) = records(tmp_path)
    assert record.moves == []
    made.play(BLACK, at("E5"))
    (file,) = tmp_path.iterdir()
    assert load_sgf(file).moves == made.position.moves
    assert "winrate" not in file.read_text(), "nobody thought about that move"


def test_a_resignation_is_the_result(tmp_path: Path) -> None:
    made = engine(Verdict(WHITE), keep_games=tmp_path, resign_turns=1)
    while made.genmove(made.position.to_play).point is not None:
        pass
    (record,) = records(tmp_path)
    assert record.result == "W+R"
    made.undo()
    assert records(tmp_path)[0].result == ""


def test_a_count_is_the_result_once_the_game_is_over(tmp_path: Path) -> None:
    made = engine(keep_games=tmp_path, komi=0.5)
    made.set_up([at("B1"), at("B2"), at("A2"), at("C3")], [])
    made.genmove(WHITE)
    made.final_score()
    assert records(tmp_path)[0].result == ""
    made.play_sequence([(BLACK, PASS), (WHITE, PASS)])
    score = made.final_score()
    assert records(tmp_path)[0].score_black == pytest.approx(-score)


def test_a_folder_that_cannot_be_written_is_said_once(tmp_path: Path, said: list[str]) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    settings = Settings(size=(5, 5), playouts=5, keep_games=blocker / "games")
    made = Engine(settings, evaluator=FakeEvaluator())
    made.genmove(BLACK)
    made.genmove(WHITE)
    assert made.position.ply == 2
    (line,) = said
    assert "games cannot be kept" in line and "\n" not in line


def test_a_folder_that_is_taken_away_is_missed_until_the_next_game(
    tmp_path: Path, said: list[str]
) -> None:
    folder = tmp_path / "games"
    settings = Settings(size=(5, 5), playouts=5, keep_games=folder)
    made = Engine(settings, evaluator=FakeEvaluator())
    for n_complaints in (1, 2):
        made.new_game(5, 5)
        made.genmove(BLACK)
        shutil.rmtree(folder)
        made.genmove(WHITE)
        assert len(said) == n_complaints and "games cannot be kept" in said[-1]
    made.new_game(5, 5)
    made.genmove(BLACK)
    assert [len(record.moves) for record in records(folder)] == [1] and len(said) == 2


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "game.sgf"
    write_whole(path, "(;SZ[5])")
    with pytest.raises(OSError):
        write_whole(tmp_path, "a folder")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "\ud800")
    assert path.read_text() == "(;SZ[5])"
    assert load_sgf(path).width == 5


def test_a_game_with_a_set_up_is_kept_whole_and_its_comments_by_their_moves(tmp_path: Path) -> None:
    made = engine(keep_games=tmp_path)
    begun = "(;SZ[5];B[cc];W[bb];B[aa]{};W[ee];B[ed])"
    whole = parse_sgf(begun.format(";AE[aa]"))
    made.adopt(whole.position())
    made.genmove(WHITE)
    (first,) = records(tmp_path)
    assert first.moves[:5] == whole.moves and list(first.comments) == [6]
    # Another game, which is at the same place after its set-up.
    made.new_game(5, 5)
    made.adopt(parse_sgf("(;SZ[5]AB[cc]AW[bb]PL[W];W[ee];B[ed])").position())
    made.genmove(WHITE)
    assert [len(record.moves) for record in records(tmp_path)] == [6, 3]


@pytest.mark.parametrize("name, files", [("20260131-120000-77-001.sgf", 1), ("mine.sgf", 2)])
def test_a_game_that_was_kept_goes_on_in_its_file(tmp_path: Path, name: str, files: int) -> None:
    made = engine(keep_games=tmp_path)
    made.genmove(BLACK)
    (file,) = tmp_path.iterdir()
    file = file.rename(tmp_path / name)
    again = engine(keep_games=tmp_path, keep_all_games=True)
    again.go_on(file, load_sgf(file))
    again.play(WHITE, at("A1"))
    assert len(records(tmp_path)) == files
    assert len(load_sgf(file).moves) == 3 - files
    assert load_sgf(file).black_name.startswith("gtp-engine ")
    assert "winrate" in load_sgf(file).comments[1]
