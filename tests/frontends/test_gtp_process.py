"""`gtp-engine` as a process: start, options, departure. No test depends on how fast it is."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gtp_engine.frontends import pipes
from gtp_engine.frontends.gtp.server import new_inbox

TIMEOUT = 300
ENGINE = [sys.executable, "-m", "gtp_engine"]

HEAVY = ["numpy", "numba", "onnxruntime", "sgfmill", "rich", "torch"]


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with start() as running:
        yield running
        running.kill()


def start(*options: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*ENGINE, *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ask(process: subprocess.Popen[bytes], command: str) -> str:
    """Send a command and return its reply, the empty line cut off."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(command.encode() + b"\n")
    process.stdin.flush()
    lines = []
    while line := process.stdout.readline().decode().rstrip("\n"):
        lines.append(line)
    return "\n".join(lines)


def run(*options: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*ENGINE, *options], input=text, capture_output=True, text=True, timeout=TIMEOUT
    )


def test_the_loop_needs_the_standard_library_alone() -> None:
    code = (
        "import sys, gtp_engine.commands.registry, gtp_engine.commands.gtp\n"
        "import gtp_engine.frontends.gtp.server, gtp_engine.play.engine\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=TIMEOUT
    )
    assert done.stdout == "[]\n", done.stderr


def test_stdout_is_for_the_conversation_alone() -> None:
    code = (
        "import os, sys\n"
        "from gtp_engine.frontends.pipes import Output, claim_stdout\n"
        "output = Output(claim_stdout())\n"
        "print('python'); sys.stdout.flush(); os.write(1, b'library'); os.system('echo child')\n"
        "output.write('= \\n\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=TIMEOUT
    )
    assert done.stdout == "= \n\n"
    assert [word in done.stderr for word in ("python", "library", "child")] == [True] * 3


def test_what_the_client_says_is_for_the_engine_alone() -> None:
    code = (
        "import os, subprocess, sys\n"
        "from gtp_engine.platforms import claim_stdin\n"
        "claimed = claim_stdin()\n"
        "ask = 'import sys; print(repr(sys.stdin.read()), flush=True)'\n"
        "subprocess.run([sys.executable, '-c', ask])\n"
        "print(repr(os.read(0, 9)), repr(os.read(claimed, 9)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input="name", capture_output=True, text=True, timeout=TIMEOUT
    )
    assert done.stdout == "''\nb'' b'name'\n", done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of Windows wait")
def test_a_silent_client_behind_pipes_that_do_not_wait_is_waited_for() -> None:
    code = (
        "import os, sys\n"
        "from gtp_engine.frontends.pipes import claim_stdout\n"
        "from gtp_engine.platforms import claim_stdin\n"
        "os.set_blocking(0, False); os.set_blocking(1, False)\n"
        "sys.exit(not (os.get_blocking(claim_stdout()) and os.get_blocking(claim_stdin())))"
    )
    done = subprocess.run([sys.executable, "-c", code], input=b"", capture_output=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot tell that a pipe is full")
@pytest.mark.parametrize("last", [b"", b"quit\n"])
def test_a_client_that_leaves_without_reading_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, last: bytes
) -> None:
    monkeypatch.setattr(pipes, "LAST_SECONDS", 1)
    to_engine, client = os.pipe()
    unread, from_engine = os.pipe()
    inbox, output = new_inbox(to_engine), pipes.Output(from_engine)
    output.inbox = inbox
    inbox.start()
    writer = threading.Thread(target=output.write, args=("x" * (1 << 20),), daemon=True)
    writer.start()
    writer.join(2 * pipes.LAST_SECONDS + pipes.PATIENCE)
    assert writer.is_alive() and not output.is_closed  # it may still read
    os.write(client, last)
    os.close(client)
    writer.join(TIMEOUT)
    assert not writer.is_alive() and output.is_closed
    for descriptor in (to_engine, unread, from_engine):
        os.close(descriptor)


def test_a_client_that_reads_slowly_gets_all() -> None:
    said = "".join(f"{number} \u9ed2 " for number in range(20_000))
    unread, from_engine = os.pipe()
    output = pipes.Output(from_engine)
    writer = threading.Thread(target=output.write, args=(said,), daemon=True)
    writer.start()
    heard = b""
    while len(heard) < len(said.encode()):
        heard += os.read(unread, 1 << 15)
        time.sleep(0.01)
    assert heard.decode() == said and not output.is_closed
    writer.join(TIMEOUT)
    for descriptor in (unread, from_engine):
        os.close(descriptor)


def test_quit(process: subprocess.Popen[bytes]) -> None:
    assert ask(process, "1 name") == "=1 gtp-engine"
    assert ask(process, "2 quit") == "=2 "
    assert process.wait(TIMEOUT) == 0
    assert process.stdout is not None and process.stdout.read() == b""


