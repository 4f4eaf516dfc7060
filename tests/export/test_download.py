"""Downloads from a server on the loopback interface that breaks off, lies and forgets."""

import hashlib
from pathlib import Path

import pytest
from tests.export.flaky_server import FlakyServer, Habits

from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_export.download import download, is_url

CONTENT = bytes(range(256)) * 2000
HASH = hashlib.sha256(CONTENT).hexdigest()
NO_PAUSES = (0.0, 0.0, 0.0)


def fetch(habits: Habits, target: Path, sha256: str | None = HASH) -> list[tuple[int, int | None]]:
    """Download and return what the progress was told."""
    told: list[tuple[int, int | None]] = []
    with FlakyServer(habits) as server:
        download(server.url("net.gz"), target, sha256, lambda *now: told.append(now), NO_PAUSES)
    return told


def test_a_plain_download(tmp_path: Path) -> None:
    told = fetch(Habits(CONTENT), tmp_path / "net")
    assert (tmp_path / "net").read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["net"]
    assert told[0] == (0, len(CONTENT)) and told[-1] == (len(CONTENT), len(CONTENT))
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_addresses_may_hold_letters_and_blanks_that_are_not_sent_as_such(tmp_path: Path) -> None:
    with FlakyServer(Habits(CONTENT)) as server:
        download(server.url("né t%20.gz?a=b"), tmp_path / "net", HASH, pauses=NO_PAUSES)
    assert (tmp_path / "net").read_bytes() == CONTENT


def test_goes_on_where_the_connection_broke_off(tmp_path: Path) -> None:
    habits = Habits(CONTENT, breaks_after=[200_000, 100_000])
    fetch(habits, tmp_path / "net")
    assert (tmp_path / "net").read_bytes() == CONTENT
    assert [one.get("range") for one in habits.requests] == [None, "bytes=200000-", "bytes=300000-"]
    assert habits.requests[1]["if-range"] == habits.tag


def test_goes_on_in_a_later_run(tmp_path: Path) -> None:
    habits = Habits(CONTENT, breaks_after=[200_000, 0, 0, 0, 0])
    with FlakyServer(habits) as server:
        url = server.url("net.gz")
        with pytest.raises(NetFileError, match="broke off after 200000 of 512000 bytes"):
            download(url, tmp_path / "net", HASH, pauses=NO_PAUSES)
        assert not (tmp_path / "net").exists()
        habits.breaks_after.clear()
        download(url, tmp_path / "net", HASH, pauses=NO_PAUSES)
    assert (tmp_path / "net").read_bytes() == CONTENT
    assert habits.requests[-1]["range"] == "bytes=200000-"


def test_another_version_begins_anew(tmp_path: Path) -> None:
    habits = Habits(CONTENT, breaks_after=[200_000, 0, 0, 0, 0])
    with FlakyServer(habits) as server:
        url = server.url("net.gz")
        with pytest.raises(NetFileError):
            download(url, tmp_path / "net", pauses=NO_PAUSES)
        habits.breaks_after.clear()
        habits.content = CONTENT[::-1]
        download(url, tmp_path / "net", pauses=NO_PAUSES)
    assert (tmp_path / "net").read_bytes() == CONTENT[::-1]


@pytest.mark.parametrize("habit", ["knows_ranges", "has_tag"])
def test_servers_that_cannot_go_on(habit: str, tmp_path: Path) -> None:
    habits = Habits(CONTENT, breaks_after=[200_000])
    setattr(habits, habit, False)
    fetch(habits, tmp_path / "net", sha256=None)
    assert (tmp_path / "net").read_bytes() == CONTENT


def test_a_hash_makes_up_for_a_missing_tag(tmp_path: Path) -> None:
    habits = Habits(CONTENT, breaks_after=[200_000], has_tag=False)
    fetch(habits, tmp_path / "net")
    assert (tmp_path / "net").read_bytes() == CONTENT
    assert habits.requests[1]["range"] == "bytes=200000-"


