"""`gtp-export average`: the mean of nets' weights."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from tests.export.tiny_net import TINY_SHAPE

from gtp_engine.evaluators.nets.net_info import NetInfo
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.evaluators.nets.self_check import differences_of
from gtp_export.architectures.net_file import describe_net, write_net
from gtp_export.architectures.tower import TowerShape, random_weights
from gtp_export.commands import run
from gtp_export.convert.onnx_file import info_of


def write(path: Path, seed: int, shape: TowerShape = TINY_SHAPE, **told: str) -> Path:
    info = describe_net(shape, path.stem, **{"licence": "MIT", "trained_on": "nothing"} | told)
    write_net(path, shape, random_weights(shape, seed), info)
    return path


def weights_of(path: Path) -> dict[str, np.ndarray]:
    return {item.name: numpy_helper.to_array(item) for item in onnx.load(path).graph.initializer}


def test_the_mean_of_two_and_of_one_that_counts_twice(tmp_path: Path) -> None:
    a = write(tmp_path / "a.onnx", 1, strength="much")
    b = write(tmp_path / "b.onnx", 2, trained_on="games", licence="CC0-1.0")
    for nets, shares in (([a, b], (1 / 2, 1 / 2)), ([a, b, a], (2 / 3, 1 / 3))):
        out = tmp_path / "mean.onnx"
        assert run(["average", *map(str, nets), "--out", str(out)]) == 0
        first, second, mean = weights_of(a), weights_of(b), weights_of(out)
        assert mean.keys() == first.keys()
        changed = 0
        for name, array in mean.items():
            if array.dtype == np.float32:
                wanted = shares[0] * first[name] + shares[1] * second[name]
                np.testing.assert_allclose(array, wanted, rtol=1e-5, atol=1e-7)
                changed += bool((array != first[name]).any())
        assert changed > 10
        info = info_of(out)
        assert (info.name, info.trained_on, info.licence) == (
            "mean",
            "nothing; games",
            "MIT; CC0-1.0",
        )
        assert (info.source, info.strength) == ("mean of the weights of a; b", "")
        assert all(one.is_right for one in differences_of(OnnxNet(out, "cpu")))


def test_what_the_user_says_of_it_is_written(tmp_path: Path) -> None:
    nets = [str(write(tmp_path / f"{seed}.onnx", seed)) for seed in (1, 2)]
    out = tmp_path / "mean.onnx"
    told = ["--name", "soup", "--trained-on", "much", "--licence", "MIT-0", "--strength", "some"]
    assert run(["average", *nets, "--out", str(out), *told]) == 0
    info: NetInfo = info_of(out)
    assert [info.name, info.trained_on, info.licence, info.strength] == told[1::2]


def test_nets_that_have_no_mean_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = write(tmp_path / "a.onnx", 1)
    other = write(tmp_path / "other.onnx", 1, replace(TINY_SHAPE, blocks=3))
    int8 = write(tmp_path / "int8.onnx", 1, precision="int8")
    bytes_, others = tmp_path / "bytes.onnx", tmp_path / "others.onnx"
    for path, step in ((bytes_, 1), (others, 2)):
        model = onnx.load(a)
        stored = np.full((2, 2), step, np.int8)
        model.graph.initializer.append(numpy_helper.from_array(stored, "dense.0.weight"))
        onnx.save(model, path)
    out = tmp_path / "out.onnx"
    for nets, target, problem in (
        ([a], out, "a mean takes two nets or more"),
        ([a, other], out, "other.onnx: is not of the architecture of"),
        ([bytes_, others], out, "stores 'dense.0.weight' as integers, which have no mean"),
        ([a, int8], out, "int8.onnx: is in int8; give the net in fp32"),
        ([a, tmp_path / "none.onnx"], out, "none.onnx: cannot be read"),
        ([a, write(tmp_path / "b.onnx", 2)], a, "a.onnx: the net cannot be written over itself"),
    ):
        before = a.read_bytes()
        assert run(["average", *map(str, nets), "--out", str(target)]) == 1
        error = capsys.readouterr().err
        assert problem in error
        assert error.count("\n") == 1
        assert not out.exists()
        assert a.read_bytes() == before
