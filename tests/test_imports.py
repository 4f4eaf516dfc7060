"""Who may import whom, read from the sources without running them."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.paths import ROOT

SOURCE_ROOTS = (ROOT / "engine", ROOT / "export")

LAYERS = [
    "version",
    "platforms",
    "children",
    "messages",
    "files",
    "text_table",
    "user_cache",
    "coords",
    "arguments",
    "kernel_cache",
    "kernels",
    "random_numbers",
    "go",
    "five",
    "games",
    "evaluators",
    "search",
    "play",
    "arena",
    "frontends",
    "commands",
]
"""Each may import those before it and itself, at any depth of a function."""

TORCH_FOLDER = "gtp_export.learning."
"""What trains. Everything else, self-play and conversion above all, starts without torch."""

RUNTIME_MODULES = {
    "onnxruntime": "gtp_engine.evaluators.runtimes.onnx_runtime",
    "openvino": "gtp_engine.evaluators.runtimes.openvino_runtime",
}

FORBIDDEN_NAMES = {"utils", "util", "common", "helpers", "helper", "misc"}

STANDARD_LIBRARY_ONLY = [
    "gtp_engine",
    "gtp_engine.__main__",
    "gtp_engine.arguments",
    "gtp_engine.messages",
    "gtp_engine.coords",
    "gtp_engine.go.handicap",
    "gtp_engine.go.rules",
    "gtp_engine.evaluators.nets.net_info",
    "gtp_engine.search.request",
    "gtp_engine.search.stopping",
    "gtp_engine.play.settings",
    "gtp_engine.play.engine",
    "gtp_engine.play.loading",
    "gtp_engine.commands.analysis",
    "gtp_engine.commands.benchmark",
    "gtp_engine.commands.gtp",
    "gtp_engine.commands.match",
    "gtp_engine.commands.net",
    "gtp_engine.commands.options",
    "gtp_engine.commands.perft",
    "gtp_engine.commands.play",
    "gtp_engine.commands.registry",
    "gtp_engine.frontends.analysis.analyst",
    "gtp_engine.frontends.analysis.server",
    "gtp_engine.frontends.gtp.server",
    "gtp_engine.frontends.pipes",
]
"""What runs before numpy and numba are loaded: at import these need the standard library alone,
and so does everything that they import."""


class Import(NamedTuple):
    """One import statement's target."""

    importer: str
    target: str
    is_lazy: bool
    """Whether it stands in a function or under TYPE_CHECKING and does not run at import."""


def module_name(path: Path) -> str:
    for root in SOURCE_ROOTS:
        if path.is_relative_to(root):
            parts = list(path.relative_to(root).with_suffix("").parts)
            return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    raise AssertionError(path)


SOURCES = {
    module_name(path): path
    for root in SOURCE_ROOTS
    for path in sorted(root.rglob("*.py"))
    if "__pycache__" not in path.parts
}


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def walk(node: ast.AST, is_lazy: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """Yield all nodes below, with whether they stand in code that does not run at import."""
    for child in ast.iter_child_nodes(node):
        function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        lazy = is_lazy or function or is_type_checking(child)
        yield child, lazy
        yield from walk(child, lazy)


def imports_of(module: str) -> Iterator[Import]:
    tree = ast.parse(SOURCES[module].read_text(encoding="utf-8"))
    for node, is_lazy in walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, alias.name, is_lazy)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, f"{module} has a relative import"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield Import(module, full if full in SOURCES else node.module, is_lazy)


IMPORTS = [entry for module in SOURCES for entry in imports_of(module)]


def layer_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if parts[0] == "gtp_engine" and len(parts) > 1 else ""


def top_of(module: str) -> str:
    return module.split(".")[0]


def test_arrows_between_the_engine_parts_go_one_way() -> None:
    wrong = [
        entry
        for entry in IMPORTS
        if layer_of(entry.importer) in LAYERS
        and layer_of(entry.target) in LAYERS
        and LAYERS.index(layer_of(entry.target)) > LAYERS.index(layer_of(entry.importer))
    ]
    assert not wrong


def test_the_search_names_no_game() -> None:
    games = ("go", "five", "evaluators.encoders")
    wrong = [
        entry
        for entry in IMPORTS
        if entry.importer.startswith("gtp_engine.search")
        and f"{entry.target}.".startswith(tuple(f"gtp_engine.{game}." for game in games))
    ]
    assert not wrong


