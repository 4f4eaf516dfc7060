"""The nets that come along: each describes itself, computes what it should, and plays."""

from pathlib import Path

import pytest

from gtp_engine.coords import BLACK, WHITE, parse_vertex
from gtp_engine.evaluators.net_evaluator import open_net
from gtp_engine.evaluators.nets.net_files import shipped_folder
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.evaluators.nets.self_check import differences_of
from gtp_engine.games import game_shown, new_game
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits

FILES = sorted(shipped_folder().glob("*.onnx"))
NAMES = sorted({path.stem.removesuffix("-int8").removesuffix("-fp16") for path in FILES})
MOST_MEGABYTES = 20


def test_all_of_them_are_small_enough_to_come_along() -> None:
    assert sum(path.stat().st_size for path in FILES) < MOST_MEGABYTES * 1e6


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_computes_what_it_did_when_it_was_made(path: Path) -> None:
    found = differences_of(OnnxNet(path, "cpu"))
    assert found and all(one.is_right for one in found)


@pytest.mark.parametrize("name", NAMES)
def test_it_has_a_card_and_says_where_it_comes_from(name: str) -> None:
    info = OnnxNet(shipped_folder() / f"{name}.onnx", "cpu").info
    assert info.licence.startswith("MIT") and info.source and info.trained_on and info.created_by
    card = (shipped_folder() / f"{name}.md").read_text()
    assert card.startswith(f"# {name}\n") and "## Licence" in card


@pytest.mark.parametrize("name", NAMES)
def test_it_plays_on_a_whole_board(name: str) -> None:
    """The reply to a stone on a star point, whatever heads there are, is no move on the edge."""
    info = OnnxNet(shipped_folder() / f"{name}.onnx", "cpu").info
    position = new_game(game_shown(info.encoder), 19, 19)
    position.play(BLACK, parse_vertex("Q16", 19, 19))
    position.play(WHITE, parse_vertex("D4", 19, 19))
    search = Search(open_net(name, "cpu"), seed=1)
    search.set_position(position)
    analysis = search.run(Limits(playouts=8))
    assert analysis.visits >= 8 and 0.0 < analysis.winrate < 1.0
    ownership = search.ownership()
    assert (ownership is not None) == ("ownership" in info.heads)
