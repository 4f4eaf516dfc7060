"""Labels, shards, self-play and the folder they fill."""

import multiprocessing
import threading
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.export.convert.katago_writer import NetPlan, write_net
from tests.export.tiny_net import TINY_SHAPE
from tests.paths import TINY

from gtp_engine.coords import BLACK, PASS, WHITE, action_to_point
from gtp_engine.evaluators.nets.net_info import ENCODERS, NetFileError
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.go.game_record import GameRecord
from gtp_engine.go.position import Move, Position
from gtp_engine.go.rules import Ko, Rules, Scoring
from gtp_export.convert.conversion import convert_file
from gtp_export.labelling import generation
from gtp_export.labelling.generation import (
    GPU_SCALE,
    KINDS,
    ShardMaker,
    _chunks,
    _draw_student_size,
    draw_size,
    spent_on_labels,
)
from gtp_export.labelling.record_positions import _pick_positions, label_records
from gtp_export.labelling.samples import (
    Samples,
    SamplesError,
    join_samples,
    pack_samples,
    read_samples,
    write_samples,
)
from gtp_export.labelling.searching_teacher import SearchingTeacher
from gtp_export.labelling.selfplay import draw_plan, play_games
from gtp_export.labelling.teacher import Labels, Teacher
from gtp_export.plans import DistilRun
from gtp_export.records.games import Games
from gtp_export.records.reading import read_table
from gtp_export.run_settings import alone_in
from gtp_export.span import PAUSE, Span, end_with_parent

ENDLESS = Span(1e9, "samples")
RUN = DistilRun(teacher=TINY, out=Path(), seed=3)


def random_samples(width: int, height: int, n: int, seed: int = 1) -> tuple[Samples, np.ndarray]:
    """Return samples and the planes that are packed in them."""
    generator = np.random.default_rng(seed)
    spatial = (generator.random((n, 22, height, width)) < 0.3).astype(np.uint8)
    policy = generator.dirichlet(np.ones(width * height + 1), n).astype(np.float32)
    samples = pack_samples(
        spatial,
        generator.normal(size=(n, 19)).astype(np.float32),
        policy,
        generator.dirichlet(np.ones(3), n).astype(np.float32),
        generator.normal(size=(n, 3)).astype(np.float32),
        generator.uniform(-1, 1, (n, height, width)).astype(np.float32),
    )
    return samples, spatial


@pytest.mark.parametrize("size", [(9, 9), (5, 7), (19, 19), (2, 3)])
def test_planes_survive_packing(size: tuple[int, int]) -> None:
    samples, spatial = random_samples(*size, n=5)
    index = np.array([4, 0, 2])
    np.testing.assert_array_equal(samples.spatial(index), spatial[index])