def test_no_file_leads_back_to_itself() -> None:
    """Imports in functions and those for type checkers count, and so does the package's own."""
    targets: dict[str, set[str]] = {module: set() for module in SOURCES}
    for entry in IMPORTS:
        if entry.target in SOURCES and entry.target != entry.importer:
            targets[entry.importer].add(entry.target)
    reached = {module: reachable(module, targets) for module in SOURCES}
    circles = {
        frozenset(other for other in reached[module] if module in reached[other])
        for module in SOURCES
        if module in reached[module]
    }
    assert not [sorted(circle) for circle in circles]


def reachable(module: str, targets: dict[str, set[str]]) -> set[str]:
    """Return all that a module leads to, itself if there is a way back."""
    found: set[str] = set()
    pending = [module]
    while pending:
        new = targets[pending.pop()] - found
        found |= new
        pending.extend(new)
    return found


def test_every_part_of_the_engine_has_its_place() -> None:
    parts = {layer_of(module) for module in SOURCES if top_of(module) == "gtp_engine"}
    assert parts - {"", "__main__", "models"} <= set(LAYERS)


def test_the_engine_never_imports_what_makes_its_nets() -> None:
    wrong = [
        entry
        for entry in IMPORTS
        if top_of(entry.importer) == "gtp_engine"
        and top_of(entry.target) in ("gtp_export", "torch", "onnx", "h5py", "tests")
    ]
    assert not wrong


def test_what_makes_nets_does_not_lean_on_the_engines_commands() -> None:
    commands = "gtp_engine.commands"
    wrong = [
        entry
        for entry in IMPORTS
        if top_of(entry.importer) == "gtp_export" and entry.target.startswith(commands)
    ]
    assert not wrong


def test_only_what_draws_pictures_wants_what_draws() -> None:
    importers = {entry for entry in IMPORTS if top_of(entry.target) == "matplotlib"}
    drawing = {"gtp_engine.commands.benchmark_report", "gtp_export.pictures"}
    assert {entry.importer for entry in importers} == drawing
    assert all(entry.is_lazy for entry in importers)


def test_only_training_imports_torch() -> None:
    wrong = [
        entry
        for entry in IMPORTS
        if top_of(entry.target) == "torch" and not entry.importer.startswith(TORCH_FOLDER)
    ]
    assert not wrong


@pytest.mark.parametrize("module", [name for name in SOURCES if not name.startswith(TORCH_FOLDER)])
def test_everything_but_training_loads_without_torch(module: str) -> None:
    assert "torch" not in loaded_with(module)


@pytest.mark.parametrize("runtime, importer", RUNTIME_MODULES.items())
def test_one_engine_module_imports_a_runtime(runtime: str, importer: str) -> None:
    importers = {
        entry.importer
        for entry in IMPORTS
        if top_of(entry.target) == runtime and top_of(entry.importer) == "gtp_engine"
    }
    assert importers == {importer}


def test_nothing_has_a_name_that_says_nothing() -> None:
    assert not [name for name in SOURCES if FORBIDDEN_NAMES & set(name.split("."))]
    tests = (ROOT / "tests").rglob("*.py")
    assert not [path for path in tests if FORBIDDEN_NAMES & {path.stem, *path.parts}]


def parents(module: str) -> Iterator[str]:
    parts = module.split(".")
    for n in range(1, len(parts)):
        yield ".".join(parts[:n])


def loaded_with(module: str) -> dict[str, str]:
    """Return everything that importing a module imports at once, each with who asked for it."""
    reached = {module: ""}
    pending = [module]
    while pending:
        current = pending.pop()
        for entry in IMPORTS:
            if entry.importer != current or entry.is_lazy:
                continue
            for target in (entry.target, *parents(entry.target)):
                if target not in reached:
                    reached[target] = current
                    if target in SOURCES:
                        pending.append(target)
    return reached


@pytest.mark.parametrize("module", STANDARD_LIBRARY_ONLY)
def test_what_answers_at_once_needs_the_standard_library_alone(module: str) -> None:
    foreign = {
        target: importer
        for target, importer in loaded_with(module).items()
        if top_of(target) not in sys.stdlib_module_names
        and top_of(target) not in ("gtp_engine", "__future__")
    }
    assert not foreign


def test_a_net_opens_without_kernels() -> None:
    """A thread of its own opens it while another loads those, which is for one thread alone."""
    assert "gtp_engine.kernels" not in loaded_with("gtp_engine.evaluators.nets.composition")


def test_kernels_live_where_their_cache_looks_for_changes() -> None:
    from gtp_engine.kernel_cache import KERNEL_FILES

    package = ROOT / "engine" / "gtp_engine"
    found = {path for pattern in KERNEL_FILES for path in package.glob(pattern)}
    for path in package.rglob("*.py"):
        if re.search(r"^@\w*kernel$", path.read_text(encoding="utf-8"), re.MULTILINE):
            assert path in found
