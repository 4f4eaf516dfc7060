"""Old names."""

from gtp_engine.coords import *  # noqa: F403