def test_end_of_input() -> None:
    done = run()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = run(text="name\nprotocol_version")
    assert (done.returncode, done.stdout, done.stderr) == (0, "= gtp-engine\n\n= 2\n\n", "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals to speak of")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    ask(process, "name")
    process.send_signal(number)
    assert process.wait(TIMEOUT) in (0, -number)
    assert process.stderr is not None and process.stderr.read() == b""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals to speak of")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_process_of_a_container_is_no_exception(number: signal.Signals) -> None:
    code = "import os; os.getpid = lambda: 1; import gtp_engine.__main__ as m; m.main()"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        ask(process, "name")
        process.send_signal(number)
        assert process.wait(TIMEOUT) == 128 + number


def test_a_client_that_does_not_listen(process: subprocess.Popen[bytes]) -> None:
    ask(process, "name")
    assert process.stdout is not None and process.stdin is not None
    process.stdout.close()
    process.stdin.write(b"name\nname\n")
    process.stdin.flush()
    assert process.wait(TIMEOUT) == 0
    assert process.stderr is not None and b"Traceback" not in process.stderr.read()
    process.stdin.close()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize(("closed", "status"), [(">&-", 1), ("2>&-", 0), ("2>&- <&-", 0)])
def test_closed_streams(closed: str, status: int) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m gtp_engine {closed}'],
        input="name\nquit\n",
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    if closed == "2>&-":
        assert done.stdout == "= gtp-engine\n\n= \n\n"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
def test_no_file_takes_the_place_of_a_closed_stream() -> None:
    code = (
        "import os, sys\n"
        "from gtp_engine.messages import run_program\n"
        "sys.exit(run_program('p', lambda _: os.open(os.devnull, os.O_RDONLY) < 3))"
    )
    command = ["sh", "-c", f'"{sys.executable}" -c "{code}" <&- >&- 2>&-']
    assert subprocess.run(command, timeout=TIMEOUT).returncode == 0


def test_a_client_that_never_reads_stderr(process: subprocess.Popen[bytes]) -> None:
    for _ in range(4):  # 160 KB, more than a pipe holds
        assert ask(process, "cgos-gameover " + 40_000 * "x") == "= "
    assert ask(process, "quit") == "= "


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other pipes")
def test_a_client_that_closes_stderr(process: subprocess.Popen[bytes]) -> None:
    assert process.stderr is not None
    process.stderr.close()
    for _ in range(2):
        assert ask(process, "cgos-gameover B+R") == "= "
    assert ask(process, "quit") == "= "


BAD_OPTIONS = [
    ["--bogus"],
    ["--playouts"],
    ["--playouts", "0"],
    ["--playouts", "many"],
    ["--play", "1"],
    ["--time", "-1"],
    ["--time", "nan"],
    ["--komi", "nan"],
    ["--komi", "abc"],
    ["--size", "26"],
    ["--size", "9x9x9"],
    ["--rules", "calvinball"],
    ["--rules", '{"ko": 3}'],
    ["--device", "tpu"],
    ["--resign-threshold", "-2"],
    ["--config", "no/such/file.toml"],
    ["--seed", "-1"],
    ["stray"],
    ["gtp", "stray"],
]


@pytest.mark.parametrize("options", BAD_OPTIONS, ids=" ".join)
def test_bad_options(options: list[str]) -> None:
    done = run(*options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gtp-engine")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("options", [["--help"], ["gtp", "--help"], ["match", "--help"]])
def test_help(options: list[str]) -> None:
    done = run(*options)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: gtp-engine")


def test_log(tmp_path: Path) -> None:
    log = tmp_path / "gtp.log"
    run("--log", str(log), text="7 name\nbogus\n")
    text = log.read_text(encoding="utf-8")
    assert [line[20:] for line in text.splitlines()] == [
        "> 7 name",
        "< gtp-engine",
        "> bogus",
        "? unknown command",
    ]


def test_unwritable_log(tmp_path: Path) -> None:
    done = run("--log", str(tmp_path / "no" / "such" / "folder"), text="name\n")
    assert (done.returncode, done.stdout) == (0, "= gtp-engine\n\n")
    assert done.stderr.count("\n") == 1
    assert "cannot be written" in done.stderr


def test_a_missing_net_is_no_reason_to_leave() -> None:
    with start("--net", "no/such/net.onnx") as process:
        assert ask(process, "boardsize 9") == "= "
        assert ask(process, "1 genmove b").startswith("?1 ")
        assert ask(process, "2 play b e5") == "=2 "
        assert ask(process, "3 quit") == "=3 "
        assert process.wait(TIMEOUT) == 0
        assert process.stderr is not None and b"Traceback" not in process.stderr.read()
