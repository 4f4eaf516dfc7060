"""Let a net with a policy win more often without search: REINFORCE against its past selves.

Give the same command again to resume a run that was killed. A file PAUSE in the run's folder halts
it.
"""

from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_export.plans import ReinforceRun
from gtp_export.run_settings import alone_in

PLAN = ReinforceRun
LEFT_OUT = "preset", "start", "freeze", "name", "processes", "batch_points", "keep_nets"


def run(plan: ReinforceRun) -> int:
    """Reinforce; all that is told goes to stderr."""
    if plan.games < 2:
        raise NetFileError("--games must be 2 or more")
    from gtp_export.learning.reinforcement import Reinforcement, begun_net

    begun = begun_net(plan)  # what is refused here leaves no folder
    with alone_in(plan.out):
        Reinforcement(plan, *begun).learn()
    return 0
