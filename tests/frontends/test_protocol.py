"""The text of requests and replies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gtp_engine.frontends.gtp.protocol import (
    Arguments,
    GtpError,
    Request,
    format_reply,
    is_interrupt,
    parse_request,
)
from gtp_engine.frontends.pipes import clean_line

REQUESTS = [
    (b"name", Request("", "name", "")),
    (b"name\r", Request("", "name", "")),
    (b"  12   play\tb   d4  ", Request("12", "play", "b   d4")),
    (b"12name", Request("12", "name", "")),
    (b"007 name", Request("007", "name", "")),
    (b"12", Request("12", "", "")),
    (b"-1 name", Request("", "-1", "name")),
    (b"play b d4 # a move", Request("", "play", "b d4")),
    (b"na\x00\x07me\x7f", Request("", "name", "")),
    (b"na\xc2\x9bme", Request("", "name", "")),
    (b"NAME", Request("", "NAME", "")),
    (b'kata-set-rules {"ko": "SIMPLE",  "tax":"ALL"}', None),
    (b"\xef\xbb\xbfname\r", Request("", "name", "")),
    (b"\xff\xfe", Request("", "\ufffd\ufffd", "")),
]


@pytest.mark.parametrize(("line", "request_"), REQUESTS)
def test_requests(line: bytes, request_: Request | None) -> None:
    parsed = parse_request(clean_line(line))
    if request_ is None:
        assert parsed is not None
        assert parsed.rest == '{"ko": "SIMPLE",  "tax":"ALL"}'
    else:
        assert parsed == request_


@pytest.mark.parametrize("line", [b"", b"\r", b"   \t ", b"# comment", b"  # interrupt", b"\x01"])
def test_lines_without_a_request(line: bytes) -> None:
    assert parse_request(clean_line(line)) is None


def test_interrupt_is_a_comment_of_that_word_alone() -> None:
    assert is_interrupt("# interrupt")
    assert is_interrupt(clean_line(b" #\tinterrupt \r"))
    assert not is_interrupt("# interrupted")
    assert not is_interrupt("name # interrupt")


@pytest.mark.parametrize(
    ("success", "id_", "text", "reply"),
    [
        (True, "", "", "= \n\n"),
        (True, "12", "D4", "=12 D4\n\n"),
        (True, "", "\nfirst\n\n\nsecond  \n", "= \nfirst\nsecond\n\n"),
        (True, "", "a\n\nb", "= a\nb\n\n"),
        (False, "3", "unknown command", "?3 unknown command\n\n"),
        (True, "", "\n", "= \n\n"),
    ],
)
def test_replies(success: bool, id_: str, text: str, reply: str) -> None:
    assert format_reply(success, id_, text) == reply


@given(st.binary(max_size=200).filter(lambda line: b"\n" not in line))
def test_any_bytes_parse(line: bytes) -> None:
    text = clean_line(line)
    assert "\r" not in text
    request = parse_request(text)
    if request is not None:
        assert (request.id == "" or request.id.isascii()) and " " not in request.name
        assert request.id + request.name != ""


@given(st.text(max_size=200))
def test_any_text_makes_one_reply(text: str) -> None:
    reply = format_reply(True, "1", text)
    assert reply.startswith("=1 ")
    assert reply.endswith("\n\n")
    assert "\n\n" not in reply[:-2]


def test_numbers() -> None:
    arguments = Arguments("5 -3 1.5 9999999999 b")
    assert [arguments.integer(0, "n"), arguments.integer(1, "n")] == [5, -3]
    for index in (2, 3, 4, 5):
        with pytest.raises(GtpError, match=r"^syntax error"):
            arguments.integer(index, "n")
    with pytest.raises(GtpError, match="of 0 or more"):
        arguments.number(1, "n", minimum=0)
    with pytest.raises(GtpError, match="invalid color"):
        arguments.color(0)
