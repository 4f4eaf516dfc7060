"""Five in a row behind the search's seam: searched, and played through GTP."""

import argparse

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.five.test_lines import game_of, wins_at
from tests.five.test_threats import middle_games
from tests.frontends.conversation import Conversation

from gtp_engine.arguments import UsageError
from gtp_engine.commands.options import add_options, read_settings
from gtp_engine.coords import BLACK, EMPTY, OVER, WHITE, point_at
from gtp_engine.evaluators.five import FiveEvaluator
from gtp_engine.five.game import FiveGame
from gtp_engine.frontends.terminal.screen import describe_game
from gtp_engine.go.rules import FIVE_RULES
from gtp_engine.go.sgf import SgfError, format_sgf, parse_sgf
from gtp_engine.play.clock.systems import Absolute
from gtp_engine.play.engine import Engine
from gtp_engine.play.move_choice import decide
from gtp_engine.play.settings import Settings
from gtp_engine.search.playout import PATH
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits


@settings(max_examples=25)
@given(middle_games(), st.integers(0, 2**32))
def test_a_branch_plays_as_the_game_does(game: FiveGame, seed: int) -> None:
    if game.is_over:
        return
    rng = np.random.default_rng(seed)
    branch = game.branch(10)
    played, moves = game.copy(), []
    while not played.is_over and len(moves) < 8:
        moves.append(int(rng.choice(played.legal_moves())))
        played.play(played.to_play, moves[-1])
    paths = np.zeros(1, PATH)
    paths["length"] = len(moves) + 1
    paths["moves"][0, 1 : len(moves) + 1] = moves
    ply, symmetry = branch.follow(paths, 0, 0, 8, 1)
    assert (ply, symmetry == OVER) == (game.ply + len(moves), played.is_over)
    assert branch.white_lead(ply) == played.white_margin()
    assert branch.history.turns[ply]["to_play"] == played.to_play
    assert (branch.history.boards[ply]["color"] == played.board["color"]).all()
    assert branch.history.boards[ply]["hash"] == played.board["hash"]


def listed(game: FiveGame, nodes: int) -> tuple[list[int], float, float]:
    """Return an evaluator's moves, the sum of their priors, and the value."""
    evaluator = FiveEvaluator(nodes)
    batch = evaluator.new_batch(1, game.width, game.height)
    evaluator.encode(batch, 0, game.history, game.ply, game.rules.flags, 0, 0.0)
    n = int(batch.n_moves[0])
    moves = sorted(int(move) for move in batch.moves[0, :n])
    return moves, float(batch.priors[0, :n].sum()), float(batch.value[0])


@settings(max_examples=60)
@given(middle_games())
def test_moves_to_consider_are_fives_then_blocks_then_all(game: FiveGame) -> None:
    if game.is_over:
        return
    moves, total, value = listed(game, 0)
    legal = game.legal_moves()
    fives = [point for point in legal if wins_at(game, game.to_play, point)]
    empty = [point for point in game.points() if game.color_at(point) == EMPTY]
    threats = [point for point in empty if wins_at(game, 3 - game.to_play, point)]
    if fives:
        assert (moves, value) == (fives, 1.0)
    elif len(threats) == 1 and threats[0] in legal:
        assert moves == threats and abs(value) < 1
    else:
        wanted = [point for point in threats if point in legal] or legal
        assert moves == wanted and (value == -1.0) == bool(threats)
    assert total == pytest.approx(1.0, abs=1e-3) and -1.0 <= value <= 1.0


@pytest.mark.parametrize("nodes", [0, 100])
def test_a_four_is_completed_and_an_open_three_stopped(nodes: int) -> None:
    search = Search(FiveEvaluator(nodes))
    for black, white, to_play, wanted in (
        ("h8 i8 j8 k8", "g8 a1 a2 a3", BLACK, "l8"),
        ("h8 i8 j8 k8", "g8 a1 a2", WHITE, "l8"),
        ("h8 i8 j8", "a1 a3", WHITE, "f8 g8 k8 l8"),
    ):
        game = game_of(black.split(), white.split(), "freestyle")
        game.to_play = to_play
        search.clear()
        search.set_position(game)
        best = search.run(Limits(playouts=400)).moves[0].point
        assert game.name(best) in wanted.split()


def test_a_proof_takes_a_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(FiveGame, "proved_win", lambda game, nodes: asked.append(nodes))
    search = Search(FiveEvaluator(0))
    for limits in (Limits(playouts=1, seconds=0.1), Limits(playouts=1)):
        decide(search, FiveGame(15), limits)
    assert asked == [5_500, 20_000]
    engine = Engine(Settings(game="five"), evaluator=FiveEvaluator(0))
    engine.wait_ready()
    engine.clock.set_system(Absolute(0.1))
    assert engine.move_limits(BLACK) is None and engine.genmove(BLACK).analysis is not None
    assert asked[-1] == 500


@pytest.mark.parametrize(
    ("wish", "moves"), [("avoid b B4,G4 1", None), ("allow b G7,G6 1", {"G7", "G6"})]
)
def test_who_asks_for_other_moves_than_a_five_gets_one(wish: str, moves: set[str] | None) -> None:
    engine = Engine(Settings(game="five", size=(7, 7), playouts=20, resign=False, seed=1))
    with Conversation(engine) as client:
        for move in ("b d4", "w a1", "b e4", "w a2", "b c4", "w a3", "b f4", "w a5"):
            assert client.ask(f"play {move}").startswith("=")
        played = client.ask(f"lz-genmove_analyze b 10 {wish}").splitlines()[-1]
    move = played.removeprefix("play ")
    assert move not in ("B4", "G4") and (moves is None or move in moves)


