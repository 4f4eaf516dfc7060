"""When to resign."""

from dataclasses import replace

import pytest

from gtp_engine.coords import BLACK
from gtp_engine.play.decision import ResignRule
from gtp_engine.search.analysis import Analysis, unsearched


def analysis(*moves: tuple[int, float], size: int = 9) -> Analysis:
    """Return an analysis whose moves have these visits and winrates."""
    found = unsearched(BLACK, size, size, point=20)
    (like,) = found.moves
    reports = [
        replace(like, point=20 + n, visits=visits, winrate=winrate, order=n)
        for n, (visits, winrate) in enumerate(moves)
    ]
    return replace(found, moves=tuple(reports))


@pytest.mark.parametrize(
    "moves, hopeless",
    [
        ([(100, 0.05)], True),  # 2 x 0.05 - 1 = -0.9
        ([(100, 0.0999)], True),
        ([(100, 0.1001)], False),  # just above -0.8
        ([(100, 0.05), (12, 0.5)], False),  # the second has more than a tenth: 112 x 0.1 = 11.2
        ([(100, 0.05), (11, 0.5)], True),  # fewer: 111 x 0.1 = 11.1
        ([(100, 0.5), (12, 0.05)], False),
        ([(2, 0.05)] * 20, True),  # none has a tenth; all have as many as any
        ([(2, 0.05)] * 20 + [(1, 0.5)], True),
        ([(2, 0.05)] * 20 + [(2, 0.5)], False),
        ([(1, 0.05)], True),
        ([(0, 0.05)], False),
        ([], False),
    ],
)
def test_the_best_move_with_enough_visits_counts(
    moves: list[tuple[int, float]], hopeless: bool
) -> None:
    assert ResignRule().counts(analysis(*moves), ply=30) is hopeless


def test_nobody_resigns_early_or_against_his_will() -> None:
    lost = analysis((100, 0.01))
    rule = ResignRule()
    assert rule.earliest_ply(81) == 16 and rule.earliest_ply(361) == 72
    assert not rule.counts(lost, ply=15) and rule.counts(lost, ply=16)
    assert not rule.counts(analysis((100, 0.01), size=19), ply=71)
    assert rule.counts(analysis((100, 0.01), size=19), ply=72)
    assert rule.earliest_ply(361, handicap=2) == 144 and rule.earliest_ply(361, handicap=1) == 72
    assert not rule.counts(analysis((100, 0.01), size=19), ply=143, handicap=9)
    assert rule.counts(analysis((100, 0.01), size=19), ply=144, handicap=9)
    assert not ResignRule(enabled=False).counts(lost, ply=100)


def test_without_a_search_the_net_itself_is_asked() -> None:
    for winrate, hopeless in ((0.05, True), (0.2, False)):
        for moves in ((), ((0, 0.5),)):
            found = replace(analysis(*moves), winrate=winrate)
            assert ResignRule().counts(found, ply=30) is hopeless


def test_the_threshold_is_a_value_not_a_winrate() -> None:
    rule = ResignRule(threshold=-0.5)
    assert rule.counts(analysis((10, 0.24)), 20) and not rule.counts(analysis((10, 0.26)), 20)
