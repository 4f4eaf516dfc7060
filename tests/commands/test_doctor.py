"""`gtp-engine doctor`: readable, complete, and with advice where something is missing."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.paths import TINY, TINY_NET

from gtp_engine.arguments import USAGE_STATUS
from gtp_engine.commands import doctor_proof
from gtp_engine.commands.doctor_proof import ProofError, does_without_a_gpu, run_proofs
from gtp_engine.commands.registry import run
from gtp_engine.evaluators.nets import onnx_net, precision
from gtp_engine.evaluators.runtimes import devices, onnx_runtime
from gtp_engine.kernels import CACHE


@pytest.fixture(autouse=True)
def nets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of nets, a cache folder, and no GPU."""
    monkeypatch.setenv("GTP_ENGINE_NETS", str(tmp_path / "nets"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for module in (devices, precision, onnx_net):
        monkeypatch.setattr(module, "cuda_obstacle", lambda: "no NVIDIA driver is installed")
    (tmp_path / "nets").mkdir()
    shutil.copy(TINY, tmp_path / "nets" / "small.onnx")
    return tmp_path / "nets"


def findings(text: str) -> dict[str, dict[str, dict[str, str]]]:
    """Return by section and label what was found."""
    return {
        title: {one["label"]: one for one in found} for title, found in json.loads(text).items()
    }


def test_the_report_fits_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--net", "small"]) == 0
    out = capsys.readouterr().out
    for title in ("machine", "GPUs", "software", "folders", "net small"):
        assert f"{title}\n" in out
    # Paths are not broken; everything else keeps to the width.
    assert all(len(line) <= 80 or "/" in line for line in out.splitlines())


def test_without_a_home_folder(
    homeless: Callable[[], Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("gtp_engine.evaluators.nets.net_files.user_folder", homeless)
    assert run(["doctor", "--net", TINY_NET, "--json"]) == 0
    folders = findings(capsys.readouterr().out)["folders"]
    assert "the user has no home folder" in folders["nets"]["text"]


def test_a_net_without_other_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--net", "small", "--json"]) == 0
    net = findings(capsys.readouterr().out)["net small"]
    assert net["on the CPU"]["text"] == "small.onnx (fp32): the net has no int8 file"
    assert net["on the CPU"]["advice"] == (
        "`gtp-export quantise small.onnx small-int8.onnx --int8` makes a faster one"
    )
    assert net["device"]["text"] == "the CPU with --device auto"
    assert net["self-check"]["text"].startswith("passed")
    assert set(net) == {"on the CPU", "device", "runtime", "self-check"}


def test_a_net_with_an_int8_file(nets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(TINY, nets / "small-int8.onnx")
    assert run(["doctor", "--net", "small", "--json"]) == 0
    net = findings(capsys.readouterr().out)["net small"]
    assert "times as fast as fp32 here" in net["on the CPU"]["text"]
    assert net["on the CPU"]["advice"] == ""
    assert net["int8 error"]["text"].startswith("policy KL 0.0000 nats, same best move 100%")


def test_nets_of_one_name_are_all_described(
    nets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = shutil.copy(nets / "small.onnx", tmp_path)
    assert run(["doctor", "--net", f"policy=small+value={other}", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["net small"]
    assert [one["label"] for one in found].count("device") == 2


def test_no_gpu_is_no_fault_but_explained(capsys: pytest.CaptureFixture[str]) -> None:
    run(["doctor", "--net", "small", "--json"])
    gpus = findings(capsys.readouterr().out)["GPUs"]
    assert gpus["none"]["text"] == "no NVIDIA driver is installed"
    assert "install NVIDIA's driver" in gpus["none"]["advice"]


@pytest.mark.parametrize("content", [None, b"noise"])
def test_a_net_that_cannot_be_used(
    content: bytes | None, nets: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (nets / "broken.onnx").write_bytes(content)
    assert run(["doctor", "--net", "broken"]) == 1
    out = capsys.readouterr().out
    assert "error" in out and "`gtp-engine net list` names the nets that are known" in out


@pytest.mark.parametrize(
    ("package", "advice"),
    [
        ("", "`pip uninstall onnxruntime"),  # what can stay of one that was removed
        ("import nothing_like_it", "`pip uninstall onnxruntime"),
        ("raise ImportError('DLL load failed: A routine failed.')", "Visual C++ runtime"),
    ],
)
def test_a_runtime_that_cannot_be_loaded(
    package: str,
    advice: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "onnxruntime.py").write_text(package)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(onnx_runtime, "packages_distributions", dict)
    monkeypatch.setitem(sys.modules, "onnxruntime", sys)  # lest the fake one stays
    monkeypatch.delitem(sys.modules, "onnxruntime")
    assert run(["doctor", "--net", "small", "--json"]) == 1
    found = findings(capsys.readouterr().out)
    assert "net small" not in found
    error = found["software"]["error"]["text"]
    assert error.startswith("ONNX Runtime cannot be loaded (") and advice in error
    with pytest.raises(SystemExit) as ended:
        run(["net", "bench", str(TINY)])
    assert ended.value.code == USAGE_STATUS
    assert capsys.readouterr().err == f"gtp-engine net: {error}\n"


def test_two_packages_of_the_runtime(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    both = {"onnxruntime": ["onnxruntime-gpu", "onnxruntime"]}
    monkeypatch.setattr(onnx_runtime, "packages_distributions", lambda: both)
    assert run(["doctor", "--net", "small", "--json"]) == 0
    advice = findings(capsys.readouterr().out)["software"]["ONNX Runtime"]["advice"]
    assert "`pip uninstall onnxruntime onnxruntime-gpu`" in advice


def test_proofs_are_skipped_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    proofs = tuple((what, True, prove) for what, _, prove in doctor_proof.PROOFS)
    monkeypatch.setattr(doctor_proof, "PROOFS", proofs)
    assert run(["doctor", "--prove"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(proofs)
    assert all(line.startswith("skipped") and "no NVIDIA driver" in line for line in lines)


def test_a_proof_that_fails_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(wanted: str | None) -> str:
        raise ProofError("policy KL 9")

    monkeypatch.setattr(doctor_proof, "PROOFS", (("the GPU computes", False, fail),))
    assert run_proofs(None, as_json=False) == 1
    assert capsys.readouterr().out == "FAILED   the GPU computes: ProofError: policy KL 9\n"
    assert run_proofs(None, as_json=True) == 1
    assert json.loads(capsys.readouterr().out)[0]["outcome"] == "FAILED"


@pytest.mark.parametrize("net", [TINY_NET, "default"])  # default is several files
def test_without_the_gpu_the_cpu_plays(net: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # with the usual cache folder the process compiles no kernels
    line = does_without_a_gpu(net)
    assert line == "using the CPU instead of CUDA: CUDA_VISIBLE_DEVICES hides every device"


def test_damaged_kernels_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(CACHE, "folder", tmp_path)
    CACHE.write("whole.kernel", b"compiled")
    monkeypatch.setattr(CACHE, "used", {"whole.kernel"})
    CACHE.mark_warm()
    run(["doctor", "--net", "small", "--json"])
    kernels = findings(capsys.readouterr().out)["folders"]["kernels"]
    assert (kernels["text"], kernels["advice"]) == (f"{tmp_path}: compiled", "")
    (tmp_path / "cut.kernel").write_bytes((tmp_path / "whole.kernel").read_bytes()[:-1])
    run(["doctor", "--net", "small", "--json"])
    kernels = findings(capsys.readouterr().out)["folders"]["kernels"]
    assert kernels["text"] == f"{tmp_path}: 1 of 2 files damaged, such as cut.kernel"
    assert "--precompile" in kernels["advice"]


def test_kernels_that_cannot_be_kept_are_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(CACHE, "folder", None)
    monkeypatch.setattr(CACHE, "obstacle", "the folder belongs to another user")
    run(["doctor", "--net", "small", "--json"])
    kernels = findings(capsys.readouterr().out)["folders"]["kernels"]
    assert kernels["text"].endswith("cannot be kept: the folder belongs to another user")
    assert "NUMBA_CACHE_DIR" in kernels["advice"]