def test_a_part_that_is_longer_than_the_file_begins_anew(tmp_path: Path) -> None:
    habits = Habits(CONTENT, breaks_after=[200_000, 0, 0, 0, 0])
    with FlakyServer(habits) as server:
        url = server.url("net.gz")
        with pytest.raises(NetFileError):
            download(url, tmp_path / "net", pauses=NO_PAUSES)
        habits.breaks_after.clear()
        with (tmp_path / "net.part").open("ab") as part:
            part.write(bytes(len(CONTENT)))
        download(url, tmp_path / "net", pauses=NO_PAUSES)
    assert (tmp_path / "net").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("habits", "message"),
    [
        (Habits(CONTENT, status=404), "the server answers 404 Not Found"),
        (Habits(CONTENT, status=503), "the server answers 503 Service Unavailable"),
        (Habits(CONTENT, added_length=1000), "broke off after 512000 of 513000 bytes"),
        (Habits(CONTENT, breaks_after=[1000], wrong_range=True), "another part than"),
        (Habits(CONTENT, breaks_after=[0] * 9), "broke off after 0 of 512000 bytes"),
        (Habits(CONTENT, added_length=5 << 30), "too large"),
        (Habits(CONTENT, headers={"Content-Length": "9" * 5000}), "too large"),
        (Habits(CONTENT, status=404, reason="\x1b[2Jnothing"), r"answers 404 \?\[2Jnothing"),
        (
            Habits(CONTENT, status=302, headers={"Location": "ftp://a/b"}),
            "redirects to ftp://a/b",
        ),
    ],
)
def test_what_cannot_be_had(habits: Habits, message: str, tmp_path: Path) -> None:
    with pytest.raises(NetFileError, match=message) as caught:
        fetch(habits, tmp_path / "net")
    assert not (tmp_path / "net").exists() and str(caught.value).isprintable()


def test_a_shorter_length_than_there_is_fails_the_hash(tmp_path: Path) -> None:
    with pytest.raises(NetFileError, match=f"has SHA-256 [0-9a-f]{{64}}, not {HASH}"):
        fetch(Habits(CONTENT, added_length=-1000), tmp_path / "net")
    assert list(tmp_path.iterdir()) == []


def test_a_connection_that_is_cut_without_a_length_is_gone_on_with(tmp_path: Path) -> None:
    habits = Habits(CONTENT, breaks_after=[200_000], is_chunked=True)
    fetch(habits, tmp_path / "net")
    assert (tmp_path / "net").read_bytes() == CONTENT
    assert [one.get("range") for one in habits.requests] == [None, "bytes=200000-"]


def test_a_server_that_is_busy_is_asked_again(tmp_path: Path) -> None:
    habits = Habits(CONTENT, busy=2)
    fetch(habits, tmp_path / "net")
    assert (tmp_path / "net").read_bytes() == CONTENT and len(habits.requests) == 3


def test_a_host_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(NetFileError, match="is no address"):
        download("http://example..org/net.gz", tmp_path / "net", pauses=NO_PAUSES)


def test_nobody_listens(tmp_path: Path) -> None:
    with FlakyServer(Habits(CONTENT)) as server:
        url = server.url("net")
    with pytest.raises(NetFileError, match="cannot be reached"):
        download(url, tmp_path / "net", pauses=NO_PAUSES)


def test_what_is_an_address() -> None:
    assert is_url("https://example.org/a.bin.gz") and is_url("HTTP://example.org")
    assert not any(is_url(text) for text in ("net.onnx", "C:\\nets\\a", "file:///etc/passwd", ""))


def test_a_server_that_is_slow_beyond_measure_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gtp_export.download.MOST_SECONDS", 0.0)
    habits = Habits(CONTENT)
    with pytest.raises(NetFileError, match="took more than 0 hours; the same command"):
        fetch(habits, tmp_path / "net")
    monkeypatch.undo()
    with FlakyServer(habits) as server:  # another address, so another file
        download(server.url("net.gz"), tmp_path / "net", HASH, pauses=NO_PAUSES)
    assert [path.name for path in tmp_path.iterdir()] == ["net"]


@pytest.mark.parametrize(
    "habits", [Habits(CONTENT, status=404), Habits(CONTENT, added_length=5 << 30)]
)
def test_a_part_of_what_will_never_come_is_removed(habits: Habits, tmp_path: Path) -> None:
    first = Habits(CONTENT, breaks_after=[200_000, 0, 0, 0])
    with FlakyServer(first) as server:
        with pytest.raises(NetFileError, match="broke off"):
            download(server.url("net.gz"), tmp_path / "net", HASH, pauses=NO_PAUSES)
        assert (tmp_path / "net.part").exists()
        first.status, first.added_length = habits.status, habits.added_length
        with pytest.raises(NetFileError, match=r"404|too large"):
            download(server.url("net.gz"), tmp_path / "net", HASH, pauses=NO_PAUSES)
    assert list(tmp_path.iterdir()) == []