def test_shards_survive_the_disk(tmp_path: Path) -> None:
    samples, _ = random_samples(5, 7, n=3)
    write_samples(tmp_path / "a.npz", samples)
    again = read_samples(tmp_path / "a.npz")
    assert (again.width, again.height) == (5, 7)
    for wanted, got in zip(samples[2:], again[2:], strict=True):
        np.testing.assert_array_equal(wanted, got)
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"junk"])
def test_a_broken_shard_is_an_error_that_names_it(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    with pytest.raises(SamplesError, match=r"a\.npz"):
        read_samples(path)


@pytest.mark.parametrize(("at", "damage"), [(10, b"\x63"), (8, b"\x01"), (42, b"\xff\xff\xff\x7f")])
def test_a_damaged_directory_of_a_shard_is_an_error_that_names_it(
    tmp_path: Path, at: int, damage: bytes
) -> None:
    path = tmp_path / "a.npz"
    write_samples(path, random_samples(9, 9, n=3)[0])
    content = bytearray(path.read_bytes())
    begin = content.index(b"PK\x01\x02") + at
    content[begin : begin + len(damage)] = damage
    path.write_bytes(content)
    with pytest.raises(SamplesError, match=r"a\.npz"):
        read_samples(path)
    content[-6:-2] = b"\xff\xff\xff\x7f"  # where the directory begins
    path.write_bytes(content)
    with pytest.raises(SamplesError, match=r"a\.npz"):
        read_samples(path)


def test_samples_of_one_size_are_joined() -> None:
    first, second = random_samples(5, 5, 2)[0], random_samples(5, 5, 3, seed=2)[0]
    joined = join_samples([first, second])
    assert len(joined.features) == 5
    np.testing.assert_array_equal(joined.policy[2:], second.policy)
    with pytest.raises(ValueError, match="2 board sizes"):
        join_samples([first, random_samples(5, 6, 1)[0]])


def test_labels_are_chances_of_legal_moves_for_the_side_to_move() -> None:
    position = Position(5, 5, Rules(komi=3.0))
    for i, action in enumerate((1, 12, 5, 13)):
        position.play(BLACK if i % 2 == 0 else WHITE, action_to_point(action, 5, 5))
    labels = Teacher(TINY).label([position, position])
    np.testing.assert_allclose(labels.policy.sum(1), 1.0, atol=1e-5)
    assert set(np.flatnonzero(labels.policy[0] == 0)) == {1, 5, 12, 13}
    np.testing.assert_array_equal(labels.policy[0], labels.policy[1])
    assert labels.spatial[0, 1].sum() == 2 and labels.spatial[0, 2].sum() == 2
    assert labels.ownership.shape == (2, 5, 5)


def test_teachers_run_where_they_are_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gtp_engine.evaluators.runtimes.openvino_runtime.has_bf16", lambda: False)
    run = replace(RUN, student_games=0.5, runtime="openvino")
    worker = ShardMaker(run, tmp_path, None, student=TINY)._worker
    assert worker is not None and worker._student is not None
    expected = Teacher(TINY)
    assert expected.net.runtime == "onnxruntime"
    for teacher in (worker._teacher, worker._student, SearchingTeacher(TINY, 2, "openvino")):
        assert teacher.net.runtime == "openvino"
    position = Position(7, 5)
    found = worker._teacher.label([position] * 3)
    np.testing.assert_allclose(found.policy, expected.label([position] * 3).policy, atol=1e-4)


def test_a_teacher_may_search_before_it_answers() -> None:
    positions = [Position(5, 4, Rules(komi=komi)) for komi in (-30.0, 0.5, 30.0)]
    at_once = Teacher(TINY).label(positions)
    found = SearchingTeacher(TINY, playouts=17).label(positions)
    visits = found.policy * 16
    np.testing.assert_allclose(visits, np.rint(visits), atol=1e-5)
    np.testing.assert_allclose(visits.sum(1), 16, atol=1e-4)
    np.testing.assert_allclose(found.value.sum(1), 1.0, atol=1e-5)
    np.testing.assert_array_equal(found.value[:, 2], at_once.value[:, 2])
    # The mean over a tree is another one than the root's, but not by far.
    assert 0 < np.abs(found.score - at_once.score).max() < 10
    assert found.ownership.shape == (3, 4, 5) and np.abs(found.ownership).max() <= 1
    assert (found.ownership != at_once.ownership).any()
    np.testing.assert_array_equal(found.spatial, at_once.spatial)


def test_a_student_may_search_for_its_moves(tmp_path: Path) -> None:
    position = Position(5, 4)
    for playouts, searches in ((0, False), (17, True)):
        run = replace(RUN, student_games=0.5, student_playouts=playouts)
        worker = ShardMaker(run, tmp_path, None, student=TINY)._worker
        assert worker is not None and worker._student is not None
        assert not isinstance(worker._teacher, SearchingTeacher)
        visits = worker._student.label([position]).policy * 16
        assert np.allclose(visits, np.rint(visits), atol=1e-5) == searches


def test_positions_that_a_search_looked_at_are_labelled_too() -> None:
    player = SearchingTeacher(TINY, playouts=33)
    positions = [Position(5, 4, Rules(komi=komi)) for komi in (-30.0, 0.5, 30.0)]
    player.label(positions)
    ahead = player.draw_ahead(positions, 8, np.random.default_rng(1))
    lines = [(later.komi, later.moves) for later in ahead]
    assert [komi for komi, _ in lines] == sorted(komi for komi, _ in lines)
    assert {komi for komi, _ in lines} == {-30.0, 0.5, 30.0}
    assert len({str(line) for line in lines}) == len(lines) <= 24
    assert min(len(moves) for _, moves in lines) == 1 < max(len(moves) for _, moves in lines)
    assert all(position.ply == 0 for position in positions)

    plan = replace(draw_plan(np.random.default_rng(1), 5, 4), random_opening=0, fair_komi=False)
    teacher = Teacher(TINY)
    batches: list[int] = []
    teacher.before_labels = lambda: batches.append(0)
    samples = play_games(teacher, [plan], 5, 4, 1, player)
    assert len(batches) / 2 * 3 < len(samples.features) <= len(batches) / 2 * 9


def test_nothing_is_labelled_where_a_search_goes_on_after_the_end() -> None:
    player = SearchingTeacher(TINY, playouts=33)
    position = Position(2, 4, Rules.parse("japanese"), encores=False)
    player.label([position])
    first = player._found[0].moves[0]
    # In an encore a stone may be named to pass for a ko; here the second move there is none.
    player._found = [replace(player._found[0], moves=(replace(first, pv=(PASS, PASS, 4, 4)),))]
    ahead = player.draw_ahead([position], 8, np.random.default_rng(1))
    assert [later.moves for later in ahead] == [[Move(BLACK, PASS)]]


def test_no_result_is_possible_where_the_rules_know_it() -> None:
    every = [
        Position(5, 5, Rules(ko=Ko.POSITIONAL)),
        Position(5, 5, Rules(ko=Ko.SIMPLE)),
        Position(5, 5, Rules(scoring=Scoring.TERRITORY)),
    ]
    value = Teacher(TINY).label(every).value
    np.testing.assert_allclose(value.sum(1), 1.0, atol=1e-5)
    assert value[0, 2] == 0 and value[1, 2] > 0 and value[2, 2] > 0


def test_a_teacher_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(NetFileError, match="none"):
        Teacher(tmp_path / "none.onnx")


def test_a_net_of_profiles_is_no_teacher(tmp_path: Path) -> None:
    source, path = tmp_path / "net.bin.gz", tmp_path / "net.onnx"
    source.write_bytes(write_net(NetPlan(version=15, meta=True)))
    convert_file(source, path)
    with pytest.raises(NetFileError, match="plays like whomever it is told"):
        Teacher(path)


def test_selfplay_is_reproducible_and_whole() -> None:
    def play() -> Samples:
        generator = np.random.default_rng(5)
        plans = [draw_plan(generator, 5, 4) for _ in range(3)]
        return play_games(Teacher(TINY), plans, 5, 4, seed=11)

    first, second = play(), play()
    for wanted, got in zip(first[2:], second[2:], strict=True):
        np.testing.assert_array_equal(wanted, got)
    assert first.policy.shape[1] == 21 and len(first.features) > 30
    # Occupied points are never among the moves.
    planes = first.spatial(np.arange(len(first.features)))
    stones = (planes[:, 1] | planes[:, 2]).reshape(-1, 20).astype(bool)
    in_encore = first.features[:, 12] > 0
    assert not (first.policy[:, :-1][~in_encore] > 0)[stones[~in_encore]].any()


def test_a_player_draws_the_moves_and_the_teacher_labels_them() -> None:
    class Passer(Teacher):
        def label(self, positions: Sequence[Position]) -> Labels:
            labels = super().label(positions)
            labels.policy[:] = 0.0
            labels.policy[:, -1] = 1.0
            return labels

    plan = replace(draw_plan(np.random.default_rng(1), 5, 5), rules=Rules(), encores=False)
    quiet = replace(plan, random_opening=0, random_rate=0.0, fair_komi=False)
    plans = [replace(quiet, reluctant_to_pass=False)] * 3
    samples = play_games(Teacher(TINY), plans, 5, 5, 1, Passer(TINY))
    assert len(samples.features) == 3 * 2, "two passes end a game"
    assert (samples.policy[:, :-1] > 0).any(), "what is learned is not what was played"


def test_a_fair_komi_is_the_teachers() -> None:
    class Boaster(Teacher):
        def label(self, positions: Sequence[Position]) -> Labels:
            labels = super().label(positions)
            labels.score[:, -1] = 100.0
            return labels

    plan = replace(draw_plan(np.random.default_rng(1), 5, 5), rules=Rules(), encores=False)
    plans = [replace(plan, fair_komi=True, random_opening=0)] * 2
    found = [
        play_games(Teacher(TINY), plans, 5, 5, 1, player).features
        for player in (None, Boaster(TINY))
    ]
    np.testing.assert_array_equal(*found)


def test_the_recorded_move_counts_where_a_search_did_not_try_it() -> None:
    moves = [Move(BLACK if i % 2 == 0 else WHITE, action_to_point(i, 9, 9)) for i in range(60)]
    record = GameRecord(9, 9, komi=7.5, moves=moves, result="B+R")
    picked = _pick_positions(record, np.random.Generator(np.random.PCG64(3)))
    played = [action for _, action in picked]
    assert sum(action is not None for action in played) > 1
    teacher = SearchingTeacher(TINY, playouts=3)  # of 60 or so moves it tries two
    samples = label_records(teacher, [record], 3, played_weight=0.5)
    assert samples is not None
    for policy, action in zip(samples.policy, played, strict=True):
        assert action is None or policy[action] >= 0.5


def test_records_are_picked_late_and_beyond_their_last_move() -> None:
    moves = [Move(BLACK if i % 2 == 0 else WHITE, action_to_point(i, 9, 9)) for i in range(60)]
    plies: dict[str, list[int]] = {}
    stones: dict[str, list[int]] = {}
    for result in ("B+3.5", "B+R"):
        record = GameRecord(9, 9, komi=7.5, moves=moves, result=result)
        generator = np.random.default_rng(1)
        found = [_pick_positions(record, generator) for _ in range(400)]
        plies[result] = [position.ply for picked in found for position, _ in picked]
        on_record = [p for picked in found for p, played in picked if played is not None]
        stones[result] = [p.ply for p in on_record]
        assert all(
            moves[position.ply][1] == action_to_point(played, 9, 9)
            for picked in found
            for position, played in picked
            if played is not None
        )
    assert 0.4 < np.mean(np.array(stones["B+R"]) >= 40) < 0.6
    assert 0.35 < sum(ply in (60, 61) for ply in plies["B+3.5"]) / 400 < 0.55
    ends = [ply - 60 for ply in plies["B+3.5"] if ply in (60, 61)]
    assert 0.3 < np.mean(ends) < 0.7, "before and after a pass"


def test_a_share_of_the_shards_is_of_the_students_games(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = tuple(replace(kind, games=1) for kind in KINDS if kind.name in ("9x9", "student"))
    monkeypatch.setattr("gtp_export.labelling.generation.KINDS", small)
    monkeypatch.setattr("gtp_export.labelling.generation.STUDENT_POSITIONS", 90)
    monkeypatch.setattr("gtp_export.labelling.generation.STUDENT_SIZES", {(9, 9): 1.0})
    for student, wanted in ((None, {"9x9"}), (TINY, {"9x9", "student"})):
        folder = tmp_path / str(student is None)
        maker = ShardMaker(replace(RUN, student_games=0.5), folder, None, student)
        made = [maker._next_job() for _ in range(6)]
        kinds = [job.kind.name for job in made if job is not None]
        assert set(kinds) == wanted
        if student is not None:  # a half of all; of the rest, boards of 9x9 are a fifth
            assert kinds.count("student") == 5
    assert maker.make_shards(Span(1, "samples")) > 0


def test_plans_cover_rules_and_komi() -> None:
    generator = np.random.default_rng(1)
    plans = [draw_plan(generator, 9, 9) for _ in range(300)]
    assert {plan.rules.scoring for plan in plans} == set(Scoring)
    assert {plan.rules.ko for plan in plans} == set(Ko)
    assert any(plan.encores for plan in plans) and any(plan.rules.button for plan in plans)
    assert all(2 * plan.rules.komi == round(2 * plan.rules.komi) for plan in plans)
    assert np.std([plan.rules.komi for plan in plans]) > 1.0
    tiny = [draw_plan(generator, 2, 3) for _ in range(50)]
    assert {plan.random_opening for plan in tiny} == {0, 1}


def test_sizes_cover_the_range() -> None:
    generator = np.random.default_rng(1)
    sizes = [draw_size(generator) for _ in range(2000)]
    assert {side for size in sizes for side in size} == set(range(2, 26))
    assert 0.2 < sum(width != height for width, height in sizes) / 2000 < 0.5


def test_small_boards_alone(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    drawn = [draw_size(generator, range(2, 8)) for _ in range(500)]
    assert {side for size in drawn for side in size} == set(range(2, 8))
    drawn = [_draw_student_size(generator, range(2, 10)) for _ in range(500)]
    assert max(side for size in drawn for side in size) == 9
    assert 0.7 < drawn.count((9, 9)) / 500 < 0.95  # 0.4 of 0.5, and some of the others
    run = replace(RUN, largest_board=9, student_games=0.5)
    maker = ShardMaker(run, tmp_path, None, TINY)
    jobs = [job for job in (maker._next_job() for _ in range(40)) if job is not None]
    assert {job.kind.name for job in jobs} == {"9x9", "other", "student"}


def test_large_boards_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(1)
    drawn = [draw_size(generator, range(13, 26)) for _ in range(500)]
    assert {max(size) for size in drawn} == set(range(13, 26))
    assert min(min(size) for size in drawn) < 7, "a narrow board is large too"
    drawn = [_draw_student_size(generator, range(10, 26)) for _ in range(500)]
    assert min(max(size) for size in drawn) == 10
    assert 0.5 < drawn.count((19, 19)) / 500 < 0.8  # 0.4 of 0.6, and some of the others
    maker = ShardMaker(replace(RUN, smallest_board=10), tmp_path, None)
    jobs = [job for job in (maker._next_job() for _ in range(40)) if job is not None]
    assert {job.kind.name for job in jobs} == {"13x13", "19x19", "other"}
    monkeypatch.setattr(generation, "play_games", lambda teacher, plans, *size: max(size[:2]))
    assert maker._worker is not None
    assert min(maker._worker._samples(job) for job in jobs) >= 10


def test_a_folder_of_shards_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    assert sum(kind.share for kind in KINDS) == pytest.approx(1.0)
    small = tuple(replace(kind, games=2) for kind in KINDS if kind.name == "9x9")
    monkeypatch.setattr("gtp_export.labelling.generation.KINDS", small)
    spent = [spent_on_labels(tmp_path)]
    for wanted in (1, 1, 2):
        span = Span(spent[min(wanted, len(spent)) - 1].samples + 1, "samples")
        ShardMaker(RUN, tmp_path, None).make_shards(span)
        spent.append(spent_on_labels(tmp_path))
    assert len(said) == 2 and spent[0] == (0, 0.0, 0.0)
    assert spent[1] == spent[2], "the span was spent before"
    assert spent[3].samples > spent[2].samples and spent[3].seconds >= spent[2].seconds > 0
    made = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.npz"))
    assert made == ["train/9x9-000000.npz", "valid/9x9-000001.npz"]
    _, planes, _ = ENCODERS[TINY_SHAPE.encoder]
    assert read_samples(tmp_path / made[0]).planes.shape[1] == -(-81 * planes // 8)
    (tmp_path / "train" / "9x9-copy.npz").write_bytes(b"")
    job = ShardMaker(RUN, tmp_path, None)._next_job()
    assert job is not None and job.path.name == "9x9-000002.npz"


def use_small_kinds(monkeypatch: pytest.MonkeyPatch, name: str, games: int) -> None:
    """Make shards of one kind only, of few games."""
    small = tuple(replace(kind, games=games) for kind in KINDS if kind.name == name)
    monkeypatch.setattr("gtp_export.labelling.generation.KINDS", small)


def games_of_one_a_shard(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Games:
    """Write eight games, and make shards of one game each."""
    use_small_kinds(monkeypatch, "records", games=1)
    pack = folder / "games.sgf"
    pack.write_text("".join(f"(;SZ[9];B[{x}a];W[bb])\n" for x in "acdefghi"))
    return read_table([pack])


def test_records_become_shards_until_they_are_used_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    use_small_kinds(monkeypatch, "records", games=1)
    pack = tmp_path / "games.sgf"
    pack.write_text("(;SZ[9];B[aa];W[bb])\n(;SZ[9];B[cc];W[dd])\n(;SZ[5:7];B[aa];W[bb])\n")
    games = read_table([pack])
    said.clear()
    assert ShardMaker(RUN, tmp_path, games).make_shards(ENDLESS) == 6
    assert len(said) == 3
    sizes = [read_samples(path)[:2] for path in tmp_path.rglob("*.npz")]
    assert sorted(sizes) == [(5, 7), (9, 9), (9, 9)]
    assert ShardMaker(RUN, tmp_path, games).make_shards(ENDLESS) == 0
    lost = next(tmp_path.rglob("records-000001.npz"))  # as a kill leaves it
    content = lost.read_bytes()
    lost.unlink()
    assert ShardMaker(RUN, tmp_path, games).make_shards(ENDLESS) == 2
    assert lost.read_bytes() == content
    # Other games would be divided among the same numbers in another way.
    pack.write_text(pack.read_text() + "(;SZ[9];B[ee];W[dd])\n")
    with pytest.raises(NetFileError, match="its labels are of other games; choose another --out"):
        ShardMaker(RUN, tmp_path, read_table([pack]))
    assert ShardMaker(RUN, tmp_path, None)._chunks == []


def test_chunks_of_records_stay_as_large_as_they_were_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    games = games_of_one_a_shard(monkeypatch, tmp_path)
    for obstacle in (None, "no driver"):
        monkeypatch.setattr(generation, "cuda_obstacle", lambda obstacle=obstacle: obstacle)
        maker = ShardMaker(RUN, tmp_path, games)
        assert [len(chunk) for _, chunk in maker._chunks].count(1) < len(games)
        assert maker._scale == GPU_SCALE
        maker.make_shards(Span(1, "samples"))


def test_records_are_divided_as_they_were_begun_whatever_the_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    games = games_of_one_a_shard(monkeypatch, tmp_path)
    maker = ShardMaker(RUN, tmp_path, games)
    maker.make_shards(Span(1, "samples"))
    again = ShardMaker(replace(RUN, seed=RUN.seed + 1), tmp_path, games)
    assert [(side, list(chunk)) for side, chunk in again._chunks] == [
        (side, list(chunk)) for side, chunk in maker._chunks
    ]


def test_two_runs_do_not_label_into_one_folder(tmp_path: Path) -> None:
    with (
        alone_in(tmp_path),
        pytest.raises(NetFileError, match="another run is at work there"),
    ):
        ShardMaker(RUN, tmp_path, None).make_shards(Span(1, "samples"))


def test_a_file_halts_labelling_at_a_batch_of_positions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_small_kinds(monkeypatch, "9x9", games=2)
    data, pause = tmp_path / "data", tmp_path / PAUSE
    asked: list[int] = []
    halts: list[int] = []
    whole_run = OnnxNet.run

    def run(net: OnnxNet, *inputs: Any) -> Any:
        assert not pause.exists(), "a halted process asks its teacher nothing"
        asked.append(len(inputs[0]))
        if len(asked) == 3:
            pause.touch()
        return whole_run(net, *inputs)

    def sleep(seconds: float) -> None:
        halts.append(len(asked))
        pause.unlink()

    monkeypatch.setattr(OnnxNet, "run", run)
    monkeypatch.setattr("gtp_export.span.time.sleep", sleep)
    ShardMaker(RUN, data, None).make_shards(Span(1, "samples"))
    assert halts == [3] and len(asked) > 4


def _wait_as_a_child(said: Any) -> None:
    end_with_parent()
    said.send("there")
    threading.Event().wait()


def _wait_as_a_parent(said: Any) -> None:
    multiprocessing.get_context("spawn").Process(target=_wait_as_a_child, args=(said,)).start()
    threading.Event().wait()


def test_processes_end_with_a_parent_that_is_killed() -> None:
    context = multiprocessing.get_context("spawn")
    heard, said = context.Pipe(duplex=False)
    parent = context.Process(target=_wait_as_a_parent, args=(said,))
    parent.start()
    said.close()
    heard.recv()
    parent.kill()
    parent.join()
    assert heard.poll(30.0), "the child, which holds the other end too, lives on"
    with pytest.raises(EOFError):
        heard.recv()


def test_what_an_older_version_labelled_is_counted(tmp_path: Path) -> None:
    for side in ("train", "valid"):
        (tmp_path / side).mkdir()
        write_samples(tmp_path / side / "9x9-000000.npz", random_samples(9, 9, n=3)[0])
    (tmp_path / "labelling.json").write_text('{"seconds": 90.0}')
    assert spent_on_labels(tmp_path) == (6, 0.0, 90.0)


def test_a_record_never_changes_sides(tmp_path: Path) -> None:
    columns = "abcdefghi"
    games = [f"(;SZ[9];B[{x}{y}];W[{z}e])" for x in columns for y in "abcd" for z in columns]
    path = tmp_path / "games.sgf"
    path.write_text("\n".join(games * 2))
    table = read_table([path])
    sides = []
    for games_of_run, scale in ((table, 1), (table.take(np.arange(len(table) - 7)), 3)):
        chunks = _chunks(games_of_run, seed=1, scale=scale)
        found = {side: set[tuple[Move, ...]]() for side, _ in chunks}
        for side, chunk in chunks:
            found[side] |= {tuple(games_of_run.record(int(game)).moves) for game in chunk}
        sides.append(found)
    assert set(sides[0]) == {"train", "valid"}
    # Neither a game that stands twice nor one that another run learned from is measured on.
    for one in sides:
        assert not any(one["valid"] & other["train"] for other in sides)
    assert sum(map(len, sides[0].values())) == len(games)


def test_boards_of_different_sizes_are_never_in_one_shard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_small_kinds(monkeypatch, "records", games=4)
    pack = tmp_path / "games.sgf"
    pack.write_text("(;SZ[9];B[aa];W[bb])\n(;SZ[7];B[aa];W[bb])\n" * 3)
    games = read_table([pack])
    assert ShardMaker(RUN, tmp_path, games).make_shards(ENDLESS) == 12
    shards = [read_samples(path) for path in tmp_path.rglob("*.npz")]
    assert sorted((shard.width, len(shard.features)) for shard in shards) == [(7, 6), (9, 6)]


def test_a_gpu_makes_larger_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_small_kinds(monkeypatch, "9x9", games=2)
    monkeypatch.setattr(generation, "play_games", lambda teacher, plans, *_: len(plans))
    made = []
    for obstacle in ("no driver", None):
        monkeypatch.setattr(generation, "cuda_obstacle", lambda obstacle=obstacle: obstacle)
        maker = ShardMaker(replace(RUN, processes=1), tmp_path, None)
        job = maker._next_job()
        assert job is not None
        made.append(maker._worker._samples(job))
    assert made == [2, 2 * generation.GPU_SCALE]


def test_several_processes_leave_the_teacher_to_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[weakref.ref[Teacher]] = []

    class Watched(Teacher):
        def __init__(self, path: Path, device: str, runtime: str) -> None:
            opened.append(weakref.ref(self))
            super().__init__(path, device, runtime)

    monkeypatch.setattr("gtp_export.labelling.generation.Teacher", Watched)
    run = replace(RUN, processes=2)
    maker = ShardMaker(run, tmp_path, None)
    assert [teacher() for teacher in opened] == [None], "a teacher that nobody uses is kept open"
    with pytest.raises(NetFileError, match="no such net"):
        ShardMaker(replace(run, teacher=tmp_path / "no.onnx"), tmp_path, None)
    with pytest.raises(NetFileError, match="no such net"):
        ShardMaker(run, tmp_path, None, student=tmp_path / "no.onnx")
    del maker  # it lived until here


def test_a_process_that_dies_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(line: str) -> None:
        multiprocessing.active_children()[0].kill()

    pack = tmp_path / "games.sgf"
    pack.write_text("(;SZ[9];B[aa];W[bb])\n")
    run = replace(RUN, processes=2)
    maker = ShardMaker(run, tmp_path, read_table([pack]))
    monkeypatch.setattr("gtp_export.labelling.generation.logger.info", kill)
    with pytest.raises(NetFileError, match=r"has died; the shards in .* are kept"):
        maker.make_shards(ENDLESS)
    assert spent_on_labels(tmp_path).samples > 0


def test_several_processes_make_the_same_shards_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_small_kinds(monkeypatch, "records", games=1)
    pack = tmp_path / "games.sgf"
    pack.write_text("(;SZ[9];B[aa];W[bb];B[cc])\n" * 4)
    games = read_table([pack])
    made = {}
    for processes in (1, 2):
        folder = tmp_path / str(processes)
        maker = ShardMaker(replace(RUN, processes=processes), folder, games)
        assert maker.make_shards(ENDLESS) == 12
        made[processes] = {
            path.name: read_samples(path).planes.tobytes() for path in folder.rglob("*.npz")
        }
    assert made[1] == made[2] and len(made[1]) == 4
