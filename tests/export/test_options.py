"""Options of commands: each of them is described, told with its default, and read."""

import argparse
from pathlib import Path

import pytest

from gtp_engine.arguments import Parser
from gtp_engine.evaluators.nets.net_files import known_nets
from gtp_export.commands import SUBCOMMANDS, _parser
from gtp_export.options import add_options, read_options
from gtp_export.plans import DescribePlan, DistilRun, NetRun, OwnGamesRun, TrainRun
from gtp_export.span import HOUR, Span

TEACHER = ["--teacher", "t.onnx", "--out", "run"]


def parser_of(plan: type) -> Parser:
    parser = Parser(prog="test")
    add_options(parser, plan)
    return parser


@pytest.mark.parametrize("command", SUBCOMMANDS)
def test_every_option_has_a_line_of_help(command: str) -> None:
    commands = next(a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction))
    for action in commands.choices[command]._actions:
        assert action.help, action.option_strings


def test_defaults_are_those_of_the_class_and_told() -> None:
    parser = parser_of(DistilRun)
    run = read_options(DistilRun, parser.parse_args(TEACHER))
    assert run == DistilRun(teacher=Path("t.onnx"), out=Path("run"))
    assert (run.preset, run.span, run.label_span) == ("b6c64", HOUR, None)
    help_text = " ".join(parser.format_help().split())
    for told in (
        "architecture; `train --preset list` names them (b6c64)",
        "length of the run in minutes (60)",
        "length of the labelling in positions",
        "highest learning rate (0.25; 0.01 with --from)",
        "(0: its net's own answers)",
    ):
        assert told in help_text


def test_what_is_given_is_read() -> None:
    words = [
        "--label-minutes",
        "2.5",
        "--games",
        "a",
        "b",
        "--freeze",
        "stem, policy",
        "--from",
        "n",
    ]
    run = read_options(DistilRun, parser_of(DistilRun).parse_args([*TEACHER, *words]))
    assert run.label_span == Span(2.5, "minutes") and run.games == (Path("a"), Path("b"))
    assert run.freeze == ("stem", "policy") and run.start == Path("n")
    names = parser_of(DistilRun).parse_args([*TEACHER, "--teacher", "small", "--from", "default"])
    run = read_options(DistilRun, names)
    assert run.teacher == known_nets()["small"] and run.start == known_nets()["default"]
    words = ["net.onnx", "--encoder", "five", "--no-has-pass", "--rename", "a=b", "--rename", "c=d"]
    plan = read_options(DescribePlan, parser_of(DescribePlan).parse_args(words))
    assert plan.rename == ("a=b", "c=d") and not plan.has_pass and plan.file == Path("net.onnx")
    for flag in ("--out", "--output"):  # the second is its old name
        plan = read_options(DescribePlan, parser_of(DescribePlan).parse_args([*words, flag, "o"]))
        assert plan.out == Path("o")


def test_classes_may_have_other_defaults_of_the_same_option() -> None:
    defaults = {
        plan: plan.__dataclass_fields__["batch_points"].default for plan in (NetRun, TrainRun)
    }
    assert defaults == {NetRun: 10_400, TrainRun: 23_104}
    texts = [p.__dataclass_fields__["learning_rate"].metadata for p in (NetRun, OwnGamesRun)]
    assert texts[0]["text"] == texts[1]["text"] and texts[0]["shown"] != texts[1]["shown"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--minutes", "1", "--samples", "2"], "not allowed with"),
        (["--processes", "0"], "--processes: '0' is not a whole number of 1 or more"),
        (["--device", "tpu"], "invalid choice: 'tpu'"),
        (["--name", "nets/mine"], "--name: 'nets/mine' is no name of a file"),
        (["--student-games", "nan"], "'nan' is not at least 0 and below 1"),
    ],
)
def test_mistakes_are_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parser_of(DistilRun).parse_args([*TEACHER, *words])
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