def test_a_game_through_gtp_and_its_ruler() -> None:
    engine = Engine(Settings(game="five", size=(7, 7), playouts=20, resign=False, seed=1))
    with Conversation(engine) as client:
        assert client.ask("boardsize 4") == "? unacceptable size"
        assert client.ask("gogui-rules_game_id") == "= Gomoku"
        assert client.ask("gogui-rules_board_size") == "= 7"
        for move in ("b d4", "w a1", "b e4", "w a2", "b c4", "w a3", "b f4"):
            assert client.ask(f"play {move}").startswith("=")
        assert client.ask("play w pass").startswith("? illegal move: nobody passes")
        assert client.ask("play w f4") == "? illegal move: white F4 is occupied"
        assert client.ask("gogui-rules_side_to_move") == "= white"
        assert client.ask("gogui-rules_legal_moves").count(" ") == 49 - 7
        assert client.ask("genmove b") in ("= B4", "= G4"), "a five"
        assert client.ask("gogui-rules_legal_moves") == "= "
        assert client.ask("gogui-rules_final_result") == "= Black has five in a row"
        assert client.ask("gogui-rules_board").split("\n")[3].count("X") == 5
        assert client.ask("final_score") == "= B+1.0"
        assert client.ask("genmove w") == "? the game is over"
        for command in ("kata-genmove_analyze w 10", "lz-genmove_analyze w 10", "kata-analyze 10"):
            assert client.ask(command) == "? the game is over", command
        assert client.ask("show_winrate") == "? the game is over", "nobody's chances are 47 %"
        assert client.ask("kata-set-param root_noise_weight 0.25") == "= "
        assert client.ask("show_candidates") == "? the game is over"
        assert client.ask("kata-set-param root_noise_weight 0") == "= "
        assert client.ask("list_chains") == "? unknown command"
        assert "list_chains" not in client.ask("gogui-analyze_commands")
        assert client.ask("undo") == "= "
        assert client.ask("kata-set-rules renju") == "= "
        assert client.ask("kata-get-rules") == '= {"rules":"renju"}'
        assert client.ask('kata-set-rules {"rules":"caro"}') == "= "
        assert client.ask("kata-get-rules") == '= {"rules":"caro"}'
        assert client.ask('kata-set-rules {"rules":"renju"}') == "= "
        for wrong in ('{"rules":"renju","ko":"SIMPLE"}', '{"rules":5}', "{", "chinese"):
            assert client.ask(f"kata-set-rules {wrong}").startswith("? syntax error: "), wrong
        assert client.ask("kata-set-rule ko SIMPLE") == "? unknown command"
        assert "Five in a row: renju" in client.ask("showboard")
        assert client.ask("kata-set-param threat_nodes 0") == "= "
        assert client.ask("genmove w") in ("= B4", "= G4"), "the four is stopped"


def test_nobody_else_is_asked_for_the_rules() -> None:
    with Conversation(Engine(Settings(size=(5, 5)))) as client:
        assert client.ask("known_command gogui-rules_board") == "= false"


def test_records_name_the_game_and_its_rules() -> None:
    game = FiveGame(15, rules=FIVE_RULES["renju"])
    for name in ("h8", "i9", "h10"):
        game.play(game.to_play, game.point(name))
    text = format_sgf(game)
    assert "GM[4]" in text and "RU[renju]" in text
    read = parse_sgf(text, FiveGame).position()
    assert isinstance(read, FiveGame) and read.moves == game.moves
    assert read.rules.five == game.rules.five
    with pytest.raises(SgfError, match="another game than Go"):
        parse_sgf(text)
    with pytest.raises(SgfError, match="move 2, white H8, is occupied"):
        parse_sgf("(;GM[4]SZ[15];B[hh];W[hh])", FiveGame).position()


def test_options_of_five_in_a_row() -> None:
    parser = argparse.ArgumentParser()
    add_options(parser)
    told = read_settings(parser.parse_args(["--game", "five", "--rules", "renju"]))
    assert (told.size, told.rules) == ((15, 15), FIVE_RULES["renju"])
    assert read_settings(parser.parse_args(["--game", "five", "--recipe", "pierre"])).parameters
    for wrong in (
        ["--rules", "renju"],
        ["--game", "five", "--rules", "chinese"],
        ["--recipe", "pierre"],
        ["--game", "atari-go", "--recipe", "pierre"],
        ["--game", "five", "--recipe", "alphago"],
    ):
        with pytest.raises(UsageError, match="is not for the game"):
            read_settings(parser.parse_args(wrong))
    names = {BLACK: "you", WHITE: "gtp-engine"}
    panel = describe_game(FiveGame(15, rules=told.rules), names)
    assert panel[:3] == ["Black: you", "White: gtp-engine", "Five in a row, renju"]


def test_a_root_whose_game_is_over_is_not_left() -> None:
    game = FiveGame(15)
    for row in range(5):
        game.play(BLACK, point_at(row, 3, 15))
        if row < 4:
            game.play(WHITE, point_at(row, 9, 15))
    assert game.is_over
    search = Search(FiveEvaluator(0))
    search.set_position(game)
    found = search.run(Limits(playouts=30))
    assert found.visits == 30 and not found.moves
