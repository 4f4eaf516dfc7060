"""The engine's options from the command line and from a file."""

import contextlib
from pathlib import Path

import pytest

from gtp_engine.arguments import Parser, UsageError, parse_count, parse_size
from gtp_engine.commands import gtp
from gtp_engine.commands.options import OPTIONS, add_options, read_settings
from gtp_engine.commands.registry import run
from gtp_engine.evaluators.human_profile import HumanProfile
from gtp_engine.go.rules import GO, PRESETS, Rules
from gtp_engine.play.settings import RECIPES, Settings, customary_komi


def read(*arguments: str) -> Settings:
    parser = Parser(prog="test")
    add_options(parser)
    return read_settings(parser.parse_args(arguments))


def assert_refused(words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run a command, which ends with a line that holds a complaint."""
    with pytest.raises(SystemExit) as caught:
        run(words)
    assert caught.value.code == 2
    out, err = capsys.readouterr()
    assert complaint in err and err.count("\n") == 1 and out == ""


def test_no_options_are_the_defaults() -> None:
    assert read() == Settings()


def test_names_are_one_line() -> None:
    assert read("--name", "KataGo  like").name == "KataGo like"
    for wrong in ("", " ", "a\x07"):
        with pytest.raises(UsageError, match="is no name"):
            read("--name", wrong)


def test_command_line() -> None:
    settings = read(
        "--playouts", "400", "--time", "2.5", "--size", "9x13", "--rules", "japanese",
        "--komi", "-0.5", "--resign-threshold", "-0.95", "--no-resign", "--log", "x.log",
    )  # fmt: skip
    assert settings == Settings(
        playouts=400,
        time=2.5,
        size=(9, 13),
        rules=Rules.parse("japanese"),
        komi=-0.5,
        resign_threshold=-0.95,
        resign=False,
        log=Path("x.log"),
    )


def test_what_programs_made_for_gnu_go_say_does_no_harm() -> None:
    parser = Parser(prog="test")
    gtp.add_arguments(parser)
    words = ["--mode", "gtp", "--quiet", "--level", "10"]
    assert read_settings(parser.parse_args(words)) == Settings(level=10)


def test_the_home_folder_is_found_without_a_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    (tmp_path / "engine.toml").write_text("log = '~/a.log'")
    settings = read("--config", "~/engine.toml", "--keep-games", "~/games")
    assert (settings.log, settings.keep_games) == (tmp_path / "a.log", tmp_path / "games")


def test_a_recipe_sets_what_was_published_and_gives_way_to_what_is_said() -> None:
    published = read("--recipe", "alphago")
    assert (published.rollout_weight, published.resign_turns) == (0.5, 1)
    params = published.parameters
    assert [params[name] for name in ("cpuct", "expansion_visits", "virtual_loss")] == [5, 40, 3]
    mine = read("--recipe", "alphago", "--parameters", "cpuct=2", "--rollout-weight", "0")
    assert mine.parameters == {**params, "cpuct": 2.0} and mine.rollout_weight == 0.0
    usual = read("--recipe", "alphago", "--parameters", "cpuct=1").parameters
    assert usual["cpuct"] == 1.0, "also if that is the usual value"
    for wrong in (("--recipe", "x"), ("--rollout-weight", "2"), ("--rollout-weight", "nan")):
        with pytest.raises(UsageError, match=wrong[0]):
            read(*wrong)


VALUES = {
    "game": '"go"', "playouts": "8", "time": "1.5", "ponder": "true", "seed": "3", "size": '"9x7"',
    "rules": '"aga"', "komi": "5", "resign-threshold": "-1", "resign_turns": "2",
    "no-resign": "true", "net": '"small"', "device": '"cpu"', "threads": "2", "batch": "4",
    "memory": "500", "level": "3", "lag": "1", "keep-games": '"games"', "log": '"a.log"',
    "human_profile": '"preaz_5k"', "name": '"Tester"', "runtime": '"openvino"',
    "parameters": '"cpuct=1.5, lcb-stdevs=3"', "recipe": '"alphago"', "rollout-weight": "0.25",
    "ogs-chat": "true", "policy-temperature": "0.5",
}  # fmt: skip


def test_every_option_works_from_a_file(tmp_path: Path) -> None:
    assert {key.replace("_", "-") for key in VALUES} == {option.name for option in OPTIONS}
    config = tmp_path / "engine.toml"
    config.write_text("".join(f"{key} = {value}\n" for key, value in VALUES.items()))
    settings = read("--config", str(config))
    assert settings == Settings(
        playouts=8,
        time=1.5,
        net="small",
        device="cpu",
        runtime="openvino",
        threads=2,
        batch=4,
        memory=500,
        level=3,
        lag=1.0,
        keep_games=Path("games"),
        size=(9, 7),
        rules=Rules.parse("aga"),
        komi=5.0,
        resign=False,
        resign_threshold=-1.0,
        resign_turns=2,
        ponder=True,
        seed=3,
        log=Path("a.log"),
        name="Tester",
        human_profile=HumanProfile.parse("preaz_5k"),
        parameters=RECIPES["alphago"]["parameters"] | {"cpuct": 1.5, "lcb_stdevs": 3.0},
        rollout_weight=0.25,
        ogs_chat=True,
        policy_temperature=0.5,
    )
    assert read("--config", str(config), "--playouts", "9").playouts == 9


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("speed = 3", "unknown key 'speed'"),
        ("playouts = 0.5", "playouts: '0.5' is not a whole number"),
        ("playouts = true", "playouts must be a number or a string"),
        ("no-resign = 1", "no-resign must be true or false"),
        (
            "policy-temperature = 0",
            "policy-temperature: policy_temperature lies between 0.01 and 10",
        ),
        ("komi = nan", "komi: 'nan' is no komi from -400 to 400"),
        ("human-profile = 'rank_10d'", "human-profile: 'rank_10d' is no human profile"),
        ("parameters = 'speed=3'", "parameters: unknown parameter 'speed'"),
        ("parameters = 'cpuct'", "parameters: 'cpuct' is no setting like cpuct=1.2"),
        ("[table]\nplayouts = 3", "unknown key 'table'"),
        ("no-resign = true\nno_resign = false", "'no_resign' is there twice"),
        ("playouts 3", "not a TOML file"),
    ],
)
def test_mistakes_in_a_file_name_file_and_key(tmp_path: Path, text: str, complaint: str) -> None:
    config = tmp_path / "engine.toml"
    config.write_text(text)
    with pytest.raises(UsageError) as caught:
        read("--config", str(config))
    assert str(config) in str(caught.value)
    assert complaint in str(caught.value)


def test_a_file_for_another_game_is_not_for_commands_of_go(tmp_path: Path) -> None:
    config = tmp_path / "five.toml"
    config.write_text('game = "five"\nplayouts = 9\n')
    parser = Parser(prog="test")
    add_options(parser, without=("game",))
    settings = read_settings(parser.parse_args(["--config", str(config)]))
    assert (settings.game, settings.size, settings.playouts) == (GO, (19, 19), 9)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    config = tmp_path / "engine.toml"
    config.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not a TOML file"):
        read("--config", str(config))


def test_sizes_and_counts() -> None:
    assert [parse_size(text) for text in ("9", "9x13", "25X2")] == [(9, 9), (9, 13), (25, 2)]
    for text in ("", "x", "1", "26", "9x", "9x9x9", "-9", "9.0", "²"):
        with pytest.raises(ValueError, match="board size"):
            parse_size(text)
    assert parse_count("12") == 12
    for text in ("0", "-1", "1.0", "", "9" * 20):
        with pytest.raises(ValueError, match="whole number"):
            parse_count(text)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["net", "match", "a", "b", "--komi", "nan"], "--komi: 'nan' is no komi"),
        (["net", "bench", "--seconds", "-1"], "--seconds: '-1' is not a time above 0"),
        (["net", "match", "a", "b", "--seed", "-1"], "--seed: '-1' is not a whole number of 0"),
        (["match", "a", "b", "--seed", "9" * 19], "--seed: '9999999999999999999' is not a whole"),
        (["levels", "--seed", "-1"], "--seed: '-1' is not a whole number of 0 or more"),
        (["manners", "--seed", "x"], "--seed: 'x' is not a whole number of 0 or more"),
        (["manners", "--komi", "1e9"], "--komi: '1e9' is no komi"),
        (["match", "a", "b", "--timeout", "nan"], "--timeout: 'nan' is not a time above 0"),
        (["--threads", "1025"], "--threads: '1025' is more than 1024 threads"),
        (["--batch", "4097"], "--batch: '4097' is more than 4096 positions"),
        (["benchmark", "--batch", "99999999"], "'99999999' is more than 4096 positions"),
        (["benchmark", "--threads", "9999"], "--threads: '9999' is more than 1024 threads"),
        (["regress", "x.tst", "--timeout", "0"], "--timeout: '0' is not a time above 0"),
        (["match", "a", "b", "--openings", "-1"], "--openings: '-1' is not a whole number of 0"),
        (["match", "a", "b", "--openings", "1.5"], "--openings: '1.5' is not a whole number"),
        (["web", "--port", "99999"], "--port: '99999' is not a number from 0 to 65535"),
        (["--net", ""], "--net: '' names no net"),
        (["play", "--net", "small+"], "--net: 'small+' names no net"),
        (["net", "match", "", "small"], ": '' names no net"),
        (["net", "bench", "+"], ": '+' names no net"),
        (["--game", "five", "--size", "4"], "--size: five is played on boards from 5x5 on"),
        (["play", "--game", "five", "--size", "4"], "five is played on boards from 5x5 on"),
        (["match", "self", "self", "--game", "five", "--size", "4"], "on boards from 5x5 on"),
    ],
)
def test_numbers_beyond_all_measure_get_a_sentence(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_refused(words, complaint, capsys)


@pytest.mark.parametrize(
    "words",
    [
        ["review", "game.sgf", "--log", "x.log"],
        ["play", "--name", "x"],
        ["play", "--lag", "1"],
        ["play", "--ogs-chat"],
    ],
)
def test_options_that_would_do_nothing_are_not_taken(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        run(words)
    assert caught.value.code == 2
    assert "unrecognized arguments: --" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["analysis", "--compare", "--sgf", "x.sgf", "--out", "x"], "--compare is not for game"),
        (["analysis", "--out", "x"], "--sgf and --out go together"),
        (["analysis", "--sgf", "x.sgf", "--out", "x", "--log", "l"], "--log is for a conversation"),
        (["analysis", "--size", "9"], "--size is for --compare alone"),
        (["benchmark", "--no-net", "--net", "small"], "--no-net and --net contradict"),
        (["benchmark", "--no-net", "--batch", "4"], "--no-net leaves out what --threads and"),
        (["match", "self", "self", "--game", "atari-go", "--komi", "1"], "no points are counted"),
        (["five", "--size", "9"], "--size is for --forbidden"),
        (["play", "--resume", "x.sgf", "--handicap", "2"], "--handicap is for a new game"),
        (["play", "--resume", "x.sgf", "--size", "13"], "--size is for a new game"),
        (["play", "--resume", "x.sgf", "--rules", "aga"], "--rules is for a new game"),
        (["play", "--resume", "x.sgf", "--komi", "0"], "--komi is for a new game"),
    ],
)
def test_options_that_would_do_nothing_beside_others_are_refused(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_refused(words, complaint, capsys)


@pytest.mark.parametrize(
    "command",
    [
        *("web --port 0", "gtp --precompile", "net info", "net check", "net bench"),
        *("benchmark", "review game.sgf", "manners", "levels", "tune", "score ."),
    ],
)
def test_a_net_that_is_missing_is_told_first(
    command: str, capsys: pytest.CaptureFixture[str], said: list[str]
) -> None:
    words = [*command.split(), *([] if command.startswith("net ") else ["--net"]), "nope"]
    assert_refused(words, "nope: no such net file", capsys)
    assert said == []


@pytest.mark.parametrize(
    "words",
    [
        ["analysis", "--sgf", "x.sgf", "--out", "x.jsonl"],
        ["regress", "x.sgf"],
        ["review", "x.sgf"],
        ["score", "x.sgf"],
    ],
)
def test_a_missing_file_is_told_alike(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    said: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with contextlib.suppress(SystemExit):
        run(words)
    told = [*capsys.readouterr().err.splitlines(), *said]
    assert told[0].endswith("cannot read 'x.sgf': No such file or directory"), told


@pytest.mark.parametrize(
    "words",
    [
        ["analysis", "--compare", "--net", "five"],
        ["benchmark", "--net", "five"],
        ["levels", "--net", "five"],
        ["manners", "--net", "five"],
        ["manners", "--net", "small", "--judge", "five"],
        ["net", "match", "small", "five"],
        ["review", "game.sgf", "--net", "five"],
        ["score", "game.sgf", "--net", "five"],
        ["tune", "--net", "five"],
    ],
)
def test_a_net_of_another_game_gets_a_sentence(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("game.sgf").write_text("(;SZ[9];B[ee];W[cc])")
    assert_refused(words, ": the net five does not play go\n", capsys)


@pytest.mark.parametrize(
    ("rules", "size", "komi"),
    [("chinese", 19, 7.5), ("chinese", 9, 7.0), ("japanese", 9, 6.5), ("aga-button", 19, 7.0)],
)
def test_customary_komi(rules: str, size: int, komi: float) -> None:
    assert customary_komi(PRESETS[rules], size, size) == komi


def test_customary_komi_of_mixtures_does_not_depend_on_the_komi() -> None:
    mixture = Rules(komi=3.0)
    assert customary_komi(mixture, 19, 19) == 7.5
    assert customary_komi(Rules.parse('{"scoring": "TERRITORY"}'), 9, 9) == 6.5


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x = " + "[" * 5000 + "]" * 5000, "not a TOML file"),
        ("playouts = " + "9" * 5000, "not a TOML file"),
        ("playouts = 0x" + "f" * 5000, "playouts is too large"),
        ('log = "a\\u0000b"', "log: holds a null byte"),
        ('net = "a\\u0000b"', "net: holds a null byte"),
        ("threads = 5000", "threads: '5000' is more than 1024 threads"),
        ("\xff", "not a TOML file"),
    ],
)
def test_odd_configurations_get_a_sentence(text: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError) as caught:
        read("--config", str(path))
    assert complaint in str(caught.value) and "\n" not in str(caught.value)


def test_a_device_is_no_configuration() -> None:
    with pytest.raises(UsageError, match=r"not a regular file|No such file"):
        read("--config", "/dev/zero")


def help_of(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit):
        run([command, "--help"])
    return " ".join(capsys.readouterr().out.split())


def test_help_tells_the_defaults_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert "(the shipped one; five in a row: none)" in help_of("gtp", capsys)
    web = help_of("web", capsys)
    assert "five in a row" not in web and "a move (100 without --time)" in web
    assert "prints (none)" in help_of("five", capsys)
