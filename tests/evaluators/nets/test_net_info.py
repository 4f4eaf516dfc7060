"""What a net says about itself survives writing and reading, and nonsense is refused."""

import json
import subprocess
import sys

import numpy as np
import pytest
from tests.paths import TINY

from gtp_engine.evaluators.nets.net_info import (
    ENCODERS,
    GOLDEN_KEY,
    NET_KEY,
    GoldenCase,
    MetadataError,
    NetInfo,
    golden_from_metadata,
    golden_to_metadata,
)
from gtp_engine.evaluators.runtimes.onnx_runtime import CPU, OnnxSession, open_session

INFO = NetInfo(
    name="tiny",
    encoder="katago_v7",
    encoder_version=7,
    spatial_planes=22,
    global_features=19,
    heads={"policy": "move logits"},
    score_columns=("score_mean", "lead"),
    board_sizes=(9, 19),
    trained_sizes=(7, 19),
    komi_max=7.5,
    strength="unmeasured",
)


def changed(**values: object) -> dict[str, str]:
    document = json.loads(INFO.to_metadata()[NET_KEY]) | values
    return {NET_KEY: json.dumps(document)}


def test_description_survives() -> None:
    assert NetInfo.from_metadata(INFO.to_metadata()) == INFO


def test_unknown_keys_are_ignored() -> None:
    assert NetInfo.from_metadata(changed(color_of_the_go_board="brown")) == INFO


def test_a_file_with_keys_of_an_earlier_version_is_read() -> None:
    metadata = OnnxSession(open_session(TINY, [CPU])).metadata
    assert "policy_optimism_root" in json.loads(metadata[NET_KEY])
    info = NetInfo.from_metadata(metadata)
    assert "policy_optimism_root" not in json.loads(info.to_metadata()[NET_KEY])


def test_texts_do_not_steer_the_terminal() -> None:
    info = NetInfo.from_metadata(
        changed(name="a\x1b[2J\n\nb", heads={"policy": "\r= mine\x9b", "\x07": "\u202e"})
    )
    assert info.name == "a [2J  b"
    assert info.heads == {"policy": " = mine ", " ": " "}


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({}, "gtp-export describe"),
        ({NET_KEY: "{"}, "not JSON"),
        ({NET_KEY: "[]"}, "schema"),
        (changed(schema=2), "schema"),
        (changed(encoder="v99"), "unknown encoder 'v99'"),
        (changed(value_kind="winrate"), "value kind"),
        (changed(score_columns=["luck"]), "'luck'"),
        (changed(board_min=1), "board sizes"),
        (changed(board_min="nine"), "board_min"),
        (changed(board_sizes=[1000, 0]), "no boards from 2x2 to 25x25"),
        (changed(board_sizes=[], board_min=26, board_max=10**9), "no boards"),
        (changed(heads=["policy"]), "heads"),
        (changed(encoder=7), "encoder"),
        (changed(komi_min=10**400), "komi_min"),
        (changed(komi_min=float("nan")), "komi_min"),
        (changed(komi_max=float("inf")), "komi_max"),
        ({NET_KEY: "[" * 10**6}, "not JSON"),
        (changed(parameters=0) | {NET_KEY: '{"schema": ' + "9" * 10**4 + "}"}, "not JSON"),
        ({NET_KEY: json.dumps({"schema": 1, "name": "x"})}, "incomplete"),
    ],
)
def test_nonsense_is_refused(metadata: dict[str, str], reason: str) -> None:
    with pytest.raises(MetadataError, match=reason):
        NetInfo.from_metadata(metadata)


def test_accepts_board_sizes() -> None:
    assert INFO.squares == [9, 19]
    assert INFO.accepts(9, 19) and not INFO.accepts(13, 13)
    anything = NetInfo(name="", encoder="dlgo1", encoder_version=1, spatial_planes=1)
    assert anything.accepts(2, 25) and not anything.accepts(26, 19) and not anything.accepts(1, 9)
    square = NetInfo(
        name="", encoder="dlgo1", encoder_version=1, spatial_planes=1, square_only=True
    )
    assert square.accepts(9, 9) and not square.accepts(9, 19)


def test_encoders_have_a_version_and_planes() -> None:
    assert ENCODERS["katago_v7"] == (7, 22, 19)
    assert all(version >= 1 and planes >= 1 for version, planes, _ in ENCODERS.values())


def test_golden_data_survive() -> None:
    random = np.random.default_rng(1)
    case = GoldenCase(
        inputs={
            "spatial_in": (random.random((1, 3, 5, 5)) < 0.5).astype(np.uint8),
            "global_in": random.standard_normal((1, 4), np.float32),
        },
        outputs={"policy": random.standard_normal((1, 26), np.float32)},
    )
    bytes_case = GoldenCase({"spatial_in": np.full((1, 1, 2, 2), 7, np.uint8)}, {})
    found = golden_from_metadata(golden_to_metadata([case, bytes_case]))
    for wanted, got in zip([case, bytes_case], found, strict=True):
        for before, after in ((wanted.inputs, got.inputs), (wanted.outputs, got.outputs)):
            assert before.keys() == after.keys()
            for name in before:
                assert before[name].dtype == after[name].dtype
                np.testing.assert_array_equal(before[name], after[name])


def test_no_golden_data() -> None:
    assert golden_from_metadata({}) == []


@pytest.mark.parametrize(
    "array",
    [
        {"shape": [2], "dtype": "float32", "data": "AAAA"},
        {"shape": [1], "dtype": "object", "data": ""},
        {"shape": [1], "dtype": "float32"},
        {"shape": [64], "dtype": "bits", "data": "AA=="},
        {"shape": "x", "dtype": "bits", "data": "AA=="},
        {"shape": [1], "dtype": "float32", "data": "?"},
        {"shape": [float("inf")], "dtype": "float32", "data": ""},
        {"shape": [2**80], "dtype": "float32", "data": ""},
        {"shape": [2**40, 2**40], "dtype": "bits", "data": ""},
    ],
)
def test_damaged_golden_data_are_refused(array: dict[str, object]) -> None:
    document = {"schema": 1, "cases": [{"inputs": {"spatial_in": array}, "outputs": {}}]}
    with pytest.raises(MetadataError, match="golden data"):
        golden_from_metadata({GOLDEN_KEY: json.dumps(document)})


def test_importing_the_contract_imports_no_numpy() -> None:
    code = "import sys, gtp_engine.evaluators.nets.net_info; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
