"""Train a net on game records: read, train, evaluate, export and describe it.

A run ends after a number of samples, core-hours or minutes. Give the same command again to resume a
run that was killed. A file PAUSE in the run's folder halts it. --from begins with a net of this
program, to tune it on other games.
"""

from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_export.plans import TrainRun

ROLLOUT = "rollout"
"""The preset that makes a file of patterns."""
IDLE = {
    ROLLOUT: (
        *("freeze", "device", "processes", "threads", "batch_points", "learning_rate"),
        *("keep_nets", "int8", "fp16"),
    ),
    "recipe": (
        *("games", "valid", "positions", "name", "device", "processes", "threads"),
        *("int8", "fp16"),
    ),
}
"""Options that do nothing for the patterns and for a recipe."""
OF_RECIPES = ("policies", "size", "make")
"""Options that do nothing without a recipe."""

PLAN = TrainRun


def run(plan: TrainRun) -> int:
    """Train; what is written goes to stderr at the end."""
    from gtp_export.architectures.presets import PRESETS

    if plan.preset == "list":
        print("\n".join(f"{name:<16}{preset.summary}" for name, preset in PRESETS.items()))
        print(f"{ROLLOUT:<16}patterns, not a net: policies for rollouts and a tree; no torch")
        return 0
    if bool(plan.preset) == bool(plan.recipe):
        raise NetFileError("give either --preset or --recipe")
    source = "policies" if plan.recipe else "games"
    if not getattr(plan, source) or plan.out is None:
        raise NetFileError(f"--{source} and --out are needed")
    _refuse_idle(plan)
    if plan.recipe:
        from gtp_export.learning.single_positions import run_single_positions

        run_single_positions(plan)
    elif plan.preset == ROLLOUT:
        from gtp_export.pattern_fit import run_fit

        run_fit(plan)
    else:
        from gtp_export.learning.record_run import run_records

        run_records(plan)
    return 0


def _refuse_idle(plan: TrainRun) -> None:
    """Make sure that each option that is given does something."""
    what = f"--recipe {plan.recipe}" if plan.recipe else f"--preset {plan.preset}"
    idle = IDLE["recipe"] if plan.recipe else (*OF_RECIPES, *IDLE.get(plan.preset, ()))
    for name in idle:
        if getattr(plan, name) != getattr(TrainRun, name):
            raise NetFileError(f"--{name.replace('_', '-')} does nothing with {what}")
